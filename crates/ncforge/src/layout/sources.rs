//! The names of sources of values that lie elsewhere.

use std::borrow::Cow;
use std::fmt;

use serde::{Serialize, Serializer};

use crate::store::remote::shown_path;

/// Names in a list for people.
const FEW: usize = 3;

/// The name of a source.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize)]
pub struct SourceName {
    /// The file, as it is named in the one that leads to it; reports do not have the secrets of a URL.
    #[serde(serialize_with = "without_secrets")]
    pub file: String,
    /// The variable, or dataset, in that file.
    pub variable: String,
}

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` in `{}`", printable(&self.variable), printable(&self.file))
    }
}

fn without_secrets<S: Serializer>(file: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&shown_path(file))
}

/// A name that a file gives to something, for people: neither a control character in it nor the secrets of a URL must reach their
/// terminal.
pub(crate) fn printable(name: &str) -> Cow<'_, str> {
    let name = shown_path(name);
    match name.contains(char::is_control) {
        true => name.escape_debug().to_string().into(),
        false => name.into(),
    }
}

/// Values in other files that must not be opened, or cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotFollowed {
    /// The reason: "a virtual dataset of other files (`a.h5`) that are not followed here".
    pub why: String,
    /// The sources.
    pub sources: Vec<SourceName>,
}

impl NotFollowed {
    /// Sources of `what` ("a virtual dataset"); `is_asked`: whoever opened the file wanted it to lead to no other one. Otherwise no
    /// file can be found from where it lies.
    pub(crate) fn new(what: &str, sources: Vec<SourceName>, is_asked: bool) -> Self {
        let mut files: Vec<String> =
            sources.iter().map(|source| format!("`{}`", printable(&source.file))).collect();
        files.dedup();
        let files = few(files);
        let why = match is_asked {
            true => format!("{what} of other files ({files}) that are not followed here"),
            false => format!("{what} of other files ({files}) in what is no local file"),
        };
        Self { why, sources }
    }
}

/// Names for people: the first few of a list, and the number of the others.
///
/// ```
/// use ncforge::raw::few;
/// assert_eq!(few(["a", "b"]), "a, b");
/// assert_eq!(few(["a", "b", "c", "d", "e"]), "a, b, c and 2 more");
/// ```
pub fn few<N: fmt::Display>(names: impl IntoIterator<Item = N>) -> String {
    let mut names = names.into_iter();
    let shown: Vec<String> = names.by_ref().take(FEW).map(|name| name.to_string()).collect();
    match names.count() {
        0 => shown.join(", "),
        others => format!("{} and {others} more", shown.join(", ")),
    }
}
