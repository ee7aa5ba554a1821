//! How the output stores each variable: the tiles' chunks where they can be moved and serve readers, else chosen.

use super::mosaic::{From, Mosaic};
use super::options::TileChunks;
use crate::boxes::gcd;
use crate::copy::{Chunks, Codec, CopyOptions};
use ncforge::Result;
use ncforge::model::{Fill, Filter, Format, Schema, Storage, VarId, shape};
use ncforge_tune::{Choice, Coding, Machine, Request, axes_of, choose};

/// The tiles' chunks are kept when every usual read of them costs at most this many times what it would with chunks of
/// our choice, …
const GOOD_ENOUGH: f64 = 2.0;
/// … or this many seconds.
const NOT_NOTICED: f64 = 0.1;
/// Chunks snapped to the tiles are not larger than this.
const MOST_BYTES: u64 = 16 << 20;
/// Variables of fixed shape below this are not worth chunks of their own.
const SMALL: u64 = 8 << 10;

/// Sets format and storage of the mosaic's description; gives the options of the copy that makes the output, and for
/// every variable in a word why it is stored so.
pub(crate) fn decide(
    mosaic: &mut Mosaic,
    chunks: &TileChunks,
    copy: &CopyOptions,
) -> Result<(CopyOptions, Vec<&'static str>)> {
    let from_classic = mosaic.schema.format.is_classic();
    let existing = mosaic.existing.as_ref().map(super::mosaic::Existing::format);
    let format = copy.format.or(existing).unwrap_or_else(|| fitting(&mosaic.schema));
    let mut options = CopyOptions { format: Some(format), chunks: Chunks::Keep, ..copy.clone() };
    if format.is_classic() {
        let has_wish = !matches!(chunks, TileChunks::Auto | TileChunks::Keep);
        if copy.format.is_none() && existing.is_none() && (has_wish || wants_codec(copy)) {
            // The copy says what cannot be done.
            options.format = None;
            options.chunks = if has_wish { Chunks::Auto } else { Chunks::Keep };
        }
        return Ok((options, vec!["classic"; mosaic.schema.vars.len()]));
    }
    if let TileChunks::Spec(spec) = chunks {
        options.chunks = Chunks::Spec(spec.clone());
    }
    if from_classic {
        mosaic.schema.format = format;
        mosaic.schema.vars.iter_mut().for_each(|v| v.fill = Fill::Default);
    }
    let mut why = Vec::with_capacity(mosaic.schema.vars.len());
    let machine = Machine::of_user();
    for v in mosaic.schema.var_ids().collect::<Vec<_>>() {
        let (storage, reason) = storage(mosaic, v, chunks, &options, &machine)?;
        mosaic.schema.vars[v.0].storage = storage;
        why.push(reason);
    }
    Ok((options, why))
}

fn wants_codec(copy: &CopyOptions) -> bool {
    matches!(copy.codec, Codec::Deflate | Codec::Zstd | Codec::Auto { .. }) || copy.switches.fletcher32
}

/// The tiles' own format, or of the classic ones the first that can hold the whole.
pub(crate) fn fitting(schema: &Schema) -> Format {
    let own = schema.format;
    let rank = |f: Format| match f {
        Format::Cdf1 => 1,
        Format::Cdf2 => 2,
        _ => 5,
    };
    match ncforge::raw::classic::version_needed(schema) {
        Ok(needed) if own.is_classic() && rank(needed) > rank(own) => needed,
        _ => own,
    }
}

