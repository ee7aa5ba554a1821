//! The values: every element knows its place, so that a slip of any kind is seen.
//!
//! A value depends on the element's index in the whole array (row-major) and on nothing else: two ranks,
//! two time steps, two engines differ, and what was read back can be checked element by element without
//! keeping what was written. Buffers are poisoned before a read: a library that reads nothing is found out.

use std::path::PathBuf;
use std::sync::Arc;

use ncforge::{Atomic, Hyperslab};
use serde::{Deserialize, Serialize};

use super::sample::Sample;
use crate::driver::Rounding;
use crate::stats::{GOLDEN, mix};

/// The kind of values. It shows in sizes and times of compressed files, so it is chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// All bits of a hash of the index: cannot be compressed.
    Hash,
    /// A smooth field with hashed low bits, as model output is: compresses to about a half.
    Field,
    /// One value everywhere: what a codec makes of nothing. Slips cannot be seen in it.
    Constant,
    /// The element's index.
    Ramp,
    /// This percentage of the values is zero, in runs of 16, and the others are hashed: compresses to about the rest.
    Compressible(u8),
    /// The cell values of NetCDF-Bench, `100·t + rank + x + 10·y + 1` with t, x, y counted within the block. Very
    /// compressible; slips between time steps cannot be seen in it.
    NetcdfBench,
    /// The values of a variable of a file, again and again: as compressible as real data, and checked as exactly as
    /// the others.
    Sample {
        /// The file.
        path: PathBuf,
        /// The variable's path in it.
        variable: String,
    },
}

impl std::str::FromStr for Content {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            None if text == "hash" => Ok(Content::Hash),
            None if text == "field" => Ok(Content::Field),
            None if text == "constant" => Ok(Content::Constant),
            None if text == "ramp" => Ok(Content::Ramp),
            None if text == "netcdf-bench" => Ok(Content::NetcdfBench),
            Some(("compressible", n)) => n
                .trim_end_matches('%')
                .parse()
                .ok()
                .filter(|n| *n <= 100)
                .map(Content::Compressible)
                .ok_or_else(|| format!("`{n}` is no percentage, as in compressible=30")),
            Some(("sample", of)) => match of.rsplit_once(':') {
                Some((path, variable)) if !path.is_empty() && !variable.is_empty() => {
                    Ok(Content::Sample { path: path.into(), variable: variable.to_owned() })
                }
                _ => Err(format!("`{of}` names no file and variable, as in sample=ocean.nc:sst")),
            },
            _ => Err(format!(
                "no content `{text}`: hash, field, constant, ramp, compressible=PERCENT, sample=FILE:VARIABLE or netcdf-bench"
            )),
        }
    }
}

/// The description of values.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    /// Their kind.
    pub content: Content,
    /// Their type.
    pub dtype: Atomic,
    /// The whole variable.
    pub shape: Vec<u64>,
    /// The values that [`Content::Sample`] repeats.
    pub sample: Option<Arc<Sample>>,
}

/// The filling of a buffer before a read: no value of it is likely to be right.
pub(super) const POISON: u8 = 0xA5;

/// An element that was not what it should be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mismatch {
    /// Its index in the whole variable.
    pub at: Vec<u64>,
    /// The expected value.
    pub expected: String,
    /// The value that was read.
    pub found: String,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// Elements that were compared.
    pub checked: u64,
    /// Elements that were wrong.
    pub wrong: u64,
    /// The first of them, by index.
    pub first: Vec<Mismatch>,
}

/// The number of wrong elements that are described.
const DESCRIBED: usize = 5;

impl Verdict {
    /// Adds what another rank, or another block, found.
    pub fn add(&mut self, other: &Verdict) {
        self.checked += other.checked;
        self.wrong += other.wrong;
        self.first.extend(other.first.iter().cloned());
        self.first.sort_by(|a, b| a.at.cmp(&b.at));
        self.first.truncate(DESCRIBED);
    }
}

/// The seed of the hash.
const SEED: u64 = 1;

/// The hash of an element's index.
#[inline]
fn hashed(index: u64) -> u64 {
    mix(SEED.wrapping_add(index.wrapping_mul(GOLDEN)))
}

