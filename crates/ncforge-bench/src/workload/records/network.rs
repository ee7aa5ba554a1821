//! A network of climate stations: hundreds of files that are made empty, filled, corrected, and read.

use std::path::{Path, PathBuf};

use ncforge::{Engine, EngineOptions};
use serde::Serialize;

use super::Stored;
use super::section::{Setup, measure, measure_part, row, section};
use super::weather::{Chance, DAILY, daily};
use super::writing::{correct, create, fill, records_from, size};
use crate::cache;
use crate::driver::{Driver, NcforgeDriver};
use crate::error::{Error, Result};
use crate::result::{Measurement, Row, Section};
use crate::stats::checksum;

/// Days of a year, which are written in one go.
const YEAR: f64 = 365.25;
/// Stations that are made, filled and corrected in each way before the next ones: so that a disturbance of the machine hits
/// all ways.
const GROUP: usize = 16;
/// The variables that are read of a station.
const READ: [&str; 3] = ["TMAX", "TMIN", "PRCP"];

/// Options of the measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    /// Stations, with a file each.
    pub stations: usize,
    /// Years of daily records.
    pub years: usize,
    /// Values that are corrected in each file, at random places.
    pub corrections: usize,
    /// Stations that are read.
    pub read: usize,
    /// The rest.
    #[serde(flatten)]
    pub setup: Setup,
}

impl Default for Options {
    /// The co-operative stations of New York over 50 years, as a predecessor stored them.
    fn default() -> Self {
        Options { stations: 622, years: 50, corrections: 25, read: 5, setup: Setup::default() }
    }
}

/// The tests that write, in this order; then some stations are read.
const WRITTEN: [&str; 3] = ["create empty", "fill", "update"];

/// The files of one way to store them.
struct Way {
    stored: Stored,
    folder: PathBuf,
    /// Creating, filling, updating.
    written: [Vec<Measurement>; 3],
    bytes: (u64, u64),
}

impl Way {
    fn file(&self, station: usize) -> PathBuf {
        self.folder.join(format!("{station:06}.{}", self.stored.extension()))
    }
}

/// Makes the network in every way, and reads from it by ncforge and by `libraries` (what they can read). `progress` gets
/// what is going on.
///
/// # Errors
/// [`Error::Invalid`] for wrong options; what writing and reading say.
pub fn run(
    libraries: &[&dyn Driver],
    stored: &[Stored],
    options: &Options,
    progress: &mut dyn FnMut(&str),
) -> Result<Section> {
    let (o, setup) = (options, &options.setup);
    if [o.stations, o.years, setup.repetitions, o.read].contains(&0) || stored.is_empty() {
        return Err(Error::bad_option("repetitions", "a measurement needs at least one of everything"));
    }
    let folder = super::folder(setup.folder.as_deref())?;
    let engine = Engine::new(EngineOptions { threads: setup.threads, memory: setup.memory })?;
    let days = (o.years as f64 * YEAR) as usize;
    let mut ways = stored
        .iter()
        .enumerate()
        .map(|(i, &stored)| {
            let folder = folder.path().join(format!("network-{i}"));
            std::fs::create_dir(&folder).map_err(|e| Error::io("create", &folder, e))?;
            Ok(Way { stored, folder, written: Default::default(), bytes: (0, 0) })
        })
        .collect::<Result<Vec<Way>>>()?;
    for group in (0..o.stations).step_by(GROUP) {
        let stations: Vec<usize> = (group..(group + GROUP).min(o.stations)).collect();
        progress(&format!("stations {} to {} of {}", group + 1, group + stations.len(), o.stations));
        let weather: Vec<Vec<Vec<f32>>> = stations.iter().map(|&s| daily(setup.seed, s, days)).collect();
        for way in &mut ways {
            write_group(way, &stations, &weather, o, &engine)?;
        }
    }
    let own = NcforgeDriver::new(setup.threads, setup.memory);
    let rows = rows(&ways, &own, libraries, o, days)?;
    let title = format!("Records: {} stations, {} years of days", o.stations, o.years);
    let mut section = section("records-network", title, o, &own, rows);
    section.notes.push(format!(
        "update: {} values of each file; read: all years of 3 variables of {} stations; creating, filling and updating were timed once",
        o.corrections, o.read
    ));
    Ok(section)
}

