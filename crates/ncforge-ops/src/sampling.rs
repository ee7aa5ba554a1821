//! How well and how fast a variable's data are coded, measured on a few small parts of it.
//!
//! A few boxes, at places spread over the variable, are read; boxes of five sizes are cut out of them, encoded and
//! decoded. The stored bytes of the middle sizes give `stored(bytes) = fraction · bytes + per_chunk`, the straight
//! line through both, so that the price of small chunks (code tables, lost matches) is that of these data; every size
//! gives the rate of the decoder for chunks like it.
//!
//! Sizes are the same in every run, timed rates are not: what must be reproducible uses [`Sampled::sized`], whose rates
//! follow from what the streams are made of ([`Work`](ncforge::codec::deflate::Work)). Bytes that are stored decode ten times as fast as those that
//! have a code each, and fields differ just in how many of each they have.

mod found;
mod parts;
mod places;
mod threads;

use self::found::{Cuts, Found};
pub(crate) use self::found::{Encoded, encode};
pub(crate) use self::parts::{Budget, PartLimits, parts_of};
pub(crate) use self::places::Limit;
use self::places::{
    LARGE, SMALL, cut, decoded, group, neighbours, nth, padded, part_shape, place, sampled_box, shortened,
};
use ncforge::codec::CodecChain;
use ncforge::model::{Filter, Values, VarId, shape};
use ncforge::raw::VarLayout;
use ncforge::{Dataset, Hyperslab, Result};
use ncforge_tune::Coding;
use ncforge_tune::coding::SIZES;

/// Boxes that are read, at most.
const BOXES: u64 = 8;
/// No part of a shape costs more than the limit divided by this.
const FEW: u64 = 4;
/// Parts that are cut out of each, of every size.
const PARTS: [u64; SIZES.len()] = [2, 2, 1, 1, 1];
/// Parts that are sampled for one shape of chunks, at least and (where they are small) at most, and how large they are at
/// most. Few parts miss what fields are made of: land and sea, and chunks that are cut off at the end of an axis, decode at rates
/// up to ten times apart.
const CHUNKS: (u64, u64) = (8, 128);
const CHUNK: u64 = 1 << 20;

/// The result of sampling a variable.
#[derive(Clone, Copy, Debug)]
pub struct Sampled {
    /// Sizes and rates with the filters that were tried, timed unless that was too little to time.
    pub coding: Coding,
    /// Sizes as in [`Sampled::coding`], and rates that follow from what was written (where it was not deflate after a shuffle: the usual
    /// ones): equal in every run.
    pub sized: Coding,
    /// Bytes of values that were sampled.
    pub bytes: u64,
    /// Bytes that were read and decoded for that.
    pub read: u64,
}

/// Encodes and decodes parts of a variable with `filters`. Reads (and decodes, where source chunks must be taken
/// whole) at most about `limit` bytes. `None` where there is nothing to learn: no filters, no fixed-size values,
/// no values, or source chunks larger than the limit.
pub fn sample(dataset: &Dataset, var: VarId, filters: &[Filter], limit: u64) -> Result<Option<Sampled>> {
    sample_of(dataset, var, filters, Limit { encoded: limit, read: limit })
}

/// Decoding is timed where this many bytes may be read: less is too little to tell, and not worth the time.
const TIMED: u64 = 1 << 20;

