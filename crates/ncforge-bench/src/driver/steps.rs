//! The steps of opening a file, timed one after the other.

use crate::clock;

/// Steps that have ended, and when the last one did.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    last: f64,
    all: Vec<(&'static str, f64)>,
}

impl Steps {
    /// The first step begins.
    pub(super) fn begin() -> Self {
        Steps { last: clock::now(), all: Vec::with_capacity(4) }
    }

    /// A step has ended; the next one begins.
    pub(super) fn end(&mut self, step: &'static str) {
        let now = clock::now();
        self.all.push((step, now - self.last));
        self.last = now;
    }

    /// All of them, with their seconds.
    pub(super) fn all(&self) -> &[(&'static str, f64)] {
        &self.all
    }
}
