//! Lists of numbers of other things, numbered anew.

use super::find::Connection;
use super::parts::{Lookup, whole_number};
use super::route::Run;
use super::set::NONE;
use super::{From, Mesh};
use crate::error::{Error, Result};
use crate::model::{Atomic, DType, VarId};
use crate::ops::combine::mosaic::attrs;

/// How the values of a list are stored.
pub(super) struct Rewrite<'a> {
    mesh: &'a Mesh,
    connection: &'a Connection,
    kind: Atomic,
}

/// The part of a list that was read: rows are what it tells of.
pub(super) struct Block {
    /// The first column.
    pub(super) column: u64,
    /// Columns.
    pub(super) columns: u64,
}

impl Mesh {
    /// What a variable's values are numbers of, if they are.
    pub(super) fn rewrite(&self, v: VarId) -> Option<Rewrite<'_>> {
        let connection = self.connections.iter().find(|c| c.var == v)?;
        let DType::Atomic(kind) = self.schema.var(v).dtype else { return None };
        Some(Rewrite { mesh: self, connection, kind })
    }

    /// What stands in a list where nothing is.
    pub(super) fn nothing_in(&self, v: VarId) -> Option<Vec<u8>> {
        let rewrite = self.rewrite(v)?;
        let fill = self.schema.var(v).attr("_FillValue").and_then(|a| a.values.bytes());
        Some(match fill.and_then(|b| b.get(..rewrite.kind.size())) {
            Some(fill) => fill.to_vec(),
            None => rewrite.written(rewrite.connection.base - 1),
        })
    }
}

impl Rewrite<'_> {
    fn written(&self, n: i64) -> Vec<u8> {
        let mut value = vec![0; self.kind.size()];
        self.write(n, &mut value);
        value
    }

    /// Writes a number as one value of the list; almost all lists are of whole numbers of 32 bits.
    fn write(&self, n: i64, to: &mut [u8]) {
        match self.kind {
            Atomic::Int => to.copy_from_slice(&(n as i32).to_ne_bytes()),
            Atomic::Int64 | Atomic::UInt64 => to.copy_from_slice(&n.to_ne_bytes()),
            kind => to.copy_from_slice(&attrs::element(kind, n as f64)),
        }
    }

    /// Rewrites what was read of one partition, in the variable's own order: `rows` by so many columns, or turned.
    pub(super) fn run(
        &self,
        run: &Run,
        block: &Block,
        width: u64,
        out: &mut [u8],
        nothing: &[u8],
    ) -> Result<()> {
        let (mesh, c) = (self.mesh, self.connection);
        let sets = c.to.map(|s| &mesh.sets[s]);
        let lookup = Lookup::new(&mesh.schema, c, sets, run.part);
        let size = self.kind.size();
        for row in 0..run.count {
            for column in 0..block.columns {
                let at = match c.axis {
                    0 => (run.at + row) * block.columns + column,
                    _ => column * width + run.at + row,
                };
                let value = &mut out[at as usize * size..][..size];
                let number = (block.column + column) as usize;
                let told = whole_number(self.kind, value).unwrap_or(i64::MIN);
                let one = lookup.one(number, told).map_err(|v| {
                    let row = (run.from + row) as usize;
                    mesh.parts.beyond(run.part, &mesh.schema, c, &mesh.sets, (row, number), v)
                })?;
                let place = if one == NONE { NONE } else { sets[number.min(1)].place[one as usize] };
                if place == NONE {
                    // Zeros and -1 that mean nothing stay what they are; what has gone becomes the same as them.
                    if one != NONE || told >= c.base {
                        value.copy_from_slice(nothing);
                    }
                    continue;
                }
                self.write(i64::from(place) + c.base, value);
                if whole_number(self.kind, value) != Some(i64::from(place) + c.base) {
                    return Err(Error::NotRepresentable {
                        format: "the type of a list",
                        what: format!(
                            "number {} of the whole (`{}` is of type {})",
                            i64::from(place) + c.base,
                            mesh.schema.var_path(c.var),
                            mesh.schema.type_name(self.kind.into())
                        ),
                    });
                }
            }
        }
        Ok(())
    }

    /// The cells beside edges that the file with their values does not know of: `from..` of the whole, as it stands in
    /// the output.
    pub(super) fn complete(&self, from: u64, rows: u64, block: &Block, out: &mut [u8]) {
        let (mesh, c) = (self.mesh, self.connection);
        let From::Scattered { set, .. } = mesh.from[c.var.0] else { return };
        let is_cells = self.mesh.sets[c.to[0]].what == "cell";
        let Some(beside) = mesh.beside.get(&set).filter(|_| is_cells) else { return };
        let size = self.kind.size();
        for (&place, cells) in beside.range(from as u32..(from + rows) as u32) {
            for (k, &cell) in cells.iter().enumerate().filter(|c| *c.1 != NONE) {
                let Some(column) = (k as u64).checked_sub(block.column).filter(|k| *k < block.columns) else {
                    continue;
                };
                let row = u64::from(place) - from;
                let at = if c.axis == 0 { row * block.columns + column } else { column * rows + row };
                self.write(i64::from(cell) + c.base, &mut out[at as usize * size..][..size]);
            }
        }
    }
}
