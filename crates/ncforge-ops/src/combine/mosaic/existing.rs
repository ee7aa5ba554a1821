//! A file into which tiles are put: what stands in it stays where no tile is.
//!
//! The file must be a whole that such tiles make: every variable of it in the tiles too, of the same type, along the
//! same dimensions, of the same lengths. Only records may be more in one than in the other.

use std::path::Path;

use super::super::scheme::{Scheme, may_differ};
use super::attrs::{Unlike, compare_attributes, compare_global_attributes};
use super::facts::DimKind;
use ncforge::model::{Format, Schema, Values, VarId};
use ncforge::raw::{ChunkGrid, unravel};
use ncforge::{Buffer, Dataset, Engine, Error, Hyperslab, Result};

/// The file, and which of its variables each of the whole's is.
#[derive(Debug)]
pub(crate) struct Existing {
    dataset: Dataset,
    vars: Vec<Option<VarId>>,
}

impl Existing {
    /// Opens it, checks that it goes with the tiles, and makes the whole as long as the longer of both. Also gives the attributes
    /// of the tiles that it has not, or otherwise.
    pub(super) fn open(
        path: &Path,
        whole: &mut Schema,
        kinds: &[DimKind],
        scheme: &dyn Scheme,
        engine: &Engine,
    ) -> Result<(Existing, Vec<Unlike>)> {
        let dataset = Dataset::open_with(path, engine)?;
        let own = dataset.schema();
        let wrong =
            |what: String| Error::Tiles(format!("the tiles do not fit into `{}`: {what}", path.display()));
        let mut vars = vec![None; whole.vars.len()];
        for v in own.var_ids() {
            let name = own.var_path(v);
            let to = whole.find_var(&name).ok_or_else(|| wrong(format!("they have no variable `{name}`")))?;
            let (a, b) = (own.var(v), whole.var(to));
            if own.type_name(a.dtype) != whole.type_name(b.dtype) || a.dims.len() != b.dims.len() {
                return Err(wrong(format!("`{name}` is of another type or rank there")));
            }
            for (x, y) in a.dims.clone().iter().zip(b.dims.clone()) {
                let (theirs, ours) = (own.dim(*x), &mut whole.dims[y.0]);
                let grows = ours.unlimited && kinds[y.0] == DimKind::Whole;
                if theirs.name != ours.name || (theirs.len != ours.len && !grows) {
                    return Err(wrong(format!(
                        "`{name}` has {} points along `{}` there, the tiles make {} along `{}`",
                        theirs.len, theirs.name, ours.len, ours.name
                    )));
                }
                ours.len = ours.len.max(theirs.len);
            }
            vars[to.0] = Some(v);
        }
        let conflicts = compare_attributes(own, whole, false);
        if let Some((var, attr)) = &conflicts.meaning {
            return Err(wrong(format!("the attribute `{var}:{attr}` differs")));
        }
        let mut unlike = compare_global_attributes(own, whole, |name| may_differ(scheme, whole, name));
        unlike.extend(conflicts.others);
        for (v, range) in &conflicts.ranges {
            unlike.push(Unlike::of_var((own, *v), &range.name, (whole, Some(range))));
        }
        // What it has besides is not lost.
        unlike.retain(|one| one.other.is_some());
        // What the file says of itself stays.
        whole.groups[0].attrs.clone_from(&own.groups[0].attrs);
        for (v, theirs) in vars.iter().enumerate() {
            if let Some(theirs) = theirs {
                whole.vars[v].attrs.clone_from(&own.var(*theirs).attrs);
            }
        }
        Ok((Existing { dataset, vars }, unlike))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.dataset.path()
    }

    /// In which format.
    pub(crate) fn format(&self) -> Format {
        self.dataset.schema().format
    }

    /// The file and its variable.
    pub(super) fn var(&self, v: VarId) -> Option<(&Dataset, VarId)> {
        self.vars[v.0].map(|own| (&self.dataset, own))
    }

    /// The part of a selection that the file has; `None` if that is nothing.
    fn part(&self, v: VarId, slab: &Hyperslab) -> Option<(VarId, Hyperslab)> {
        let own = self.vars[v.0]?;
        let shape = self.dataset.schema().shape(own);
        let count: Vec<u64> = slab
            .count
            .iter()
            .zip(&slab.start)
            .zip(&shape)
            .map(|((&n, &s), &len)| n.min(len.saturating_sub(s)))
            .collect();
        (!count.contains(&0)).then(|| (own, Hyperslab::new(&slab.start, &count)))
    }

    /// Puts what it has of a dense selection over `out`.
    pub(super) fn overlay(&self, v: VarId, slab: &Hyperslab, size: usize, out: &mut [u8]) -> Result<()> {
        let Some((own, part)) = self.part(v, slab) else { return Ok(()) };
        if part.count == slab.count {
            return self.dataset.read_bytes(own, &part, out);
        }
        let mut bytes = Buffer::zeroed(part.len() as usize * size);
        self.dataset.read_bytes(own, &part, &mut bytes)?;
        let row = part.count.last().copied().unwrap_or(1) as usize * size;
        let mut lens = vec![1; part.rank()];
        if let (Some(len), Some(&n)) = (lens.last_mut(), part.count.last()) {
            *len = n;
        }
        let rows = ChunkGrid::new(&part.count, &lens);
        for i in 0..rows.len() {
            let (at, _) = rows.region(&unravel(i, &rows.counts()));
            let to = at.iter().zip(&slab.count).fold(0u64, |a, (x, &n)| a * n + x) as usize * size;
            out[to..to + row].copy_from_slice(&bytes[i as usize * row..][..row]);
        }
        Ok(())
    }

    /// The same of values of a heap type.
    pub(super) fn overlay_values(
        &self,
        v: VarId,
        slab: &Hyperslab,
        out: &mut [ncforge::model::Value],
    ) -> Result<()> {
        let Some((own, part)) = self.part(v, slab) else { return Ok(()) };
        let Values::Heap(values) = self.dataset.read(own, &part)? else { return Ok(()) };
        for (i, value) in values.into_iter().enumerate() {
            let at = unravel(i as u64, &part.count);
            let to = at.iter().zip(&slab.count).fold(0u64, |a, (x, &n)| a * n + x);
            out[to as usize] = value;
        }
        Ok(())
    }
}
