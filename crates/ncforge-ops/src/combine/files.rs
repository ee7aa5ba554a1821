//! From what the user named to the files of the tiles.
//!
//! Tiles of a set have names that differ in one run of digits, the last one of the name before its extension, of any
//! width: `ocean_0000.nc`, `ocean.nc.0000`, `root.00.nc`, `state.0000000000.t001.nc`, `wrfout_d01_…_0003`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use glob::Pattern;

use crate::endings;
use crate::packed::Decoded;
use ncforge::store::remote::shown_path;
use ncforge::store::remote::{self, RemoteOptions, url_of};
use ncforge::{Error, Op, Result};

/// The files that the words of a user mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The files, by the number in their names.
    pub(crate) files: Vec<PathBuf>,
    /// Whether they were searched for; then some of them may be no tiles.
    pub(crate) searched: bool,
    /// The one file that was named, where others were searched for by it.
    pub(crate) named: Option<PathBuf>,
    /// Variables that are unpacked.
    pub(crate) decoded: Decoded,
}

/// A URL: the objects that match it. Several words: those files, each once. One pattern with `*`, `?`
/// or `[`: what matches it. One file: it and its kin. One name that is no file: the tiles of that base name. With `exact`
/// one word is a file, as each of several is.
pub(crate) fn find(words: &[PathBuf], exact: bool) -> Result<Found> {
    match words {
        [] => Err(Error::NoInput("tiles")),
        all if exact => these(all),
        [one] if url_of(one).is_some() => {
            let pattern = one.to_string_lossy();
            let found = remote::glob(&pattern, &RemoteOptions::of_process())?;
            let searched = found.len() != 1 || found[0] != pattern;
            if found.is_empty() {
                let none = std::io::Error::new(std::io::ErrorKind::NotFound, "no object matches this name");
                return Err(Error::io(Op::Open, remote::shown(&pattern), none));
            }
            Ok(Found {
                files: sorted(found.into_iter().map(PathBuf::from).collect()),
                searched,
                ..Found::default()
            })
        }
        [one] if one.exists() => {
            Ok(Found { files: kin(one)?, searched: true, named: Some(one.clone()), ..Found::default() })
        }
        [one] => {
            let text = one.to_string_lossy();
            let is_pattern = remote::is_pattern(&text);
            let files = if is_pattern { matching(one)? } else { based_on(one)? };
            if files.is_empty() {
                let what = if is_pattern { "file matches" } else { "tile begins with" };
                return Err(Error::io(
                    Op::Open,
                    text,
                    std::io::Error::new(std::io::ErrorKind::NotFound, format!("no {what} this name")),
                ));
            }
            Ok(Found { files, searched: true, ..Found::default() })
        }
        several => these(several),
    }
}

/// The files of a series, in the order of the words: names, and patterns, which stand for what matches them in the order of its names.
pub(crate) fn named(words: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut files = Vec::with_capacity(words.len());
    for word in words {
        let text = word.to_string_lossy();
        let is_pattern = remote::is_pattern(&text);
        if let Some(url) = url_of(word).filter(|_| is_pattern) {
            let mut found: Vec<PathBuf> =
                remote::glob(url, &RemoteOptions::of_process())?.into_iter().map(PathBuf::from).collect();
            found.sort();
            files.append(&mut found);
        } else if is_pattern && !word.exists() {
            files.append(&mut matching(word)?);
        } else {
            files.push(word.clone());
        }
    }
    match files.is_empty() {
        true if words.is_empty() => Err(Error::NoInput("files")),
        true => {
            let none = std::io::Error::new(std::io::ErrorKind::NotFound, "no file matches this name");
            Err(Error::io(Op::Open, words[0].to_string_lossy(), none))
        }
        false => Ok(files),
    }
}

/// These files, each once.
fn these(paths: &[PathBuf]) -> Result<Found> {
    let mut seen = BTreeSet::new();
    let mut files = Vec::new();
    for path in paths {
        let id = match url_of(path) {
            Some(_) => path.clone(),
            None => std::fs::canonicalize(path).map_err(|e| Error::io(Op::Open, shown_path(path), e))?,
        };
        if seen.insert(id) {
            files.push(path.clone());
        }
    }
    Ok(Found { files: sorted(files), ..Found::default() })
}

/// Bytes `from..to` of a file's name that are its number.
pub(crate) fn number_in(name: &str) -> Option<(usize, usize)> {
    let bytes = endings::without(name).0.as_bytes();
    let to = bytes.iter().rposition(u8::is_ascii_digit)? + 1;
    let from = bytes[..to].iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |i| i + 1);
    Some((from, to))
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn folder_of(path: &Path) -> PathBuf {
    path.parent().filter(|p| !p.as_os_str().is_empty()).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Sorts files by the number in the name, then by the name.
fn sorted(mut files: Vec<PathBuf>) -> Vec<PathBuf> {
    files.sort_by_cached_key(|p| {
        let name = name_of(p);
        let number = number_in(&name).and_then(|(from, to)| name[from..to].parse::<u128>().ok());
        (number.unwrap_or(u128::MAX), name)
    });
    files
}

/// The files of a folder whose name is wanted.
fn listed(folder: &Path, wanted: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let fail = |e| Error::io(Op::Open, shown_path(folder), e);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        let name = entry.file_name();
        if name.to_str().is_some_and(&wanted) {
            // `./` in front of what the user named without it would change messages and history.
            files.push(if folder == Path::new(".") { PathBuf::from(name) } else { entry.path() });
        }
    }
    Ok(sorted(files))
}