impl Values {
    /// Fills `out` with the values of a block: native byte order, row-major. `rank` matters to
    /// [`Content::NetcdfBench`] only.
    ///
    /// # Panics
    /// When `out` is not as long as the block has bytes, or the slab has other dimensions than the array.
    pub(crate) fn fill(&self, slab: &Hyperslab, rank: u64, out: &mut [u8]) {
        let size = self.dtype.size();
        assert_eq!(out.len() as u64, slab.len() * size as u64);
        if let Some(sample) = &self.sample {
            return sample.fill(&self.shape, slab, out);
        }
        match self.dtype {
            Atomic::Byte | Atomic::UByte | Atomic::Char => self.rows(slab, rank, out, |v| [v as u8]),
            Atomic::Short | Atomic::UShort => self.rows(slab, rank, out, |v| (v as u16).to_ne_bytes()),
            Atomic::Int | Atomic::UInt => self.rows(slab, rank, out, |v| (v as u32).to_ne_bytes()),
            Atomic::Int64 | Atomic::UInt64 => self.rows(slab, rank, out, u64::to_ne_bytes),
            // Numbers that are exact: 23 and 52 bits, so that no NaN and no rounding is among them.
            Atomic::Float => self.rows(slab, rank, out, |v| ((v & 0x7F_FFFF) as f32).to_ne_bytes()),
            Atomic::Double => self.rows(slab, rank, out, |v| ((v & ((1 << 52) - 1)) as f64).to_ne_bytes()),
        }
    }

    fn rows<const N: usize>(
        &self,
        slab: &Hyperslab,
        rank: u64,
        out: &mut [u8],
        encode: impl Fn(u64) -> [u8; N],
    ) {
        let dims = self.shape.len();
        let width = slab.count[dims - 1];
        let (cells, _) = out.as_chunks_mut::<N>();
        let outer: Vec<_> = slab.count[..dims - 1].iter().map(|&c| 0..c).collect();
        for (row, at) in cells.chunks_mut(width.max(1) as usize).zip(ncforge::raw::coordinates(&outer)) {
            let index = (0..dims - 1).fold(0u64, |i, d| i * self.shape[d] + slab.start[d] + at[d]);
            let index = index * self.shape[dims - 1] + slab.start[dims - 1];
            match &self.content {
                Content::Hash => {
                    for (cell, i) in row.iter_mut().zip(index..) {
                        *cell = encode(hashed(i));
                    }
                }
                Content::Field => {
                    // A wave along every dimension but the last, and a slope along that; the low eight bits are hashed.
                    let wave: i64 = at
                        .iter()
                        .zip(&slab.start)
                        .enumerate()
                        .map(|(d, (a, s))| triangle(a + s, 37 + 12 * d as u64))
                        .sum();
                    for (cell, i) in row.iter_mut().zip(0u64..) {
                        let along = triangle(slab.start[dims - 1] + i, 211);
                        let noise = hashed(index + i) & 0xFF;
                        *cell = encode(((wave * 64 + along * 32 + 65536) as u64) << 6 ^ noise);
                    }
                }
                // Without a sample there is nothing to repeat; `fill` asks it first.
                Content::Sample { .. } => row.fill(encode(0)),
                Content::Constant => row.fill(encode(mix(SEED))),
                Content::Ramp => row.iter_mut().zip(index..).for_each(|(cell, i)| *cell = encode(i)),
                Content::Compressible(share) => {
                    for (cell, i) in row.iter_mut().zip(index..) {
                        let run = hashed(i / 16);
                        let zero = run % 100 < u64::from(*share);
                        let value = hashed(i);
                        *cell = encode(if zero { 0 } else { value });
                    }
                }
                Content::NetcdfBench => {
                    let local = |d: usize| at.get(d).copied().unwrap_or(0);
                    let value = 100 * local(0) + rank + local(1) + 10 * local(2) + 1;
                    row.fill(encode(value));
                }
            }
        }
    }

    /// The values as a file has them: without the bits that were lost on their way there.
    pub(super) fn stored(&self, slab: &Hyperslab, rank: u64, rounding: Option<Rounding>, out: &mut [u8]) {
        self.fill(slab, rank, out);
        if let Some(Rounding(how)) = rounding {
            how.apply(self.dtype, out, &self.dtype.default_fill());
        }
    }

