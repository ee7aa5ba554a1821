//! A user's request for an examination.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Codes, DoctorOptions, Profile, ReaderCache};
use crate::choosing::{Reads, machine_on};
use crate::request::{EngineRequest, list, path};
use ncforge_tune::{Access, StorageKind};

impl fmt::Display for Codes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join(","))
    }
}

impl Serialize for Codes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Codes {
    /// One text, or a list of them.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let texts: Vec<String> = list(from)?;
        texts.join(",").parse().map_err(serde::de::Error::custom)
    }
}

/// A request for an examination.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DoctorRequest {
    /// Only these rules: codes (`NC101`), beginnings of codes (`NC1`), or names. Default: all.
    pub select: Codes,
    /// Not these rules. Default: none.
    pub ignore: Codes,
    /// The reads of the values, as of a copy. Default: series, map and full alike.
    #[serde(rename = "for")]
    pub reads: Option<Reads>,
    /// The storage that the files will be read from. Default: this machine's, as calibrated.
    pub storage: Option<StorageKind>,
    /// Check these requirements, and nothing else. Default: none.
    pub profile: Option<Profile>,
    /// The netCDF-C library whose default cache counts. Default: that of 4.9.3 and later.
    #[serde(deserialize_with = "path")]
    pub library: Option<PathBuf>,
    /// Whether values are looked at. Default: yes.
    pub sample: bool,
    /// Threads and memory.
    #[serde(flatten)]
    pub engine: EngineRequest,
}

impl Default for DoctorRequest {
    fn default() -> Self {
        DoctorRequest {
            select: Codes::default(),
            ignore: Codes::default(),
            reads: None,
            storage: None,
            profile: None,
            library: None,
            sample: true,
            engine: EngineRequest::default(),
        }
    }
}

impl DoctorRequest {
    /// The options of the examination. `cache` is that of the netCDF-C that counts, which this crate cannot load.
    pub fn options(&self, cache: ReaderCache) -> DoctorOptions {
        DoctorOptions {
            accesses: self.reads.as_ref().map_or_else(Access::usual, |reads| reads.accesses.clone()),
            machine: machine_on(self.storage),
            select: self.select.clone(),
            ignore: self.ignore.clone(),
            profile: self.profile,
            cache,
            sample: self.sample,
        }
    }
}
