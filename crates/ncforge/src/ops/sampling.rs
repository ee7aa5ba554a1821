//! How well and how fast a variable's data are coded, measured on a few small parts of it.
//!
//! Parts of two sizes, at places spread over the variable, are encoded and decoded. Of each size the stored bytes
//! give `stored(bytes) = fraction · bytes + per_chunk`, the straight line through both; the larger gives the rate of
//! the decoder. So the price of small chunks (code tables, lost matches) is that of these data.

use std::time::Instant;

use crate::codec::CodecChain;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::layout::{Place, VarLayout};
use crate::model::{Filter, Values, VarId};
use crate::select::Hyperslab;
use crate::tune::{Coding, Grid, Machine, Pattern};

/// Bytes of a large and of a small part.
const SIZES: [u64; 2] = [512 << 10, 16 << 10];
/// Parts of each size, at most.
const PARTS: [u64; 2] = [4, 16];
/// Decodings of which the fastest counts.
const TIMES: usize = 3;

/// What a sample of a variable says.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    /// Sizes and rates with the filters that were tried.
    pub coding: Coding,
    /// Rate of encoding on one thread, bytes of values a second.
    pub encode: f64,
    /// Bytes of values that were looked at.
    pub bytes: u64,
}

/// Encodes and decodes parts of a variable with `filters`. Reads (and decodes, where source chunks must be taken
/// whole) at most about `limit` bytes. `None` where there is nothing to learn: no filters, no fixed-size values,
/// no values, or source chunks larger than the limit.
pub fn sample(dataset: &Dataset, var: VarId, filters: &[Filter], limit: u64) -> Result<Option<Sampled>> {
    let layout = dataset.container().layout(var)?;
    if filters.is_empty() || layout.element.heap || layout.shape.is_empty() || layout.shape.contains(&0) {
        return Ok(None);
    }
    let chain = CodecChain::new(filters, layout.element.size)?;
    let mut budget = limit;
    let mut found = [Found::default(); 2];
    for (size, (parts, found)) in SIZES.iter().zip(PARTS.iter().zip(&mut found)) {
        let shape = part_shape(&layout.shape, layout.element.size as u64, *size);
        let price = decoded(&layout, &shape);
        for i in 0..*parts {
            if price > budget {
                break;
            }
            budget -= price;
            let start: Vec<u64> =
                layout.shape.iter().zip(&shape).enumerate().map(|(d, (n, c))| place(i, d, n - c)).collect();
            let Values::Fixed(bytes) = dataset.read(var, &Hyperslab::new(&start, &shape))? else {
                return Ok(None);
            };
            found.add(&chain, &bytes)?;
        }
    }
    let [large, small] = found;
    if large.raw == 0 && small.raw == 0 {
        return Ok(None);
    }
    let best = if large.raw > 0 { large } else { small };
    let mean = |f: &Found| (f.raw as f64 / f.parts as f64, f.stored as f64 / f.parts as f64);
    let (fraction, per_chunk) = match (large.raw > 0, small.raw > 0) {
        (true, true) => {
            let ((x1, y1), (x0, y0)) = (mean(&large), mean(&small));
            let slope = if x1 > x0 { (y1 - y0) / (x1 - x0) } else { y1 / x1 };
            let slope = slope.clamp(0.0, y1 / x1);
            (slope, (y0 - slope * x0).clamp(0.0, x0))
        }
        _ => (best.stored as f64 / best.raw as f64, Coding::deflate(1).per_chunk),
    };
    Ok(Some(Sampled {
        coding: Coding {
            filtered: true,
            fraction,
            per_chunk,
            decode: best.raw as f64 / best.decode.max(1e-9),
        },
        encode: best.raw as f64 / best.encode.max(1e-9),
        bytes: large.raw + small.raw,
    }))
}

#[derive(Clone, Copy, Default)]
struct Found {
    parts: u64,
    raw: u64,
    stored: u64,
    encode: f64,
    decode: f64,
}

impl Found {
    fn add(&mut self, chain: &CodecChain, bytes: &[u8]) -> Result<()> {
        let begun = Instant::now();
        let (encoded, mask) = chain.encode(bytes)?;
        self.encode += begun.elapsed().as_secs_f64();
        let mut out = vec![0; bytes.len()];
        let mut best = f64::INFINITY;
        for _ in 0..TIMES {
            let begun = Instant::now();
            chain.decode(&encoded, mask, &mut out)?;
            best = best.min(begun.elapsed().as_secs_f64());
        }
        self.decode += best;
        self.parts += 1;
        self.raw += bytes.len() as u64;
        self.stored += encoded.len() as u64;
        Ok(())
    }
}