fn write_group(
    way: &mut Way,
    stations: &[usize],
    weather: &[Vec<Vec<f32>>],
    o: &Options,
    engine: &Engine,
) -> Result<()> {
    let columns = DAILY.map(|(name, units)| (name.to_owned(), units));
    let stored = way.stored;
    let files: Vec<PathBuf> = stations.iter().map(|&s| way.file(s)).collect();
    let [created, filled, updated] = &mut way.written;
    measure_part(created, || {
        files.iter().try_for_each(|f| create(f, stored, &columns, "days since 1950-01-01", engine))
    })?;
    measure_part(filled, || {
        files.iter().zip(weather).try_for_each(|(f, w)| fill(f, w, true, YEAR as usize, engine))
    })?;
    for file in &files {
        way.bytes.0 += size(file)?;
    }
    let changes: Vec<Vec<(usize, usize, f32)>> =
        stations.iter().zip(weather).map(|(&s, w)| corrections(o, s, w)).collect();
    measure_part(updated, || files.iter().zip(&changes).try_for_each(|(f, c)| correct(f, c, engine)))?;
    for file in &files {
        way.bytes.1 += size(file)?;
    }
    Ok(())
}

/// The changes that an inspector makes in a station's values: variable (after the time), record, value.
fn corrections(o: &Options, station: usize, weather: &[Vec<f32>]) -> Vec<(usize, usize, f32)> {
    let mut chance = Chance::new(o.setup.seed ^ 0x5EED ^ ((station as u64) << 20));
    (0..o.corrections)
        .map(|_| {
            let (var, day) = (chance.below(3) as usize, chance.below(weather[0].len() as u64) as usize);
            (var + 1, day, (60.0 * chance.part()).round() as f32)
        })
        .collect()
}

fn rows(
    ways: &[Way],
    own: &NcforgeDriver,
    libraries: &[&dyn Driver],
    o: &Options,
    days: usize,
) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    for (i, step) in WRITTEN.iter().enumerate() {
        for way in ways {
            let bytes = if i == 2 { way.bytes.1 } else { way.bytes.0 };
            rows.push(row(way.stored, own, bytes, step, &way.written[i], None));
        }
    }
    let mut chance = Chance::new(o.setup.seed ^ 0x0BEE);
    let mut chosen: Vec<usize> = Vec::new();
    while chosen.len() < o.read.min(o.stations) {
        let station = chance.below(o.stations as u64) as usize;
        if !chosen.contains(&station) {
            chosen.push(station);
        }
    }
    let mut readers: Vec<(&Way, &dyn Driver, Vec<Measurement>, u64)> = Vec::new();
    for way in ways {
        readers.push((way, own, Vec::new(), 0));
        let reads = |l: &&&dyn Driver| super::refusal(**l, &way.file(chosen[0]), READ[0]).is_none();
        let others = libraries.iter().filter(|_| way.stored.is_for_everyone()).filter(reads);
        readers.extend(others.map(|&l| (way, l, Vec::new(), 0)));
        chosen.iter().try_for_each(|&s| cache::warm(&way.file(s)))?;
    }
    let mut out = vec![0; days * 4];
    for _ in 0..o.setup.repetitions {
        for (way, driver, times, sum) in &mut readers {
            let files: Vec<PathBuf> = chosen.iter().map(|&s| way.file(s)).collect();
            *sum = measure(times, || read_stations(*driver, &files, days, &mut out))?;
        }
    }
    let first = readers.first().map_or(0, |r| r.3);
    for (way, driver, times, sum) in readers {
        rows.push(row(way.stored, driver, way.bytes.0, "read", &times, Some(sum == first)));
    }
    Ok(rows)
}

/// Opens files and reads all years of three variables; gives a checksum.
fn read_stations(driver: &dyn Driver, files: &[PathBuf], days: usize, out: &mut [u8]) -> Result<u64> {
    let slab = records_from(0, days);
    let mut sum = 0u64;
    for file in files {
        let mut session = driver.open(Path::new(file))?;
        for name in READ {
            session.read(name, &slab, out)?;
            sum = sum.rotate_left(1) ^ checksum(out);
        }
    }
    Ok(sum)
}