/// As [`sample`], for any source.
pub(crate) fn sample_of(
    dataset: &Dataset,
    var: VarId,
    filters: &[Filter],
    limit: Limit,
) -> Result<Option<Sampled>> {
    let layout = dataset.layout(var)?;
    if filters.is_empty() || layout.element.heap || layout.shape.is_empty() || layout.shape.contains(&0) {
        return Ok(None);
    }
    let element = layout.element.size;
    let chain = CodecChain::new(filters, element)?;
    let timed = limit.encoded >= TIMED;
    let mut budget = limit.read;
    let each = (limit.encoded / BOXES).max(SIZES[SMALL]);
    let mut found: [Found; SIZES.len()] = Default::default();
    let mut cuts = Cuts::default();
    for i in 0..BOXES {
        // The first is large enough to tell what access points cost.
        let encoded = if i == 0 { each.max(limit.encoded) } else { each };
        let Some(slab) = sampled_box(&layout, i, Limit { encoded: encoded.min(budget), read: budget }) else {
            break;
        };
        budget = budget.saturating_sub(decoded(&layout, &slab));
        let Values::Fixed(bytes) = dataset.read(var, &slab)? else { return Ok(None) };
        let largest = part_shape(&slab.count, element as u64, SIZES[SIZES.len() - 1]);
        cuts.add(&chain, &cut(&bytes, &slab.count, &vec![0; largest.len()], &largest, element), element)?;
        let mut last = 0;
        for (size, (parts, found)) in SIZES.iter().zip(PARTS.iter().zip(&mut found)) {
            let shape = part_shape(&slab.count, element as u64, *size);
            let len = shape.iter().product::<u64>();
            // A box may be too small for the larger sizes.
            if len == last {
                break;
            }
            last = len;
            for part in 0..*parts {
                let start: Vec<u64> = slab
                    .count
                    .iter()
                    .zip(&shape)
                    .enumerate()
                    .map(|(d, (n, c))| place(part, d, n - c))
                    .collect();
                found.add(&chain, &cut(&bytes, &slab.count, &start, &shape, element), timed)?;
            }
        }
    }
    let read = limit.read - budget;
    if timed {
        for found in &mut found {
            found.time(&chain, None)?;
        }
    }
    let summed = summary(&found, cuts, filters).map(|s| Sampled { read, ..s });
    Ok(summed.map(|s| if timed { s } else { Sampled { coding: s.sized, ..s } }))
}

/// Encodes and decodes parts of a variable as if they were chunks of these lengths. The neighbours in a chunk decide
/// how it is coded (a row that is longer by one element may be coded otherwise), so that shapes are judged best by just
/// such parts: the rates hold for chunks of this size, and so does what several threads are worth ([`Coding::gain`]), where the
/// dataset's engine has them. Of chunks larger than 1 MiB, or a quarter of `limit`, the rows at their beginning.
/// Reads (and decodes) about `limit` bytes at most. `None` as with [`sample`].
///
/// # Errors
/// As reading.
pub fn sample_chunk(
    dataset: &Dataset,
    var: VarId,
    filters: &[Filter],
    chunk: &[u64],
    limit: u64,
) -> Result<Option<Sampled>> {
    sample_chunks(dataset, var, filters, chunk, Limit { encoded: limit, read: limit }, true)
}

/// As [`sample_chunk`], for any source, without timing what can be counted: there [`Sampled::coding`] is [`Sampled::sized`].
pub(crate) fn sample_chunk_of(
    dataset: &Dataset,
    var: VarId,
    filters: &[Filter],
    chunk: &[u64],
    limit: Limit,
) -> Result<Option<Sampled>> {
    sample_chunks(dataset, var, filters, chunk, limit, false)
}

