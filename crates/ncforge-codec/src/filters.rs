//! The registered filters: numbers, names, and the parameters that HDF5 and netCDF-C store for them.

use crate::types::Filter;

/// zlib.
pub const DEFLATE: u16 = 1;
/// Bytes into planes.
pub const SHUFFLE: u16 = 2;
/// A checksum.
pub const FLETCHER32: u16 = 3;
/// Szip (CCSDS 121.0-B).
pub const SZIP: u16 = 4;
/// Not a filter of files (HDF5 does not assign the number): [`CodecChain::filters`](super::CodecChain::filters) lists it
/// first where numbers are read as others (`widen`).
pub const WIDEN: u16 = 0;
/// Packed bits.
pub const NBIT: u16 = 5;
/// Scale and offset, then packed bits.
pub const SCALEOFFSET: u16 = 6;
/// bzip2.
pub const BZIP2: u16 = 307;
/// LZF.
pub const LZF: u16 = 32000;
/// Blosc 1.
pub const BLOSC: u16 = 32001;
/// LZ4.
pub const LZ4: u16 = 32004;
/// Bits into planes, optionally LZ4 or zstd.
pub const BITSHUFFLE: u16 = 32008;
/// Zstandard.
pub const ZSTD: u16 = 32015;
/// Quantization by BitGroom: no decoding needed.
pub const BITGROOM: u16 = 32022;
/// Quantization by Granular BitRound: no decoding needed.
pub const GRANULAR_BITROUND: u16 = 32023;
/// Quantization by BitRound: no decoding needed.
pub const BITROUND: u16 = 37373;

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
    match id {
        WIDEN => "widen",
        DEFLATE => "deflate",
        SHUFFLE => "shuffle",
        FLETCHER32 => "fletcher32",
        SZIP => "szip",
        NBIT => "nbit",
        SCALEOFFSET => "scaleoffset",
        305 => "lzo",
        BZIP2 => "bzip2",
        LZF => "lzf",
        BLOSC => "blosc",
        32002 => "mafisc",
        32003 => "snappy",
        LZ4 => "lz4",
        32005 => "apax",
        32006 => "cbf",
        32007 => "jpeg-xr",
        BITSHUFFLE => "bitshuffle",
        32009 => "spdp",
        32010 => "lpc-rice",
        32011 => "ccsds-123",
        32012 => "jpeg-ls",
        32013 => "zfp",
        32014 => "fpzip",
        ZSTD => "zstd",
        32016 => "b3d",
        32017 => "sz",
        32018 => "fcidecomp",
        32019 => "jpeg",
        32020 => "vbz",
        32021 => "fapec",
        BITGROOM => "bitgroom",
        GRANULAR_BITROUND => "granular bitround",
        32024 => "sz3",
        32025 => "delta-rice",
        32026 => "blosc2",
        32027 => "flac",
        32028 => "h5z-sperr",
        32029 => "trpx",
        BITROUND => "bitround",
        _ => UNKNOWN,
    }
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
    let param = |i: usize| filter.params.get(i).copied();
    match (filter.id, param(0)) {
        (SHUFFLE | FLETCHER32 | LZF | LZ4 | NBIT, _) => name.into(),
        (DEFLATE | BZIP2, Some(level)) => format!("{name} level {level}"),
        (ZSTD, Some(level)) => format!("{name} level {}", level.cast_signed()),
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
