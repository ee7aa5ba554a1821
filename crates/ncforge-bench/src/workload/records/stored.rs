//! The ways to store records.

use std::fmt;
use std::str::FromStr;

use ncforge::model::Storage;
use ncforge::store::zipped::{self, Options};
use ncforge::{Atomic, Format};

use crate::driver::{Codec, Coding, Shuffle};

/// The storage of a file. As text: `classic`, `zipped:64K:zstd`, `nc4:1024:deflate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stored {
    /// A plain classic file (CDF-2).
    Classic,
    /// A classic file in compressed blocks.
    Zipped {
        /// Bytes of a block.
        block: u64,
        /// How blocks are compressed.
        codec: Codec,
    },
    /// A netCDF-4 file.
    Netcdf4 {
        /// Records in a chunk.
        chunk: u64,
        /// The compression of chunks, after their bytes were shuffled.
        codec: Codec,
    },
}

/// A codec of the ways to store records, by its name and level: `zstd` (of level 4), `zstd=9`, `deflate=4`, `lz4`, `none`.
///
/// # Errors
/// The fault of the text.
pub fn codec(text: &str) -> Result<Codec, String> {
    let known = || format!("no codec `{text}`: zstd, deflate, lz4 or none, as zstd=9 with a level");
    match if text == "zstd" { Codec::Zstd(4) } else { text.parse()? } {
        codec @ (Codec::Zstd(_) | Codec::Deflate(_) | Codec::Lz4 | Codec::None) => Ok(codec),
        _ => Err(known()),
    }
}

/// How zipped files have a codec, if they do.
fn zipped(codec: Codec) -> Option<zipped::Codec> {
    match codec {
        Codec::Deflate(level) => Some(zipped::Codec::Deflate(level)),
        Codec::Zstd(level) => Some(zipped::Codec::Zstd(level)),
        Codec::Lz4 => Some(zipped::Codec::Lz4),
        _ => None,
    }
}

impl Stored {
    /// The ending of its files' names.
    pub(super) fn extension(self) -> &'static str {
        match self {
            Stored::Classic => "nc",
            Stored::Zipped { .. } => "ncz",
            Stored::Netcdf4 { .. } => "nc4",
        }
    }

    /// Whether netCDF-C can read it.
    pub fn is_for_everyone(self) -> bool {
        !matches!(self, Stored::Zipped { .. })
    }

    pub(super) fn format(self) -> Format {
        match self {
            Stored::Classic | Stored::Zipped { .. } => Format::Cdf2,
            Stored::Netcdf4 { .. } => Format::Netcdf4Classic,
        }
    }

    /// Its format, as rows name it.
    pub(super) fn form(self) -> &'static str {
        match self {
            Stored::Classic => "classic",
            Stored::Zipped { .. } => "zipped",
            Stored::Netcdf4 { .. } => "netcdf4-classic",
        }
    }

    /// How zipped files are made.
    pub(super) fn zipped(self) -> Option<Options> {
        match self {
            Stored::Zipped { block, codec } => Some(Options { block, codec: zipped(codec)? }),
            _ => None,
        }
    }

    /// The storage of a variable of one value a record.
    pub(super) fn storage(self, atomic: Atomic) -> Storage {
        match self {
            Stored::Netcdf4 { chunk, codec } => {
                let size = atomic.size();
                let shuffle = if size > 1 && codec != Codec::None { Shuffle::Bytes } else { Shuffle::Off };
                let coding = Coding { codec, shuffle, rounding: None };
                let filters = coding.filters(size, chunk as usize * size);
                Storage::Chunked { chunks: vec![chunk], filters }
            }
            _ => Storage::Contiguous,
        }
    }
}

impl fmt::Display for Stored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Stored::Classic => f.write_str("classic"),
            Stored::Zipped { block, codec } if block % 1024 == 0 => {
                write!(f, "zipped:{}K:{codec}", block / 1024)
            }
            Stored::Zipped { block, codec } => write!(f, "zipped:{block}:{codec}"),
            Stored::Netcdf4 { chunk, codec } => write!(f, "nc4:{chunk}:{codec}"),
        }
    }
}

impl FromStr for Stored {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("`{text}`: classic, zipped:64K:zstd or nc4:1024:deflate");
        let fields: Vec<&str> = text.split(':').collect();
        match fields[..] {
            ["classic"] => Ok(Stored::Classic),
            ["zipped", block, codec] => {
                let (digits, unit) = match block.strip_suffix(['K', 'k']) {
                    Some(n) => (n, 1024),
                    None => match block.strip_suffix(['M', 'm']) {
                        Some(n) => (n, 1 << 20),
                        None => (block, 1),
                    },
                };
                let block = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).ok_or_else(wrong)?;
                let codec = self::codec(codec)?;
                let options = zipped(codec).map(|codec| Options { block, codec }).ok_or_else(wrong)?;
                options.check().map_err(|e| e.to_string())?;
                Ok(Stored::Zipped { block, codec })
            }
            ["nc4", chunk, codec] => {
                let chunk = chunk.parse().ok().filter(|&n| n > 0).ok_or_else(wrong)?;
                Ok(Stored::Netcdf4 { chunk, codec: self::codec(codec)? })
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
        for text in ["classic", "zipped:64K:zstd=3", "zipped:4K:lz4", "nc4:1024:deflate=4", "nc4:1:none"] {
            assert_eq!(text.parse::<Stored>().unwrap().to_string(), text);
        }
        assert_eq!("zipped:1M:zstd".parse::<Stored>().unwrap().to_string(), "zipped:1024K:zstd=4");
        for text in
            ["", "zipped", "zipped:5000:zstd", "zipped:64K:none", "nc4:0:zstd", "nc4:1:zstd=99", "zarr"]
        {
            assert!(text.parse::<Stored>().is_err(), "{text}");
        }
    }
}
