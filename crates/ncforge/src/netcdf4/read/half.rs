//! Two-byte floats, which netCDF has not: they are read as floats of four bytes.
//!
//! HDF5 holds them (h5py's `float16`), and h5netcdf reads them. Every value is a float, so nothing is lost. They are
//! widened behind their filters ([`CodecChain::widened`]); where they lie in one piece, that piece is taken for chunks
//! of whole rows. Files that hold such numbers are not changed in place.

use std::sync::Arc;

use crate::codec::CodecChain;
use crate::codec::widen::Widen;
use crate::error::Result;
use crate::hdf5::datatype::{ByteOrder, Class, Datatype};
use crate::layout::{ChunkIndex, ChunkRecord, Place};
use crate::store::ReadStore;

/// Bytes that are widened at once, about.
const PIECE: u64 = 256 << 10;

/// How the numbers of a datatype are read, if it is one of two-byte floats.
pub(crate) fn widen(d: &Datatype) -> Option<Widen> {
    match &d.class {
        Class::Float(f) if d.size == 2 && f.is_half() => {
            Some(Widen::new(f.order == ByteOrder::Big, |bits| f.half(bits)))
        }
        _ => None,
    }
}

/// Whether a datatype is one of two-byte floats.
pub(crate) fn is_half(d: &Datatype) -> bool {
    matches!(&d.class, Class::Float(f) if d.size == 2 && f.is_half())
}

/// The place of floats where two-byte ones lie at `place`.
pub(super) fn place(store: &dyn ReadStore, place: Place, shape: &[u64], widen: Widen) -> Result<Place> {
    Ok(match place {
        Place::Inline(bytes) => Place::Inline(widen.widened(&bytes)?.into()),
        Place::Contiguous { offset } if shape.is_empty() => {
            Place::Inline(widen.widened(&store.read_vec(offset, 2)?)?.into())
        }
        Place::Contiguous { .. } if shape.contains(&0) => Place::Nowhere,
        Place::Contiguous { offset } => {
            let rows = Rows::new(offset, shape);
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
    fn new(offset: u64, shape: &[u64]) -> Self {
        let (mut along, mut row) = (shape.len() - 1, 2);
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
            let rows = Rows::new(10, shape);
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
