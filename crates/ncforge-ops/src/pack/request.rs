//! What a user asks of packing and unpacking.

use serde::{Deserialize, Serialize};

use super::PackOptions;
use crate::request::{BadValue, EngineRequest, RequestError, Size, words};
use ncforge::store::packed::{Codec, Options};

/// The compressors of packed files, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PackCodec {
    /// Zstandard.
    #[default]
    Zstd,
    /// Deflate.
    Deflate,
    /// LZ4.
    Lz4,
}

words!(PackCodec:
    (PackCodec::Zstd, "zstd", [], "Small and fast"),
    (PackCodec::Deflate, "deflate", ["zlib"], "zlib's format"),
    (PackCodec::Lz4, "lz4", [], "Fastest to decode, less small"),
);

/// What is asked of packing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PackRequest {
    /// Bytes of a block, a power of two from 4K to 1M: larger ones are smaller on disk, smaller ones faster to read values and
    /// series from. Default: 16K.
    pub block: Size,
    /// How blocks are compressed. Default: `zstd`.
    pub codec: PackCodec,
    /// Level of compression: 0 to 9 for deflate, 1 to 22 for zstd, none for lz4. Default: 4.
    pub level: Option<u32>,
    /// Whether an existing output may be replaced. Default: no.
    pub overwrite: bool,
    /// Threads and memory.
    #[serde(flatten)]
    pub engine: EngineRequest,
}

impl Default for PackRequest {
    fn default() -> Self {
        PackRequest {
            block: Size(Options::default().block),
            codec: PackCodec::default(),
            level: None,
            overwrite: false,
            engine: EngineRequest::default(),
        }
    }
}

impl PackRequest {
    /// The options of packing.
    ///
    /// # Errors
    /// A size that blocks cannot have, a level that the codec does not have.
    pub fn options(&self) -> Result<PackOptions, RequestError> {
        let packed = Options { block: self.block.0, codec: self.codec()? };
        packed.check().map_err(|e| RequestError::Value {
            option: "block".to_owned(),
            bad: BadValue::repeated(e, "a power of two from 4K to 1M, such as 16K"),
        })?;
        Ok(PackOptions { packed, overwrite: self.overwrite })
    }

    fn codec(&self) -> Result<Codec, RequestError> {
        let wrong = |why: String| RequestError::Value {
            option: "level".to_owned(),
            bad: BadValue {
                text: None,
                why,
                write: Some("a level of the codec: deflate has 0 to 9, zstd 1 to 22, lz4 none"),
            },
        };
        match (self.codec, self.level) {
            (PackCodec::Zstd, None) => Ok(Codec::ZSTD),
            (PackCodec::Zstd, Some(level @ 1..=22)) => Ok(Codec::Zstd(level as i32)),
            (PackCodec::Deflate, level @ (None | Some(0..=9))) => Ok(Codec::Deflate(level.unwrap_or(4))),
            (PackCodec::Lz4, None) => Ok(Codec::Lz4),
            (PackCodec::Lz4, Some(n)) => Err(wrong(format!("level {n} makes no sense with the codec lz4"))),
            (_, Some(n)) => Err(wrong(format!("there is no level {n} of this codec"))),
        }
    }
}

/// What is asked of unpacking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnpackRequest {
    /// Whether an existing output may be replaced. Default: no.
    pub overwrite: bool,
    /// Threads and memory.
    #[serde(flatten)]
    pub engine: EngineRequest,
}
