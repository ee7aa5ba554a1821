//! The workload `access`: how long the reads take that people do: a map, a series, all of a variable.
//!
//! ```no_run
//! use ncforge_bench::driver::NcforgeDriver;
//! use ncforge_bench::workload::access::{AccessOptions, run};
//!
//! let driver = NcforgeDriver::default();
//! let report = run(&[&driver], &["sst.nc".into()], &AccessOptions::default())?;
//! let section = ncforge_bench::report::access::access_section(&report);
//! assert_eq!(section.workload, "access");
//! # Ok::<(), ncforge_bench::Error>(())
//! ```

mod pattern;

use std::path::{Path, PathBuf};
use std::time::Instant;

use ncforge::nearest;
use serde::Serialize;

use crate::cache;
use crate::driver::{Driver, Session, VarInfo};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::stats::{Positions, Summary, checksum};

pub use pattern::Pattern;

/// Options of the measurement.
#[derive(Clone, Debug, Serialize)]
pub struct AccessOptions {
    /// The variable; the largest numeric one of the first file by default.
    pub var: Option<String>,
    /// The reads.
    pub patterns: Vec<Pattern>,
    /// The repetitions of each. Every repetition reads at another position.
    pub repetitions: usize,
    /// Evict the file from the page cache before every read.
    pub cold: bool,
    /// The seed of the positions.
    pub seed: u64,
}

impl Default for AccessOptions {
    fn default() -> Self {
        AccessOptions { var: None, patterns: Pattern::USUAL.to_vec(), repetitions: 5, cold: false, seed: 1 }
    }
}

/// All that was measured, and where.
#[derive(Clone, Debug, Serialize)]
pub struct AccessReport {
    /// The machine.
    pub environment: Environment,
    /// The request.
    pub options: AccessOptions,
    /// The files, in the order given, each once a driver.
    pub files: Vec<FileFacts>,
    /// The measurements: patterns in order, within a pattern the files in order.
    pub rows: Vec<AccessRow>,
}

/// A file under measurement.
#[derive(Clone, Debug, Serialize)]
pub struct FileFacts {
    /// Its path, as given.
    pub path: PathBuf,
    /// Bytes on disk.
    pub bytes: u64,
    /// Its format, as `ncdump -k` names it.
    pub format: String,
    /// The library that reads it.
    pub driver: String,
    /// The version of the library.
    pub driver_version: String,
    /// The variable read.
    pub variable: String,
    /// Its shape, slowest dimension first.
    pub shape: Vec<u64>,
    /// Its chunk lengths, if it is chunked.
    pub chunks: Option<Vec<u64>>,
    /// Its filters.
    pub filters: Vec<String>,
    /// Bytes of its values.
    pub variable_bytes: u64,
}

/// One pattern on one file.
#[derive(Clone, Debug, Serialize)]
pub struct AccessRow {
    /// Position of the file in [`AccessReport::files`].
    pub file: usize,
    /// The pattern.
    pub pattern: Pattern,
    /// Elements read on each dimension.
    pub count: Vec<u64>,
    /// Bytes of values read.
    pub bytes: u64,
    /// The largest share of the file that was in the page cache before a repetition; `None` where the system
    /// does not say.
    pub resident_before: Option<f64>,
    /// Every repetition, in seconds, in the order in which they ran. Opening the file is not part of them.
    pub seconds: Vec<f64>,
    /// Their summary.
    pub summary: Summary,
    /// Checksum over the values of all repetitions.
    pub checksum: u64,
    /// Whether the first file gave the same values for this pattern; `None` where the shapes differ.
    pub same_values: Option<bool>,
}

/// Runs the workload on every file by every driver.
pub fn run(drivers: &[&dyn Driver], files: &[PathBuf], options: &AccessOptions) -> Result<AccessReport> {
    if options.repetitions == 0 || options.patterns.is_empty() || files.is_empty() || drivers.is_empty() {
        return Err(Error::bad_option(
            "repetitions",
            "a measurement needs a file, a pattern and at least one repetition",
        ));
    }
    let subjects = subjects(drivers, files, options)?;
    let environment = Environment::capture();
    check_memory(&subjects, options, &environment)?;
    let mut cells: Vec<Cell> =
        (0..options.patterns.len() * subjects.len()).map(|_| Cell::default()).collect();
    for repetition in 0..options.repetitions {
        for (p, pattern) in options.patterns.iter().enumerate() {
            for (s, subject) in subjects.iter().enumerate() {
                // Positions are equal for all subjects, so that all do the same work.
                let mut positions = Positions::new(options.seed.wrapping_add(repetition as u64 * 1009));
                let slab = pattern.slab(&subject.var.shape, &mut positions);
                cells[p * subjects.len() + s].measure(subject, &slab, options.cold)?;
            }
        }
    }
    let mut rows = Vec::with_capacity(cells.len());
    for (p, &pattern) in options.patterns.iter().enumerate() {
        let base = p * subjects.len();
        for (s, subject) in subjects.iter().enumerate() {
            let cell = &cells[base + s];
            let count = pattern.slab(&subject.var.shape, &mut Positions::new(0)).count;
            let comparable =
                subject.var.shape == subjects[0].var.shape && subject.var.size == subjects[0].var.size;
            rows.push(AccessRow {
                file: s,
                pattern,
                bytes: count.iter().product::<u64>() * subject.var.size as u64,
                count,
                resident_before: cell.resident,
                summary: Summary::of(&cell.seconds).expect("at least one repetition"),
                seconds: cell.seconds.clone(),
                checksum: cell.checksum,
                same_values: comparable.then(|| cell.checksum == cells[base].checksum),
            });
        }
    }
    let files = subjects.iter().map(Subject::facts).collect();
    Ok(AccessReport { environment, options: options.clone(), files, rows })
}

