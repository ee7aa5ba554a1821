//! One file of many hourly records: reads at random places, again, and in sequence.

use std::path::PathBuf;

use ncforge::{Engine, EngineOptions};
use serde::Serialize;

use super::Stored;
use super::section::{Setup, measure, row, section};
use super::weather::{INSTRUMENTS, hourly};
use super::writing::{create, fill, records_from, size};
use crate::cache;
use crate::driver::{Driver, NcforgeDriver, Session};
use crate::error::{Error, Result};
use crate::result::{Measurement, Row, Section};
use crate::stats::{Positions, checksum};

/// Options of the measurement.
#[derive(Clone, Debug, Serialize)]
pub struct Options {
    /// Records of the file.
    pub records: usize,
    /// Its record variables, of one float each.
    pub variables: usize,
    /// Records that are read by each test.
    pub reads: usize,
    /// Variables that are read of each record.
    pub picked: usize,
    /// Records that are written in one go when the file is filled.
    pub batch: usize,
    /// The rest. Every repetition reads at other places.
    #[serde(flatten)]
    pub setup: Setup,
}

impl Default for Options {
    /// The test of a predecessor: four of 31 variables from 1,000 of 25,000 records.
    fn default() -> Self {
        Options {
            records: 25_000,
            variables: 31,
            reads: 1000,
            picked: 4,
            batch: 168,
            setup: Setup { repetitions: 9, ..Setup::default() },
        }
    }
}

/// The tests, in this order: the file is made and filled, in batches of records, by ncforge; it is opened; some variables of records at
/// random places are read from a file that was just opened; the same again, when what the library has decoded may still be there; some variables
/// of records one after the other from a file that was just opened.
const TESTS: [&str; 5] = ["fill", "open", "random", "random again", "sequential"];
/// Tests up to this one read no values that can be compared.
const OPEN: usize = 1;

/// One file under one library.
struct Subject<'a> {
    stored: Stored,
    path: PathBuf,
    bytes: u64,
    driver: &'a dyn Driver,
    /// Times and checksum of each test.
    cells: [(Vec<Measurement>, u64); TESTS.len()],
}

/// Makes the files, and reads them by ncforge and by `libraries` (those that they can read). `progress` gets what is
/// going on.
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
    if [o.records, o.variables, o.reads, o.picked, o.batch, setup.repetitions].contains(&0)
        || stored.is_empty()
    {
        return Err(Error::bad_option("repetitions", "a measurement needs at least one of everything"));
    }
    if o.reads > o.records || o.picked > o.variables {
        return Err(Error::bad_option("records", "more is to be read than there is"));
    }
    let folder = super::folder(setup.folder.as_deref())?;
    let engine = Engine::new(EngineOptions { threads: setup.threads, memory: setup.memory })?;
    let own = NcforgeDriver::new(setup.threads, setup.memory);
    let weather = hourly(setup.seed, o.records);
    let columns: Vec<(String, &str)> = (0..o.variables).map(column).collect();
    let values: Vec<Vec<f32>> = (0..o.variables).map(|i| weather[i % INSTRUMENTS.len()].clone()).collect();
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for (i, &stored) in stored.iter().enumerate() {
        progress(&format!("fill {stored}"));
        let path = folder.path().join(format!("station-{i}.{}", stored.extension()));
        let mut times = Vec::new();
        measure(&mut times, || {
            create(&path, stored, &columns, "", &engine)?;
            fill(&path, &values, false, o.batch, &engine)
        })?;
        let readers = [&own as &dyn Driver].into_iter().chain(libraries.iter().copied());
        for (d, driver) in readers.enumerate().filter(|(d, _)| *d == 0 || stored.is_for_everyone()) {
            let mut subject = Subject {
                stored,
                path: path.clone(),
                bytes: size(&path)?,
                driver,
                cells: Default::default(),
            };
            if d == 0 {
                subject.cells[0].0 = times.clone();
            }
            cache::warm(&path)?;
            if d > 0
                && let Some(why) = super::refusal(driver, &path, &columns[0].0)
            {
                progress(&format!("{} cannot read {stored}: {why}", driver.name()));
                continue;
            }
            subjects.push(subject);
        }
    }
    for repetition in 0..setup.repetitions {
        progress(&format!("round {} of {}", repetition + 1, setup.repetitions));
        let mut random = Positions::new(setup.seed.wrapping_add(repetition as u64 * 1009));
        let mut picked: Vec<usize> = Vec::new();
        while picked.len() < o.picked {
            let var = random.below(o.variables as u64) as usize;
            if !picked.contains(&var) {
                picked.push(var);
            }
        }
        let names: Vec<&str> = picked.iter().map(|&v| columns[v].0.as_str()).collect();
        let places: Vec<usize> = (0..o.reads).map(|_| random.below(o.records as u64) as usize).collect();
        let first = random.below((o.records - o.reads + 1) as u64) as usize;
        let sequence: Vec<usize> = (first..first + o.reads).collect();
        for subject in &mut subjects {
            subject.read(&names, &places, &sequence)?;
        }
    }
    let title = format!("Records: one file of {} records of {} variables", o.records, o.variables);
    let mut section = section("records-station", title, o, &own, rows(&subjects));
    section.notes.push(format!(
        "random and sequential: {} records, {} variables, value by value; filling was timed once",
        o.reads, o.picked
    ));
    Ok(section)
}

/// Name and units of a variable: there may be several instruments of a kind.
fn column(i: usize) -> (String, &'static str) {
    let (name, units) = INSTRUMENTS[i % INSTRUMENTS.len()];
    match i / INSTRUMENTS.len() {
        0 => (name.to_owned(), units),
        n => (format!("{name}_{}", n + 1), units),
    }
}

impl Subject<'_> {
    /// One repetition of all reads.
    fn read(&mut self, names: &[&str], places: &[usize], sequence: &[usize]) -> Result<()> {
        let (path, driver) = (&self.path, self.driver);
        let mut out = vec![0; places.len().max(sequence.len()) * names.len() * 4];
        let [_, open, random, again, sequential] = &mut self.cells;
        let mut session = measure(&mut open.0, || driver.open(path))?;
        for (times, sum) in [random, again] {
            measure(times, || read_records(&mut *session, names, places, &mut out))?;
            *sum = sum.rotate_left(1) ^ checksum(&out);
        }
        drop(session);
        let mut session = driver.open(path)?;
        measure(&mut sequential.0, || read_records(&mut *session, names, sequence, &mut out))?;
        sequential.1 = sequential.1.rotate_left(1) ^ checksum(&out);
        Ok(())
    }
}

/// Reads values one by one: record by record, as a program does that goes through them.
fn read_records(session: &mut dyn Session, names: &[&str], records: &[usize], out: &mut [u8]) -> Result<()> {
    let mut slab = records_from(0, 1);
    let mut parts = out.chunks_exact_mut(4);
    for &record in records {
        slab.start[0] = record as u64;
        for name in names {
            let Some(part) = parts.next() else { return Ok(()) };
            session.read(name, &slab, part)?;
        }
    }
    Ok(())
}

fn rows(subjects: &[Subject<'_>]) -> Vec<Row> {
    let mut rows = Vec::new();
    for (t, test) in TESTS.into_iter().enumerate() {
        for s in subjects {
            let (times, sum) = &s.cells[t];
            let right = (t > OPEN).then(|| *sum == subjects[0].cells[t].1);
            if !times.is_empty() {
                rows.push(row(s.stored, s.driver, s.bytes, test, times, right));
            }
        }
    }
    rows
}
