//! The results of verifying.

use serde::Serialize;

use ncforge::Error;
use ncforge::model::{Cause, Skipped};
use ncforge::raw::{Remark, Said, SourceName};

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProblemKind {
    /// Bytes do not follow their format, or are not what their checksum says.
    Corrupt,
    /// The file ends before its values do.
    Truncated,
    /// Values are intact, but access points into them are not.
    AccessPoints,
    /// Values of a kind, or with a filter, that is not supported: nothing is known of them.
    Unsupported,
    /// Values in other files, which are not followed: nothing is known of them.
    NotFollowed,
}

impl ProblemKind {
    /// The kind of an error of reading.
    pub(super) fn of(error: &Error) -> Self {
        match error {
            Error::Unsupported { .. } => ProblemKind::Unsupported,
            Error::Io { .. } => ProblemKind::Truncated,
            _ => ProblemKind::Corrupt,
        }
    }

    /// The kind of problem that an object is which was left out; `None` if that is none.
    pub(super) fn of_skipped(skipped: &Skipped) -> Option<Self> {
        match skipped.cause {
            Cause::Damaged { .. } | Cause::Unreadable => Some(ProblemKind::Corrupt),
            Cause::NotFollowed => Some(ProblemKind::NotFollowed),
            Cause::Foreign | Cause::Absent => None,
        }
    }
}

/// Something in a file that cannot be read, or is not what its checksum says.
#[derive(Clone, Debug, Serialize)]
pub struct Problem {
    /// Of which kind it is.
    pub kind: ProblemKind,
    /// The fault, the place, and how it is known.
    pub what: String,
    /// Bytes of a zipped file's image that cannot be read because of it: from, to.
    pub image: Option<(u64, u64)>,
    /// If not all of these: the number of bytes at the beginning of every period, and the period.
    pub every: Option<(u64, u64)>,
    /// Variables that have values among them, or `header`.
    pub touches: Vec<String>,
}

impl Problem {
    /// A fault of an object, or of the file.
    pub(super) fn of(kind: ProblemKind, what: String, touches: Option<String>) -> Self {
        Problem { kind, what, image: None, every: None, touches: touches.into_iter().collect() }
    }

    /// The problem that this many bytes of the file are missing; none is no problem.
    pub(super) fn of_missing(bytes: u64) -> Option<Self> {
        let what = format!("{bytes} bytes are missing at the end; their values are read as zeros");
        (bytes > 0).then(|| Problem::of(ProblemKind::Truncated, what, None))
    }
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoteKind {
    /// Other files, or variables in them, are not there. Values that would be theirs read as the fill value; what a link leads to is left
    /// out.
    Absent,
    /// An object was left out: netCDF has no equivalent, or it is not supported.
    LeftOut,
}

/// Something that is no fault of the file, without which the result would be misunderstood.
#[derive(Clone, Debug, Serialize)]
pub struct Note {
    /// What it is about.
    pub kind: NoteKind,
    /// The note in words.
    pub what: String,
    /// The variable, or the object that was left out.
    pub variable: String,
    /// The sources of a variable's values that are not there.
    pub sources: Vec<SourceName>,
}

impl Note {
    /// The note that a remark is; others are problems, or say nothing of values.
    pub(super) fn of(remark: Remark) -> Option<Self> {
        let what = remark.to_string();
        let Said::Absent(sources) = remark.said else { return None };
        Some(Note { kind: NoteKind::Absent, what, variable: remark.variable?, sources })
    }

    /// A note on an object that was left out.
    pub(super) fn of_skipped(skipped: &Skipped) -> Self {
        let kind = match skipped.cause {
            Cause::Absent => NoteKind::Absent,
            Cause::Foreign | Cause::Damaged { .. } | Cause::NotFollowed | Cause::Unreadable => {
                NoteKind::LeftOut
            }
        };
        let what = format!("`{}` was left out: {}", skipped.path, skipped.why);
        Note { kind, what, variable: skipped.path.clone(), sources: Vec::new() }
    }
}

/// The report of verifying.
#[derive(Clone, Debug, Serialize)]
pub struct VerifyReport {
    /// The file.
    pub file: String,
    /// The number of the commit of a zipped file that was examined.
    pub commit: Option<u64>,
    /// Blocks and pages of the index of a zipped file that were read.
    pub blocks: Option<u64>,
    /// Variables whose values were read, all or in part.
    pub variables: u64,
    /// Bytes read and checked: stored ones of a zipped file, values of others.
    pub bytes: u64,
    /// The faults; none if all is well.
    pub problems: Vec<Problem>,
    /// What is not there, and what was not looked at.
    pub notes: Vec<Note>,
}
