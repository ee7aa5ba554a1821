//! The work on all streams: where outputs go, and how.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::options::SeriesOptions;
use crate::progress::{Parts, Progress};
use ncforge::{Engine, Error, ErrorKind};

/// The making of series.
pub(super) struct Making<'a> {
    pub(super) folder: &'a Path,
    pub(super) options: &'a SeriesOptions,
    pub(super) engine: &'a Engine,
    /// The engine that reads.
    pub(super) small: &'a Engine,
    /// The streams, as parts of all work.
    pub(super) parts: &'a Parts<'a>,
    pub(super) progress: &'a dyn Progress,
    /// Whether outputs are made, or only planned.
    pub(super) is_made: bool,
    /// Outputs so far.
    pub(super) seen: BTreeSet<PathBuf>,
}

/// Whether an error is one of input files, so that others may go on.
pub(super) fn is_of_files(e: &Error) -> bool {
    matches!(e, Error::Unsupported { .. }) || e.kind() == ErrorKind::Input
}

/// Progress of parts within a part, which names what it works on.
pub(super) struct Within<'a>(pub(super) &'a Parts<'a>, pub(super) &'a dyn Progress);

impl Progress for Within<'_> {
    fn begin(&self, stage: &str, total: u64) {
        self.0.begin(stage, total);
    }

    fn advance(&self, bytes: u64) {
        self.0.advance(bytes);
    }

    fn item(&self, name: &str) {
        self.1.item(name);
    }

    fn stop(&self) -> bool {
        self.0.stop()
    }
}
