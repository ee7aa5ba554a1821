//! Options of the workload: NetCDF-Bench's, and more.

use std::path::PathBuf;

use ncforge::Atomic;
use ncforge_tune::vocabulary::did_you_mean;
use serde::Serialize;

use super::data::Content;
use super::kinds::{StoredAs, as_type_name};
use super::lengths::Lengths;
use super::resolving::GeometryRequest;
use crate::driver::{Coding, is_hdf5, system};

/// Everything that can be asked.
#[derive(Clone, Debug, Serialize)]
pub struct IoOptions {
    /// Array, blocks, ranks.
    pub geometry: GeometryRequest,
    /// The compared cases: libraries, chunks, kinds of access.
    pub cases: Vec<CaseAsk>,
    /// Write the file.
    pub write: bool,
    /// Read it.
    pub read: bool,
    /// Compare every value that is read with what it should be.
    pub verify: bool,
    /// The file. Several cases take names derived from it. Files stay where they are.
    pub file: PathBuf,
    /// Replace a file that no benchmark has written.
    pub overwrite: bool,
    /// Type of the values.
    #[serde(serialize_with = "as_type_name")]
    pub dtype: Atomic,
    /// Whether the first dimension is unlimited.
    pub unlimited: bool,
    /// Whether the library fills what is not written yet.
    pub fill: bool,
    /// The kind of values.
    pub content: Content,
    /// Measured repetitions.
    pub repetitions: usize,
    /// Repetitions before that are not counted.
    pub warmup: usize,
    /// States of the page cache in which is read.
    pub caches: Vec<CacheAsk>,
    /// Wait after each write until the file is on disk, and time it.
    pub sync: bool,
    /// Measure rounds again that something else on the machine disturbed.
    pub guard: bool,
    /// Threads of one rank of ncforge; its share of the processors when `None`.
    pub threads: Option<usize>,
    /// Hints for MPI's input and output: to MPI-IO and to parallel netCDF.
    pub hints: Vec<(String, String)>,
    /// The cases are layers of one another, and are reported as such; those that cannot do what is asked are left out.
    pub layers: bool,
}

impl IoOptions {
    /// NetCDF-Bench's defaults for a file: write, independent, contiguous, not filled; measured five times.
    pub fn new(file: impl Into<PathBuf>) -> Self {
        IoOptions {
            geometry: GeometryRequest::default(),
            cases: vec![CaseAsk::default()],
            write: true,
            read: false,
            verify: true,
            file: file.into(),
            overwrite: false,
            dtype: Atomic::Int,
            unlimited: false,
            fill: false,
            content: Content::Hash,
            repetitions: 5,
            warmup: 1,
            caches: vec![CacheAsk::Warm],
            sync: true,
            guard: true,
            threads: None,
            hints: Vec::new(),
            layers: false,
        }
    }
}

/// One of the things that are compared.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
pub struct CaseAsk {
    /// The library.
    pub driver: DriverAsk,
    /// How ranks share files.
    pub access: AccessKind,
    /// The chunks of the variable.
    pub chunks: ChunkChoice,
    /// The format or store.
    pub stored: StoredAs,
    /// How values are encoded.
    pub coding: Coding,
}

/// A library under the benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverAsk {
    /// ncforge itself.
    #[default]
    Ncforge,
    /// Plain system calls.
    Raw,
    /// Raw bytes through MPI-IO, in MPI jobs.
    MpiIo,
    /// A library at a path, or the system's: see [`crate::driver::library`].
    Library(PathBuf),
}

/// The system's libraries of netCDF-C and of HDF5, as [`crate::driver::library`] takes them.
const SYSTEMS: [&str; 2] = ["netcdf-c", "hdf5"];

impl DriverAsk {
    /// Its name before it is loaded.
    pub(crate) fn title(&self) -> String {
        match self {
            DriverAsk::Ncforge => "ncforge".into(),
            DriverAsk::Raw => "raw".into(),
            DriverAsk::MpiIo => "mpi-io".into(),
            DriverAsk::Library(path) => {
                let name = path.to_string_lossy();
                system(&name).map_or_else(|| name.to_string(), str::to_owned)
            }
        }
    }

