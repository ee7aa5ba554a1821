//! The file layout with which references to chunks join files into one Zarr array: chunk lengths along time that divide the
//! length of the file, and filters for which `numcodecs` has codecs.
//!
//! A Zarr array has one chunk shape and one list of codecs. Where files follow each other, every chunk but those of the last
//! file must be full. VirtualiZarr's documentation lists the same requirements.

use crate::boxes::gcd;
use ncforge::codec::filter_name;
use ncforge::codec::filters::{self, Kind, Purpose};
use ncforge::model::{Filter, Schema, Storage, VarId, shape};
use serde_json::{Value, json};

/// Variables of at most this many bytes are stored in the references themselves.
pub(crate) const INLINE: u64 = 64 << 10;
/// HDF5 stores the size of a chunk in 32 bits.
const MAX_CHUNK: u64 = (1 << 32) - 1;
/// The divisors of a length are looked for up to this number.
const MOST_DIVISORS: u64 = 1 << 16;

/// The configuration of the codec of `numcodecs` that reads the same bytes as a filter; a reason if there is none. HDF5's LZ4 and
/// bitshuffle put headers of their own in front, and szip, nbit, scale-offset and LZF have no codec there.
pub(crate) fn numcodec(filter: &Filter, element: usize) -> Result<Value, String> {
    let param = |i: usize| filter.params.get(i).copied();
    let level = filter.level().unwrap_or_default();
    Ok(match filter.kind() {
        Some(Kind::Shuffle) => {
            json!({ "id": "shuffle", "elementsize": param(0).map_or(element, |n| n as usize) })
        }
        Some(Kind::Deflate) => json!({ "id": "zlib", "level": level.min(9) }),
        Some(Kind::Fletcher32) => json!({ "id": "fletcher32" }),
        Some(Kind::Zstd) => json!({ "id": "zstd", "level": level }),
        Some(Kind::Bzip2) => json!({ "id": "bz2", "level": level.clamp(1, 9) }),
        // Decoding needs none of these parameters: the bytes say them.
        Some(Kind::Blosc) => {
            let names = ["blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"];
            let name = names.get(param(6).unwrap_or(0) as usize).copied().unwrap_or("blosclz");
            let (level, shuffle) = (param(4).unwrap_or(5).min(9), param(5).unwrap_or(1).min(2));
            json!({ "id": "blosc", "cname": name, "clevel": level, "shuffle": shuffle, "blocksize": 0 })
        }
        Some(
            Kind::Widen
            | Kind::Szip
            | Kind::Nbit
            | Kind::ScaleOffset
            | Kind::Lzf
            | Kind::Lz4
            | Kind::Bitshuffle
            | Kind::Quantization,
        )
        | None => {
            return Err(format!(
                "numcodecs has no codec for filter {} ({})",
                filter.id,
                filter_name(filter.id)
            ));
        }
    })
}

/// The reason why `numcodecs` cannot decode chunks of `chunk_bytes` bytes that HDF5 stored with these filters; `None` if it can.
///
/// HDF5's shuffle copies the bytes behind the last whole element, that of `numcodecs` refuses them. netCDF-C puts the checksum,
/// which is 4 bytes long, in front of it.
pub(crate) fn obstacle(list: &[Filter], element: usize, chunk_bytes: u64) -> Option<String> {
    let mut len = Some(chunk_bytes);
    for filter in list.iter().filter(|f| !f.is_identity()) {
        if let Err(why) = numcodec(filter, element) {
            return Some(why);
        }
        match filter.purpose() {
            Purpose::Sort => {
                let size = filter.params.first().map_or(element as u64, |&n| n.into()).max(1);
                if len.is_none_or(|len| !len.is_multiple_of(size)) {
                    return Some(format!(
                        "shuffle of {size} bytes is applied to bytes that are no multiple of it"
                    ));
                }
            }
            Purpose::Check => len = len.map(|len| len.saturating_add(4)),
            Purpose::Compress | Purpose::SortAndCompress | Purpose::Unknown => len = None,
            Purpose::Round => {}
        }
    }
    None
}

/// The divisor of `len` that is nearest to `chunk`, by ratio.
pub(crate) fn divisor(len: u64, chunk: u64) -> u64 {
    let far = |k: u64| (k as f64 / chunk.max(1) as f64).ln().abs();
    let small =
        (1..=MOST_DIVISORS).take_while(|k| k.saturating_mul(*k) <= len).filter(|k| len.is_multiple_of(*k));
    small.flat_map(|k| [k, len / k]).min_by(|a, b| far(*a).total_cmp(&far(*b))).unwrap_or(1)
}

