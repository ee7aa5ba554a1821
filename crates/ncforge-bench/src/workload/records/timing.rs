//! Wall, user and system time of pieces of work.

use serde::Serialize;

use crate::clock::{now, processor};
use crate::stats::Summary;

/// Wall, user and system time of the repetitions of one piece of work, in seconds.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Times {
    /// Wall time of each repetition.
    pub wall: Vec<f64>,
    /// User time of all threads, of each.
    pub user: Vec<f64>,
    /// System time.
    pub system: Vec<f64>,
}

impl Times {
    /// Runs `work` as one more repetition.
    pub(super) fn measure<T, E>(&mut self, work: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        let (before, start) = (processor(), now());
        let done = work()?;
        let (end, after) = (now(), processor());
        self.wall.push(end - start);
        self.user.push(after.0 - before.0);
        self.system.push(after.1 - before.1);
        Ok(done)
    }

    /// Adds what was measured last to the repetition before it: both are parts of one.
    pub(super) fn join(&mut self, more: &Times) {
        for (all, one) in
            [(&mut self.wall, &more.wall), (&mut self.user, &more.user), (&mut self.system, &more.system)]
        {
            let sum: f64 = one.iter().sum();
            match all.last_mut() {
                Some(last) => *last += sum,
                None => all.push(sum),
            }
        }
    }

    /// Minimum, median and maximum of the wall times.
    pub fn summary(&self) -> Option<Summary> {
        Summary::of(&self.wall)
    }

    /// Mean user time. (The system tells user and system time apart by samples: single short repetitions say little.)
    pub fn user_mean(&self) -> f64 {
        mean(&self.user)
    }

    /// Mean system time.
    pub fn system_mean(&self) -> f64 {
        mean(&self.system)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}
