//! Reading the records of many variables from all tiles at once.
//!
//! In a classic tile the records of all variables alternate. A copy to a classic file can take them in that order, too:
//! of every tile a few records of all variables are read in one request, and what was just read goes to its places,
//! while it is in the processor's cache. Of a thousand tiles with forty variables, asking variable by variable takes
//! several times as long.

use super::facts::KeptAs;
use super::fill::fill_all;
use super::pieces::Piece;
use super::records::Records;
use super::{DimKind, From, Mosaic};
use ncforge::model::{DimId, VarId, shape};
use ncforge::raw::{Part, Region, VarGroup};
use ncforge::{Dataset, Hyperslab, Result};

/// A variable's part of a tile's record up to this is read together with those of others.
const SMALL: u64 = 16 << 10;
/// Runs of the output that are written at a time are about this long, …
const RUN: u64 = 256 << 10;
/// … and of so many records that the values of all variables that are read together are about this many bytes. (Measured,
/// 40 variables in 1,024 tiles: half and twice as much differ by less than a tenth.)
const BOX: u64 = 64 << 20;

/// The variables that are read with each variable, with `memory` bytes for their values.
pub(super) fn plan(mosaic: &Mosaic, memory: u64) -> Vec<Option<VarGroup>> {
    let n = mosaic.schema.vars.len();
    let mut all = vec![None; n];
    let mut first = 0;
    while first < n {
        let Some(kind) = Kind::of(mosaic, VarId(first)) else {
            first += 1;
            continue;
        };
        let run = (first..n).take_while(|&v| Kind::of(mosaic, VarId(v)).as_ref() == Some(&kind)).count();
        if let Some((each, lens)) = kind.share(run as u64, memory) {
            for from in (first..first + run).step_by(each as usize) {
                let vars = from..(from + each as usize).min(first + run);
                all[vars.clone()].fill(Some(VarGroup { vars, lens: lens.clone() }));
            }
        }
        first += run;
    }
    all
}

/// The common properties of variables that are read together.
#[derive(PartialEq, Eq)]
struct Kind {
    dims: Vec<DimId>,
    shape: Vec<u64>,
    size: u64,
    from: From,
    /// The first dimension that is split, and the longest part of it that a tile has.
    axis: usize,
    part: u64,
}

impl Kind {
    fn of(mosaic: &Mosaic, v: VarId) -> Option<Kind> {
        small(mosaic, v).filter(|_| !mosaic.is_converted(v))?;
        let From::Pattern(p) = mosaic.from[v.0] else { return None };
        let pattern = &mosaic.patterns[p];
        let var = mosaic.schema.var(v);
        Some(Kind {
            dims: var.dims.clone(),
            shape: mosaic.schema.shape(v),
            size: mosaic.schema.fixed_size(var.dtype)? as u64,
            from: mosaic.from[v.0],
            axis: var.dims.iter().position(|d| Some(d) == pattern.dims.first())?,
            part: pattern.longest.max(1),
        })
    }

    /// The number of `run` variables that go together (all of about the same number), and by which boxes.
    fn share(&self, run: u64, memory: u64) -> Option<(u64, Vec<u64>)> {
        let row = self.shape[self.axis + 1..].iter().product::<u64>() * self.size;
        let rows = self.part * RUN.div_ceil((self.part * row).max(1));
        let mut lens = self.shape.clone();
        lens[self.axis] = rows.min(lens[self.axis]);
        // Of one record.
        let bytes = (lens[1..].iter().product::<u64>() * self.size).max(1);
        let each = run.div_ceil(run.div_ceil((memory / bytes).min(run).max(1)));
        let records = (BOX.min(memory) / (bytes * each)).min(lens[0]).max(1);
        lens[0] = lens[0].div_ceil(lens[0].div_ceil(records));
        (each >= 2).then_some((each, lens))
    }
}

