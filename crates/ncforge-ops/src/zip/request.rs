//! A user's request for zipping and unzipping.

use serde::{Deserialize, Serialize};

use super::ZipOptions;
use crate::request::{EngineRequest, RequestError, Size};
use ncforge::store::zipped::{Codec, Options};
use ncforge_tune::vocabulary::BadValue;
use ncforge_tune::words;

/// The compressors of zipped files, by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ZipCodec {
    /// Zstandard.
    #[default]
    Zstd,
    /// Deflate.
    Deflate,
    /// LZ4.
    Lz4,
}

words!(ZipCodec:
    (ZipCodec::Zstd, "zstd", [], "Small and fast"),
    (ZipCodec::Deflate, "deflate", ["zlib"], "zlib's format"),
    (ZipCodec::Lz4, "lz4", [], "Fastest to decode, less small"),
);

/// A request for zipping.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ZipRequest {
    /// Bytes of a block, a power of two from 4K to 1M: larger ones are smaller on disk, smaller ones faster to read values and
    /// series from. Default: 16K.
    pub block: Size,
    /// How blocks are compressed. Default: `zstd`.
    pub codec: ZipCodec,
    /// Level of compression: 0 to 9 for deflate, 1 to 22 for zstd, none for lz4. Default: 4.
    pub level: Option<u32>,
    /// Whether an existing output may be replaced. Default: no.
    pub overwrite: bool,
    /// Threads and memory.
    #[serde(flatten)]
    pub engine: EngineRequest,
}

impl Default for ZipRequest {
    fn default() -> Self {
        ZipRequest {
            block: Size(Options::default().block),
            codec: ZipCodec::default(),
            level: None,
            overwrite: false,
            engine: EngineRequest::default(),
        }
    }
}

impl ZipRequest {
    /// The options of zipping.
    ///
    /// # Errors
    /// A size that blocks cannot have, a level that the codec does not have.
    pub fn options(&self) -> Result<ZipOptions, RequestError> {
        let zipped = Options { block: self.block.0, codec: self.codec()? };
        zipped.check().map_err(|e| RequestError::Value {
            option: "block".to_owned(),
            bad: BadValue::repeated(e, "a power of two from 4K to 1M, such as 16K"),
        })?;
        Ok(ZipOptions { zipped, overwrite: self.overwrite })
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
            (ZipCodec::Zstd, None) => Ok(Codec::ZSTD),
            (ZipCodec::Zstd, Some(level @ 1..=22)) => Ok(Codec::Zstd(level as i32)),
            (ZipCodec::Deflate, level @ (None | Some(0..=9))) => Ok(Codec::Deflate(level.unwrap_or(4))),
            (ZipCodec::Lz4, None) => Ok(Codec::Lz4),
            (ZipCodec::Lz4, Some(n)) => Err(wrong(format!("the codec lz4 has no level {n}"))),
            (_, Some(n)) => Err(wrong(format!("there is no level {n} of this codec"))),
        }
    }
}

/// A request for unzipping.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnzipRequest {
    /// Whether an existing output may be replaced. Default: no.
    pub overwrite: bool,
    /// Threads and memory.
    #[serde(flatten)]
    pub engine: EngineRequest,
}
