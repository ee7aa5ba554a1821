//! Parts of a request that copies, combinations and splittings have in common: each option is declared once.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::history::history_line;
use super::options::{Codec, CopyOptions, Names};
use crate::request::{EngineRequest, FormatChoice, PointsChoice, RequestError, list_or_none};
use crate::select::Selection;
use ncforge_tune::codec::Goal;
use ncforge_tune::vocabulary::BadValue;
use ncforge_tune::words;

/// How to compress.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodecName {
    /// The filters of the input.
    #[default]
    Keep,
    /// Not at all.
    None,
    /// Deflate.
    Deflate,
    /// Zstandard.
    Zstd,
    /// Chosen for each variable.
    Auto,
}

words!(CodecName:
    (CodecName::Keep, "keep", [], "As in the input"),
    (CodecName::None, "none", [], "No compression"),
    (CodecName::Deflate, "deflate", ["zlib"], "Also called zlib: read by every netCDF-4 reader"),
    (CodecName::Zstd, "zstd", [], "Zstandard: faster; needs a plugin in other readers"),
    (CodecName::Auto, "auto", [],
        "For each variable what a sample of its values says: none, or deflate with or without shuffle"),
);

/// Format and compression of an output.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CodingRequest {
    /// Format of the output. Default: `keep`, the input's.
    pub format: FormatChoice,
    /// Compression. Default: `keep`.
    pub codec: CodecName,
    /// The goal of the codec `auto`. Default: `balanced`.
    pub goal: Option<Goal>,
    /// Whether the codec `auto` may choose zstd, which other readers need a plugin for. Default: no.
    pub allow_zstd: bool,
    /// Level of compression: 0 (none) to 9 for deflate, 1 to 22 for zstd; not with `auto`. Default: the codec's own, and
    /// with `keep` the input's.
    pub level: Option<u32>,
    /// Whether bytes are shuffled before compression. Default: where numbers are longer than a byte.
    pub shuffle: Option<bool>,
    /// Access points of the deflate chunks that are encoded: `off`, `auto`, or the bytes of values in a segment; chunks that are moved
    /// keep theirs. Default: `auto`, for chunks that are worth it.
    pub access_points: Option<PointsChoice>,
}

impl CodingRequest {
    /// The options of a copy that these are; the others are the defaults.
    ///
    /// # Errors
    /// A goal without the codec that has one, a level that the codec does not have.
    pub fn options(&self) -> Result<CopyOptions, RequestError> {
        if self.codec != CodecName::Auto && (self.goal.is_some() || self.allow_zstd) {
            return Err(RequestError::Needs {
                options: &["goal", "allow_zstd"],
                other: "codec",
                value: "auto",
            });
        }
        let codec = match self.codec {
            CodecName::Keep => Codec::Keep,
            CodecName::None => Codec::None,
            CodecName::Deflate => Codec::Deflate,
            CodecName::Zstd => Codec::Zstd,
            CodecName::Auto => Codec::Auto { goal: self.goal.unwrap_or_default(), zstd: self.allow_zstd },
        };
        let options = CopyOptions {
            format: self.format.0,
            codec,
            level: self.level,
            shuffle: self.shuffle,
            access_points: self.access_points.map(|choice| choice.0),
            ..CopyOptions::default()
        };
        options.check()?;
        Ok(options)
    }
}

/// The part of the input that goes into the output, and how a long run goes, and goes on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct RunRequest {
    /// Only these variables, by path, and the dimensions that they use. Default: all.
    #[serde(deserialize_with = "list_or_none")]
    pub vars: Option<Vec<String>>,
    /// Only these indices along dimensions: `time=0:12`, `lat=-10..10`, `time=2000-02`; see [`Selection`]. Default: all.
    pub select: Selection,
    /// Whether the output is read back, as ncforge reads, and compared before it gets its name. Default: no.
    pub verify: bool,
    /// Whether an existing output may be replaced. Default: no.
    pub overwrite: bool,
    /// Whether to go on with an interrupted run. Default: no.
    pub resume: bool,
    /// Seconds between two notes of what is done, from which `resume` goes on. Default: 2.
    pub checkpoint: Option<f64>,
    /// Text for the attribute `history`, put behind the date and in front of what stands there. Default: the attribute is
    /// left alone.
    pub history: Option<String>,
    /// Threads and memory.
    #[serde(flatten)]
    pub engine: EngineRequest,
}

impl RunRequest {
    /// The options of `coding`, with these.
    ///
    /// # Errors
    /// A time between notes that is none.
    pub fn options(&self, coding: CopyOptions) -> Result<CopyOptions, RequestError> {
        let checkpoint = match self.checkpoint {
            None => coding.checkpoint,
            Some(seconds) => Duration::try_from_secs_f64(seconds).map_err(|e| RequestError::Value {
                option: "checkpoint".to_owned(),
                bad: BadValue { write: Some("a number of seconds"), ..BadValue::of(&seconds.to_string(), e) },
            })?,
        };
        Ok(CopyOptions {
            only: self.vars.clone().map(|vars| Names { vars, groups: Vec::new() }),
            select: self.select.clone(),
            history: self.history.as_deref().map(history_line),
            overwrite: self.overwrite,
            resume: self.resume,
            verify: self.verify,
            checkpoint,
            ..coding
        })
    }
}
