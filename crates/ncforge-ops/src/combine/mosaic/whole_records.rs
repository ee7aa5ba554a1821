//! The records of classic files that follow each other: those of the whole, but for where they lie.

use super::{From, Mosaic};
use ncforge::Result;
use ncforge::model::VarId;
use ncforge::raw::Records;

impl Mosaic {
    /// The records that these variables make in files of a series; `None` unless every file holds them alike.
    pub(super) fn records_of_series(&self, vars: &[VarId]) -> Result<Option<Records>> {
        let (Some(&first), Some(_)) = (vars.first(), self.scheme.series()) else { return Ok(None) };
        let From::Pattern(p) = self.from[first.0] else { return Ok(None) };
        let pattern = &self.patterns[p];
        let alike = |v: &VarId| {
            let leads = self.schema.var(*v).dims.first() == pattern.dims.first();
            self.from[v.0] == From::Pattern(p) && leads && !self.is_converted(*v)
        };
        if pattern.dims.len() != 1 || pattern.of_all.is_some() || !vars.iter().all(alike) {
            return Ok(None);
        }
        let mut all: Option<Records> = None;
        for (tile, place) in &pattern.boxes {
            let open = self.tiles.open(*tile)?;
            let mut layouts = Vec::with_capacity(vars.len());
            for &v in vars {
                let Some(own) = self.facts[*tile].var(v) else { return Ok(None) };
                let layout = open.container().layout(own)?;
                if layout.element != self.of_tiles[v.0].element {
                    return Ok(None);
                }
                layouts.push(layout);
            }
            let Some(Records { stride, behind, files }) = Records::of(&layouts) else { return Ok(None) };
            let of_file = files[0];
            let all =
                all.get_or_insert_with(|| Records { stride, behind: behind.clone(), files: Vec::new() });
            let same = all.stride == stride && all.behind == behind && of_file.0 == place.count[0];
            if !same || open.container().store().blocks().is_some() {
                return Ok(None);
            }
            all.files.push(of_file);
        }
        Ok(all)
    }

    /// The tile with the number that it has among those with records.
    pub(super) fn file_with_records(&self, number: usize) -> Option<usize> {
        self.patterns.iter().find(|p| p.of_all.is_none())?.boxes.get(number).map(|b| b.0)
    }
}