fn sample_chunks(
    dataset: &Dataset,
    var: VarId,
    filters: &[Filter],
    chunk: &[u64],
    limit: Limit,
    timed: bool,
) -> Result<Option<Sampled>> {
    let layout = dataset.layout(var)?;
    let same_rank = layout.shape.len() == chunk.len();
    if filters.is_empty() || layout.element.heap || !same_rank || layout.shape.contains(&0) {
        return Ok(None);
    }
    let element = layout.element.size;
    let chain = CodecChain::new(filters, element)?;
    let whole: Vec<u64> = layout.shape.iter().zip(chunk).map(|(&n, &c)| c.clamp(1, n)).collect();
    let shape = affordable(&layout, &whole, limit);
    // Chunks that lie in the array, and those that its end cuts off.
    let (mut found, mut edge) = (Found::default(), Found::default());
    let mut budget = limit.read;
    let size = shape::bytes(&shape, element as u64);
    let all = shape::product(layout.shape.iter().zip(&shape).map(|(d, c)| d.div_ceil(*c)));
    let parts = (limit.encoded / size.max(1)).clamp(CHUNKS.0, CHUNKS.1).min(all);
    let together = neighbours(&layout, &shape, &whole, parts.div_ceil(FEW));
    let alone = decoded(&layout, &Hyperslab::new(&vec![0; shape.len()], &shape));
    let every = shape == whole && parts == all && alone.saturating_mul(all) <= limit.read;
    for i in 0..parts {
        let (slab, chunks) = match every {
            // Of few chunks, none is met twice or never.
            true => (nth(i, &layout.shape, &shape), vec![vec![0; shape.len()]]),
            false => group(i, &layout.shape, &shape, &whole, &together),
        };
        let needed = decoded(&layout, &slab);
        let bytes = size.saturating_mul(chunks.len() as u64);
        let (raw, had) = (found.raw + edge.raw, found.parts + edge.parts);
        let enough = raw + bytes > limit.encoded || had + chunks.len() as u64 > parts;
        if needed > budget || had > 0 && enough {
            break;
        }
        budget -= needed;
        let Values::Fixed(values) = dataset.read(var, &slab)? else { return Ok(None) };
        for at in chunks {
            let count: Vec<u64> =
                at.iter().zip(&shape).zip(&slab.count).map(|((s, c), n)| *c.min(&(n - s))).collect();
            let own = cut(&values, &slab.count, &at, &count, element);
            match count == shape {
                true => found.add(&chain, &own, timed)?,
                false => edge.add(&chain, &padded(&own, &count, &shape, &layout)?, timed)?,
            }
        }
    }
    if found.parts + edge.parts == 0 {
        return Ok(None);
    }
    let threads = timed.then(|| dataset.engine().threads());
    found.time(&chain, threads)?;
    edge.time(&chain, threads.filter(|_| found.parts == 0))?;
    let gain = found.gain.or(edge.gain);
    // By work, and by the clock.
    let slower = |seconds: fn(&Found) -> f64| match found.parts.min(edge.parts) {
        0 => 1.0,
        _ => edge.per_byte(seconds) / found.per_byte(seconds),
    };
    let edges = (slower(Found::counted_seconds), slower(|f| f.decode));
    found.join(&edge);
    let written = Coding::written(filters);
    let usual = Coding {
        filtered: true,
        fraction: found.stored as f64 / found.raw as f64,
        per_chunk: 0.0,
        // Whole chunks tell whether there will be access points; of larger ones, nobody knows.
        points: written.points.filter(|_| shape != whole || found.cut > 0),
        ..written
    };
    let raw = found.raw as f64;
    let counted = found.counted == found.parts;
    let usual = if counted { Coding { zlib: found.zlib(), ..usual } } else { usual };
    let sized = match counted {
        true => Coding { edge: edges.0, ..flat(usual, raw / found.counted_seconds()) },
        false => usual,
    };
    let here = timed_here(flat(usual, raw / found.decode.max(1e-9)));
    Ok(Some(Sampled {
        coding: if timed { Coding { gain, edge: edges.1, ..here } } else { sized },
        sized,
        bytes: found.raw,
        read: limit.read - budget,
    }))
}

/// The part of a chunk that is sampled: its first rows where it is large, or where too few places could be read otherwise. Never less
/// than a quarter for the latter reason, because short streams are coded otherwise than long ones.
fn affordable(layout: &VarLayout, chunk: &[u64], limit: Limit) -> Vec<u64> {
    let element = layout.element.size as u64;
    let most = CHUNK.min(limit.encoded / FEW).max(SIZES[0]);
    let bytes = shape::bytes(chunk, element).min(most);
    let parts = [1, 2, 4].map(|part| shortened(chunk, element, (bytes / part).max(1)));
    let fits = |shape: &&Vec<u64>| {
        decoded(layout, &Hyperslab::new(&vec![0; shape.len()], shape)) <= limit.read / FEW
    };
    parts.iter().find(fits).unwrap_or(&parts[parts.len() - 1]).clone()
}

