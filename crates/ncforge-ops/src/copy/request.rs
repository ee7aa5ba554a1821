//! A user's request for a copy.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::options::{Chunks, CopyOptions, Names, Switches};
use super::parts::{CodingRequest, RunRequest};
use super::spec::{ChunkSpec, FilterSpec, Lengths};
use crate::choosing::{ChoosingRequest, Reads};
use crate::profile::Profile;
use crate::request::{EndianChoice, RequestError, Size, list, list_or_none};
use ncforge::Error;
use ncforge::codec::Segments;
use ncforge::codec::quantize::Quantize;
use ncforge_tune::rates::StorageKind;
use ncforge_tune::text_of;
use ncforge_tune::vocabulary::BadValue;

/// Chunk shapes: `keep`, `auto`, `auto:READS`, or a specification.
#[derive(Clone, Debug, PartialEq)]
pub enum ChunkChoice {
    /// The input's.
    Keep,
    /// Chosen, for these reads or for those of the option `for`.
    Auto(Option<Reads>),
    /// As `nccopy -c` has it.
    Spec(ChunkSpec),
}

impl FromStr for ChunkChoice {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        Ok(match text {
            "keep" => ChunkChoice::Keep,
            "auto" => ChunkChoice::Auto(None),
            _ => match text.strip_prefix("auto:") {
                Some(reads) => ChunkChoice::Auto(Some(reads.parse()?)),
                None => {
                    let write =
                        "keep, auto, time/365,lat/40,lon/40 (dimensions) or sst:365,40,40 (a variable)";
                    ChunkChoice::Spec(ChunkSpec::parse(text).map_err(|e| BadValue::repeated(e, write))?)
                }
            },
        })
    }
}

impl fmt::Display for ChunkChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChunkChoice::Keep => f.write_str("keep"),
            ChunkChoice::Auto(None) => f.write_str("auto"),
            ChunkChoice::Auto(Some(reads)) => write!(f, "auto:{reads}"),
            ChunkChoice::Spec(spec) => write!(f, "{spec}"),
        }
    }
}

text_of!(ChunkChoice, or Lengths);

impl TryFrom<Lengths> for ChunkChoice {
    type Error = Error;

    fn try_from(lengths: Lengths) -> Result<Self, Error> {
        ChunkSpec::of(&lengths).map(ChunkChoice::Spec)
    }
}

impl FromStr for FilterSpec {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        FilterSpec::parse(text).map_err(|e| BadValue::repeated(e, "v,shuffle|deflate,1 or v,none"))
    }
}

text_of!(FilterSpec);

/// A request for a copy. The default is a copy that changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CopyRequest {
    /// Chunk shapes: `keep`, `auto`, `auto:READS`, or a specification such as `time/365,lat/40` or `sst:365,40,40`. Default:
    /// `keep`; `auto` where it is said how the values will be read, from where, or by what.
    pub chunks: Option<ChunkChoice>,
    /// The purpose of `auto`.
    #[serde(flatten)]
    pub choosing: ChoosingRequest,
    /// Format and compression.
    #[serde(flatten)]
    pub coding: CodingRequest,
    /// Options that are only on or off.
    #[serde(flatten)]
    pub switches: Switches,
    /// Filters of single variables, as `nccopy -F` takes them: `tas|pr,shuffle|deflate,1`, `v,none`. They win over the codec.
    #[serde(deserialize_with = "list")]
    pub filters: Vec<FilterSpec>,
    /// Significant decimal digits, 1 to 15, to which floats and doubles are rounded, so that they compress better;
    /// coordinates are not rounded. Default: no value changes.
    pub keep_digits: Option<u32>,
    /// Bits of the mantissa, 1 to 52, to which floats and doubles are rounded.
    pub keep_bits: Option<u32>,
    /// Byte order of numbers in netCDF-4 output. Default: `keep`.
    pub endian: EndianChoice,
    /// Requirements that the layout of the output meets. Default: none.
    pub profile: Option<Profile>,
    /// Only the variables in these groups, and in the groups below, by path; with `vars` those, too. Default: all.
    #[serde(deserialize_with = "list_or_none")]
    pub groups: Option<Vec<String>>,
    /// Values of these variables only; the others are defined, and read as their fill value. Default: all.
    #[serde(deserialize_with = "list_or_none")]
    pub values_of: Option<Vec<String>>,
    /// A variable of fixed shape with fewer bytes is not chunked, unless its source is and chunks are kept. Default: 8192.
    pub min_chunked: Option<Size>,
    /// Bytes that stay free behind the header (classic) or in the metadata block (netCDF-4). Default: as the format has it.
    pub header_space: Option<Size>,
    /// Variables, verification, resuming, history, threads and memory.
    #[serde(flatten)]
    pub run: RunRequest,
}

impl CopyRequest {
    /// The options of the copy.
    ///
    /// # Errors
    /// [`RequestError`] where options are wrong together, or by themselves.
    pub fn options(&self) -> Result<CopyOptions, RequestError> {
        let mut choosing = self.choosing.clone();
        let chunks = match &self.chunks {
            None if choosing.is_asked() => Chunks::Auto,
            None | Some(ChunkChoice::Keep) => Chunks::Keep,
            Some(ChunkChoice::Auto(Some(_))) if choosing.reads.is_some() => {
                return Err(RequestError::ReadsTwice);
            }
            Some(ChunkChoice::Auto(reads)) => {
                choosing.reads = choosing.reads.or_else(|| reads.clone());
                Chunks::Auto
            }
            Some(ChunkChoice::Spec(spec)) => Chunks::Spec(spec.clone()),
        };
        let options = self.run.options(self.coding.options()?)?;
        if self.switches.add_access_points && options.access_points == Some(Segments::None) {
            let (text, why) = (Some("off".to_owned()), "some shall be added".to_owned());
            let bad = BadValue { text, why, write: Some("auto, or the bytes of a segment") };
            return Err(RequestError::Value { option: "access_points".to_owned(), bad });
        }
        let only = match (&self.run.vars, &self.groups) {
            (None, None) => None,
            (vars, groups) => Some(Names {
                vars: vars.clone().unwrap_or_default(),
                groups: groups.clone().unwrap_or_default(),
            }),
        };
        Ok(CopyOptions {
            chunked_format: chunks == Chunks::Auto && self.choosing.storage == Some(StorageKind::Object),
            chunks,
            choosing: choosing.choosing(true),
            switches: self.switches,
            filters: self.filters.clone(),
            min_chunked: self.min_chunked.map_or(options.min_chunked, |size| size.0),
            only,
            values_of: self.values_of.clone().map(|vars| Names { vars, groups: Vec::new() }),
            endian: self.endian.0,
            quantize: self.quantize()?,
            profile: self.profile,
            header_room: self.header_space.map(|size| size.0),
            ..options
        })
    }

    /// How values lose bits.
    fn quantize(&self) -> Result<Option<Quantize>, RequestError> {
        let within = |option: &str, n: u32, most: u32| match n {
            1.. if n <= most => Ok(n),
            _ => Err(RequestError::Value {
                option: option.to_owned(),
                bad: BadValue::of(&n.to_string(), format_args!("{n} is not in 1..={most}")),
            }),
        };
        Ok(match (self.keep_digits, self.keep_bits) {
            (Some(_), Some(_)) => {
                return Err(RequestError::Exclude { one: "keep_digits", other: "keep_bits" });
            }
            (Some(n), None) => Some(Quantize::GranularBitRound(within("keep_digits", n, 15)?)),
            (None, Some(n)) => Some(Quantize::BitRound(within("keep_bits", n, 52)?)),
            (None, None) => None,
        })
    }
}
