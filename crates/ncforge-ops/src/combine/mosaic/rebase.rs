//! Converting times that were read.

use super::Mosaic;
use super::read::Piece;
use crate::boxes::each_row;
use ncforge::model::{Attribute, DType, Number, VarId};
use ncforge::{Error, Result};

impl Mosaic {
    /// Converts the times of a piece that was read into `out`, a box of `count` elements.
    pub(super) fn rebase(&self, v: VarId, piece: &Piece, count: &[u64], out: &mut [u8]) -> Result<()> {
        let Some(change) = self.times.0.get(&(v, piece.tile)) else { return Ok(()) };
        let DType::Atomic(kind) = self.schema.var(v).dtype else { return Ok(()) };
        let default = kind.default_fill();
        let fills = [self.fills[v.0].as_deref(), Some(&default[..])];
        let mut wrong = None;
        each_row(count, &piece.region.start, &piece.region.count, kind.size(), |_, row| {
            for element in out[row].chunks_exact_mut(kind.size()) {
                if fills.contains(&Some(&*element)) {
                    continue;
                }
                match change.element(kind, element) {
                    Some(new) => element.copy_from_slice(&new),
                    None => wrong = wrong.take().or(Number::read(kind, element)),
                }
            }
        });
        let Some(value) = wrong else { return Ok(()) };
        let units = self.schema.var(v).attr("units").and_then(Attribute::as_text);
        Err(Error::Tiles(format!(
            "`{}`: `{}` has other units than the first file, and its type {} does not hold the value {value} {}",
            self.tiles.name(piece.tile),
            self.schema.var_path(v).trim_start_matches('/'),
            kind.cdl_name(),
            units.map_or_else(|| "in those".to_owned(), |units| format!("as `{units}`")),
        )))
    }
}