/// The bytes of a variable in all tiles, if every tile's part of a record is small and stands in records.
fn small(mosaic: &Mosaic, v: VarId) -> Option<u64> {
    let From::Pattern(p) = mosaic.from[v.0] else { return None };
    let var = mosaic.schema.var(v);
    let record = *var.dims.first()?;
    if !mosaic.schema.dim(record).unlimited
        || mosaic.dims[record.0] != DimKind::Whole
        || mosaic.existing.is_some()
    {
        return None;
    }
    if !matches!(mosaic.of_tiles[v.0].kept, KeptAs::Rows) || mosaic.patches.contains_key(&v) {
        return None;
    }
    let size = mosaic.schema.fixed_size(var.dtype)? as u64;
    let shape = mosaic.schema.shape(v);
    let bytes = shape::checked(&shape, size)?;
    let of_record = bytes / shape.first().copied().filter(|&n| n > 1)?;
    (of_record / (mosaic.patterns[p].boxes.len() as u64).max(1) <= SMALL).then_some(bytes)
}

impl Mosaic {
    /// Reads the same selection of variables of one [`VarGroup`].
    pub(super) fn read_small(&self, vars: &[VarId], slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let Some(&first) = vars.first() else { return Ok(()) };
        let each = out.len() / vars.len();
        let size = each / slab.len().max(1) as usize;
        let pieces = self.pieces(first, slab);
        let covered: u64 = pieces.iter().map(|p| p.local.len()).sum();
        if covered < slab.len() {
            for (&v, out) in vars.iter().zip(out.chunks_exact_mut(each)) {
                fill_all(out, self.fills[v.0].as_deref().unwrap_or(&[0]));
            }
        }
        let regions: Vec<Region> = pieces.iter().map(|p| p.region.clone()).collect();
        self.engine.read_parts(&slab.count, size, &regions, out, |i, part| {
            let tile = self.tiles.open(pieces[i].tile)?;
            tile.note_read();
            self.records_of(vars, &pieces[i], &tile, part)
        })
    }

    /// Reads one tile's part of several variables.
    fn records_of(&self, vars: &[VarId], piece: &Piece, tile: &Dataset, part: &mut Part<'_>) -> Result<()> {
        let records = Records::of(self, vars.iter().copied(), piece.tile, tile)?;
        if let Some(records) = records.filter(|r| r.layouts.len() == vars.len() && r.hold(&piece.local)) {
            let store = tile.container().store();
            if records.bytes(piece.local.start[0], piece.local.count[0], store.len()).is_some() {
                return records.read(&**store, &piece.local, part);
            }
        }
        // One by one, as the engine reads what a file may be too short for.
        for (array, &v) in vars.iter().enumerate() {
            if let Some(own) = self.facts[piece.tile].var(v) {
                part.read(array, tile.container(), own, &piece.local)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_are_shared_within_the_memory() {
        let kind = |shape: &[u64]| Kind {
            dims: Vec::new(),
            shape: shape.to_vec(),
            size: 4,
            from: From::Pattern(0),
            axis: shape.len() - 2,
            part: 16,
        };
        for (shape, run, memory) in [
            (&[12, 512, 512][..], 40, 128 << 20),
            (&[12, 512, 512], 40, 3 << 20),
            (&[1000, 7, 90, 70], 3, 1 << 30),
            (&[5, 4096, 4096], 300, 64 << 20),
        ] {
            let (each, lens) = kind(shape).share(run, memory).unwrap();
            assert!((2..=run).contains(&each), "{each}");
            assert!(lens.iter().zip(shape).all(|(l, n)| (1..=*n).contains(l)), "{lens:?}");
            assert!(each * lens.iter().product::<u64>() * 4 <= memory, "{lens:?} of {each}");
        }
        assert!(kind(&[12, 512, 512]).share(1, 1 << 30).is_none(), "one alone");
        assert!(kind(&[12, 512, 512]).share(40, 100 << 10).is_none(), "no memory for two");
    }
}
