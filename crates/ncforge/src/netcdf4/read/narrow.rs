//! Numbers that netCDF has not, read as the next that it has: two-byte floats as floats of four bytes, integers of fewer bits than
//! their bytes (12-bit counts of a detector) as integers of all bits.
//!
//! HDF5 holds both (h5py's `float16`; types with a precision), and other readers of HDF5 give these values. Nothing is lost. They are
//! widened behind their filters ([`CodecChain::widened`]); where they lie in one piece, that piece is taken for chunks
//! of whole rows. Files that hold such numbers are not changed in place.

use std::sync::Arc;

use crate::codec::CodecChain;
use crate::codec::widen::{Bits, Widen};
use crate::error::Result;
use crate::hdf5::datatype::{ByteOrder, Class, Datatype};
use crate::layout::{ChunkIndex, ChunkRecord, Place};
use crate::model::Atomic;
use crate::store::ReadStore;

use super::types::atomic;

/// Bytes that are widened at once, about.
const PIECE: u64 = 256 << 10;

/// The conversion of the numbers of a datatype that netCDF does not have.
pub(crate) fn widen(d: &Datatype) -> Option<Widen> {
    match &d.class {
        Class::Float(f) if is_half(d) => Some(Widen::new(f.order == ByteOrder::Big, |bits| f.half(bits))),
        Class::Fixed { order, .. } => Some(Widen::bits(*order == ByteOrder::Big, bits(d)?)),
        _ => None,
    }
}

/// The type that they are read as.
pub(crate) fn read_as(d: &Datatype) -> Option<Atomic> {
    match &d.class {
        Class::Float(_) => is_half(d).then_some(Atomic::Float),
        Class::Fixed { order, signed, .. } => {
            bits(d)?;
            let all = Class::Fixed {
                order: *order,
                signed: *signed,
                bit_offset: 0,
                precision: u16::try_from(8 * d.size).ok()?,
            };
            atomic(&Datatype { size: d.size, class: all })
        }
        _ => None,
    }
}

/// The name of the type in the plural: "2-byte floats".
pub(crate) fn name(d: &Datatype) -> Option<String> {
    Some(widen(d)?.name())
}

fn is_half(d: &Datatype) -> bool {
    matches!(&d.class, Class::Float(f) if d.size == 2 && f.is_half())
}

/// The bits of an integer that has fewer than its bytes.
fn bits(d: &Datatype) -> Option<Bits> {
    let Class::Fixed { order, signed, bit_offset, precision } = d.class else { return None };
    let bits = Bits { size: d.size as usize, offset: bit_offset, precision, signed };
    (order != ByteOrder::Vax && bits.are_fewer()).then_some(bits)
}

/// The place of the numbers that are read, where those that are stored lie at `place`.
pub(super) fn place(store: &dyn ReadStore, place: Place, shape: &[u64], widen: Widen) -> Result<Place> {
    let size = widen.stored_size();
    Ok(match place {
        Place::Inline(bytes) => Place::Inline(widen.widened(&bytes)?.into()),
        Place::Contiguous { offset } if shape.is_empty() => {
            Place::Inline(widen.widened(&store.read_vec(offset, size as u64)?)?.into())
        }
        Place::Contiguous { .. } if shape.contains(&0) => Place::Nowhere,
        Place::Contiguous { offset } => {
            let rows = Rows::new(offset, shape, size as u64);
            let codecs = CodecChain::widened(CodecChain::none(), widen, true);
            Place::Chunked { chunk: rows.chunk.clone(), codecs, index: Arc::new(rows) }
        }
        Place::Chunked { chunk, codecs, index } => {
            Place::Chunked { chunk, codecs: CodecChain::widened(codecs, widen, false), index }
        }
        other => other,
    })
}

/// An array in one piece as chunks: some rows along one dimension, single ones along those before, all along those
/// behind.
#[derive(Debug)]
struct Rows {
    offset: u64,
    shape: Vec<u64>,
    chunk: Vec<u64>,
    /// The dimension that is cut into several rows each.
    along: usize,
    /// Bytes of one row along it.
    row: u64,
}

impl Rows {
    fn new(offset: u64, shape: &[u64], size: u64) -> Self {
        let (mut along, mut row) = (shape.len() - 1, size);
        while along > 0 && row * shape[along] <= PIECE {
            row *= shape[along];
            along -= 1;
        }
        let mut chunk = shape.to_vec();
        chunk[..along].fill(1);
        chunk[along] = (PIECE / row).clamp(1, shape[along]);
        Rows { offset, shape: shape.to_vec(), chunk, along, row }
    }

    /// Chunks along each dimension.
    fn grid(&self) -> impl Iterator<Item = u64> + '_ {
        self.shape.iter().zip(&self.chunk).map(|(&n, &c)| n.div_ceil(c))
    }
}

impl ChunkIndex for Rows {
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>> {
        if at.iter().zip(self.grid()).any(|(&i, n)| i >= n) {
            return Ok(None);
        }
        let first = at[self.along] * self.chunk[self.along];
        let before = at[..self.along].iter().zip(&self.shape).fold(0, |n, (&i, &len)| n * len + i);
        let rows = self.chunk[self.along].min(self.shape[self.along] - first);
        let offset = self.offset + (before * self.shape[self.along] + first) * self.row;
        Ok(Some(ChunkRecord { offset, len: rows * self.row, mask: 0 }))
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        let grid: Vec<_> = self.grid().map(|n| 0..n).collect();
        let all = crate::select::coordinates(&grid);
        all.map(|at| Ok(self.get(&at)?.map(|record| (at, record)))).filter_map(Result::transpose).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_cover_the_array_once() {
        for shape in [&[7][..], &[300_001], &[3, 5, 7], &[3, 400, 1000], &[2, 2, 200_000], &[1, 1]] {
            let rows = Rows::new(10, shape, 2);
            let mut end = 10;
            for (_, record) in rows.list().unwrap() {
                assert_eq!(record.offset, end, "{shape:?}");
                end += record.len;
            }
            assert_eq!(end, 10 + 2 * shape.iter().product::<u64>());
            assert_eq!(rows.get(&vec![1 << 40; shape.len()]).unwrap(), None);
        }
    }
}
