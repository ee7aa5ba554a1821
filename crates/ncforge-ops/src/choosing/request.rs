//! The purpose of chunk shapes, in a user's words.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use super::{Choosing, chunks_for_all, why_none};
use crate::request::{EngineRequest, Size, list_or_none};
use ncforge::model::VarId;
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Engine, Result as NcResult};
use ncforge_tune::vocabulary::BadValue;
use ncforge_tune::{Access, Choice, Limits, Machine, StorageKind};
use ncforge_tune::{text_of, words};

/// How values will be read, by [`Access::parse`].
#[derive(Clone, Debug, PartialEq)]
pub struct Reads {
    text: String,
    /// The reads, with their weights.
    pub accesses: Vec<Access>,
}

impl FromStr for Reads {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let write =
            "series, or series=3,map=1 (with weights), or time=all,lat=1,lon=1 (lengths of dimensions)";
        let accesses =
            Access::parse(text, &[]).map_err(|e| BadValue { write: Some(write), ..BadValue::of(text, e) })?;
        Ok(Reads { text: text.to_owned(), accesses })
    }
}

impl fmt::Display for Reads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

text_of!(Reads);

/// Lengths that dimensions will have: `time=3650,member=50`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expected(pub Vec<(String, u64)>);

impl FromStr for Expected {
    type Err = BadValue;

    fn from_str(text: &str) -> Result<Self, BadValue> {
        let known = Choosing::parse_expected(text).map(Expected);
        known.map_err(|e| BadValue { text: None, why: e.to_string(), write: None })
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let items: Vec<String> = self.0.iter().map(|(name, len)| format!("{name}={len}")).collect();
        f.write_str(&items.join(","))
    }
}

text_of!(Expected, or BTreeMap<String, u64>);

impl From<BTreeMap<String, u64>> for Expected {
    fn from(lengths: BTreeMap<String, u64>) -> Self {
        Expected(lengths.into_iter().collect())
    }
}

/// The software that will read a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reader {
    /// All of them: chunks are large enough for Dask and archives, and of a shape whose parts ncforge reads quickly.
    #[default]
    Any,
    /// ncforge alone.
    Ncforge,
    /// netCDF-C alone.
    NetcdfC,
}

words!(Reader:
    (Reader::Any, "any", [],
        "ncforge, netCDF-C, xarray with Dask: chunks of at least 1 MiB (4 MiB for `--storage object`), of which ncforge reads parts"),
    (Reader::Ncforge, "ncforge", [], "ncforge alone: chunks may be as small as 16 KiB"),
    (Reader::NetcdfC, "netcdf-c", [],
        "netCDF-C and what is built on it: one thread, chunk by chunk; the chunk cache that it needs is reported, too"),
);

/// How values will be read, from where, and by what: what chunk shapes are chosen for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChoosingRequest {
    /// The reads of the values: `map`, `series`, `profile`, `column`, `box`, `full` with weights, as `series=3,map=1`; or
    /// lengths of dimensions, as `time=all,lat=1,lon=1`. Default: series, map and full alike.
    #[serde(rename = "for")]
    pub reads: Option<Reads>,
    /// Lengths that unlimited dimensions will have in the end, as `time=3650`. Default: those that they have.
    pub expect: Option<Expected>,
    /// The storage that the file will be read from. Default: this machine's, as calibrated.
    pub storage: Option<StorageKind>,
    /// The software that will read the file. Default: `any`.
    pub reader: Reader,
    /// Memory of a program that will append to the file, one record at a time: the chunks that a record touches fit in
    /// there. Default: 1G.
    pub writer_memory: Option<Size>,
}

/// The user's machine, with files on `storage` if that is named.
pub fn machine_on(storage: Option<StorageKind>) -> Machine {
    let user = Machine::of_user();
    storage.map_or(user, |kind| user.on(kind))
}