    /// Compares what was read with what it should be, every element: where values lost bits on their way to the file, with what
    /// is left of them. `expected` is memory for a block.
    pub(super) fn check(
        &self,
        slab: &Hyperslab,
        rank: u64,
        rounding: Option<Rounding>,
        got: &[u8],
        expected: &mut Vec<u8>,
    ) -> Verdict {
        expected.resize(got.len(), 0);
        self.stored(slab, rank, rounding, expected);
        let size = self.dtype.size();
        let mut verdict = Verdict { checked: slab.len(), ..Verdict::default() };
        if got == expected.as_slice() {
            return verdict;
        }
        for (i, (g, e)) in got.chunks_exact(size).zip(expected.chunks_exact(size)).enumerate() {
            if g == e {
                continue;
            }
            verdict.wrong += 1;
            if verdict.first.len() < DESCRIBED {
                let mut at = slab.start.clone();
                let mut rest = i as u64;
                for d in (0..at.len()).rev() {
                    at[d] += rest % slab.count[d];
                    rest /= slab.count[d];
                }
                verdict.first.push(Mismatch {
                    at,
                    expected: shown(self.dtype, e),
                    found: shown(self.dtype, g),
                });
            }
        }
        verdict
    }
}

/// A triangle wave of this period, about 0 … 255.
fn triangle(i: u64, period: u64) -> i64 {
    let at = i % (2 * period);
    let up = at.min(2 * period - at);
    (up * 255 / period) as i64
}

/// A value as text.
fn shown(dtype: Atomic, bytes: &[u8]) -> String {
    macro_rules! text {
        ($($kind:ident => $t:ty),*) => {
            match dtype { $(Atomic::$kind => bytes.try_into().map(|b| <$t>::from_ne_bytes(b).to_string()),)* }
        };
    }
    text!(Byte => i8, Char => u8, UByte => u8, Short => i16, UShort => u16, Int => i32, UInt => u32,
          Int64 => i64, UInt64 => u64, Float => f32, Double => f64)
    .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(content: Content, dtype: Atomic) -> Values {
        Values { content, dtype, shape: vec![4, 6, 10], sample: None }
    }

    #[test]
    fn a_value_depends_on_its_place_and_not_on_the_block() {
        for content in
            [Content::Hash, Content::Field, Content::Ramp, Content::Compressible(40), Content::Constant]
        {
            for dtype in Atomic::ALL {
                let v = values(content.clone(), dtype);
                let size = dtype.size();
                let mut all = vec![0; 240 * size];
                v.fill(&Hyperslab::all(&[4, 6, 10]), 0, &mut all);
                let slab = Hyperslab::new(&[2, 3, 4], &[1, 2, 5]);
                let mut part = vec![0; 10 * size];
                v.fill(&slab, 3, &mut part);
                for (i, cell) in part.chunks(size).enumerate() {
                    let at = (2 * 6 + 3 + i / 5) * 10 + 4 + i % 5;
                    assert_eq!(cell, &all[at * size..][..size], "{content:?} {dtype:?}");
                }
            }
        }
    }

    #[test]
    fn one_wrong_bit_is_found_and_placed() {
        let v = values(Content::Hash, Atomic::Int);
        let slab = Hyperslab::new(&[1, 2, 0], &[2, 2, 10]);
        let mut got = vec![0; 160];
        v.fill(&slab, 0, &mut got);
        let mut buffer = Vec::new();
        assert_eq!(v.check(&slab, 0, None, &got, &mut buffer), Verdict { checked: 40, ..Verdict::default() });
        got[33 * 4] ^= 1;
        let verdict = v.check(&slab, 0, None, &got, &mut buffer);
        assert_eq!((verdict.wrong, verdict.first[0].at.clone()), (1, vec![2, 3, 3]));
        let poisoned = vec![POISON; 160];
        assert_eq!(v.check(&slab, 0, None, &poisoned, &mut buffer).wrong, 40);
    }

    #[test]
    fn neighbours_and_time_steps_differ() {
        let v = values(Content::Hash, Atomic::Int);
        let mut all = vec![0; 960];
        v.fill(&Hyperslab::all(&[4, 6, 10]), 0, &mut all);
        let distinct: std::collections::BTreeSet<&[u8]> = all.chunks(4).collect();
        assert_eq!(distinct.len(), 240);
    }

    #[test]
    fn the_cells_of_netcdf_bench() {
        let v = Values { shape: vec![4, 6, 10, 2], ..values(Content::NetcdfBench, Atomic::Int) };
        let mut out = vec![0; 2 * 2 * 3 * 2 * 4];
        v.fill(&Hyperslab::new(&[2, 2, 3, 0], &[2, 2, 3, 2]), 5, &mut out);
        let cells: Vec<i32> = out.chunks(4).map(|c| i32::from_ne_bytes(c.try_into().unwrap())).collect();
        assert_eq!(&cells[..6], [6, 6, 16, 16, 26, 26]);
        assert_eq!(cells[6], 7);
        assert_eq!(cells[12], 106);
    }
}
