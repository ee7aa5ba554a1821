//! `ncforge … @FILE`: arguments from a file, one per line; empty lines are none.
//!
//! ```text
//! -w
//! --data-geometry=20:200:200:10
//! --reps=9
//! ```
//!
//! They take the place of the word, so that whoever sees the command line later (a saved result, the ranks that are started) sees all of
//! them.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use clap::{Args, Command};

use super::GlobalArgs;
use crate::exit::{Exit, Failure, Result};
use crate::stderr::to_stderr;

/// The command line with the arguments of files that it names; words of `ncforge run` are another program's.
pub(crate) fn expanded(argv: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    if command(&argv).is_some_and(|word| word == "run") {
        return Ok(argv);
    }
    let mut words = Vec::with_capacity(argv.len());
    expand(&mut argv.into_iter(), &mut Vec::new(), &mut words)?;
    Ok(words)
}

/// Appends words to `out`, those of files in their place. `within` are the files that the words come from.
fn expand(
    words: &mut dyn Iterator<Item = OsString>,
    within: &mut Vec<(u64, u64)>,
    out: &mut Vec<OsString>,
) -> Result<(), Failure> {
    for word in words {
        let Some(name) = word.as_bytes().strip_prefix(b"@") else {
            out.push(word);
            continue;
        };
        let path = Path::new(OsStr::from_bytes(name));
        let failed = |e| Failure { exit: Exit::BadInput, ..unreadable(path, &e) };
        let mut file = File::open(path).map_err(failed)?;
        let identity = file.metadata().map(|m| (m.dev(), m.ino())).map_err(failed)?;
        if within.contains(&identity) {
            return Err(unreadable(path, &"it names itself, or a file that names it"));
        }
        let mut lines = String::new();
        file.read_to_string(&mut lines).map_err(failed)?;
        within.push(identity);
        expand(&mut lines.lines().filter(|line| !line.is_empty()).map(OsString::from), within, out)?;
        within.pop();
    }
    Ok(())
}

fn unreadable(path: &Path, why: &dyn Display) -> Failure {
    Failure::usage(
        format!("cannot read arguments from a file: `{}`: {why}", path.display()),
        "@FILE names a file of arguments, one per line; write ./@NAME for a file whose own name begins with @",
    )
}

/// Says which files of a command line that is wrong gave no arguments.
pub(crate) fn name_empty(argv: &[OsString]) {
    // What a pipe gave is not there a second time.
    let is_file = |name: &[u8]| Path::new(OsStr::from_bytes(name)).is_file();
    for word in argv.iter().filter(|word| word.as_bytes().strip_prefix(b"@").is_some_and(is_file)) {
        if expanded(vec![word.clone()]).is_ok_and(|found| found.is_empty()) {
            to_stderr(format_args!("hint: `{}` gives no arguments: the file is empty\n", word.display()));
        }
    }
}

/// Whether a word is an option of every command whose value is the next word.
fn has_value(word: &OsStr) -> bool {
    let options = GlobalArgs::augment_args(Command::new("ncforge"));
    options.get_arguments().filter(|a| a.get_action().takes_values()).any(|a| {
        a.get_short().is_some_and(|name| word == format!("-{name}").as_str())
            || a.get_long().is_some_and(|name| word == format!("--{name}").as_str())
    })
}

/// The command's name, behind options.
fn command(argv: &[OsString]) -> Option<&OsString> {
    let mut words = argv.iter().skip(1);
    loop {
        let word = words.next()?;
        if !word.as_encoded_bytes().starts_with(b"-") {
            return Some(word);
        }
        if has_value(word) {
            words.next();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_take_the_place_of_the_word() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("args");
        std::fs::write(&file, "-w\n--reps=3\n-f=a b.nc\n").unwrap();
        let at = format!("@{}", file.display());
        let words = |all: &[&str]| all.iter().map(OsString::from).collect::<Vec<_>>();
        let found = expanded(words(&["ncforge", "bench", "io", &at, "-r"])).unwrap();
        assert_eq!(found, words(&["ncforge", "bench", "io", "-w", "--reps=3", "-f=a b.nc", "-r"]));
        let run = words(&["ncforge", "run", "prog", &at]);
        assert_eq!(expanded(run.clone()).unwrap(), run);
        let run = words(&["ncforge", "-v", "-j", "1", "--memory=1G", "run", "prog", &at]);
        assert_eq!(expanded(run.clone()).unwrap(), run);
        assert_eq!(expanded(words(&["ncforge", "@/nowhere/x"])).unwrap_err().exit, Exit::BadInput);
    }

    #[test]
    fn files_that_name_each_other_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| format!("@{}", dir.path().join(name).display());
        for (name, lines) in
            [("own", [at("own"), "-w".into()]), ("a", [at("b"), at("b")]), ("b", ["-w".into(), at("a")])]
        {
            std::fs::write(dir.path().join(name), lines.join("\n")).unwrap();
        }
        for name in ["own", "a", "b"] {
            let failed = expanded(vec!["ncforge".into(), "info".into(), at(name).into()]).unwrap_err();
            assert_eq!(failed.exit, Exit::Usage);
            assert!(failed.message.contains(&at(name)[1..]), "{}", failed.message);
        }
        // Twice, one behind the other, is no circle.
        std::fs::write(dir.path().join("b"), "-w").unwrap();
        assert_eq!(expanded(vec![at("a").into()]).unwrap(), ["-w", "-w"]);
    }
}
