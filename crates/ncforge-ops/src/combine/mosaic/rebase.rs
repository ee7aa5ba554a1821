//! Converting times as they are read.

use super::Mosaic;
use crate::calendar::Rebase;
use ncforge::model::{Atomic, Attribute, DType, Number, VarId};
use ncforge::raw::Convert;
use ncforge::{Error, Result};

/// The change of a tile's times.
#[derive(Debug)]
pub(super) struct Rebased {
    change: Rebase,
    kind: Atomic,
    /// Elements that are no times, and that no time may become.
    missing: Vec<Vec<u8>>,
    /// The tile, the variable and its units, for messages.
    tile: String,
    name: String,
    units: Option<String>,
}

impl Mosaic {
    /// How times of a tile become those of the whole, if they change.
    pub(super) fn rebased(&self, v: VarId, tile: usize) -> Option<Rebased> {
        let change = *self.times.0.get(&(v, tile))?;
        let DType::Atomic(kind) = self.schema.var(v).dtype else { return None };
        let units = self.schema.var(v).attr("units").and_then(Attribute::as_text);
        Some(Rebased {
            change,
            kind,
            missing: self.schema.missing_elements(self.schema.var(v)),
            tile: self.tiles.name(tile),
            name: self.schema.var_path(v).trim_start_matches('/').to_owned(),
            units: units.map(str::to_owned),
        })
    }
}

impl Convert for Rebased {
    fn convert(&self, from: &[u8], to: &mut [u8]) -> Result<()> {
        let size = self.kind.size();
        let is_missing = |element: &[u8]| self.missing.iter().any(|one| one == element);
        let mut wrong = None;
        for (old, new) in from.chunks_exact(size).zip(to.chunks_exact_mut(size)) {
            let changed = if is_missing(old) { None } else { Some(self.change.element(self.kind, old)) };
            match changed {
                None => new.copy_from_slice(old),
                Some(Some(changed)) if !is_missing(&changed) => new.copy_from_slice(&changed),
                Some(other) => wrong = wrong.take().or(Number::read(self.kind, old).map(|x| (x, other))),
            }
        }
        let Some((value, taken)) = wrong else { return Ok(()) };
        let taken = taken.and_then(|one| Number::read(self.kind, &one));
        Err(Error::Tiles(format!(
            "`{}`: `{}` has other units than the first file, and its type {} does not hold the value {value} {}{}",
            self.tile,
            self.name,
            self.kind.cdl_name(),
            self.units.as_ref().map_or_else(|| "in those".to_owned(), |units| format!("as `{units}`")),
            taken.map_or_else(String::new, |one| format!(": {one} stands for no value")),
        )))
    }
}
