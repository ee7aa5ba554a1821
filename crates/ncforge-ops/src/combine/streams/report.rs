//! What became of the files: reports, and plans, which are reports of what would be done.

use std::path::PathBuf;

use ncforge::ErrorClass;
use serde::Serialize;

use super::super::mosaic::Note;
use crate::copy::ChosenChunks;

/// The report on series.
#[derive(Clone, Debug, Default, Serialize)]
pub struct SeriesReport {
    /// Input files.
    pub files: usize,
    /// Bytes of all of them.
    pub input_bytes: u64,
    /// The streams, in the order of their first files.
    pub streams: Vec<StreamReport>,
    /// Outputs of all streams that were made, or would be, or were there.
    pub outputs: usize,
    /// Bytes of these; of a plan, an estimate.
    pub output_bytes: u64,
    /// Files, streams and outputs that failed.
    pub failures: usize,
    /// Seconds that it took; of a plan, an estimate.
    pub seconds: f64,
}

/// A stream: files whose names differ in dates and numbers alone.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StreamReport {
    /// The case, as the names of the files tell it.
    pub case: String,
    /// The stream.
    pub stream: String,
    /// Files that were joined.
    pub files: usize,
    /// Bytes of all of them.
    pub bytes: u64,
    /// The dimension along which they follow each other.
    pub along: String,
    /// Its length in all of them.
    pub length: u64,
    /// The date of the first step, as names have it.
    pub start: Option<String>,
    /// The date of the last step.
    pub end: Option<String>,
    /// Steps that no file has.
    pub gaps: Vec<String>,
    /// Steps that several files have.
    pub overlaps: Vec<String>,
    /// Attributes that differ between files.
    pub differing: Vec<String>,
    /// Other notes for the user.
    pub notes: Vec<String>,
    /// Files that cannot be read, and were left out.
    pub bad: Vec<BadFile>,
    /// The reason why nothing was made of the stream, …
    pub error: Option<String>,
    /// … and its kind.
    pub error_kind: Option<ErrorClass>,
    /// Its outputs.
    pub outputs: Vec<OutputReport>,
}

/// A file that cannot be read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BadFile {
    /// The file.
    pub file: PathBuf,
    /// Why, …
    pub error: String,
    /// … and of which kind that is.
    pub error_kind: ErrorClass,
}

/// An output: a variable's values over all times, or some years of them.
#[derive(Clone, Debug, Default, Serialize)]
pub struct OutputReport {
    /// The file.
    pub path: PathBuf,
    /// The variable.
    pub variable: String,
    /// The date of its first step.
    pub start: String,
    /// The date of its last step.
    pub end: String,
    /// Steps.
    pub steps: u64,
    /// `made`, `grown`, `complete` (an earlier run had made it), `unchanged` (no file has later steps), `planned` or `failed`.
    pub state: &'static str,
    /// The output of an earlier run in whose place this one is.
    pub replaces: Option<PathBuf>,
    /// Bytes of the values of all variables in it.
    pub values_bytes: u64,
    /// Bytes of the file; of a plan, an estimate.
    pub bytes: u64,
    /// Variables whose chunks were moved as they are.
    pub raw_variables: usize,
    /// Whether it was read back and found to be the same.
    pub verified: bool,
    /// Its digest, if it was asked for.
    pub digest: Option<String>,
    /// Chunks that were chosen, and reads that take longer with them.
    pub chosen: Vec<ChosenChunks>,
    /// Seconds that it took; of a plan, an estimate.
    pub seconds: f64,
    /// Why it failed, …
    pub error: Option<String>,
    /// … and of which kind that is.
    pub error_kind: Option<ErrorClass>,
}

impl SeriesReport {
    /// Adds a stream.
    pub(super) fn add(&mut self, stream: StreamReport) {
        let made = || stream.outputs.iter().filter(|o| o.error.is_none());
        self.outputs += made().count();
        self.output_bytes += made().map(|o| o.bytes).sum::<u64>();
        self.failures += stream.failures();
        self.streams.push(stream);
    }
}

impl StreamReport {
    /// Files and outputs that failed, and the stream if it did.
    fn failures(&self) -> usize {
        let outputs = self.outputs.iter().filter(|o| o.error.is_some()).count();
        self.bad.len() + outputs + usize::from(self.error.is_some())
    }

    /// Adds notes, each once.
    pub(super) fn note(&mut self, notes: impl IntoIterator<Item = Note>) {
        for note in notes {
            let list = match &note {
                Note::Gap(_) => &mut self.gaps,
                Note::Overlap(_) => &mut self.overlaps,
                Note::Attribute(_) => &mut self.differing,
                Note::Other(_) => &mut self.notes,
            };
            if list.iter().all(|known| known != note.text()) {
                list.push(note.text().to_owned());
            }
        }
    }
}
