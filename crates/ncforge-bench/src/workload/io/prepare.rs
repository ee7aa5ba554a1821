//! From what is asked to what is done, everything checked before a file is touched.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ncforge::Dataset;

use super::data::{Content, Values};
use super::geometry::{Geometry, VARIABLE};
use super::kinds::{StoredAs, type_names};
use super::lengths::written;
use super::names::names;
use super::options::{AccessKind, CacheAsk, CaseAsk, ChunkChoice, DriverAsk, IoOptions};
use super::sample::Sample;
use crate::driver::{
    Access, ChunkAsk, Coding, DimSpec, Driver, FileSpec, MARK, MpiIoDriver, NcforgeDriver, PARALLEL,
    PARALLEL_HDF5, RawDriver, Rounding, VarSpec, is_marked, is_marked_store, is_store, library, system,
};
use crate::environment::Filesystem;
use crate::error::{Error, Result};
use crate::team::Team;

/// A case that is ready to run.
pub(super) struct Case {
    pub(super) ask: CaseAsk,
    pub(super) name: String,
    pub(super) driver: Box<dyn Driver>,
    pub(super) spec: FileSpec,
    /// The file, without the rank's number.
    pub(super) file: PathBuf,
}

impl Case {
    /// The file of a rank.
    pub(super) fn path(&self, rank: u64) -> PathBuf {
        match self.ask.access {
            AccessKind::File => {
                let mut name = self.file.clone().into_os_string();
                name.push(format!("-{rank}"));
                name.into()
            }
            _ => self.file.clone(),
        }
    }

    /// All files.
    pub(super) fn paths(&self, ranks: u64) -> Vec<PathBuf> {
        match self.ask.access {
            AccessKind::File => (0..ranks).map(|r| self.path(r)).collect(),
            _ => vec![self.file.clone()],
        }
    }

    /// Whether every rank has a file of its own.
    pub(super) fn is_apart(&self) -> bool {
        self.ask.access == AccessKind::File
    }

    /// Whether its file is opened through MPI.
    pub(super) fn takes_hints(&self, team: &dyn Team) -> bool {
        let shared = team.size() > 1 && !self.is_apart();
        shared
            && match self.ask.driver {
                DriverAsk::Library(_) | DriverAsk::MpiIo => true,
                DriverAsk::Ncforge => {
                    self.ask.access == AccessKind::Collective && self.spec.chunks().is_none()
                }
                DriverAsk::Raw => false,
            }
    }

    /// How this rank opens its file.
    pub(super) fn access<'a>(&self, team: &'a dyn Team, block: &'a [u64]) -> Access<'a> {
        match self.ask.access {
            AccessKind::File => Access::Alone,
            kind => Access::Shared { team, collective: kind == AccessKind::Collective, block },
        }
    }
}

pub(super) fn invalid<T>(why: impl Into<String>) -> Result<T> {
    Err(Error::Invalid(why.into()))
}

/// The cases, each with its file's description, and what is to be said about those that are left out. Nothing is written.
pub(super) fn cases(
    options: &IoOptions,
    geometry: &Geometry,
    team: &dyn Team,
) -> Result<(Vec<Case>, Vec<String>)> {
    if options.cases.is_empty() || options.repetitions == 0 || !(options.write || options.read) {
        return invalid("nothing to measure: a case, a repetition, and reading or writing are needed");
    }
    let several = options.cases.len() > 1;
    let mut cases = Vec::with_capacity(options.cases.len());
    let mut left_out = Vec::new();
    // A layer that cannot do what is asked, or that this machine does not have, is no error.
    let mut leave_out = |ask: &CaseAsk, why: &str| {
        let note = format!("left out: {}: {why}", ask.driver.title());
        if !left_out.contains(&note) {
            left_out.push(note);
        }
    };
    for (number, ask) in options.cases.iter().enumerate() {
        let driver = match parallel_layer(options, ask, team).map_or_else(|| driver(options, &ask.driver), Ok)
        {
            Err(e) if options.layers => {
                leave_out(ask, &e.to_string());
                continue;
            }
            driver => driver?,
        };
        let file = match several {
            false => options.file.clone(),
            true => derived(&options.file, number, extension(ask, driver.as_ref())),
        };
        let spec = spec(options, ask, geometry)?;
        let case = Case { name: String::new(), spec, driver, file, ask: ask.clone() };
        check(options, &case, geometry)?;
        let access = case.access(team, &geometry.block);
        match case.driver.refuses(&case.spec, &access).filter(|_| options.write) {
            Some(why) if options.layers => leave_out(ask, &why),
            Some(why) => return invalid(format!("{}: {why}", case.driver.name())),
            None => cases.push(case),
        }
    }
    let asks: Vec<_> = cases.iter().map(|c| (&c.ask, short(c.driver.as_ref()))).collect();
    let apart = names(&asks);
    cases.iter_mut().zip(apart).for_each(|(case, name)| case.name = name);
    Ok((cases, left_out))
}