/// A box of about `bytes`, with the proportions of the array.
fn part_shape(shape: &[u64], element: u64, bytes: u64) -> Vec<u64> {
    let wanted = (bytes / element.max(1)).max(1);
    let mut part: Vec<u64> = shape.to_vec();
    // Halving the longest side in proportion keeps the box similar to the array until sides are down to 1.
    let total: f64 = shape.iter().map(|&n| n as f64).product();
    let scale = (wanted as f64 / total).min(1.0).powf(1.0 / shape.len() as f64);
    for (p, &n) in part.iter_mut().zip(shape) {
        *p = ((n as f64 * scale).round() as u64).clamp(1, n);
    }
    // What rounding took away goes to the fastest axes.
    for d in (0..part.len()).rev() {
        let volume = part.iter().fold(1u64, |a, &b| a.saturating_mul(b));
        if volume < wanted {
            part[d] = (part[d].saturating_mul(wanted / volume.max(1))).clamp(part[d], shape[d]);
        }
    }
    part
}

/// A start below or at `most`, spread over the range for different parts, the same in every run.
fn place(part: u64, axis: usize, most: u64) -> u64 {
    // Multiples of the golden ratio's fraction fill an interval evenly, however many are taken.
    let turn = (part as f64 + 0.5) * 0.618_033_988_749_895 * (axis as f64 * 0.7 + 1.0);
    ((turn - turn.floor()) * (most as f64 + 1.0)).min(most as f64) as u64
}

/// Bytes that must be decoded (or read) for a box of the variable.
fn decoded(layout: &VarLayout, shape: &[u64]) -> u64 {
    let element = layout.element.size as u64;
    let (chunk, coding) = match &layout.place {
        Place::Chunked { chunk, codecs, .. } if !codecs.is_empty() => (Some(&chunk[..]), Coding::deflate(1)),
        _ => (None, Coding::none()),
    };
    let grid = Grid { lens: &layout.shape, chunk, element, coding };
    let pattern = Pattern { name: String::new(), counts: shape.to_vec(), weight: 1.0 };
    let cost = grid.read(&pattern, &Machine::default());
    cost.decoded.max(cost.fetched).max(1.0) as u64
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::codec::filters;
    use crate::dataset::{CreateOptions, DatasetMut};
    use crate::engine::Engine;
    use crate::model::{Atomic, DimId, Dimension, Format, GroupId, Schema, Variable};
    use crate::store::MemoryStore;

    fn field(values: impl Fn(usize) -> f32) -> (Dataset, VarId) {
        let mut schema = Schema::new(Format::Cdf5);
        for (name, len) in [("t", 20), ("y", 90), ("x", 180)] {
            schema.dims.push(Dimension { name: name.into(), group: GroupId(0), len, unlimited: false });
        }
        schema.vars.push(Variable::new("v", Atomic::Float, vec![DimId(0), DimId(1), DimId(2)]));
        let store: Arc<dyn crate::store::Store> = Arc::new(MemoryStore::new("m", Vec::new()));
        let mut file = DatasetMut::create_in(Arc::clone(&store), schema, CreateOptions::default()).unwrap();
        let bytes: Vec<u8> = (0..20 * 90 * 180).flat_map(|i| values(i).to_ne_bytes()).collect();
        file.write_bytes(VarId(0), &Hyperslab::all(&[20, 90, 180]), &bytes).unwrap();
        file.close().unwrap();
        (Dataset::from_store(store, &Engine::global()).unwrap(), VarId(0))
    }

    #[test]
    fn smooth_data_compress_and_noise_does_not() {
        let chain = [filters::shuffle(4), filters::deflate(1)];
        let (smooth, v) = field(|i| (i / 180) as f32);
        let got = sample(&smooth, v, &chain, 64 << 20).unwrap().unwrap();
        assert!(got.coding.fraction < 0.2 && got.coding.decode > 0.0, "{got:?}");
        let (noise, v) = field(|i| {
            let z = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            f32::from_bits((z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) as u32)
        });
        let got = sample(&noise, v, &chain, 64 << 20).unwrap().unwrap();
        assert!(got.coding.fraction > 0.5, "{got:?}");
        assert!(sample(&noise, v, &[], 64 << 20).unwrap().is_none());
        assert!(sample(&noise, v, &chain, 10).unwrap().is_none());
    }

    #[test]
    fn parts_lie_inside() {
        for shape in [&[1u64][..], &[7, 5000, 3], &[1 << 40], &[1, 1, 1, 99], &[3, 100_000]] {
            for bytes in SIZES {
                let part = part_shape(shape, 4, bytes);
                for i in 0..20 {
                    for (d, (p, n)) in part.iter().zip(shape).enumerate() {
                        assert!(*p >= 1 && place(i, d, n - p) + p <= *n);
                    }
                }
            }
        }
    }
}
