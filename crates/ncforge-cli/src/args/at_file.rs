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

use argfile::{Argument, PREFIX, expand_args_from, parse_fromfile};
use clap::{Args, Command};

use super::GlobalArgs;
use crate::exit::{Exit, Failure, Result};
use crate::stderr::to_stderr;

/// The command line with the arguments of files that it names; words of `ncforge run` are another program's.
pub(crate) fn expanded(argv: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    if command(&argv).is_some_and(|word| word == "run") {
        return Ok(argv);
    }
    let lines = |content: &str, prefix| {
        let mut lines = parse_fromfile(content, prefix);
        lines.retain(|line| !matches!(line, Argument::PassThrough(word) if word.is_empty()));
        lines
    };
    expand_args_from(argv.into_iter(), lines, PREFIX).map_err(|e| Failure { class: None,
        message: format!("cannot read arguments from a file: {e}"),
        hint: "@FILE names a file of arguments, one per line; write ./@NAME for a file whose own name begins with @"
            .into(),
        exit: Exit::BadInput,
    })
}

/// Says which files of a command line that is wrong gave no arguments.
pub(crate) fn name_empty(argv: &[OsString]) {
    for word in argv.iter().filter(|word| word.as_encoded_bytes().starts_with(b"@")) {
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
}
