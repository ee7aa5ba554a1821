//! The chunk grid that all files share, and the range of bytes of each chunk.
//!
//! A Zarr array has one chunk shape and one list of codecs; every chunk is stored whole, edge chunks included. HDF5's are.
//! A contiguous variable has no chunks of its own: it is cut where both are true, every piece is one run of bytes, and all
//! pieces have the same length, the last one too.

use super::codecs::{applied, numcodecs, relevant};
use super::gather::{FileVar, Stored};
use super::model::Chunk;
use ncforge::model::{Filter, shape};
use ncforge::raw::{ChunkGrid, ChunkRecord, coordinates};
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
    pub(super) record: ChunkRecord,
    /// All filters of its variable.
    pub(super) filters: Vec<Filter>,
}

/// The reason why ranges of bytes cannot express a variable.
#[derive(Debug)]
pub(super) struct Misfit {
    /// The file that is to blame.
    pub(super) file: usize,
    pub(super) why: String,
}

/// A variable of all files, and where each of them begins.
pub(super) struct Parts<'a> {
    pub(super) vars: Vec<&'a FileVar>,
    /// The joined axis.
    pub(super) axis: Option<usize>,
    /// The shape of the whole.
    pub(super) shape: Vec<u64>,
    /// Bytes of an element.
    pub(super) element: usize,
}

impl Parts<'_> {
    /// Lengths of the files along the joined axis.
    fn lens(&self) -> Vec<u64> {
        self.axis.map_or_else(Vec::new, |a| self.vars.iter().map(|v| v.shape[a]).collect())
    }

    /// The first element of a file along the joined axis.
    fn start(&self, file: usize) -> u64 {
        self.lens().iter().take(file).sum()
    }

    /// The chunks of all files.
    pub(super) fn pieces(&self) -> Result<Pieces, Misfit> {
        for (file, v) in self.vars.iter().enumerate() {
            if let Stored::Values(why) = &v.stored {
                return Err(Misfit { file, why: why.clone() });
            }
        }
        let chunked = |v: &&FileVar| matches!(v.stored, Stored::Chunks { .. });
        let runs = |v: &&FileVar| matches!(v.stored, Stored::Run { .. } | Stored::Records { .. });
        match (self.vars.iter().position(chunked), self.vars.iter().position(runs)) {
            (Some(_), Some(file)) => {
                Err(Misfit { file, why: "it is contiguous, and chunked in other files".into() })
            }
            (Some(first), None) => self.chunks(first),
            _ => Ok(self.runs()),
        }
    }

    fn chunks(&self, first: usize) -> Result<Pieces, Misfit> {
        let Stored::Chunks { chunk, filters, .. } = &self.vars[first].stored else { unreachable!() };
        let usual = self.usual_mask();
        let ours = applied(filters, usual);
        let bytes = shape::bytes(chunk, self.element as u64);
        let codecs = numcodecs(&ours, self.element, bytes).map_err(|why| Misfit { file: first, why })?;
        let mut out =
            Pieces { chunk: chunk.clone(), filters: ours, codecs, stored: Vec::new(), odd: Vec::new() };
        let mut start = 0;
        for (file, v) in self.vars.iter().enumerate() {
            let base = self.axis.map_or(0, |a| start / chunk[a]);
            if let Some(a) = self.axis {
                if start % chunk[a] != 0 {
                    let (n, c) = (self.vars[file - 1].shape[a], chunk[a]);
                    let why = format!("its {n} steps do not fill chunks of {c}, and another file follows");
                    let file = file - 1;
                    return Err(Misfit { file, why });
                }
                start += v.shape[a];
            }
            let Stored::Chunks { chunk: c, filters: f, list } = &v.stored else { continue };
            if c != chunk {
                let why = format!("its chunks are {c:?}, and {chunk:?} in other files");
                return Err(Misfit { file, why });
            }
            if applied(f, 0) != applied(filters, 0) {
                return Err(Misfit { file, why: "its filters are not those of other files".into() });
            }
            for (at, record) in list {
                let mut at = at.clone();
                if let Some(a) = self.axis {
                    at[a] += base;
                }
                match relevant(f, record.mask) == usual {
                    true => {
                        let (offset, len) = (record.offset, record.len);
                        out.stored.push((at, Chunk::Range { file, offset, len }));
                    }
                    false => out.odd.push(Odd { at, file, record: *record, filters: f.clone() }),
                }
            }
        }
        Ok(out)
    }

    /// The filter mask that most chunks have.
    fn usual_mask(&self) -> u32 {
        let mut counts: Vec<(u32, u64)> = Vec::new();
        for v in &self.vars {
            let Stored::Chunks { filters, list, .. } = &v.stored else { continue };
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
        let mut out = Pieces {
            chunk: chunk.clone(),
            filters: Vec::new(),
            codecs: Vec::new(),
            stored: Vec::new(),
            odd: Vec::new(),
        };
        let len = chunk.iter().product::<u64>() * self.element as u64;
        for (file, v) in self.vars.iter().enumerate().filter(|(_, v)| !v.shape.contains(&0)) {
            let grid = ChunkGrid::new(&v.shape, &chunk);
            let base = self.axis.map_or(0, |a| self.start(file) / chunk[a]);
            let ranges: Vec<_> = grid.counts().iter().map(|&n| 0..n).collect();
            for mut at in coordinates(&ranges) {
                // The position of the piece's first element, in elements.
                let first =
                    |from: usize| (from..at.len()).fold(0u64, |p, d| p * v.shape[d] + at[d] * chunk[d]);
                let offset = match v.stored {
                    Stored::Run { offset } => offset + first(0) * self.element as u64,
                    Stored::Records { begin, stride } => {
                        begin + at[0] * stride + first(1) * self.element as u64
                    }
                    _ => continue,
                };
                if let Some(a) = self.axis {
                    at[a] += base;
                }
                out.stored.push((at, Chunk::Range { file, offset, len }));
            }
        }
        out
    }

    /// The shape of the pieces.
    fn run_chunk(&self) -> Vec<u64> {
        let mut chunk: Vec<u64> = self.shape.iter().map(|&n| n.max(1)).collect();
        // Axes before this one are cut into steps of 1.
        let mut from = 0;
        let lens = self.lens();
        if let Some(a) = self.axis {
            chunk[a] = lens.iter().fold(0, |g, &n| gcd(g, n)).max(1);
            if lens.iter().any(|&n| n != chunk[a]) {
                chunk[..a].fill(1);
                from = a;
            }
        }
        if self.vars.iter().any(|v| matches!(v.stored, Stored::Records { .. })) {
            chunk[0] = 1;
            from = from.max(1);
        }
        let bytes = |c: &[u64]| shape::bytes(c, self.element as u64);
        while from < chunk.len() && bytes(&chunk) > PIECE {
            let n = chunk[from];
            let most = (PIECE / (bytes(&chunk) / n).max(1)).max(1);
            let pieces = |k: u64| {
                let mut cut = chunk.clone();
                cut[from] = k;
                ChunkGrid::new(&self.shape, &cut).len()
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

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The divisors of a number, in rising order.
fn divisors(n: u64) -> Vec<u64> {
    let mut small: Vec<u64> =
        (1..).take_while(|k| k * k <= n && *k <= MOST_PIECES).filter(|k| n.is_multiple_of(*k)).collect();
    let large: Vec<u64> = small.iter().rev().map(|k| n / k).filter(|k| !small.contains(k)).collect();
    small.extend(large);
    small
}
