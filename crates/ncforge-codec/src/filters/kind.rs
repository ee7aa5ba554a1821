//! What is known of each filter: the one table that everything else asks.
//!
//! A filter that is decoded here is a [`Kind`], so that the compiler finds every place where a new one needs an answer; of the others
//! the table has names.

use crate::types::Filter;

/// zlib.
pub const DEFLATE: u16 = 1;
/// Bytes into planes.
pub const SHUFFLE: u16 = 2;
/// A checksum.
pub const FLETCHER32: u16 = 3;
/// Szip (CCSDS 121.0-B).
pub const SZIP: u16 = 4;
/// Not a filter of files (HDF5 does not assign the number): [`CodecChain::filters`](crate::CodecChain::filters) lists it
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

/// A filter that is decoded here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Numbers that are read as wider ones ([`WIDEN`]).
    Widen,
    /// zlib.
    Deflate,
    /// Bytes into planes.
    Shuffle,
    /// A checksum.
    Fletcher32,
    /// Szip.
    Szip,
    /// Packed bits.
    Nbit,
    /// Scale and offset, then packed bits.
    ScaleOffset,
    /// bzip2.
    Bzip2,
    /// LZF.
    Lzf,
    /// Blosc 1.
    Blosc,
    /// LZ4.
    Lz4,
    /// Bits into planes, optionally compressed.
    Bitshuffle,
    /// Zstandard.
    Zstd,
    /// Quantization: bytes do not change on reading.
    Quantization,
}

/// What a filter does to the bytes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// It makes them fewer.
    Compress,
    /// It puts them in another order, in which they compress better.
    Sort,
    /// Both.
    SortAndCompress,
    /// It adds a checksum.
    Check,
    /// It has rounded the values, and does nothing on reading.
    Round,
    /// Not known.
    Unknown,
}

/// The level of a compressor, in its first parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// It has none there.
    None,
    /// An unsigned number, and what its absence means.
    Unsigned(i32),
    /// A signed number, and what its absence means.
    Signed(i32),
}

/// What is known of a filter.
struct Row {
    id: u16,
    name: &'static str,
    kind: Option<Kind>,
    purpose: Purpose,
    level: Level,
}

/// A filter that is decoded here.
const fn row(id: u16, name: &'static str, kind: Kind, purpose: Purpose, level: Level) -> Row {
    Row { id, name, kind: Some(kind), purpose, level }
}

/// A filter of which only the name is known.
const fn named(id: u16, name: &'static str) -> Row {
    Row { id, name, kind: None, purpose: Purpose::Unknown, level: Level::None }
}

/// The registered filters: HDF5's own by its names, the others by their usual ones.
static TABLE: [Row; 40] = [
    row(WIDEN, "widen", Kind::Widen, Purpose::Compress, Level::None),
    row(DEFLATE, "deflate", Kind::Deflate, Purpose::Compress, Level::Unsigned(6)),
    row(SHUFFLE, "shuffle", Kind::Shuffle, Purpose::Sort, Level::None),
    row(FLETCHER32, "fletcher32", Kind::Fletcher32, Purpose::Check, Level::None),
    row(SZIP, "szip", Kind::Szip, Purpose::Compress, Level::None),
    row(NBIT, "nbit", Kind::Nbit, Purpose::Compress, Level::None),
    row(SCALEOFFSET, "scaleoffset", Kind::ScaleOffset, Purpose::Compress, Level::None),
    named(305, "lzo"),
    row(BZIP2, "bzip2", Kind::Bzip2, Purpose::Compress, Level::Unsigned(9)),
    row(LZF, "lzf", Kind::Lzf, Purpose::Compress, Level::None),
    row(BLOSC, "blosc", Kind::Blosc, Purpose::SortAndCompress, Level::None),
    named(32002, "mafisc"),
    named(32003, "snappy"),
    row(LZ4, "lz4", Kind::Lz4, Purpose::Compress, Level::None),
    named(32005, "apax"),
    named(32006, "cbf"),
    named(32007, "jpeg-xr"),
    row(BITSHUFFLE, "bitshuffle", Kind::Bitshuffle, Purpose::SortAndCompress, Level::None),
    named(32009, "spdp"),
    named(32010, "lpc-rice"),
    named(32011, "ccsds-123"),
    named(32012, "jpeg-ls"),
    named(32013, "zfp"),
    named(32014, "fpzip"),
    row(ZSTD, "zstd", Kind::Zstd, Purpose::Compress, Level::Signed(3)),
    named(32016, "b3d"),
    named(32017, "sz"),
    named(32018, "fcidecomp"),
    named(32019, "jpeg"),
    named(32020, "vbz"),
    named(32021, "fapec"),
    row(BITGROOM, "bitgroom", Kind::Quantization, Purpose::Round, Level::None),
    row(GRANULAR_BITROUND, "granular bitround", Kind::Quantization, Purpose::Round, Level::None),
    named(32024, "sz3"),
    named(32025, "delta-rice"),
    named(32026, "blosc2"),
    named(32027, "flac"),
    named(32028, "h5z-sperr"),
    named(32029, "trpx"),
    row(BITROUND, "bitround", Kind::Quantization, Purpose::Round, Level::None),
];

