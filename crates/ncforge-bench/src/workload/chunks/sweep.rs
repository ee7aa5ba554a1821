//! All slabs, then some series, as in the AR-5 studies.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ncforge::Hyperslab;
use serde::Serialize;

use super::{Files, Variant};
use crate::cache;
use crate::driver::{Driver, Session, VarInfo};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::stats::{Positions, Summary, checksum};

/// Options of the measurement.
#[derive(Clone, Debug, Serialize)]
pub struct SweepOptions {
    /// The variable; the largest numeric one by default.
    pub var: Option<String>,
    /// Ways to store it.
    pub variants: Vec<Variant>,
    /// Cache sizes in bytes; `None` is what the library does by itself.
    pub caches: Vec<Option<u64>>,
    /// The number of series that are read.
    pub series: u64,
    /// Whether the series are read before the slabs.
    pub series_first: bool,
    /// Repetitions; each goes round all variants, caches and drivers.
    pub repetitions: usize,
    /// Evict each file from the page cache before it is read.
    pub cold: bool,
    /// No further slab (and no further series) of a cell is read after this many seconds. Its means are then over fewer reads.
    pub cell_seconds: Option<f64>,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct SweepReport {
    /// The machine.
    pub environment: Environment,
    /// The request.
    pub options: SweepOptions,
    /// Path of the variable.
    pub variable: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Name and version of every driver.
    pub drivers: Vec<(String, String)>,
    /// The measurements.
    pub rows: Vec<SweepRow>,
}

/// One variant, read by one driver with one cache.
#[derive(Clone, Debug, Serialize)]
pub struct SweepRow {
    /// The storage of the variable.
    pub variant: Variant,
    /// Bytes of the file.
    pub bytes: u64,
    /// Position of the driver in [`SweepReport::drivers`].
    pub driver: usize,
    /// Cache in bytes; `None`: the library's own choice.
    pub cache: Option<u64>,
    /// Seconds for one slab: mean over all slabs, summary over repetitions.
    pub slab: Summary,
    /// Seconds for one series, likewise.
    pub series: Summary,
    /// Slabs that were read in a repetition, the fewest.
    pub slabs: usize,
    /// Seconds of a slab in every repetition …
    pub slab_seconds: Vec<f64>,
    /// … and of a series.
    pub series_seconds: Vec<f64>,
    /// Whether the values were those of the first row.
    pub same_values: bool,
}

/// Writes every variant and reads each by every driver. `progress` gets what is done next; its error ends the work.
pub fn run(
    drivers: &[&dyn Driver],
    source: &Path,
    folder: &Files,
    options: &SweepOptions,
    progress: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<SweepReport> {
    if drivers.is_empty()
        || options.variants.is_empty()
        || options.caches.is_empty()
        || options.repetitions == 0
    {
        return Err(Error::bad_option(
            "repetitions",
            "a sweep needs a driver, a chunk shape, a cache and at least one repetition",
        ));
    }
    let var = crate::workload::access::largest(source, options.var.as_deref())?;
    let mut files: Vec<(PathBuf, u64)> = Vec::new();
    for (i, variant) in options.variants.iter().enumerate() {
        progress(&format!("writing {} of {}", i + 1, options.variants.len()))?;
        let path = folder.variant(variant, source, &var.name)?;
        let bytes = std::fs::metadata(&path).map_err(|e| Error::io("measure", &path, e))?.len();
        cache::warm(&path)?;
        files.push((path, bytes));
    }
    let mut cells: Vec<Cell> = Vec::new();
    for (v, (path, _)) in files.iter().enumerate() {
        // Not every library has every format and filter: HDF5 reads no classic file.
        let able = |d: &usize| drivers[*d].open(path).is_ok_and(|s| !s.variables().is_empty());
        for driver in (0..drivers.len()).filter(able) {
            for &cache in &options.caches {
                cells.push(Cell {
                    file: v,
                    driver,
                    cache,
                    slab: Vec::new(),
                    series: Vec::new(),
                    slabs: usize::MAX,
                    values: [Vec::new(), Vec::new()],
                });
            }
        }
    }
    let count = cells.len();
    if cells.is_empty() {
        return Err(Error::Invalid("none of the libraries reads any of the files".into()));
    }
    for repetition in 0..options.repetitions {
        for (i, cell) in cells.iter_mut().enumerate() {
            progress(&format!("round {} of {}: {} of {count}", repetition + 1, options.repetitions, i + 1))?;
            cell.measure(drivers[cell.driver], &files[cell.file].0, &var, options, repetition as u64)?;
        }
    }
    let first = cells[0].values.clone();
    // A cell that was cut short has read the first ones of what others have read.
    let same =
        |values: &[Vec<u64>; 2]| values.iter().zip(&first).all(|(a, b)| a.iter().zip(b).all(|(a, b)| a == b));
    let rows = cells
        .into_iter()
        .map(|c| SweepRow {
            variant: options.variants[c.file].clone(),
            bytes: files[c.file].1,
            driver: c.driver,
            cache: c.cache,
            slab: Summary::of(&c.slab).expect("at least one repetition"),
            series: Summary::of(&c.series).expect("at least one repetition"),
            slab_seconds: c.slab,
            series_seconds: c.series,
            slabs: c.slabs,
            same_values: same(&c.values),
        })
        .collect();
    Ok(SweepReport {
        environment: Environment::capture(),
        options: options.clone(),
        variable: var.name,
        shape: var.shape,
        drivers: drivers.iter().map(|d| (d.name().to_owned(), d.version())).collect(),
        rows,
    })
}

struct Cell {
    file: usize,
    driver: usize,
    cache: Option<u64>,
    slab: Vec<f64>,
    series: Vec<f64>,
    slabs: usize,
    /// Checksums of slabs and of series, of the first repetition.
    values: [Vec<u64>; 2],
}

impl Cell {
    fn measure(
        &mut self,
        driver: &dyn Driver,
        path: &Path,
        var: &VarInfo,
        options: &SweepOptions,
        repetition: u64,
    ) -> Result<()> {
        if options.cold {
            cache::evict(path)?;
        }
        let mut session = driver.open_cached(path, self.cache)?;
        for series in [options.series_first, !options.series_first] {
            let list = if series {
                // Points are equal in every cell of a round.
                let mut positions = Positions::new(repetition.wrapping_mul(7919).wrapping_add(17));
                (0..options.series).map(|_| series_at(&var.shape, &mut positions)).collect()
            } else {
                slabs(&var.shape)
            };
            let (mean, sums) = timed(&mut *session, var, &list, options.cell_seconds)?;
            if series { &mut self.series } else { &mut self.slab }.push(mean);
            if !series {
                self.slabs = self.slabs.min(sums.len());
            }
            if repetition == 0 {
                self.values[usize::from(series)] = sums;
            }
        }
        Ok(())
    }
}

/// Mean seconds of a read, and the checksum of each. Ends early after `most` seconds of reading.
fn timed(
    session: &mut dyn Session,
    var: &VarInfo,
    list: &[Hyperslab],
    most: Option<f64>,
) -> Result<(f64, Vec<u64>)> {
    let bytes = list.iter().map(|s| s.len() as usize * var.size).max().unwrap_or(0);
    let mut out = vec![0u8; bytes];
    let mut seconds = 0.0;
    let mut sums = Vec::with_capacity(list.len());
    for slab in list {
        let out = &mut out[..slab.len() as usize * var.size];
        let begun = Instant::now();
        session.read(&var.name, slab, out)?;
        seconds += begun.elapsed().as_secs_f64();
        sums.push(checksum(out));
        if most.is_some_and(|m| seconds > m) {
            break;
        }
    }
    Ok((seconds / sums.len().max(1) as f64, sums))
}

/// Every step of the slowest axis, all of the others.
fn slabs(shape: &[u64]) -> Vec<Hyperslab> {
    let Some((&n, rest)) = shape.split_first() else { return vec![Hyperslab::all(&[])] };
    (0..n)
        .map(|t| {
            let mut slab = Hyperslab::new(&vec![0; shape.len()], &[&[1], rest].concat());
            slab.start[0] = t;
            slab
        })
        .collect()
}

/// All of the slowest axis at one random place of the others.
fn series_at(shape: &[u64], positions: &mut Positions) -> Hyperslab {
    let (start, count): (Vec<u64>, Vec<u64>) =
        shape.iter().enumerate().map(|(d, &n)| if d == 0 { (0, n) } else { (positions.below(n), 1) }).unzip();
    Hyperslab::new(&start, &count)
}
