//! The file layout with which references to chunks join files into one Zarr array: chunk lengths along time that divide the
//! length of the file, and filters for which `numcodecs` has codecs.
//!
//! A Zarr array has one chunk shape and one list of codecs. Where files follow each other, every chunk but those of the last
//! file must be full. VirtualiZarr's documentation lists the same requirements.

use ncforge::codec::filters;
use ncforge::model::{Filter, Schema, Storage, VarId};

/// HDF5 stores the size of a chunk in 32 bits.
const MAX_CHUNK: u64 = (1 << 32) - 1;
/// The divisors of a length are looked for up to this number.
const MOST_DIVISORS: u64 = 1 << 16;

/// Whether `numcodecs` decodes what a filter of HDF5 encodes, or the filter changes no byte on reading.
pub(crate) fn has_codec(filter: &Filter) -> bool {
    matches!(
        filter.id,
        filters::SHUFFLE
            | filters::DEFLATE
            | filters::FLETCHER32
            | filters::ZSTD
            | filters::BZIP2
            | filters::BLOSC
            | filters::BITGROOM
            | filters::GRANULAR_BITROUND
            | filters::BITROUND
    )
}

/// The divisor of `len` that is nearest to `chunk`, by ratio.
pub(crate) fn divisor(len: u64, chunk: u64) -> u64 {
    let far = |k: u64| (k as f64 / chunk.max(1) as f64).ln().abs();
    let small = (1..=MOST_DIVISORS).take_while(|k| k.saturating_mul(*k) <= len).filter(|k| len.is_multiple_of(*k));
    small.flat_map(|k| [k, len / k]).min_by(|a, b| far(*a).total_cmp(&far(*b))).unwrap_or(1)
}

/// The greatest common divisor; that of no number is 0.
pub(crate) fn common_divisor(lens: impl IntoIterator<Item = u64>) -> u64 {
    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    lens.into_iter().fold(0, gcd)
}

/// Changes the storage of the output's variables. `joins` says along which dimensions files follow each other.
pub(crate) fn apply(schema: &mut Schema, joins: impl Fn(VarId, usize) -> bool) {
    for v in schema.var_ids().collect::<Vec<_>>() {
        let shape = schema.shape(v);
        let element = schema.fixed_size(schema.var(v).dtype);
        let Storage::Chunked { chunks, filters } = &mut schema.vars[v.0].storage else { continue };
        for d in 0..chunks.len() {
            if !joins(v, d) || shape[d] == 0 || shape[d].is_multiple_of(chunks[d]) {
                continue;
            }
            let others = (0..chunks.len()).filter(|&o| o != d).map(|o| chunks[o]);
            let rest = others.fold(element.unwrap_or(16) as u64, u64::saturating_mul);
            let near = divisor(shape[d], chunks[d]);
            let fits = rest.saturating_mul(near) <= MAX_CHUNK;
            chunks[d] = if fits { near } else { divisor(shape[d], 1) };
        }
        if filters.iter().any(|f| !has_codec(f)) {
            *filters = replaced(filters, element);
        }
    }
}

/// Filters that every reader has, in the place of some that `numcodecs` lacks.
fn replaced(list: &[Filter], element: Option<usize>) -> Vec<Filter> {
    let mut out = match element {
        Some(n) if n > 1 => vec![filters::shuffle(n)],
        _ => Vec::new(),
    };
    out.push(filters::deflate(4));
    out.extend(list.iter().find(|f| f.id == filters::FLETCHER32).cloned());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_divisor() {
        assert_eq!(divisor(31, 30), 31);
        assert_eq!(divisor(365, 30), 73);
        assert_eq!(divisor(12, 512), 12);
        assert_eq!(divisor(12, 1), 1);
        assert_eq!(common_divisor([28, 30, 31]), 1);
        assert_eq!(common_divisor([360, 366]), 6);
    }
}
