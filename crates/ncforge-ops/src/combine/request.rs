//! A user's request for a combination.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::options::{CombineOptions, Differing, Holes, TileChunks};
use super::scheme::{GenericScheme, Placement, SchemeChoice, SchemeName};
use crate::copy::{ChunkSpec, CodingRequest, CopyOptions, Lengths, RunRequest};
use crate::request::{RequestError, Size, Times, list, path};
use ncforge::Error;
use ncforge_tune::vocabulary::BadValue;
use ncforge_tune::{text_of, words};

words!(Holes:
    (Holes::Fill, "fill", [], "_FillValue, else missing_value, else the type's fill value"),
    (Holes::Missing, "missing", [], "_FillValue, else missing_value, else zeros"),
    (Holes::Zero, "zero", [], "Zeros"),
    (Holes::Error, "error", [], "A hole is an error"),
);

words!(Differing:
    (Differing::Error, "error", [], "That is an error"),
    (Differing::First, "first", [], "Take the first tile's"),
);

impl FromStr for TileChunks {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let write = "auto, tiles, keep, time/365,lat/40,lon/40 (dimensions) or sst:365,40,40 (a variable)";
        Ok(match text {
            "auto" => TileChunks::Auto,
            "tiles" => TileChunks::Tiles,
            "keep" => TileChunks::Keep,
            spec => TileChunks::Spec(ChunkSpec::parse(spec).map_err(|e| BadValue::repeated(e, write))?),
        })
    }
}

impl fmt::Display for TileChunks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TileChunks::Auto => f.write_str("auto"),
            TileChunks::Tiles => f.write_str("tiles"),
            TileChunks::Keep => f.write_str("keep"),
            TileChunks::Spec(spec) => write!(f, "{spec}"),
        }
    }
}

text_of!(TileChunks, or Lengths);

impl TryFrom<Lengths> for TileChunks {
    type Error = Error;

    fn try_from(lengths: Lengths) -> Result<Self, Error> {
        ChunkSpec::of(&lengths).map(TileChunks::Spec)
    }
}

/// How to write placements.
const PLACE: &str = "x=attr:ibegin,base:1 or y=tile:j, with names such as out_{j}.nc";

/// A request for a combination.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CombineRequest {
    /// The scheme by which the place of a tile is found. Default: `auto`.
    pub scheme: SchemeName,
    /// The places for `generic`, one for each split dimension: `DIM=attr:NAME[I]`, `DIM=attr:VAR@NAME[I]`, `DIM=name:K` or `DIM=tile:K`,
    /// then perhaps `,base:B`, `,halo:LOW:HIGH`, `,whole:LENGTH`.
    #[serde(deserialize_with = "list")]
    pub place: Vec<String>,
    /// The file names for `generic`, with `{K}` where the numbers of `name:K` and `tile:K` stand.
    pub names: Option<String>,
    /// The values where no tile is. Default: `fill`.
    pub holes: Holes,
    /// Whether tiles that should exist may be missing; their places are holes. Default: no.
    pub allow_missing: bool,
    /// Whether tiles may lack records; they are holes. Default: no.
    pub allow_ragged: bool,
    /// The treatment of a variable that is not distributed and differs between tiles. Default: `error`.
    pub differing: Differing,
    /// Whether the tiles are put into an existing output, whose other values stay. Default: no.
    pub append: bool,
    /// A file with coordinates, for the holes in those. Default: none.
    #[serde(deserialize_with = "path")]
    pub coords: Option<PathBuf>,
    /// Only records from the first up to, but not including, the second: `A:B`, from 0. Default: all.
    pub times: Option<Times>,
    /// Chunk shapes: `auto` (the tiles' where they serve readers, else chosen), `tiles` (cut by no edge between tiles), `keep`
    /// (the tiles'), or a specification such as `time/365,lat/40`. Default: `auto`.
    pub chunks: TileChunks,
    /// Format and compression.
    #[serde(flatten)]
    pub coding: CodingRequest,
    /// Whether the tiles are removed when the output is whole, verified and on disk. Default: no.
    pub delete_tiles: bool,
    /// The tile whose header is read first, from 0; the output does not depend on it. Default: 0.
    pub begin_with: usize,
    /// Bytes that stay free behind the header (classic) or in the metadata block (netCDF-4). Default: as the format has it.
    pub header_space: Option<Size>,
    /// Variables, verification, resuming, history, threads and memory.
    #[serde(flatten)]
    pub run: RunRequest,
}

impl CombineRequest {
    /// The options of the combination into `output`.
    ///
    /// # Errors
    /// [`RequestError`] where options are wrong together, or by themselves.
    pub fn options(&self, output: &Path) -> Result<CombineOptions, RequestError> {
        let excluded = [
            ("times", self.times.is_some()),
            ("coords", self.coords.is_some()),
            ("select", !self.run.select.is_empty()),
        ];
        if let Some((other, _)) = excluded.into_iter().find(|(_, given)| self.append && *given) {
            return Err(RequestError::Exclude { one: "append", other });
        }
        let copy = self.run.options(self.coding.options()?)?;
        Ok(CombineOptions {
            scheme: self.scheme()?,
            exact: false,
            holes: self.holes,
            allow_missing: self.allow_missing,
            allow_ragged: self.allow_ragged,
            differing: self.differing,
            coords: self.coords.clone(),
            records: self.times.map(|t| (t.0, t.1)),
            into_existing: self.append.then(|| output.to_owned()),
            begin_with: self.begin_with,
            chunks: self.chunks.clone(),
            delete_tiles: self.delete_tiles,
            copy: CopyOptions {
                overwrite: self.run.overwrite || self.append,
                header_room: self.header_space.map(|size| size.0),
                ..copy
            },
        })
    }

    fn scheme(&self) -> Result<SchemeChoice, RequestError> {
        let is_placed = !self.place.is_empty() || self.names.is_some();
        if is_placed && self.scheme != SchemeName::Generic {
            return Err(RequestError::Needs {
                options: &["place", "names"],
                other: "scheme",
                value: "generic",
            });
        }
        Ok(match self.scheme {
            SchemeName::Generic if self.place.is_empty() => {
                return Err(RequestError::Lacks {
                    option: "scheme",
                    value: "generic",
                    needed: "place",
                    often: "for every split dimension",
                    write: "such as x=attr:ibegin,base:1 or y=tile:j, with names such as out_{j}.nc",
                });
            }
            SchemeName::Generic => {
                let placements = self.place.iter().map(|text| {
                    Placement::parse(text).map_err(|e| RequestError::Value {
                        option: "place".to_owned(),
                        bad: BadValue::repeated(e, PLACE),
                    })
                });
                SchemeChoice::Generic(GenericScheme {
                    placements: placements.collect::<Result<_, _>>()?,
                    pattern: self.names.clone(),
                })
            }
            name => SchemeChoice::Named(name),
        })
    }
}
