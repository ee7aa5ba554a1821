//! Absent bytes that parsers of a deferred source asked for.

use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::store::PerProcess;

/// The outcome of a parser that ran on a deferred source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::hdf5) enum Outcome {
    /// Every byte that it asked for was present: its result is valid.
    #[default]
    Complete,
    /// Bytes were absent: its result is void, and it should run again once they are fetched.
    Absent,
    /// The parser needs a structure that is too long for a round: its result is void, and running it again would not help.
    TooLong,
}

/// The record of a deferred source. Parsers run one after the other.
#[derive(Debug, Default)]
pub(super) struct Absent(PerProcess<Mutex<Record>>);

#[derive(Debug, Default)]
struct Record {
    /// Runs of page numbers that all parsers asked for.
    pages: Vec<Range<u64>>,
    /// The outcome of the parser that runs now.
    outcome: Outcome,
}

impl Absent {
    fn lock(&self) -> MutexGuard<'_, Record> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that runs of pages were asked for.
    pub(super) fn add(&self, runs: impl IntoIterator<Item = Range<u64>>) {
        let mut record = self.lock();
        record.pages.extend(runs);
        if record.outcome == Outcome::Complete {
            record.outcome = Outcome::Absent;
        }
    }

    /// Records that a structure was asked for that no round can bring.
    pub(super) fn add_too_long(&self) {
        self.lock().outcome = Outcome::TooLong;
    }

    /// The outcome of the parser that ran since the last call.
    pub(super) fn take_outcome(&self) -> Outcome {
        std::mem::take(&mut self.lock().outcome)
    }

    /// The pages that all parsers asked for since the last call.
    pub(super) fn take_pages(&self) -> Vec<Range<u64>> {
        std::mem::take(&mut self.lock().pages)
    }
}