/// A build of netCDF-C or of HDF5 for several processes, where that is the layer that nobody has named and the system has one.
fn parallel_layer(options: &IoOptions, ask: &CaseAsk, team: &dyn Team) -> Option<Box<dyn Driver>> {
    let shared = team.size() > 1 && team.mpi().is_some() && ask.access != AccessKind::File;
    if !options.layers || !shared {
        return None;
    }
    let DriverAsk::Library(path) = &ask.driver else { return None };
    let names = match path.to_str().and_then(system) {
        Some("netcdf-c") => &PARALLEL[..],
        Some("hdf5") => &PARALLEL_HDF5[..],
        _ => return None,
    };
    names.iter().find_map(|name| library(Path::new(name)).ok())
}

/// The drivers that can be asked for by name.
fn driver(options: &IoOptions, ask: &DriverAsk) -> Result<Box<dyn Driver>> {
    let threads = options.threads;
    Ok(match ask {
        DriverAsk::Ncforge => Box::new(NcforgeDriver::new(threads, None)),
        DriverAsk::Raw => Box::new(RawDriver),
        DriverAsk::MpiIo => Box::new(MpiIoDriver),
        DriverAsk::Library(path) => library(path)?,
    })
}

/// `t.nc` becomes `t.2.nc`, or `t.2.raw`.
fn derived(file: &Path, number: usize, extension: Option<&str>) -> PathBuf {
    let own = file.extension().map(|e| e.to_string_lossy().into_owned());
    let extension = extension.map(str::to_owned).or(own).unwrap_or_else(|| "nc".to_owned());
    file.with_extension(format!("{}.{extension}", number + 1))
}

/// The ending of a case's file, where it is not the one that was asked for.
fn extension<'d>(ask: &CaseAsk, driver: &'d dyn Driver) -> Option<&'d str> {
    let store = ask.stored == StoredAs::Zarr && !ask.driver.is_plain();
    driver.extension().or(store.then_some("zarr"))
}

/// The rank whose part this one reads: the next one's, if there is one.
pub(super) fn reads_as(team: &dyn Team) -> u64 {
    (team.rank() as u64 + 1) % team.size() as u64
}

/// The file that a case needs; the one of this rank, where each has its own.
pub(super) fn spec(options: &IoOptions, ask: &CaseAsk, geometry: &Geometry) -> Result<FileSpec> {
    let per_file = match ask.access {
        // The file of a rank is as wide as its share; NetCDF-Bench's time dimension stays whole, and so does ours
        // when ranks do not share it.
        AccessKind::File => geometry.share(),
        _ => geometry.data.clone(),
    };
    let mut auto = geometry.block.clone();
    if auto.len() > 1 {
        auto[0] = 1;
    }
    let chunks = match &ask.chunks {
        ChunkChoice::Unasked => (auto, false),
        ChunkChoice::Auto => (auto, true),
        ChunkChoice::Lens(lens) => {
            let same_names = lens.names.as_ref().is_none_or(|n| *n == geometry.names);
            if lens.lens.len() != per_file.len() || !same_names {
                let (chunk, names) = (written(&lens.lens), geometry.names.join(":"));
                return invalid(format!(
                    "the chunk {chunk} does not have the dimensions of the data, {names}"
                ));
            }
            (lens.lens.clone(), true)
        }
    };
    if let (lens, true) = &chunks {
        for (d, (&c, &n)) in lens.iter().zip(&per_file).enumerate() {
            if c > n && !(d == 0 && options.unlimited) {
                let (chunk, data, name) = (written(lens), written(&per_file), &geometry.names[d]);
                return invalid(format!(
                    "a chunk of {chunk} is larger than the data {data} along `{name}`; its length there can be at most {n}"
                ));
            }
        }
    }
    // Plain calls write the values as they are.
    let coding = if ask.driver.is_plain() { Coding::default() } else { ask.coding };
    if let Some(Rounding(how)) = coding.rounding {
        how.check(options.dtype).map_err(|e| Error::Invalid(e.to_string()))?;
    }
    let dims = geometry
        .names
        .iter()
        .zip(&per_file)
        .enumerate()
        .map(|(d, (name, &len))| DimSpec { name: name.clone(), len, unlimited: d == 0 && options.unlimited })
        .collect();
    let (lens, asked) = chunks;
    let var = VarSpec {
        name: VARIABLE.to_owned(),
        dtype: options.dtype,
        chunks: if asked { ChunkAsk::Lens(lens) } else { ChunkAsk::Unasked(lens) },
        coding,
    };
    let zarr = ask.stored == StoredAs::Zarr && !ask.driver.is_plain();
    Ok(FileSpec { format: ask.stored.format(), zarr, dims, var, fill: options.fill })
}

