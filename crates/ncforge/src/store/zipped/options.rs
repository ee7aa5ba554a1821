//! Options of new zipped files, and the resources that zipped files may use.

use std::sync::Arc;

use super::cache::BlockCache;
use super::workers::{CallerOnly, Workers};
use crate::error::{Error, Result};

/// How blocks are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    /// zlib streams, level 0 to 9.
    Deflate(u32),
    /// Zstandard, level −131072 to 22.
    Zstd(i32),
    /// LZ4.
    Lz4,
}

impl Codec {
    /// Zstandard at the default level: blocks of 16 KiB of station records are a sixteenth smaller than at level 3, and
    /// no larger than at level 5, which takes a quarter longer to encode.
    pub const ZSTD: Codec = Codec::Zstd(4);

    /// "zstd level 4".
    pub fn describe(self) -> String {
        match self {
            Codec::Deflate(level) => format!("deflate level {level}"),
            Codec::Zstd(level) => format!("zstd level {level}"),
            Codec::Lz4 => "lz4".to_owned(),
        }
    }

    /// The form in roots: a number, and a level.
    pub(super) fn numbers(self) -> (u8, i32) {
        match self {
            Codec::Deflate(level) => (3, level as i32),
            Codec::Zstd(level) => (4, level),
            Codec::Lz4 => (5, 0),
        }
    }

    pub(super) fn of_numbers(number: u8, level: i32) -> Option<Self> {
        match (number, level) {
            (3, 0..=9) => Some(Codec::Deflate(level.cast_unsigned())),
            (4, -131_072..=22) => Some(Codec::Zstd(level)),
            (5, _) => Some(Codec::Lz4),
            _ => None,
        }
    }
}

/// Options of a new zipped file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Bytes of a block: a power of two from 4 KiB to 1 MiB. Larger blocks compress slightly better, smaller ones
    /// are faster for reads of single values or series.
    pub block: u64,
    /// How blocks are compressed.
    pub codec: Codec,
}

impl Default for Options {
    fn default() -> Self {
        Options { block: 16 << 10, codec: Codec::ZSTD }
    }
}

impl Options {
    /// An error that says what is wrong with the options.
    ///
    /// ```
    /// use ncforge::store::zipped::{Codec, Options};
    /// assert!(Options::default().check().is_ok());
    /// assert!(Options { block: 5000, ..Options::default() }.check().is_err());
    /// assert!(Options { codec: Codec::Deflate(12), ..Options::default() }.check().is_err());
    /// ```
    pub fn check(&self) -> Result<()> {
        if !self.block.is_power_of_two() || !(4096..=1 << 20).contains(&self.block) {
            return Err(Error::bad_option(
                "block",
                format!("a block of {} bytes: blocks have a power of two from 4 KiB to 1 MiB", self.block),
            ));
        }
        let (number, level) = self.codec.numbers();
        if Codec::of_numbers(number, level).is_none() {
            return Err(Error::bad_option("codec", format!("there is no {}", self.codec.describe())));
        }
        Ok(())
    }
}

/// The memory and threads that a zipped file may use. Clones share them.
#[derive(Clone, Debug)]
pub struct Resources {
    /// The cache of decoded blocks.
    pub cache: Arc<BlockCache>,
    /// The threads that encode, and decode ahead.
    pub workers: Arc<dyn Workers>,
    /// Bytes of changed blocks that are buffered before they are compressed and written.
    pub pending: u64,
    /// Bytes written after which a file that is being updated is committed automatically.
    pub commit_every: u64,
}

impl Default for Resources {
    /// Only the calling thread, and 16 MiB of decoded blocks.
    fn default() -> Self {
        Resources {
            cache: Arc::new(BlockCache::new(16 << 20)),
            workers: Arc::new(CallerOnly),
            pending: 16 << 20,
            commit_every: 1 << 30,
        }
    }
}
