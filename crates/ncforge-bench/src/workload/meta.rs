//! The workload `meta`: what definitions cost, without a single value.
//!
//! Files of many groups, dimensions, variables and attributes are made by every driver and looked through again: opened, everything in them
//! asked for, closed. What each step takes is told apart where a library has it apart: creating, defining, ending the definitions, closing; opening,
//! inquiring, closing. What all drivers find in their files must be the same, and what one finds in another's.
//!
//! ```
//! use ncforge_bench::driver::{Definitions, Driver, NcforgeDriver};
//! use ncforge_bench::rounds::Rounds;
//! use ncforge_bench::workload::meta::{MetaOptions, run};
//!
//! let own = NcforgeDriver::new(Some(1), None);
//! let file = Definitions { format: ncforge::Format::Netcdf4, groups: 2, dims: 3, vars: 10, attrs: 2 };
//! let rounds = Rounds { repetitions: 1, warmup: 0, guard: false, seed: 1 };
//! let options = MetaOptions { file, files: 2, rounds, folder: None };
//! let report = run(&[&own as &dyn Driver], &options, &mut |_| Ok(()))?;
//! assert!(report.cases[0].made[0].right == Some(true));
//! # Ok::<(), ncforge_bench::Error>(())
//! ```

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::clock;
use crate::driver::{Definitions, Driver, Inquired};
use crate::environment::Environment;
use crate::error::{Error, Result};
use crate::result::Measurement;
use crate::rounds::Rounds;

/// More definitions than a file of any model has, and files than anybody waits for.
const MOST: u64 = 10_000_000;

/// What is measured.
#[derive(Clone, Debug, Serialize)]
pub struct MetaOptions {
    /// What each file defines.
    pub file: Definitions,
    /// How many files are made and looked through in a repetition.
    pub files: u64,
    /// How often.
    pub rounds: Rounds,
    /// Where the files are made; a temporary folder by default.
    pub folder: Option<PathBuf>,
}

/// All that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct MetaReport {
    /// The machine.
    pub environment: Environment,
    /// What was asked.
    pub options: MetaOptions,
    /// The drivers.
    pub cases: Vec<MetaCase>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// What a driver took.
#[derive(Clone, Debug, Serialize)]
pub struct MetaCase {
    /// The library, by the name that it gives itself.
    pub engine: String,
    /// Its version.
    pub version: String,
    /// Bytes of its files.
    pub stored: u64,
    /// Making all files: from creating to closing, steps apart.
    pub made: Vec<Measurement>,
    /// Looking through all of them: from opening to closing.
    pub looked: Vec<Measurement>,
    /// What it finds in its files that is not what was defined, or what others find there.
    pub problems: Vec<String>,
}