/// An error for reads that the machine's memory could not hold: a file may say of itself that it is endless.
fn check_memory(subjects: &[Subject<'_>], options: &AccessOptions, machine: &Environment) -> Result<()> {
    let Some(memory) = machine.memory else { return Ok(()) };
    for (subject, &pattern) in subjects.iter().flat_map(|s| options.patterns.iter().map(move |p| (s, p))) {
        let slab = pattern.slab(&subject.var.shape, &mut Positions::new(0));
        let bytes = slab.len().saturating_mul(subject.var.size as u64);
        if bytes > memory {
            return Err(Error::TooLarge(format!(
                "reading `{}` in `{}` as {} takes {} of memory, the machine has {}; --patterns names other reads",
                subject.var.name,
                subject.path.display(),
                pattern.name(),
                crate::report::bytes(bytes),
                crate::report::bytes(memory),
            )));
        }
    }
    Ok(())
}

/// One file under one driver.
struct Subject<'a> {
    driver: &'a dyn Driver,
    path: &'a Path,
    bytes: u64,
    format: String,
    var: VarInfo,
}

impl Subject<'_> {
    fn facts(&self) -> FileFacts {
        FileFacts {
            path: self.path.to_owned(),
            bytes: self.bytes,
            format: self.format.clone(),
            driver: self.driver.name().to_owned(),
            driver_version: self.driver.version(),
            variable: self.var.name.clone(),
            shape: self.var.shape.clone(),
            chunks: self.var.chunks.clone(),
            filters: self.var.filters.clone(),
            variable_bytes: self.var.bytes(),
        }
    }
}

fn subjects<'a>(
    drivers: &[&'a dyn Driver],
    files: &'a [PathBuf],
    options: &AccessOptions,
) -> Result<Vec<Subject<'a>>> {
    let mut wanted = options.var.clone();
    let mut subjects = Vec::new();
    for path in files {
        for &driver in drivers {
            let session = driver.open(path)?;
            let var = choose(&*session, path, wanted.as_deref())?;
            wanted.get_or_insert_with(|| var.name.clone());
            let bytes = ncforge::FileId::at(path)?.size;
            subjects.push(Subject { driver, path, bytes, format: session.format(), var });
            if !options.cold && !is_url(path) {
                cache::warm(path)?;
            }
        }
    }
    Ok(subjects)
}

/// True for a URL, of which the page cache has nothing.
fn is_url(path: &Path) -> bool {
    ncforge::store::remote::url_of(path).is_some()
}

fn choose(session: &dyn Session, path: &Path, wanted: Option<&str>) -> Result<VarInfo> {
    let file = path.display();
    let var = match wanted {
        Some(name) => session
            .variables()
            .into_iter()
            .find(|v| v.name.trim_start_matches('/') == name.trim_start_matches('/'))
            .ok_or_else(|| {
                let known = session.variables().into_iter().map(|v| v.name);
                let (path, nearest) = (file.to_string(), nearest(name, known));
                ncforge::Error::NotFound { kind: "numeric variable", name: name.into(), path, nearest }
            })?,
        None => session
            .variables()
            .into_iter()
            // The first of the largest.
            .rev()
            .max_by_key(VarInfo::bytes)
            .ok_or_else(|| Error::Invalid(format!("no numeric variable in `{file}`")))?,
    };
    if var.bytes() == 0 {
        return Err(Error::NoValues {
            variable: var.name,
            path: file.to_string(),
            what: "has no values yet",
        });
    }
    Ok(var)
}

/// The variable of this name, or the largest numeric one of a file.
pub fn largest(path: &Path, wanted: Option<&str>) -> Result<VarInfo> {
    let session = crate::driver::NcforgeDriver::default().open(path)?;
    choose(&*session, path, wanted)
}

/// The results of one pattern on one subject so far.
#[derive(Default)]
struct Cell {
    seconds: Vec<f64>,
    resident: Option<f64>,
    checksum: u64,
    /// Reused, so that the first touch of fresh memory is not part of later repetitions.
    out: Vec<u8>,
}

impl Cell {
    fn measure(&mut self, subject: &Subject<'_>, slab: &ncforge::Hyperslab, cold: bool) -> Result<()> {
        let bytes = slab
            .len()
            .checked_mul(subject.var.size as u64)
            .and_then(|n| usize::try_from(n).ok())
            .ok_or_else(|| Error::TooLarge(format!("`{}` is too large for memory", subject.var.name)))?;
        self.out.resize(bytes, 0);
        let mut session = subject.driver.open(subject.path)?;
        if cold && !is_url(subject.path) {
            cache::evict(subject.path)?;
        }
        if let Ok(share) = cache::resident(subject.path) {
            self.resident = Some(self.resident.map_or(share, |r| r.max(share)));
        }
        let start = Instant::now();
        session.read(&subject.var.name, slab, &mut self.out)?;
        self.seconds.push(start.elapsed().as_secs_f64());
        self.checksum = self.checksum.rotate_left(1) ^ checksum(&self.out);
        Ok(())
    }
}
