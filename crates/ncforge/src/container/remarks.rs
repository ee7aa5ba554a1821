//! What a user of a file should know of it, in words and by kind.

use std::fmt;

use super::Container;
use crate::layout::{SourceName, few};

/// A remark on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// Path of the variable that it is about; `None`: the file.
    pub variable: Option<String>,
    /// The remark.
    pub said: Said,
}

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// In the words of the format.
    Words(String),
    /// The variable's values cannot be read, for this reason.
    Unreadable(String),
    /// Sources of the variable's values are not there: what would be theirs reads as the fill value.
    Absent(Vec<SourceName>),
}

impl Remark {
    /// A remark on the file.
    pub fn of_file(words: impl Into<String>) -> Self {
        Remark { variable: None, said: Said::Words(words.into()) }
    }

    /// Whether it says that sources of values are not there.
    pub fn is_absence(&self) -> bool {
        matches!(self.said, Said::Absent(_))
    }
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.variable.as_deref().unwrap_or_default();
        match &self.said {
            Said::Words(words) => f.write_str(words),
            Said::Unreadable(why) => write!(f, "`{name}` cannot be read: {why}"),
            Said::Absent(names) if names.len() == 1 => {
                write!(
                    f,
                    "`{name}`: the source {} is not there, its values read as the fill value",
                    few(names)
                )
            }
            Said::Absent(names) => {
                let (n, few) = (names.len(), few(names));
                write!(f, "`{name}`: {n} sources are not there, their values read as the fill value: {few}")
            }
        }
    }
}

/// What a user of a file's values should know: what [`own_remarks`] says, and which sources of values are not there. Opens the sources,
/// of which an archive may have 100,000.
pub fn remarks(container: &dyn Container) -> Vec<Remark> {
    let mut found = own_remarks(container);
    for var in container.schema().var_ids() {
        let Ok(layout) = container.layout(var) else { continue };
        let said = match layout.absent_sources() {
            Ok(names) if names.is_empty() => continue,
            Ok(names) => Said::Absent(names),
            Err(e) => Said::Unreadable(e.to_string()),
        };
        found.push(Remark { variable: Some(container.schema().var_path(var)), said });
    }
    found
}

/// What a file alone tells: what its format says of it and of its variables, and which of these cannot be read.
pub fn own_remarks(container: &dyn Container) -> Vec<Remark> {
    let mut found: Vec<Remark> = container.notes().into_iter().map(Remark::of_file).collect();
    for var in container.schema().var_ids() {
        let unreadable = match container.layout(var) {
            Ok(layout) => layout.place.unsupported().map(|what| format!("{what} is not supported")),
            Err(e) => Some(e.to_string()),
        };
        let said =
            container.note_of(var).map(Said::Words).into_iter().chain(unreadable.map(Said::Unreadable));
        found.extend(said.map(|said| Remark { variable: Some(container.schema().var_path(var)), said }));
    }
    found
}
