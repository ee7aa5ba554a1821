//! What is asked of the workload: NetCDF-Bench's options, and more.

use std::path::{Path, PathBuf};

use ncforge::{Atomic, Format};
use serde::{Deserialize, Serialize};

use super::data::Content;
use super::lengths::Lengths;
use super::resolving::GeometryRequest;
use super::stored::StoredAs;
use crate::driver::{Coding, is_hdf5};

/// Everything that can be asked. A saved result holds it, and can be run again from it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct IoOptions {
    /// Array, blocks, ranks.
    pub geometry: GeometryRequest,
    /// What is compared: libraries, chunks, kinds of access.
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
    /// Format of netCDF files.
    #[serde(with = "format_name")]
    pub format: Format,
    /// Type of the values.
    #[serde(with = "type_name")]
    pub dtype: Atomic,
    /// Whether the first dimension is unlimited.
    pub unlimited: bool,
    /// Whether the library fills what is not written yet.
    pub fill: bool,
    /// How values look.
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
    #[serde(default)]
    pub hints: Vec<(String, String)>,
    /// The cases are layers of one another, and are told as such; those that cannot do what is asked are left out.
    #[serde(default)]
    pub layers: bool,
}

impl IoOptions {
    /// What a case is stored in.
    pub fn stored(&self, case: &CaseAsk) -> StoredAs {
        case.stored.unwrap_or(StoredAs::File(self.format))
    }

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
            format: Format::Netcdf4,
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
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CaseAsk {
    /// The library.
    pub driver: DriverAsk,
    /// How ranks share files.
    pub access: AccessKind,
    /// How the variable is cut.
    pub chunks: ChunkChoice,
    /// What it is stored in; `None`: a file of [`IoOptions::format`].
    #[serde(default)]
    pub stored: Option<StoredAs>,
    /// How values are encoded.
    #[serde(default)]
    pub coding: Coding,
}

/// A library under the benchmark.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DriverAsk {
    /// ncforge itself.
    #[default]
    Ncforge,
    /// Plain system calls.
    Raw,
    /// The same bytes through MPI-IO, in MPI jobs.
    MpiIo,
    /// netCDF-C at a path, or the one that the system finds.
    Libnetcdf(Option<PathBuf>),
    /// libhdf5 at a path, or the one that the system finds.
    H5(Option<PathBuf>),
}

impl DriverAsk {
    /// What it is called where it stands for a layer.
    pub(crate) fn title(&self) -> String {
        match self {
            DriverAsk::Ncforge => "ncforge".into(),
            DriverAsk::Raw => "raw".into(),
            DriverAsk::MpiIo => "mpi-io".into(),
            DriverAsk::Libnetcdf(None) => "libnetcdf".into(),
            DriverAsk::H5(None) => "h5".into(),
            DriverAsk::Libnetcdf(Some(path)) | DriverAsk::H5(Some(path)) => path.display().to_string(),
        }
    }

    /// Whether it writes values as they are, in no format: nothing is encoded, rounded or held.
    pub fn is_plain(&self) -> bool {
        matches!(self, DriverAsk::Raw | DriverAsk::MpiIo)
    }

    /// The layers that data goes through, from the lowest: system calls, MPI-IO, HDF5, netCDF-C (these builds of it, or the system's), ncforge.
    pub fn layers(libraries: &[PathBuf]) -> Vec<DriverAsk> {
        let mut all = vec![DriverAsk::Raw, DriverAsk::MpiIo];
        let mut more: Vec<DriverAsk> = libraries.iter().map(|path| Self::library(path)).collect();
        if !more.iter().any(|d| matches!(d, DriverAsk::H5(_))) {
            more.insert(0, DriverAsk::H5(None));
        }
        if !more.iter().any(|d| matches!(d, DriverAsk::Libnetcdf(_))) {
            more.push(DriverAsk::Libnetcdf(None));
        }
        more.sort_by_key(|d| matches!(d, DriverAsk::Libnetcdf(_)));
        all.extend(more);
        all.push(DriverAsk::Ncforge);
        all
    }

    /// A library by its path, as [`crate::driver::library`] tells them apart; `find` and `h5` are the system's.
    pub fn library(path: &Path) -> Self {
        match path.to_str() {
            Some("find") => DriverAsk::Libnetcdf(None),
            Some("h5" | "hdf5") => DriverAsk::H5(None),
            _ if is_hdf5(path) => DriverAsk::H5(Some(path.to_owned())),
            _ => DriverAsk::Libnetcdf(Some(path.to_owned())),
        }
    }
}