/// Gives a chunk the length `len` along `axis`. The other axes make up for it, so that it has about as many elements as
/// before; each time the one of which the chunk has the smallest part grows, or that of the largest part shrinks.
pub(crate) fn resize(chunk: &mut [u64], shape: &[u64], axis: usize, len: u64) {
    let wanted = shape::elements(chunk);
    chunk[axis] = len;
    let part = |c: &[u64], d: usize| c[d] as f64 / shape[d].max(1) as f64;
    let others = || (0..shape.len()).filter(|&d| d != axis);
    while let Some(d) =
        others().filter(|&d| chunk[d] < shape[d]).min_by(|&a, &b| part(chunk, a).total_cmp(&part(chunk, b)))
    {
        let old = chunk[d];
        chunk[d] = old.saturating_mul(2).min(shape[d]);
        if shape::elements(chunk) > wanted {
            chunk[d] = old;
            break;
        }
    }
    while shape::elements(chunk) / 2 > wanted
        && let Some(d) =
            others().filter(|&d| chunk[d] > 1).max_by(|&a, &b| part(chunk, a).total_cmp(&part(chunk, b)))
    {
        chunk[d] = chunk[d].div_ceil(2);
    }
}

/// The greatest common divisor; that of no number is 0.
pub(crate) fn common_divisor(lens: impl IntoIterator<Item = u64>) -> u64 {
    lens.into_iter().fold(0, gcd)
}

/// Changes the storage of the output's variables. `joins` says along which dimensions files follow each other; `chosen`, whether the
/// other lengths of chunks are the user's, and stay.
pub(crate) fn apply(schema: &mut Schema, joins: impl Fn(VarId, usize) -> bool, chosen: bool) {
    for v in schema.var_ids().collect::<Vec<_>>() {
        let shape = schema.shape(v);
        let element = schema.fixed_size(schema.var(v).dtype);
        let Storage::Chunked { chunks, filters } = &mut schema.vars[v.0].storage else { continue };
        for d in 0..chunks.len() {
            if !joins(v, d) || shape[d] == 0 || shape[d].is_multiple_of(chunks[d]) {
                continue;
            }
            let near = divisor(shape[d], chunks[d]);
            match chosen {
                true => chunks[d] = near,
                false => resize(chunks, &shape, d, near),
            }
            let bytes = shape::bytes(chunks, element.unwrap_or(16) as u64);
            if bytes > MAX_CHUNK {
                chunks[d] = divisor(shape[d], 1);
            }
        }
        let size = element.unwrap_or(1);
        let bytes = shape::bytes(chunks, size as u64);
        if obstacle(filters, size, bytes).is_some() {
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
    out.extend(list.iter().find(|f| f.purpose() == Purpose::Check).cloned());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_checksum_in_front_of_shuffle() {
        let list = [filters::fletcher32(), filters::shuffle(8), filters::deflate(1)];
        assert!(obstacle(&list, 8, 72).is_some_and(|why| why.contains("shuffle of 8 bytes")));
        assert_eq!(obstacle(&replaced(&list, Some(8)), 8, 72), None);
        assert_eq!(obstacle(&[filters::fletcher32(), filters::shuffle(4)], 4, 72), None);
        assert!(obstacle(&[filters::lz4(0)], 4, 72).is_some_and(|why| why.contains("32004 (lz4)")));
    }

    #[test]
    fn the_nearest_divisor() {
        assert_eq!(divisor(31, 30), 31);
        assert_eq!(divisor(365, 30), 73);
        assert_eq!(divisor(12, 512), 12);
        assert_eq!(divisor(12, 1), 1);
        assert_eq!(common_divisor([28, 30, 31]), 1);
        assert_eq!(common_divisor([360, 366]), 6);
    }

    #[test]
    fn a_chunk_keeps_its_size() {
        let resized = |chunk: [u64; 3], len| {
            let mut chunk = chunk;
            resize(&mut chunk, &[365, 180, 360], 0, len);
            chunk
        };
        assert_eq!(resized([23, 4, 360], 1), [1, 64, 360]);
        assert_eq!(resized([23, 90, 180], 73), [73, 90, 90]);
        assert_eq!(resized([23, 180, 360], 1), [1, 180, 360]);
        assert_eq!(resized([23, 1, 1], 365), [365, 1, 1]);
    }
}