/// A coding with rates that were timed.
fn timed_here(coding: Coding) -> Coding {
    Coding { timed: true, ..coding }
}

/// A coding whose decoder has one rate at all sizes.
fn flat(coding: Coding, decode: f64) -> Coding {
    Coding { decode, slower: [1.0; SIZES.len()], ..coding }
}

/// The line through two sizes, and the rates at all.
fn summary(found: &[Found; SIZES.len()], cuts: Cuts, filters: &[Filter]) -> Option<Sampled> {
    let last = found.iter().rposition(|f| f.parts > 0)?;
    let (small, large) = (&found[SMALL.min(last)], &found[LARGE.min(last)]);
    let mean = |f: &Found| (f.raw as f64 / f.parts as f64, f.stored as f64 / f.parts as f64);
    let usual = Coding::written(filters);
    let ((x1, y1), (x0, y0)) = (mean(large), mean(small));
    let (fraction, per_chunk) = if x1 > x0 {
        let slope = ((y1 - y0) / (x1 - x0)).clamp(0.0, y1 / x1);
        (slope, (y0 - slope * x0).clamp(0.0, x0))
    } else {
        (y1 / x1, usual.per_chunk)
    };
    let counted = found.iter().all(|f| f.counted == f.parts);
    let zlib = if counted { large.zlib() } else { usual.zlib };
    let points = cuts.each(usual.points);
    let sized = Coding { filtered: true, fraction, per_chunk, zlib, points, ..usual };
    Some(Sampled {
        coding: timed_here(with_rates(sized, &found[..=last], |f| f.decode)),
        sized: if counted { with_rates(sized, &found[..=last], Found::counted_seconds) } else { sized },
        bytes: found.iter().map(|f| f.raw).sum(),
        read: 0,
    })
}

