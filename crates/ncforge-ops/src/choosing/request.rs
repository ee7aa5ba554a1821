//! What chunk shapes are chosen for, as a user says it.

use serde::{Deserialize, Serialize};

use super::Choosing;
use crate::request::{EngineRequest, Expected, Reader, Reads, Size, list_or_none};
use crate::tune::{Access, Limits, Machine, StorageKind};

/// How values will be read, from where, and by what: what chunk shapes are chosen for.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ChoosingRequest {
    /// How the values will be read: `map`, `series`, `profile`, `column`, `box`, `full` with weights, as `series=3,map=1`; or
    /// lengths of dimensions, as `time=all,lat=1,lon=1`. Default: series, map and full alike.
    #[serde(rename = "for")]
    pub reads: Option<Reads>,
    /// Lengths that unlimited dimensions will have in the end, as `time=3650`. Default: those that they have.
    pub expect: Option<Expected>,
    /// The storage that the file will be read from. Default: this machine's, as calibrated.
    pub storage: Option<StorageKind>,
    /// The library that will read the file. Default: `ncforge`.
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
    /// The library's terms. `sample`: whether values are looked at.
    pub fn choosing(&self, sample: bool) -> Choosing {
        let machine = machine_on(self.storage);
        let usual = Limits::default();
        Choosing {
            accesses: self.reads.as_ref().map_or_else(Access::usual, |reads| reads.accesses.clone()),
            machine: match self.reader {
                Reader::Ncforge => machine,
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

/// What is asked of a choice of chunk shapes that nothing is written for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TuneRequest {
    /// Only these variables, by path. Default: those larger than a chunk.
    #[serde(deserialize_with = "list_or_none")]
    pub vars: Option<Vec<String>>,
    /// What for.
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