/// Other names of filters.
const ALIASES: [(&str, u16); 2] = [("zlib", DEFLATE), ("zstandard", ZSTD)];
/// HDF5 has the filters up to this number itself; the others are plug-ins.
const OF_HDF5: u16 = 255;

fn find(id: u16) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.id == id)
}

/// The name of a registered filter; `None` for a number that is not registered.
pub(super) fn name(id: u16) -> Option<&'static str> {
    find(id).map(|row| row.name)
}

/// The number of the filter of this name.
pub(crate) fn by_name(name: &str) -> Option<u16> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, id)| *id);
    alias.or_else(|| TABLE.iter().find(|row| row.name == name && row.id != WIDEN).map(|row| row.id))
}

impl Filter {
    /// Which filter it is; `None` for one that is not decoded here.
    pub fn kind(&self) -> Option<Kind> {
        find(self.id)?.kind
    }

    /// What it does to the bytes of a chunk.
    pub fn purpose(&self) -> Purpose {
        find(self.id).map_or(Purpose::Unknown, |row| row.purpose)
    }

    /// Whether it may make bytes fewer.
    ///
    /// ```
    /// use ncforge_codec::filters::{fletcher32, shuffle, zstd};
    /// assert!(zstd(3).compresses() && !shuffle(4).compresses() && !fletcher32().compresses());
    /// ```
    pub fn compresses(&self) -> bool {
        match self.purpose() {
            Purpose::Compress | Purpose::SortAndCompress | Purpose::Unknown => true,
            Purpose::Sort | Purpose::Check | Purpose::Round => false,
        }
    }

    /// Whether it puts bytes in an order in which they compress better.
    pub fn sorts(&self) -> bool {
        matches!(self.purpose(), Purpose::Sort | Purpose::SortAndCompress)
    }

    /// Whether bytes do not change on reading: it has rounded the values before they were written.
    pub fn is_identity(&self) -> bool {
        self.purpose() == Purpose::Round
    }

    /// The level of compression; `None` for a filter without levels.
    ///
    /// ```
    /// use ncforge_codec::filters::{deflate, lz4, zstd};
    /// assert_eq!((deflate(4).level(), zstd(-3).level(), lz4(0).level()), (Some(4), Some(-3), None));
    /// ```
    pub fn level(&self) -> Option<i32> {
        let given = self.params.first();
        match find(self.id)?.level {
            Level::None => None,
            Level::Unsigned(usual) => Some(given.map_or(usual, |&n| i32::try_from(n).unwrap_or(i32::MAX))),
            Level::Signed(usual) => Some(given.map_or(usual, |&n| n.cast_signed())),
        }
    }

    /// Whether readers with HDF5 need a plug-in for it.
    pub fn needs_plugin(&self) -> bool {
        self.id > OF_HDF5 && !self.is_identity()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_names_are_there_once() {
        let rows: Vec<&Row> = TABLE.iter().collect();
        for (i, row) in rows.iter().enumerate() {
            assert!(
                rows[..i].iter().all(|other| other.id != row.id && other.name != row.name),
                "{}",
                row.name
            );
            assert_eq!(by_name(row.name), Some(row.id).filter(|&id| id != WIDEN));
        }
        assert_eq!((by_name("zlib"), by_name("unknown"), name(4711)), (Some(DEFLATE), None, None));
    }

    /// The table of the crate's documentation.
    #[test]
    fn what_is_decoded_is_listed() {
        let text = include_str!("../lib.rs");
        for row in TABLE.iter().filter(|row| row.kind.is_some() && row.id != WIDEN) {
            let listed = text.lines().any(|line| {
                let numbers = line.strip_prefix("//! | ").and_then(|rest| rest.split(" |").next());
                numbers.is_some_and(|n| n.split(", ").any(|n| n == row.id.to_string()))
            });
            assert!(listed, "{}", row.name);
        }
    }
}