    /// True if values are written as they are, in no format: nothing is encoded, rounded or held.
    pub fn is_plain(&self) -> bool {
        matches!(self, DriverAsk::Raw | DriverAsk::MpiIo)
    }

    /// The layers that data goes through, from the lowest: system calls, MPI-IO, HDF5, netCDF-C (these builds of it, or the system's), ncforge.
    pub fn layers(libraries: &[PathBuf]) -> Vec<DriverAsk> {
        let (mut hdf5, mut netcdf): (Vec<PathBuf>, Vec<PathBuf>) =
            libraries.iter().cloned().partition(|path| is_hdf5(path));
        for (all, system) in [(&mut netcdf, SYSTEMS[0]), (&mut hdf5, SYSTEMS[1])] {
            if all.is_empty() {
                all.push(system.into());
            }
        }
        let between = hdf5.into_iter().chain(netcdf).map(DriverAsk::Library);
        [DriverAsk::Raw, DriverAsk::MpiIo].into_iter().chain(between).chain([DriverAsk::Ncforge]).collect()
    }
}

impl std::str::FromStr for DriverAsk {
    type Err = String;

    /// `ncforge`, `raw`, `mpi-io`, `netcdf-c` (also `libnetcdf`), `hdf5` (also `h5`), or the path of a library of netCDF-C or of HDF5.
    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(name) = system(text) {
            return Ok(DriverAsk::Library(name.into()));
        }
        match text {
            "ncforge" => Ok(DriverAsk::Ncforge),
            "raw" => Ok(DriverAsk::Raw),
            "mpi-io" => Ok(DriverAsk::MpiIo),
            path if path.contains('/') || path.contains(".so") => Ok(DriverAsk::Library(path.into())),
            other => {
                let meant = did_you_mean(other, &["ncforge", "raw", "mpi-io", "netcdf-c", "hdf5"]);
                Err(format!(
                    "no driver `{other}`{meant}: ncforge, raw, mpi-io, netcdf-c, hdf5, or the path of a netCDF-C or HDF5 library"
                ))
            }
        }
    }
}

/// How ranks share files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessKind {
    /// One file, every rank for itself.
    #[default]
    Independent,
    /// One file, all ranks make every call together.
    Collective,
    /// A file for each rank.
    File,
}

impl AccessKind {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            AccessKind::Independent => "independent",
            AccessKind::Collective => "collective",
            AccessKind::File => "file per process",
        }
    }
}

impl std::str::FromStr for AccessKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "i" | "ind" | "independent" => Ok(AccessKind::Independent),
            "c" | "coll" | "collective" => Ok(AccessKind::Collective),
            "f" | "file" | "file-per-process" => Ok(AccessKind::File),
            other => Err(format!("no kind of access `{other}`: ind, coll or file")),
        }
    }
}

/// The chunks of the variable.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ChunkChoice {
    /// Nothing is asked: one run of bytes, or what the library chooses where the format needs chunks.
    #[default]
    Unasked,
    /// A chunk for each block, of one time step.
    Auto,
    /// Chunks of these lengths.
    Lens(Lengths),
}

impl std::str::FromStr for ChunkChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "auto" => Ok(ChunkChoice::Auto),
            "none" => Ok(ChunkChoice::Unasked),
            lens => lens.parse().map(ChunkChoice::Lens),
        }
    }
}

/// The page cache's state before a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheAsk {
    /// The file is in the page cache.
    Warm,
    /// Nothing of the file is.
    Cold,
    /// The state as it happens to be.
    Any,
}

impl CacheAsk {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CacheAsk::Warm => "warm",
            CacheAsk::Cold => "cold",
            CacheAsk::Any => "any",
        }
    }
}

impl std::str::FromStr for CacheAsk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let all = [CacheAsk::Warm, CacheAsk::Cold, CacheAsk::Any];
        let named = all.into_iter().find(|c| c.name() == text);
        named.ok_or_else(|| format!("no state of the cache `{text}`: warm, cold or any"))
    }
}