/// Makes files by every driver, and looks through them. `progress` is told what is done next; its error ends the work.
///
/// # Errors
/// [`Error::Invalid`] for options that make no sense, and drivers that cannot; what they say.
pub fn run(
    drivers: &[&dyn Driver],
    options: &MetaOptions,
    progress: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<MetaReport> {
    check(drivers, options)?;
    let folder = super::folder(options.folder.as_deref())?;
    let path = |case: usize, file: u64| folder.path().join(format!("{case}.{file}.nc"));
    let mut looked: HashMap<(usize, usize), Measurement> = HashMap::new();
    let mut found: Vec<Option<Inquired>> = vec![None; drivers.len()];
    let mut stored = vec![0; drivers.len()];
    let made = options.rounds.run(drivers.len(), &mut |case, round| {
        let driver = drivers[case];
        progress(&format!("round {}: {}", round + 1, driver.name()))?;
        // Giving old files' pages back is no part of making new ones.
        (0..options.files).for_each(|f| drop(std::fs::remove_file(path(case, f))));
        let (mut making, mut looking) = (Timed::default(), Timed::default());
        let begun = clock::now();
        for f in 0..options.files {
            making.add(driver.define(&path(case, f), &options.file)?);
        }
        let between = clock::now();
        for f in 0..options.files {
            let (steps, seen) = driver.inquire(&path(case, f))?;
            looking.add(steps);
            // All files of a case are the same.
            if *found[case].get_or_insert(seen) != seen {
                return Err(Error::Unreadable(format!(
                    "{} finds other definitions in one of its files than in another",
                    driver.name()
                )));
            }
        }
        let end = clock::now();
        if stored[case] == 0 {
            stored[case] = size(&(0..options.files).map(|f| path(case, f)).collect::<Vec<_>>())?;
        }
        looked.insert((case, round), looking.measurement(end - between));
        Ok(making.measurement(between - begun))
    })?;
    let problems = agree(drivers, options, &found, &|case| path(case, 0));
    let cases = drivers.iter().zip(made).enumerate();
    let cases: Vec<MetaCase> = cases
        .map(|(case, (driver, mut made))| {
            let right = problems[case].is_empty();
            for m in &mut made {
                m.right = Some(right);
            }
            // What was measured together shares its circumstances.
            let same = |m: &Measurement| {
                let own = looked.get(&(case, m.rep + options.rounds.warmup)).cloned().unwrap_or_default();
                Measurement { rep: m.rep, disturbed: m.disturbed, noise: m.noise, right: m.right, ..own }
            };
            MetaCase {
                engine: driver.name().to_owned(),
                version: driver.version(),
                stored: stored[case],
                looked: made.iter().map(same).collect(),
                problems: problems[case].clone(),
                made,
            }
        })
        .collect();
    let all: Vec<Vec<Measurement>> = cases.iter().map(|c| c.made.clone()).collect();
    Ok(MetaReport {
        environment: Environment::capture_for(folder.path()),
        options: options.clone(),
        notes: options.rounds.notes(&all),
        cases,
    })
}

fn size(paths: &[PathBuf]) -> Result<u64> {
    let of =
        |path: &PathBuf| std::fs::metadata(path).map(|m| m.len()).map_err(|e| Error::io("measure", path, e));
    paths.iter().map(of).sum()
}

/// Whether everybody finds the same in every file: the number of things that were defined, with the same names, places and values.
fn agree(
    drivers: &[&dyn Driver],
    options: &MetaOptions,
    found: &[Option<Inquired>],
    path: &dyn Fn(usize) -> PathBuf,
) -> Vec<Vec<String>> {
    let first = found.first().copied().flatten().unwrap_or_default();
    let each = |case: usize| -> Vec<String> {
        let mut problems = Vec::new();
        let mut look = |by: &dyn Driver, seen: Result<Inquired>| match seen {
            Ok(seen) if seen.things != options.file.things() => problems.push(format!(
                "{} finds {} things in it, {} were defined",
                by.name(),
                seen.things,
                options.file.things()
            )),
            Ok(seen) if seen != first => {
                problems.push(format!("{} finds other names, places or values in it", by.name()));
            }
            Ok(_) => {}
            Err(e) => problems.push(format!("{} cannot look through it: {e}", by.name())),
        };
        for (other, driver) in drivers.iter().enumerate() {
            match found[case].filter(|_| other == case) {
                Some(seen) => look(*driver, Ok(seen)),
                None => look(*driver, driver.inquire(&path(case)).map(|(_, seen)| seen)),
            }
        }
        problems
    };
    (0..drivers.len()).map(each).collect()
}

/// Seconds of steps, over all files.
#[derive(Default)]
struct Timed(Vec<(String, f64)>);

impl Timed {
    fn add(&mut self, steps: Vec<(&'static str, f64)>) {
        for (name, seconds) in steps {
            match self.0.iter_mut().find(|s| s.0 == name) {
                Some(slot) => slot.1 += seconds,
                None => self.0.push((name.to_owned(), seconds)),
            }
        }
    }

    fn measurement(self, seconds: f64) -> Measurement {
        Measurement { split: self.0, ..Measurement::of(seconds) }
    }
}

fn check(drivers: &[&dyn Driver], options: &MetaOptions) -> Result<()> {
    let invalid = |why: String| Err(Error::Invalid(why));
    if drivers.is_empty() || options.files == 0 || options.rounds.repetitions == 0 {
        return invalid("nothing to measure: a driver, a file and a repetition are needed".into());
    }
    if options.file.things().saturating_mul(options.files) > MOST {
        return invalid(format!(
            "{} files of {} definitions each are more than {MOST} in all; take fewer",
            options.files,
            options.file.things()
        ));
    }
    for driver in drivers {
        if let Some(why) = driver.refuses_definitions(&options.file) {
            return invalid(format!("{}: {why}", driver.name()));
        }
    }
    let path = options.folder.as_deref().unwrap_or(Path::new("."));
    if options.folder.is_some() && !path.is_dir() {
        return invalid(format!(
            "there is no folder `{}`; make it first, or name another (--folder)",
            path.display()
        ));
    }
    Ok(())
}