impl ChoosingRequest {
    /// Whether anything is said that only matters for shapes that are chosen.
    pub fn is_asked(&self) -> bool {
        let ChoosingRequest { reads, expect, storage, reader, writer_memory } = self;
        reads.is_some()
            || expect.is_some()
            || storage.is_some()
            || *reader != Reader::default()
            || writer_memory.is_some()
    }

    /// The library's terms. `sample`: whether values are looked at.
    pub fn choosing(&self, sample: bool) -> Choosing {
        let machine = machine_on(self.storage);
        let usual = match (self.reader, self.storage) {
            (Reader::Any, Some(StorageKind::Object)) => Limits::for_objects(),
            (Reader::Any, _) => Limits::default(),
            (Reader::Ncforge | Reader::NetcdfC, _) => Limits::for_one_reader(),
        };
        Choosing {
            accesses: self.reads.as_ref().map_or_else(Access::usual, |reads| reads.accesses.clone()),
            machine: match self.reader {
                Reader::Any | Reader::Ncforge => machine,
                Reader::NetcdfC => machine.netcdf_c(),
            },
            limits: Limits {
                writer_memory: self.writer_memory.map(|size| size.0).or(usual.writer_memory),
                ..usual
            },
            sample,
            expect: self.expect.clone().unwrap_or_default().0,
        }
    }
}

/// A request for a choice of chunk shapes without a copy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TuneRequest {
    /// Only these variables, by path. Default: those larger than a chunk.
    #[serde(deserialize_with = "list_or_none")]
    pub vars: Option<Vec<String>>,
    /// The purpose of the chunks.
    #[serde(flatten)]
    pub choosing: ChoosingRequest,
    /// Whether values are looked at; else compression is taken to be usual. Default: yes.
    pub sample: bool,
    /// Threads and memory.
    #[serde(flatten)]
    pub engine: EngineRequest,
}

impl Default for TuneRequest {
    fn default() -> Self {
        TuneRequest {
            vars: None,
            choosing: ChoosingRequest::default(),
            sample: true,
            engine: EngineRequest::default(),
        }
    }
}

/// The chunk shapes that suit a file's variables.
#[derive(Clone, Debug, Serialize)]
pub struct TuneReport {
    /// The file.
    pub file: String,
    /// Its variables; those that were not named, and have no shape to choose, are left out.
    pub variables: Vec<Tuned>,
}

/// The chunk shape that suits one variable.
#[derive(Clone, Debug, Serialize)]
pub struct Tuned {
    /// Its path.
    pub variable: String,
    /// The shape, what reads of it cost, and the reasons.
    pub choice: Option<Choice>,
    /// The reason why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<&'static str>,
}

/// Chooses chunk shapes for the variables of a file, which is not changed.
///
/// # Errors
/// As opening; [`ncforge::Error::NotFound`] for a variable or a dimension that the file does not have.
pub fn tune_chunks(file: &Path, request: &TuneRequest, engine: &Engine) -> NcResult<TuneReport> {
    let dataset = Dataset::open_with(file, engine)?;
    let schema = dataset.schema();
    let shown = shown_path(file);
    let choosing = request.choosing.choosing(request.sample);
    choosing.check(schema, &shown)?;
    let vars: Vec<VarId> = match &request.vars {
        None => {
            let large = |v: &VarId| schema.values_bytes(*v).is_some_and(|n| n > choosing.limits.min_bytes);
            schema.var_ids().filter(large).collect()
        }
        Some(names) => names.iter().map(|name| dataset.var(name)).collect::<NcResult<_>>()?,
    };
    let chosen = chunks_for_all(&dataset, &vars, &choosing)?;
    let variables = chosen.into_iter().map(|(v, choice)| {
        let why = why_none(schema, v).filter(|_| choice.is_none());
        Tuned { variable: schema.var_path(v), choice, why }
    });
    let is_shown = |t: &Tuned| t.choice.is_some() || (request.vars.is_some() && t.why.is_some());
    Ok(TuneReport { file: shown, variables: variables.filter(is_shown).collect() })
}
