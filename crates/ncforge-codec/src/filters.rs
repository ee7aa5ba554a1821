//! The registered filters: numbers, names, and the parameters that HDF5 and netCDF-C store for them.

pub(crate) mod kind;

use crate::types::Filter;

pub use kind::{
    BITGROOM, BITROUND, BITSHUFFLE, BLOSC, BZIP2, DEFLATE, FLETCHER32, GRANULAR_BITROUND, Kind, LZ4, LZF,
    NBIT, Purpose, SCALEOFFSET, SHUFFLE, SZIP, WIDEN, ZSTD,
};

/// The result of [`filter_name`] for an unknown number.
pub const UNKNOWN: &str = "unknown";

/// zlib at a level of 0 (stored) to 9 (smallest); higher ones are 9.
pub fn deflate(level: u32) -> Filter {
    filter(DEFLATE, vec![level.min(9)])
}

/// Bytes of elements of `element_size` bytes into planes; goes before a compressor.
pub fn shuffle(element_size: usize) -> Filter {
    filter(SHUFFLE, vec![u32::try_from(element_size).unwrap_or(u32::MAX)])
}

/// A checksum over each chunk, verified on reading. A chunk may not be written without it.
pub fn fletcher32() -> Filter {
    Filter { optional: false, ..filter(FLETCHER32, Vec::new()) }
}

/// Zstandard at a level of −131072 (fastest) to 22 (smallest).
pub fn zstd(level: i32) -> Filter {
    filter(ZSTD, vec![level.cast_unsigned()])
}

/// bzip2 with blocks of 100 kB times `level`, 1 to 9.
pub fn bzip2(level: u32) -> Filter {
    filter(BZIP2, vec![level.clamp(1, 9)])
}

/// LZF for chunks of `chunk_bytes` bytes, with the versions that h5py writes.
pub fn lzf(chunk_bytes: usize) -> Filter {
    filter(LZF, vec![4, 0x0105, u32::try_from(chunk_bytes).unwrap_or(u32::MAX)])
}

/// LZ4 in blocks of `block` bytes; 0 makes the whole chunk one block.
pub fn lz4(block: u32) -> Filter {
    filter(LZ4, vec![block])
}

/// Blosc for elements and chunks of these sizes: level 0 to 9; shuffle 0 none, 1 bytes, 2 bits; compressor
/// 0 BloscLZ, 1 LZ4, 2 LZ4HC, 4 zlib, 5 zstd. The parameters are those that netCDF-C stores.
pub fn blosc(element_size: usize, chunk_bytes: usize, level: u32, shuffle: u32, compressor: u32) -> Filter {
    let word = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
    filter(BLOSC, vec![0, 0, word(element_size), word(chunk_bytes), level.min(9), shuffle, compressor])
}

/// Bitshuffle of elements of `element_size` bytes, in blocks of the library's choice, followed by nothing (0),
/// LZ4 (2) or zstd (3, with its level).
pub fn bitshuffle(element_size: usize, compressor: u32, level: i32) -> Filter {
    let mut params = vec![0, 5, u32::try_from(element_size).unwrap_or(u32::MAX), 0, compressor];
    if compressor == 3 {
        params.push(level.cast_unsigned());
    }
    filter(BITSHUFFLE, params)
}

/// Gives a filter elements of another size, where its parameters tell their size.
///
/// ```
/// use ncforge_codec::filters::{blosc, resize};
/// let mut filter = blosc(2, 2000, 5, 1, 5);
/// resize(&mut filter, 8);
/// assert_eq!(filter, blosc(8, 8000, 5, 1, 5));
/// ```
pub fn resize(filter: &mut Filter, element_size: usize) {
    let size = u32::try_from(element_size).unwrap_or(u32::MAX);
    match (filter.kind(), &mut filter.params[..]) {
        (Some(Kind::Shuffle), [own, ..]) | (Some(Kind::Bitshuffle), [_, _, own, ..]) => *own = size,
        (Some(Kind::Blosc), [_, _, own, bytes, ..]) => {
            *bytes = (*bytes / (*own).max(1)).saturating_mul(size);
            *own = size;
        }
        _ => {}
    }
}

fn filter(id: u16, params: Vec<u32>) -> Filter {
    Filter { id, params, optional: true }
}

/// The name of a registered filter: HDF5's own for its built-in ones, the usual one for the others, [`UNKNOWN`]
/// for a number that is not registered.
///
/// ```
/// assert_eq!(ncforge_codec::filter_name(32015), "zstd");
/// ```
pub fn filter_name(id: u16) -> &'static str {
    kind::name(id).unwrap_or(UNKNOWN)
}

/// A filter as text: its name and the meaning of its parameters.
///
/// ```
/// use ncforge_codec::{describe, filters};
/// assert_eq!(describe(&filters::deflate(4)), "deflate level 4");
/// assert_eq!(describe(&filters::shuffle(8)), "shuffle");
/// ```
pub fn describe(filter: &Filter) -> String {
    let name = filter_name(filter.id);
    match (filter.kind(), filter.level()) {
        // Their parameters follow from the values.
        (Some(Kind::Shuffle | Kind::Fletcher32 | Kind::Lzf | Kind::Lz4 | Kind::Nbit), _) => name.into(),
        (_, Some(level)) if !filter.params.is_empty() => format!("{name} level {level}"),
        _ if name == UNKNOWN => format!("filter {}{}", filter.id, list(&filter.params)),
        _ => format!("{name}{}", list(&filter.params)),
    }
}

fn list(params: &[u32]) -> String {
    if params.is_empty() {
        return String::new();
    }
    let words: Vec<String> = params.iter().map(u32::to_string).collect();
    format!(" ({})", words.join(", "))
}