/// A coding with the rates that parts of all sizes had, by what `seconds` says that they took.
fn with_rates(coding: Coding, found: &[Found], seconds: impl Fn(&Found) -> f64) -> Coding {
    let rate = |f: &Found| f.raw as f64 / seconds(f).max(1e-9);
    let decode = found.last().map_or(coding.decode, &rate);
    let mut slower = [1.0; SIZES.len()];
    for (slower, f) in slower.iter_mut().zip(found) {
        if f.parts > 0 {
            *slower = decode / rate(f);
        }
    }
    Coding { decode, slower, ..coding }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use ncforge::codec::filters;
    use ncforge::model::{Atomic, DimId, Dimension, Format, Schema, Storage, Variable};
    use ncforge::store::MemoryStore;
    use ncforge::{CreateOptions, DatasetMut, Engine};

    fn field(values: impl Fn(usize) -> f32) -> (Dataset, VarId) {
        let mut schema = Schema::new(Format::Cdf5);
        for (name, len) in [("t", 20), ("y", 90), ("x", 180)] {
            schema.dims.push(Dimension::new(name, len, false));
        }
        schema.vars.push(Variable::new("v", Atomic::Float, vec![DimId(0), DimId(1), DimId(2)]));
        let store: Arc<dyn ncforge::store::WriteStore> = Arc::new(MemoryStore::new("m", Vec::new()));
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
        let again = sample(&smooth, v, &chain, 64 << 20).unwrap().unwrap();
        assert_eq!(got.sized, again.sized);
        let coded = got.sized.decode;
        let (noise, v) = field(|i| {
            let z = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            f32::from_bits((z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) as u32)
        });
        let got = sample(&noise, v, &chain, 64 << 20).unwrap().unwrap();
        assert!(got.coding.fraction > 0.5, "{got:?}");
        // Stored blocks are copied.
        assert!(got.sized.decode > coded && got.sized.slower[0] > 1.0, "{got:?}");
        assert!(sample(&noise, v, &[], 64 << 20).unwrap().is_none());
        assert!(sample(&noise, v, &chain, 10).unwrap().is_none());
    }

    /// Noise is copied, but where fill lies between it.
    #[test]
    fn chunks_that_are_cut_off_are_told_apart() {
        let chain = [filters::shuffle(4), filters::deflate(1)];
        let (noise, v) = field(|i| {
            let z = (i as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            f32::from_bits((z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB) as u32)
        });
        let of = |chunk: &[u64]| sample_chunk(&noise, v, &chain, chunk, 16 << 20).unwrap().unwrap();
        let (even, cut) = (of(&[20, 90, 20]), of(&[20, 90, 19]));
        assert_eq!((even.sized.edge, even.coding.edge), (1.0, 1.0));
        assert!(cut.sized.edge > 2.0, "{cut:?}");
        // Both kinds are in the figures of all.
        assert!(cut.sized.decode < 0.95 * even.sized.decode, "{cut:?} {even:?}");
        assert!(even.sized.gain.is_none() && cut.coding.gain.is_none_or(|g| (0.0..=1.0).contains(&g)));
    }

    /// Rows of a field that was written as one plain chunk lie 3,600 bytes apart: a box of parts of them reads what lies
    /// between, too, which may be more than a sample is worth.
    #[test]
    fn large_plain_chunks_are_looked_at_in_rows() {
        let mut schema = Schema::new(Format::Netcdf4);
        let shape = [1, 20, 300, 900];
        for (name, len) in ["t", "z", "y", "x"].into_iter().zip(shape) {
            schema.dims.push(Dimension::new(name, len, false));
        }
        let mut var = Variable::new("v", Atomic::Float, (0..4).map(DimId).collect());
        var.storage = Storage::Chunked { chunks: shape.to_vec(), filters: Vec::new() };
        schema.vars.push(var);
        let store: Arc<dyn ncforge::store::WriteStore> = Arc::new(MemoryStore::new("m", Vec::new()));
        let mut file = DatasetMut::create_in(Arc::clone(&store), schema, CreateOptions::default()).unwrap();
        let bytes: Vec<u8> = (0..20 * 300 * 900).flat_map(|i| ((i % 900) as f32).to_ne_bytes()).collect();
        file.write_bytes(VarId(0), &Hyperslab::all(&shape), &bytes).unwrap();
        file.close().unwrap();
        let dataset = Dataset::from_store(store, &Engine::global()).unwrap();
        let chain = [filters::shuffle(4), filters::deflate(1)];
        let got = sample(&dataset, VarId(0), &chain, 1 << 20).unwrap().unwrap();
        assert!(got.bytes >= 8 * SIZES[SMALL] && got.read <= 1 << 20, "{got:?}");
    }

    /// Columns of 90 equal values compress as chunks that are cut along them, and not across.
    #[test]
    fn chunks_are_looked_at_as_they_would_be() {
        let chain = [filters::shuffle(4), filters::deflate(1)];
        let (field, v) = field(|i| {
            let z = (i as u64 % 180 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            f32::from_bits((z >> 32) as u32)
        });
        let of = |chunk: &[u64]| sample_chunk(&field, v, &chain, chunk, 16 << 20).unwrap().unwrap();
        let (along, across) = (of(&[20, 90, 9]), of(&[1, 90, 180]));
        assert!(along.sized.fraction < across.sized.fraction, "{along:?} {across:?}");
        // It is small enough for all of it.
        assert_eq!(along.bytes, 20 * 90 * 180 * 4);
        assert_eq!(along.sized, of(&[20, 90, 9]).sized);
        // The second of two chunks sticks out of the array for the most part.
        let (all, most) = (of(&[1, 90, 180]), of(&[1, 90, 170]));
        assert!(most.sized.fraction < 0.7 * all.sized.fraction, "{all:?} {most:?}");
        // Longer than the array, of another rank, for less than one chunk: clipped, none, none.
        assert_eq!(of(&[100, 90, 9]).bytes, along.bytes);
        assert!(sample_chunk(&field, v, &chain, &[20, 90], 16 << 20).unwrap().is_none());
        assert!(sample_chunk(&field, v, &chain, &[20, 90, 9], 1000).unwrap().is_none());
    }
}
