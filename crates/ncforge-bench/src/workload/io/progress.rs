//! What is done of a run, saved as it goes on, and taken up again.

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::audit::Audit;
use super::geometry::Geometry;
use super::options::IoOptions;
use super::prepare::Case;
use super::result::PhaseResult;
use crate::checkpoint::Checkpoint;
use crate::clock;
use crate::environment::Environment;
use crate::error::Result;
use crate::team::{Team, agree, exchange};

/// Seconds between two times of saving.
const EVERY: f64 = 2.0;

/// What is kept.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Done {
    /// Phases of all cases that were measured, warm-up left out.
    pub(super) phases: Vec<PhaseResult>,
    /// What is in their files.
    pub(super) audits: Vec<Option<Audit>>,
}

/// Where it is kept, if it is.
pub(super) struct Progress {
    /// The first rank alone writes.
    file: Option<Checkpoint>,
    saved: f64,
}

impl Progress {
    /// Opens what an earlier run has left; every rank calls this.
    ///
    /// # Errors
    /// When it is of another measurement, or no such file.
    pub(super) fn open(
        team: &dyn Team,
        options: &IoOptions,
        geometry: &Geometry,
        cases: &[Case],
    ) -> Result<(Self, Done)> {
        let first = team.rank() == 0;
        let path = options.resume.as_deref().filter(|_| first);
        let file = path.map(|path| Checkpoint::new(path, key(options, geometry, cases)));
        let found = match &file {
            Some(file) => file.load::<Done>(),
            None => Ok(None),
        };
        let found = agree(team, found)?.unwrap_or_default();
        let done = if options.resume.is_some() { exchange(team, &found)?.swap_remove(0) } else { found };
        Ok((Progress { file, saved: clock::now() }, done))
    }

    /// Saves what is done, unless that was a moment ago.
    pub(super) fn save(&mut self, phases: &[PhaseResult], audits: &[Option<Audit>], now: bool) -> Result<()> {
        let Some(file) = &self.file else { return Ok(()) };
        if now || clock::now() - self.saved >= EVERY {
            file.save(&Done { phases: phases.to_vec(), audits: audits.to_vec() })?;
            self.saved = clock::now();
        }
        Ok(())
    }

    /// Everything is done.
    pub(super) fn finish(&self) {
        self.file.iter().for_each(Checkpoint::remove);
    }
}

/// What must be the same for phases to stand beside one another: everything but how often and how long, and where the report goes.
fn key(options: &IoOptions, geometry: &Geometry, cases: &[Case]) -> serde_json::Value {
    let mut asked = serde_json::to_value(options).unwrap_or_default();
    if let Some(all) = asked.as_object_mut() {
        for name in ["repetitions", "budget", "until", "keep", "overwrite", "resume"] {
            all.remove(name);
        }
    }
    let libraries: Vec<String> =
        cases.iter().map(|c| format!("{} {}", c.driver.name(), c.driver.version())).collect();
    let e = Environment::capture();
    json!({
        "options": asked,
        "geometry": geometry,
        "libraries": libraries,
        "machine": { "system": e.system, "kernel": e.kernel, "cpu": e.cpu, "cpus": e.cpus, "ncforge": e.ncforge },
    })
}
