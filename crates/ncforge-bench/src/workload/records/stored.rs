//! The ways to store records.

use std::fmt;
use std::str::FromStr;

use ncforge::codec::filters;
use ncforge::model::{Filter, Storage};
use ncforge::store::packed::{Codec, Options};
use ncforge::{Atomic, Format};
use serde::{Serialize, Serializer};

/// How a file is stored. As text: `classic`, `packed:64K:zstd`, `nc4:1024:deflate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// A plain classic file (CDF-2).
    Classic,
    /// A classic file in compressed blocks.
    Packed {
        /// Bytes of a block.
        block: u64,
        /// How blocks are compressed.
        codec: Compressor,
    },
    /// A netCDF-4 file.
    Netcdf4 {
        /// Records in a chunk.
        chunk: u64,
        /// How chunks are compressed, after their bytes were shuffled.
        codec: Compressor,
    },
}

/// A codec and its level. As text: `zstd`, `zstd=9`, `deflate=4`, `lz4`, `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressor {
    /// Nothing is compressed.
    None,
    /// zlib's format.
    Deflate(u32),
    /// Zstandard.
    Zstd(i32),
    /// LZ4.
    Lz4,
}

impl Compressor {
    /// As packed files have it, if they do.
    fn packed(self) -> Option<Codec> {
        match self {
            Compressor::None => None,
            Compressor::Deflate(level) => Some(Codec::Deflate(level)),
            Compressor::Zstd(level) => Some(Codec::Zstd(level)),
            Compressor::Lz4 => Some(Codec::Lz4),
        }
    }

    fn filters(self, size: usize) -> Vec<Filter> {
        let codec = match self {
            Compressor::None => return Vec::new(),
            Compressor::Deflate(level) => filters::deflate(level),
            Compressor::Zstd(level) => filters::zstd(level),
            Compressor::Lz4 => filters::lz4(0),
        };
        if size > 1 { vec![filters::shuffle(size), codec] } else { vec![codec] }
    }
}

impl FromStr for Compressor {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, level) = match text.split_once('=') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        let number = |least: i32, most: i32, usual: i32| match level {
            None => Ok(usual),
            Some(n) => n
                .parse()
                .ok()
                .filter(|n| (least..=most).contains(n))
                .ok_or_else(|| format!("`{text}`: {name} has levels {least} to {most}")),
        };
        match (name, level) {
            ("zstd", _) => Ok(Compressor::Zstd(number(1, 22, 4)?)),
            ("deflate", _) => Ok(Compressor::Deflate(number(0, 9, 4)?.unsigned_abs())),
            ("lz4", None) => Ok(Compressor::Lz4),
            ("none", None) => Ok(Compressor::None),
            _ => Err(format!("no codec `{text}`: zstd, deflate, lz4 or none, as zstd=9 with a level")),
        }
    }
}

impl fmt::Display for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Compressor::None => f.write_str("none"),
            Compressor::Deflate(level) => write!(f, "deflate={level}"),
            Compressor::Zstd(level) => write!(f, "zstd={level}"),
            Compressor::Lz4 => f.write_str("lz4"),
        }
    }
}

impl Stored {
    /// The ending of its files' names.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Stored::Classic => "nc",
            Stored::Packed { .. } => "ncz",
            Stored::Netcdf4 { .. } => "nc4",
        }
    }

    /// Whether netCDF-C can read it.
    pub fn is_for_everyone(self) -> bool {
        !matches!(self, Stored::Packed { .. })
    }

    pub(super) fn format(self) -> Format {
        match self {
            Stored::Classic | Stored::Packed { .. } => Format::Cdf2,
            Stored::Netcdf4 { .. } => Format::Netcdf4Classic,
        }
    }

    /// How packed files are made.
    pub(super) fn packed(self) -> Option<Options> {
        match self {
            Stored::Packed { block, codec } => Some(Options { block, codec: codec.packed()? }),
            _ => None,
        }
    }

    /// The storage of a variable of one value a record.
    pub(super) fn storage(self, atomic: Atomic) -> Storage {
        match self {
            Stored::Netcdf4 { chunk, codec } => {
                Storage::Chunked { chunks: vec![chunk], filters: codec.filters(atomic.size()) }
            }
            _ => Storage::Contiguous,
        }
    }
}

impl fmt::Display for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stored::Classic => f.write_str("classic"),
            Stored::Packed { block, codec } if block % 1024 == 0 => {
                write!(f, "packed:{}K:{codec}", block / 1024)
            }
            Stored::Packed { block, codec } => write!(f, "packed:{block}:{codec}"),
            Stored::Netcdf4 { chunk, codec } => write!(f, "nc4:{chunk}:{codec}"),
        }
    }
}

impl Serialize for Stored {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(self)
    }
}

impl FromStr for Stored {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: classic, packed:64K:zstd or nc4:1024:deflate");
        let fields: Vec<&str> = text.split(':').collect();
        match fields[..] {
            ["classic"] => Ok(Stored::Classic),
            ["packed", block, codec] => {
                let (digits, unit) = match block.strip_suffix(['K', 'k']) {
                    Some(n) => (n, 1024),
                    None => match block.strip_suffix(['M', 'm']) {
                        Some(n) => (n, 1 << 20),
                        None => (block, 1),
                    },
                };
                let block = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(wrong)?;
                let codec: Compressor = codec.parse()?;
                let options = codec.packed().map(|codec| Options { block, codec }).ok_or_else(wrong)?;
                options.check().map_err(|e| e.to_string())?;
                Ok(Stored::Packed { block, codec })
            }
            ["nc4", chunk, codec] => {
                let chunk = chunk.parse().ok().filter(|&n| n > 0).ok_or_else(wrong)?;
                Ok(Stored::Netcdf4 { chunk, codec: codec.parse()? })
            }
            _ => Err(wrong()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_are_read_and_written() {
        for text in ["classic", "packed:64K:zstd=3", "packed:4K:lz4", "nc4:1024:deflate=4", "nc4:1:none"] {
            assert_eq!(text.parse::<Stored>().unwrap().to_string(), text);
        }
        assert_eq!("packed:1M:zstd".parse::<Stored>().unwrap().to_string(), "packed:1024K:zstd=4");
        for text in
            ["", "packed", "packed:5000:zstd", "packed:64K:none", "nc4:0:zstd", "nc4:1:zstd=99", "zarr"]
        {
            assert!(text.parse::<Stored>().is_err(), "{text}");
        }
    }
}