fn storage(
    mosaic: &Mosaic,
    v: VarId,
    chunks: &TileChunks,
    options: &CopyOptions,
    machine: &Machine,
) -> Result<(Storage, &'static str)> {
    let schema = &mosaic.schema;
    let var = schema.var(v);
    let of_tiles = &mosaic.of_tiles[v.0];
    let Some(size) = schema.fixed_size(var.dtype).filter(|_| !var.dims.is_empty()) else {
        return Ok((var.storage.clone(), "as in the tiles"));
    };
    let own = of_tiles.chunks().map(|c| c.0);
    let filters = of_tiles.chunks().map_or_else(Vec::new, |(_, codecs)| codecs.filters().to_vec());
    let coding = coding(options, &filters);
    let shape = schema.shape(v);
    let bytes = shape::bytes(&shape, size as u64);
    let unlimited = var.dims.iter().any(|d| schema.dim(*d).unlimited);
    let kept =
        |c: &[u64]| Storage::Chunked { chunks: clipped(c, &shape, mosaic, v), filters: filters.clone() };
    match (chunks, own) {
        (TileChunks::Keep, Some(c)) => return Ok((kept(c), "the tiles' chunks")),
        (TileChunks::Tiles, _) => {
            let c = snapped(mosaic, v, own, size as u64);
            return Ok((Storage::Chunked { chunks: c, filters }, "snapped to the tiles"));
        }
        _ => {}
    }
    let compressed = coding.filtered;
    if own.is_none() && !unlimited && (!compressed || bytes < SMALL) {
        return Ok((Storage::Contiguous, "one run"));
    }
    if shape.contains(&0) {
        return Ok((own.map_or(Storage::Contiguous, kept), "empty"));
    }
    let axes = axes_of(schema, v);
    let request = Request {
        before: own.map(|c| (Some(clipped(c, &shape, mosaic, v)), coding)),
        ..Request::new(&axes, size as u64, coding, machine)
    };
    let choice = choose(&request)?;
    if let Some(c) = own
        && of_tiles.movable
        && serves(&choice)
    {
        return Ok((kept(c), "the tiles' chunks serve readers"));
    }
    if matches!(options.codec, Codec::Auto { .. }) {
        // A shape depends on the codec, and that is chosen when the whole is planned: so is the shape, after it.
        return Ok((Storage::Contiguous, "chosen"));
    }
    Ok((Storage::Chunked { chunks: choice.chunks, filters }, "chosen"))
}

/// Whether the chunks of the tiles are good enough for readers: no usual read is slow with them, unless it is with
/// the best chunks, too.
fn serves(choice: &Choice) -> bool {
    choice.predictions.iter().all(|t| {
        t.before.as_ref().is_some_and(|before| {
            before.seconds <= NOT_NOTICED || before.seconds <= GOOD_ENOUGH * t.chosen.seconds
        })
    })
}

fn coding(options: &CopyOptions, own: &[Filter]) -> Coding {
    match options.codec {
        Codec::None => Coding::none(),
        Codec::Deflate => Coding::deflate(options.level.unwrap_or(1)),
        Codec::Zstd => Coding::zstd(),
        // Chosen when the whole is planned. Whether the tiles' chunks are retained is judged with the usual one.
        Codec::Auto { .. } => Coding::deflate(1),
        Codec::Keep => Coding::of_chain(own),
    }
}

/// No chunk is longer than a dimension that cannot grow.
fn clipped(chunk: &[u64], shape: &[u64], mosaic: &Mosaic, v: VarId) -> Vec<u64> {
    let dims = &mosaic.schema.var(v).dims;
    chunk
        .iter()
        .zip(shape)
        .zip(dims)
        .map(|((&c, &n), d)| if mosaic.schema.dim(*d).unlimited { c.max(1) } else { c.clamp(1, n.max(1)) })
        .collect()
}

/// On split dimensions the largest length that divides every tile's beginning; on others the tiles' chunk length, or
/// one for records and for what would make a chunk too large.
fn snapped(mosaic: &Mosaic, v: VarId, own: Option<&[u64]>, size: u64) -> Vec<u64> {
    let schema = &mosaic.schema;
    let dims = &schema.var(v).dims;
    let mut out: Vec<u64> = Vec::with_capacity(dims.len());
    for (axis, d) in dims.iter().enumerate() {
        let n = schema.dim(*d).len.max(1);
        let split = match mosaic.from[v.0] {
            From::Pattern(p) => {
                let pattern = &mosaic.patterns[p];
                pattern.dims.iter().position(|x| x == d).map(|i| (pattern, i))
            }
            From::Tile(_) => None,
        };
        out.push(match split {
            Some((pattern, i)) => {
                let edges = pattern.boxes.iter().map(|(_, r)| r.start[i]).fold(0, gcd);
                if edges == 0 { n } else { edges.min(n) }
            }
            None if schema.dim(*d).unlimited => own.map_or(1, |c| c[axis].max(1)),
            None => own.map_or(n, |c| c[axis].clamp(1, n)),
        });
    }
    // A chunk that is still too large becomes shorter on the dimensions that are not split, the slowest first; then on those
    // that are, by divisors.
    for axis in 0..out.len() {
        let bytes = shape::bytes(&out, size);
        if bytes <= MOST_BYTES {
            break;
        }
        let want = bytes.div_ceil(MOST_BYTES);
        let c = out[axis];
        out[axis] = (1..=c).rev().find(|x| c.is_multiple_of(*x) && c / x >= want.min(c)).unwrap_or(1);
    }
    out
}
