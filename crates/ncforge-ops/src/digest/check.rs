//! Files against a list of their digests.

use std::path::{Path, PathBuf};

use super::{Digests, Line, PART};
use crate::progress::Progress;
use ncforge::store::remote::url_of;
use ncforge::{Engine, Error, Result};

/// The result for a line.
#[derive(Debug)]
pub struct Checked {
    /// The name of the file, or of file and variable, as it is in the list.
    pub name: String,
    /// The digest of the list.
    pub listed: String,
    /// The digest of the file now; `None` if it has no such variable.
    pub found: Result<Option<String>>,
}

impl Checked {
    /// Whether the digest is that of the list.
    pub fn is_same(&self) -> bool {
        matches!(&self.found, Ok(Some(found)) if *found == self.listed)
    }
}

/// Computes the digests of a list anew, and shows each line. Lines of one file that follow each other are one reading of it.
///
/// # Errors
/// [`Error::Interrupted`]; all others are in the lines.
pub fn check(
    lines: Vec<Line>,
    engine: &Engine,
    progress: &dyn Progress,
    mut see: impl FnMut(Checked),
) -> Result<()> {
    let mut open: Option<(PathBuf, Digests<'_>)> = None;
    for line in lines {
        let (file, var) = parts(&line.name);
        let mut look = || {
            let digests = match open.take() {
                Some((path, digests)) if path == file => digests,
                _ => Digests::open(&file, engine, progress)?,
            };
            let (_, digests) = open.insert((file.clone(), digests));
            Ok(match var {
                None => Some(digests.file()?),
                Some(var) => match digests.data.schema().find_var(var) {
                    Some(var) => Some(digests.variable(var)?),
                    None => None,
                },
            })
        };
        match look() {
            Err(e @ Error::Interrupted(_)) => return Err(e),
            found => {
                let found = found.map(|hash| hash.map(|hash| hash.to_hex().to_string()));
                see(Checked { found, listed: line.digest, name: line.name });
            }
        }
    }
    Ok(())
}

/// The file that a name is of, and the variable: what stands behind the first `#` in front of which is a file.
fn parts(name: &str) -> (PathBuf, Option<&str>) {
    let whole = Path::new(name);
    let is_file = |path: &Path| url_of(path).is_some() || path.exists();
    let cuts = || name.match_indices(PART).map(|(at, _)| (Path::new(&name[..at]), &name[at + 1..]));
    match cuts().find(|(file, _)| is_file(file)) {
        Some((file, var)) if url_of(whole).is_some() || !whole.exists() => (file.to_owned(), Some(var)),
        _ => (whole.to_owned(), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_variables_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a.nc", "b#1.nc"] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        let of = |name: &str| {
            let name = format!("{}/{name}", dir.path().display());
            let (file, var) = parts(&name);
            (file.file_name().unwrap().to_str().unwrap().to_owned(), var.map(str::to_owned))
        };
        let pair = |file: &str, var: Option<&str>| (file.to_owned(), var.map(str::to_owned));
        assert_eq!(of("a.nc"), pair("a.nc", None));
        assert_eq!(of("a.nc#/g/t"), pair("a.nc", Some("/g/t")));
        assert_eq!(of("b#1.nc"), pair("b#1.nc", None));
        assert_eq!(of("b#1.nc#v#2"), pair("b#1.nc", Some("v#2")));
        assert_eq!(of("none.nc#v"), pair("none.nc#v", None));
        assert_eq!(parts("https://h/a.nc#v"), ("https://h/a.nc".into(), Some("v")));
        assert_eq!(parts("https://h/a.nc"), ("https://h/a.nc".into(), None));
    }
}