/// A tile and all files whose names differ from its only in the number.
fn kin(one: &Path) -> Result<Vec<PathBuf>> {
    let name = name_of(one);
    let Some((from, to)) = number_in(&name) else { return Ok(vec![one.to_owned()]) };
    let (before, after) = (&name[..from], &name[to..]);
    let explicit = one.parent() == Some(Path::new("."));
    let mut files = listed(&folder_of(one), |other| {
        other
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
    })?;
    if files.is_empty() {
        // A name that is not Unicode is not met again.
        return Ok(vec![one.to_owned()]);
    }
    if explicit {
        files.iter_mut().for_each(|f| *f = Path::new(".").join(&*f));
    }
    Ok(files)
}

/// The tiles of a base name: what follows it is a separator, a number, and perhaps an extension.
fn based_on(base: &Path) -> Result<Vec<PathBuf>> {
    let name = name_of(base);
    let folder = folder_of(base);
    if name.is_empty() || !folder.is_dir() {
        return Ok(Vec::new());
    }
    listed(&folder, |other| {
        let Some(rest) = other.strip_prefix(&name) else { return false };
        let rest = endings::without(rest).0;
        let digits = ["_", ".t", "."].iter().find_map(|s| rest.strip_prefix(s)).unwrap_or(rest);
        !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
    })
}

/// The files whose names match a pattern of the shell, in the order of their names; folders are taken as they stand.
///
/// # Errors
/// [`Error::Io`] of a folder that cannot be listed.
pub fn matching(pattern: &Path) -> Result<Vec<PathBuf>> {
    let wanted = glob(&name_of(pattern));
    let mut found = listed(&folder_of(pattern), |name| wanted.matches(name))?;
    found.sort();
    Ok(found)
}

/// Whether a path is a pattern of the shell, and no file.
pub fn is_pattern(path: &Path) -> bool {
    remote::is_pattern(&path.to_string_lossy()) && url_of(path).is_none() && !path.exists()
}

/// `*`, `?`, `[a-z]`, `[!a-z]`, as in a shell. Brackets that make no class stand for themselves.
fn glob(pattern: &str) -> Pattern {
    let mut pattern = pattern.replace("[^", "[!");
    while pattern.contains("**") {
        pattern = pattern.replace("**", "*");
    }
    let literal = || Pattern::new(&pattern.replace('[', "[[]")).expect("every class is closed");
    Pattern::new(&pattern).unwrap_or_else(|_| literal())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_names() {
        for (name, number) in [
            ("O25_19580101_grid_T_0000.nc", "0000"),
            ("ocean.nc.0012", "0012"),
            ("ocean.tile1.nc.000123", "000123"),
            ("root.07.nc", "07"),
            ("state.0000000000.t001.nc", "001"),
            ("wrfout_d01_2001-01-01_00:00:00_0003", "0003"),
            ("model_0003_map.nc", "0003"),
            ("x_12.nc4", "12"),
        ] {
            let (from, to) = number_in(name).unwrap();
            assert_eq!(&name[from..to], number, "{name}");
        }
        assert_eq!(number_in("ocean.nc"), None);
    }

    #[test]
    fn patterns() {
        let matches = |p: &str, t: &str| glob(p).matches(t);
        assert!(matches("a_*.nc", "a_0001.nc"));
        assert!(matches("a_????.nc", "a_0001.nc"));
        assert!(!matches("a_???.nc", "a_0001.nc"));
        assert!(matches("a_[0-3]*[!b]", "a_2xc"));
        assert!(!matches("a_[0-3]*[!b]", "a_2xb"));
        assert!(matches("a_[^0-3]", "a_4") && !matches("a_[^0-3]", "a_2"));
        assert!(matches("[]ab]x", "]x"));
        assert!(matches("a**_***.nc", "a_b_0001.nc"));
        assert!(matches(".a*", ".a_0001.nc") && matches("*", ".a_0001.nc"));
        for literal in ["[]x", "a_[0-9", "**[!]"] {
            assert!(matches(literal, &literal.replace("**", "*")), "{literal}");
        }
    }

    #[test]
    fn one_tile_finds_its_kin_of_any_width() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["a_0009.nc", "a_0010.nc", "a_12345.nc", "a_x.nc", "b_0001.nc", "a_0001.nc.tmp"] {
            std::fs::write(dir.path().join(name), b"").unwrap();
        }
        let names = |found: Found| found.files.iter().map(|p| name_of(p)).collect::<Vec<_>>();
        let want = ["a_0009.nc", "a_0010.nc", "a_12345.nc"];
        let found = |name: &str, exact| find(&[dir.path().join(name)], exact);
        for name in ["a_0010.nc", "a", "a_*[0-9].nc"] {
            assert_eq!(names(found(name, false).unwrap()), want, "{name}");
        }
        assert_eq!(names(found("a_0010.nc", true).unwrap()), ["a_0010.nc"]);
        for (name, exact) in [("none", false), ("none", true), ("a", true), ("a_*.nc", true)] {
            assert_eq!(found(name, exact).unwrap_err().kind(), ncforge::ErrorKind::Input, "{name}");
        }
    }
}