/// Combinations that netCDF does not have, for any driver, so that all of them do the same work.
fn check(options: &IoOptions, case: &Case, geometry: &Geometry) -> Result<()> {
    if case.ask.access == AccessKind::Independent {
        if options.unlimited {
            return invalid(
                "unlimited variables are not supported by independent access: netCDF extends them by collective calls only; take --io-type coll",
            );
        }
        if case.ask.coding.is_filtered() {
            return invalid(
                "compressed variables are not supported by independent access: netCDF writes them by collective calls only; take --io-type coll",
            );
        }
    }
    if geometry.names.iter().any(|name| name == VARIABLE) {
        return invalid(format!("a dimension cannot be named `{VARIABLE}`, which is the variable's name"));
    }
    Ok(())
}

/// A driver's name without folders.
fn short(driver: &dyn Driver) -> String {
    match Path::new(driver.name()).file_name() {
        Some(name) if driver.name().contains('/') => {
            format!("{} {}", name.to_string_lossy(), driver.version())
        }
        _ => driver.name().to_owned(),
    }
}

/// The values of a run.
pub(super) fn values(options: &IoOptions, geometry: &Geometry) -> Result<Values> {
    let sample = match &options.content {
        Content::Sample { path, variable } => Some(Arc::new(Sample::load(path, variable, options.dtype)?)),
        _ => None,
    };
    Ok(Values {
        content: options.content.clone(),
        dtype: options.dtype,
        shape: geometry.data.clone(),
        sample,
    })
}

/// Whether all calls of a rank write the same bytes, so that one buffer serves all of them.
pub(super) fn is_periodic(options: &IoOptions) -> bool {
    options.content == Content::NetcdfBench
}

/// Checks by rank 0 of files and disk before the first write: nothing that is not a benchmark's is
/// overwritten, and everything fits.
pub(super) fn safe_to_begin(options: &IoOptions, cases: &[Case], geometry: &Geometry) -> Result<()> {
    let ranks = geometry.ranks();
    for case in cases {
        for path in case.paths(ranks) {
            let there = std::fs::symlink_metadata(&path).is_ok();
            // Files may be replaced where that is asked for; of folders, only what is a Zarr store.
            let foreign = std::fs::symlink_metadata(&path).is_ok_and(|m| m.is_dir()) && !is_store(&path);
            if options.write && foreign {
                return invalid(format!(
                    "`{}` is a folder, and no Zarr store; take another name (-f), or remove it",
                    path.display()
                ));
            }
            if options.write && there && !options.overwrite && !is_benchmarks(&path) {
                return invalid(format!(
                    "`{}` exists, and no benchmark has written it; give -O to overwrite it",
                    path.display()
                ));
            }
            if !options.write && !there {
                return Err(Error::Unreadable(format!(
                    "there is no file `{}` to read; write it first (--write)",
                    path.display()
                )));
            }
        }
    }
    if options.read
        && options.caches.contains(&CacheAsk::Cold)
        && let Some(f) = Filesystem::of(&options.file).filter(|f| f.in_memory)
    {
        return invalid(format!(
            "`{}` would lie on a {}, which is memory: no read of it is ever cold; take a file on a disk, or --cache warm",
            options.file.display(),
            f.kind
        ));
    }
    if options.write {
        let values = geometry.values().saturating_mul(options.dtype.size() as u64);
        let need = values.saturating_mul(cases.len() as u64);
        if let Some(free) = free_space(&options.file)
            && need.saturating_add(need / 50) > free
        {
            return invalid(format!(
                "{} of {} are needed for the files, {} are free in the folder of `{}`",
                crate::report::bytes(need),
                type_names(options.dtype).0,
                crate::report::bytes(free),
                options.file.display()
            ));
        }
    }
    Ok(())
}

/// Whether a benchmark has written a file.
fn is_benchmarks(path: &Path) -> bool {
    if is_marked(path) || is_marked_store(path) {
        return true;
    }
    Dataset::open(path).is_ok_and(|d| d.schema().groups[0].attrs.iter().any(|a| a.name == MARK))
}

/// Bytes that the user may still write into the folder of a file.
pub(crate) fn free_space(file: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;
    let folder = std::path::absolute(file).ok()?;
    let folder = folder.ancestors().skip(1).find(|p| p.exists())?;
    let name = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    // SAFETY: a string that ends with zero, and memory for the answer, of which all bit patterns are valid.
    unsafe {
        let mut s: libc::statvfs = std::mem::zeroed();
        (libc::statvfs(name.as_ptr(), &mut s) == 0).then(|| s.f_bavail.saturating_mul(s.f_frsize))
    }
}
