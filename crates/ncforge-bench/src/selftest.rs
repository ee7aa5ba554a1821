//! Does the benchmark see what there is to see? Known delays, known damage and a known neighbour are put in its way, and timers, verifier,
//! statistics, cache proof and noise guard must find them, by the very code that measures.
//!
//! Timers are judged by the fastest of some repetitions, and a check that fails is made again, twice at most: a machine that is busy
//! makes things slower than they are, never faster. What cannot be tried on a machine (a cold cache on a file system that is memory) is
//! told, and is no failure.
//!
//! ```
//! use ncforge_bench::selftest::{CHECKS, Outcome, run};
//!
//! let folder = tempfile::tempdir()?;
//! let found = run(&["one-bit"], None, folder.path(), &mut |_| Ok(()))?;
//! assert_eq!(found[0].outcome, Outcome::Found);
//! // Without the damage there is nothing to find, and that is told.
//! let found = run(&["one-bit"], Some("one-bit"), folder.path(), &mut |_| Ok(()))?;
//! assert_eq!(found[0].outcome, Outcome::Missed);
//! assert!(CHECKS.len() > 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod checks;
mod faulty;
mod pair;

use std::path::Path;

use serde::Serialize;

use crate::error::{Error, Result};

pub use faulty::{Faults, FaultyDriver};

/// How often a check is tried before it counts as failed.
const TRIES: usize = 3;

/// What is put in the way, and what must be found: names, and descriptions.
pub const CHECKS: [(&str, &str); 18] = [
    ("clock", "20 ms by one clock are 20 ms by another"),
    ("calls", "a delay in every call is in the time of the calls"),
    ("latency", "and in the median of single calls"),
    ("open", "a delay in creating is in the time of opening, and not in that of the calls"),
    ("close", "a delay in closing is in the time of closing, and not in that of the calls"),
    (
        "ranks",
        "of two ranks the slower one decides: rates are all bytes by the time from first start to last end",
    ),
    ("clean", "where nothing is wrong, nothing is found"),
    ("one-bit", "one wrong bit is found, and told with its place"),
    ("lost-write", "a block that never came to the file is found"),
    ("no-read", "a read that leaves its buffer alone is found"),
    ("swapped", "two time steps in each other's places are found"),
    (
        "alike",
        "a library that writes other values, and reads them as if they were right, is found by another one",
    ),
    ("ratio", "a case that takes 1.5 times as long is found to, beyond chance"),
    ("regression", "comparing two results finds the slower one, and not the other way round"),
    ("outlier", "the one repetition that took ten times as long is named"),
    ("cold", "a cold read is proven by bytes from storage, and refused on memory"),
    ("warm", "a warm read fetches nothing from storage"),
    ("neighbour", "work of others is noticed"),
];

/// What became of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It was found.
    Found,
    /// It was not.
    Missed,
    /// This machine cannot try it.
    Impossible,
}

/// One check.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    /// Its name.
    pub name: String,
    /// What must be found.
    pub about: String,
    /// What was expected, and what was found, in words.
    pub told: String,
    /// What became of it.
    pub outcome: Outcome,
    /// How often it was tried.
    pub tries: usize,
}

/// What a single try says: whether it was found (`None`: cannot be tried here), and the words for it.
type Try = (Option<bool>, String);

/// Makes these checks (all, for an empty list), with files in `folder`. What `leave_out` names is not put in the way: that check
/// must fail. `progress` is told what is done next; its error ends the work.
///
/// # Errors
/// [`Error::Invalid`] for a name that no check has; what files say.
pub fn run(
    only: &[&str],
    leave_out: Option<&str>,
    folder: &Path,
    progress: &mut dyn FnMut(&str) -> Result<()>,
) -> Result<Vec<Check>> {
    for name in only.iter().copied().chain(leave_out) {
        if !CHECKS.iter().any(|c| c.0 == name) {
            let names: Vec<&str> = CHECKS.iter().map(|c| c.0).collect();
            return Err(Error::Invalid(format!("no check is named `{name}`: {}", names.join(", "))));
        }
    }
    let mut out = Vec::new();
    for (name, about) in CHECKS {
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        progress(&format!("{name}: {about}"))?;
        let bench = checks::Bench { folder, inject: leave_out != Some(name) };
        let mut tries = 0;
        let (outcome, told) = loop {
            tries += 1;
            let (found, told) = bench.check(name)?;
            match found {
                None => break (Outcome::Impossible, told),
                Some(true) => break (Outcome::Found, told),
                Some(false) if tries == TRIES => break (Outcome::Missed, told),
                Some(false) => {}
            }
        };
        out.push(Check { name: name.into(), about: about.into(), told, outcome, tries });
    }
    Ok(out)
}

/// The checks as a table.
pub fn table(checks: &[Check]) -> String {
    let mut rows = vec![["check", "", "what was expected, and found"].map(str::to_owned).to_vec()];
    for c in checks {
        let outcome = match c.outcome {
            Outcome::Found => "found",
            Outcome::Missed => "MISSED",
            Outcome::Impossible => "not here",
        };
        let again = if c.tries > 1 { format!(" (try {})", c.tries) } else { String::new() };
        rows.push(vec![c.name.clone(), outcome.to_owned(), format!("{}: {}{again}", c.about, c.told)]);
    }
    crate::report::aligned(&rows, 3)
}
