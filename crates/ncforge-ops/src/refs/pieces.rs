//! The chunk grid that all files share, and the range of bytes of each chunk.
//!
//! A Zarr array has one chunk shape and one list of codecs; every chunk is stored whole, edge chunks included. HDF5's are.
//! A contiguous variable has no chunks of its own: it is cut where both are true, every piece is one run of bytes, and all
//! pieces have the same length, the last one too.

use std::sync::Arc;

use super::codecs::{applied, numcodecs, relevant};
use super::kinds::Kind;
use super::model::Chunk;
use super::parts::Misfit;
use super::ranges::{Placed, Stored};
use crate::boxes::gcd;
use ncforge::model::{Filter, shape};
use ncforge::raw::{ChunkGrid, ChunkRecord, coordinates};
use ncforge::store::ReadStore;
use serde_json::Value;

/// Bytes of a piece of a contiguous variable, at most, where its shape allows that.
const PIECE: u64 = 16 << 20;
/// Pieces of a contiguous variable, at most.
const MOST_PIECES: u64 = 1 << 16;

/// Chunks of an array, as far as ranges of bytes say it.
#[derive(Debug)]
pub(super) struct Pieces {
    pub(super) chunk: Vec<u64>,
    /// The filters that chunks are stored with.
    pub(super) filters: Vec<Filter>,
    pub(super) codecs: Vec<Value>,
    pub(super) stored: Vec<(Vec<u64>, Chunk)>,
    /// Chunks to which other filters were applied than to the rest.
    pub(super) odd: Vec<Odd>,
}

/// A chunk that was filtered in another way than the rest.
#[derive(Debug)]
pub(super) struct Odd {
    pub(super) at: Vec<u64>,
    pub(super) file: usize,
    pub(super) store: Arc<dyn ReadStore>,
    pub(super) record: ChunkRecord,
    /// All filters of its variable.
    pub(super) filters: Vec<Filter>,
}

/// All parts of a variable, in their order.
pub(super) struct Whole<'a> {
    pub(super) parts: &'a [Placed],
    /// The shape of the variable.
    pub(super) shape: &'a [u64],
    pub(super) kind: Kind,
}