impl std::str::FromStr for DriverAsk {
    type Err = String;

    /// `ncforge`, `raw`, `mpi-io`, `libnetcdf`, `h5` (also `hdf5`), or the path of a library of netCDF-C or of HDF5.
    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "ncforge" => Ok(DriverAsk::Ncforge),
            "raw" => Ok(DriverAsk::Raw),
            "mpi-io" => Ok(DriverAsk::MpiIo),
            "libnetcdf" => Ok(DriverAsk::Libnetcdf(None)),
            "h5" | "hdf5" => Ok(DriverAsk::H5(None)),
            path if path.contains('/') || path.contains(".so") => Ok(Self::library(Path::new(path))),
            other => Err(format!(
                "no driver `{other}`: ncforge, raw, mpi-io, libnetcdf, h5, or the path of a netCDF-C or HDF5 library"
            )),
        }
    }
}

/// How ranks share files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
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

/// How the variable is cut.
#[derive(Clone, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CacheAsk {
    /// The file is in the page cache.
    Warm,
    /// Nothing of the file is.
    Cold,
    /// As it happens to be.
    Any,
}

impl CacheAsk {
    /// Behind the name of a phase: " warm".
    pub(crate) fn told(self) -> &'static str {
        match self {
            CacheAsk::Warm => " warm",
            CacheAsk::Cold => " cold",
            CacheAsk::Any => "",
        }
    }
}

impl std::str::FromStr for CacheAsk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "warm" => Ok(CacheAsk::Warm),
            "cold" => Ok(CacheAsk::Cold),
            "any" => Ok(CacheAsk::Any),
            other => Err(format!("no state of the cache `{other}`: warm, cold or any")),
        }
    }
}

/// Names of formats, as `--format` takes them.
pub mod format_name {
    use ncforge::Format;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    const NAMES: [(Format, &str); 5] = [
        (Format::Cdf1, "classic"),
        (Format::Cdf2, "cdf2"),
        (Format::Cdf5, "cdf5"),
        (Format::Netcdf4, "netcdf4"),
        (Format::Netcdf4Classic, "netcdf4-classic"),
    ];

    /// The name of a format.
    pub fn of(format: Format) -> &'static str {
        NAMES.iter().find(|n| n.0 == format).map_or("", |n| n.1)
    }

    /// The format of a name.
    pub fn parse(text: &str) -> Option<Format> {
        NAMES.iter().find(|n| n.1 == text).map(|n| n.0)
    }

    pub(crate) fn serialize<S: Serializer>(format: &Format, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(of(*format))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Format, D::Error> {
        let text = String::deserialize(d)?;
        parse(&text).ok_or_else(|| D::Error::custom(format!("no format `{text}`")))
    }
}

/// Names of types, as `--dtype` takes them: `i1` … `f8`.
pub mod type_name {
    use ncforge::Atomic;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    const NAMES: [(Atomic, &str); 10] = [
        (Atomic::Byte, "i1"),
        (Atomic::Short, "i2"),
        (Atomic::Int, "i4"),
        (Atomic::Int64, "i8"),
        (Atomic::UByte, "u1"),
        (Atomic::UShort, "u2"),
        (Atomic::UInt, "u4"),
        (Atomic::UInt64, "u8"),
        (Atomic::Float, "f4"),
        (Atomic::Double, "f8"),
    ];

    /// The name of a type.
    pub fn of(dtype: Atomic) -> &'static str {
        NAMES.iter().find(|n| n.0 == dtype).map_or("", |n| n.1)
    }

    /// The type of a name; NetCDF-Bench's `int` and such as well.
    pub fn parse(text: &str) -> Option<Atomic> {
        let text = match text {
            "byte" => "i1",
            "short" => "i2",
            "int" => "i4",
            "int64" => "i8",
            "float" => "f4",
            "double" => "f8",
            other => other,
        };
        NAMES.iter().find(|n| n.1 == text).map(|n| n.0)
    }

    pub(crate) fn serialize<S: Serializer>(dtype: &Atomic, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(of(*dtype))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Atomic, D::Error> {
        let text = String::deserialize(d)?;
        parse(&text).ok_or_else(|| D::Error::custom(format!("no type `{text}`")))
    }
}