impl Whole<'_> {
    /// The chunks of all parts.
    pub(super) fn pieces(&self) -> Result<Pieces, Misfit> {
        let misfit = |part: &Placed, why: &str| Err(Misfit { file: part.file, why: why.to_owned() });
        let fill = |part: &Placed| part.kind.one_nan(&part.fill);
        if let Some((first, others)) = self.parts.split_first() {
            if let Some(other) = others.iter().find(|part| part.kind != first.kind) {
                return misfit(other, "its numbers are stored in another byte order than in other files");
            }
            let has_unwritten = self.parts.iter().any(Placed::has_unwritten);
            if let Some(other) = others.iter().find(|part| has_unwritten && fill(part) != fill(first)) {
                return misfit(other, "what was never written reads otherwise than in other files");
            }
        }
        let chunked = |part: &Placed| matches!(part.stored, Stored::Chunks { .. });
        let runs = |part: &&Placed| matches!(part.stored, Stored::Run { .. } | Stored::Records { .. });
        match (self.parts.iter().position(chunked), self.parts.iter().find(runs)) {
            (Some(_), Some(part)) => misfit(part, "it is contiguous, and chunked in other files"),
            (Some(first), None) => self.chunks(first),
            _ => Ok(self.runs()),
        }
    }

    fn chunks(&self, first: usize) -> Result<Pieces, Misfit> {
        let first = &self.parts[first];
        let Stored::Chunks { chunk, filters, .. } = &first.stored else { unreachable!("it has chunks") };
        let usual = self.usual_mask();
        let ours = applied(filters, usual);
        let bytes = shape::bytes(chunk, self.kind.size() as u64);
        let misfit = |part: &Placed, why: String| Misfit { file: part.file, why };
        let codecs = numcodecs(&ours, self.kind.size(), bytes).map_err(|why| misfit(first, why))?;
        let mut out =
            Pieces { chunk: chunk.clone(), filters: ours, codecs, stored: Vec::new(), odd: Vec::new() };
        for part in self.parts {
            let Stored::Chunks { chunk: c, filters: f, list } = &part.stored else { continue };
            if c != chunk {
                return Err(misfit(part, format!("its chunks are {c:?}, and {chunk:?} in other files")));
            }
            if applied(f, 0) != applied(filters, 0) {
                return Err(misfit(part, "its filters are not those of other files".into()));
            }
            for (at, record) in list {
                let (file, at) = (part.file, at.clone());
                match relevant(f, record.mask) == usual {
                    true => {
                        let (offset, len) = (record.offset, record.len);
                        out.stored.push((at, Chunk::Range { file, offset, len }));
                    }
                    false => {
                        let (store, filters) = (part.store.clone(), f.clone());
                        out.odd.push(Odd { at, file, store, record: *record, filters });
                    }
                }
            }
        }
        Ok(out)
    }

    /// The filter mask that most chunks have.
    fn usual_mask(&self) -> u32 {
        let mut counts: Vec<(u32, u64)> = Vec::new();
        for part in self.parts {
            let Stored::Chunks { filters, list, .. } = &part.stored else { continue };
            for (_, record) in list {
                let mask = relevant(filters, record.mask);
                match counts.iter_mut().find(|(m, _)| *m == mask) {
                    Some((_, n)) => *n += 1,
                    None => counts.push((mask, 1)),
                }
            }
        }
        counts.iter().max_by_key(|(_, n)| *n).map_or(0, |(mask, _)| *mask)
    }

    /// Contiguous variables and records, cut into pieces of equal length.
    fn runs(&self) -> Pieces {
        let chunk = self.run_chunk();
        let size = self.kind.size() as u64;
        let len = shape::bytes(&chunk, size);
        let mut stored = Vec::new();
        for Placed { file, start, count, stored: place, .. } in self.parts {
            let ranges: Vec<_> = ChunkGrid::new(count, &chunk).counts().iter().map(|&n| 0..n).collect();
            for at in coordinates(&ranges) {
                // The position of the piece's first element, in elements.
                let first = |from: usize| (from..at.len()).fold(0u64, |p, d| p * count[d] + at[d] * chunk[d]);
                let offset = match place {
                    Stored::Run { offset } => offset + first(0) * size,
                    Stored::Records { begin, stride } => begin + at[0] * stride + first(1) * size,
                    _ => continue,
                };
                let at = (0..at.len()).map(|d| at[d] + start[d] / chunk[d]).collect();
                stored.push((at, Chunk::Range { file: *file, offset, len }));
            }
        }
        Pieces { chunk, filters: Vec::new(), codecs: Vec::new(), stored, odd: Vec::new() }
    }

    /// The shape of the pieces.
    fn run_chunk(&self) -> Vec<u64> {
        let mut chunk: Vec<u64> = self.shape.iter().map(|&n| n.max(1)).collect();
        // Axes before this one are cut into steps of 1.
        let mut from = 0;
        for a in 0..chunk.len() {
            let edges = self.parts.iter().flat_map(|part| [part.start[a], part.count[a]]);
            chunk[a] = edges.fold(chunk[a], gcd);
            if self.parts.iter().any(|part| part.count[a] != chunk[a]) {
                chunk[..a].fill(1);
                from = a;
            }
        }
        if self.parts.iter().any(|part| matches!(part.stored, Stored::Records { .. })) {
            chunk[0] = 1;
            from = from.max(1);
        }
        let bytes = |c: &[u64]| shape::bytes(c, self.kind.size() as u64);
        while from < chunk.len() && bytes(&chunk) > PIECE {
            let n = chunk[from];
            let most = (PIECE / (bytes(&chunk) / n).max(1)).max(1);
            let pieces = |k: u64| {
                let mut cut = chunk.clone();
                cut[from] = k;
                ChunkGrid::new(self.shape, &cut).len()
            };
            let divisors = divisors(n);
            let fit = divisors.iter().rev().find(|&&k| k <= most && pieces(k) <= MOST_PIECES);
            let fit = fit.or_else(|| divisors.iter().find(|&&k| pieces(k) <= MOST_PIECES));
            chunk[from] = fit.copied().unwrap_or(n);
            if chunk[from] > 1 {
                break;
            }
            from += 1;
        }
        chunk
    }
}

/// The divisors of a number, in rising order.
fn divisors(n: u64) -> Vec<u64> {
    let mut small: Vec<u64> =
        (1..).take_while(|k| k * k <= n && *k <= MOST_PIECES).filter(|k| n.is_multiple_of(*k)).collect();
    let large: Vec<u64> = small.iter().rev().map(|k| n / k).filter(|k| !small.contains(k)).collect();
    small.extend(large);
    small
}
