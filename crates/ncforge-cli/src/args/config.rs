//! `ncforge bench io --config FILE`: long options from a file, one a line.
//!
//! ```text
//! # a sweep that we make every week
//! data-geometry = 20:200:200:10
//! reps = 9
//! write = true
//! ```
//!
//! The file's options become words of the command line, so that whoever sees that line later (a saved result, the ranks
//! that are started) sees all of it. An option that the command line has as well is taken from there alone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use super::declaration;
use crate::exit::{Exit, Failure, Result};

/// The option's name.
const CONFIG: &str = "config";
/// What helps with every bad line.
const HINT: &str =
    "a line is `OPTION = VALUE`, with the long options of `ncforge bench io --help`; flags are true or false";

/// A line of the file that says something.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    key: String,
    value: Option<String>,
}

/// The command line with the options of its configuration file, if it names one, in the place of that.
pub(crate) fn expanded(argv: Vec<OsString>) -> Result<Vec<OsString>, Failure> {
    let is_named = |w: &OsString| w.to_str().is_some_and(|w| w.starts_with("--config"));
    if !argv.iter().any(is_named) {
        return Ok(argv);
    }
    let command = declaration();
    // What makes no sense is told by whoever takes the arguments.
    let Ok(given) = command.clone().try_get_matches_from(&argv) else { return Ok(argv) };
    let io = given.subcommand_matches("bench").and_then(|m| m.subcommand_matches("io"));
    let Some(io) = io else { return Ok(argv) };
    let Some(path) = io.get_one::<PathBuf>(CONFIG) else { return Ok(argv) };
    let text = std::fs::read_to_string(path).map_err(|e| Failure {
        message: format!("cannot read the configuration file `{}`: {e}", path.display()),
        hint: HINT.to_owned(),
        exit: Exit::BadInput,
    })?;
    let declared = command
        .find_subcommand("bench")
        .and_then(|b| b.find_subcommand("io"))
        .ok_or_else(|| Failure::usage("`bench io` is not declared", HINT))?;
    let words = words(path, &text, declared, &[&given, io])?;
    Ok(without_config(argv).into_iter().chain(words.into_iter().map(OsString::from)).collect())
}

/// The words for what the command line (`given`) does not say itself.
fn words(path: &Path, text: &str, io: &Command, given: &[&ArgMatches]) -> Result<Vec<String>, Failure> {
    let bad =
        |line: usize, what: String| Failure::usage(format!("{}, line {line}: {what}", path.display()), HINT);
    let is_given = |arg: &Arg| {
        let id = arg.get_id();
        let said = |m: &&&ArgMatches| m.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        given.iter().filter(|m| m.ids().any(|other| other == id)).any(|m| said(&m))
    };
    let mut out = Vec::new();
    let mut seen: Vec<(&Arg, usize)> = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let number = number + 1;
        let Some(line) = read_line(line).map_err(|what| bad(number, what))? else { continue };
        let is_it = |a: &&Arg| {
            let aliases = a.get_all_aliases().unwrap_or_default();
            a.get_long() == Some(&line.key) || aliases.contains(&line.key.as_str())
        };
        let known = io.get_arguments().find(is_it);
        let Some(arg) = known.filter(|a| ![CONFIG, "help"].contains(&a.get_id().as_str())) else {
            return Err(bad(number, format!("`bench io` has no option `{}` for a file", line.key)));
        };
        let repeats = matches!(arg.get_action(), ArgAction::Append);
        if let Some((_, first)) = seen.iter().find(|(other, _)| !repeats && other.get_id() == arg.get_id()) {
            return Err(bad(number, format!("`{}` stands in line {first} already", line.key)));
        }
        seen.push((arg, number));
        let words = as_words(arg, &line).map_err(|what| bad(number, what))?;
        check(&words).map_err(|what| bad(number, what))?;
        // Neither what the command line says, nor what contradicts it; only one of two that do has to declare that.
        let contradicts = |other: &Arg| {
            let declares = |a, b: &Arg| io.get_arg_conflicts_with(a).iter().any(|c| c.get_id() == b.get_id());
            declares(arg, other) || declares(other, arg)
        };
        if !is_given(arg) && !io.get_arguments().any(|other| is_given(other) && contradicts(other)) {
            out.extend(words);
        }
    }
    Ok(out)
}

/// Takes a line apart; `None`: nothing but a comment.
fn read_line(line: &str) -> Result<Option<Line>, String> {
    let comment = line
        .char_indices()
        .find(|&(at, c)| c == '#' && line[..at].chars().next_back().is_none_or(char::is_whitespace));
    let text = comment.map_or(line, |(at, _)| &line[..at]).trim();
    if text.is_empty() {
        return Ok(None);
    }
    let (key, value) = match text.split_once('=') {
        Some((key, value)) => (key.trim(), Some(unquoted(value.trim()).to_owned())),
        None => (text, None),
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if key.is_empty() || !key.chars().all(plain) || key.starts_with('-') {
        return Err(format!("`{text}` is no option and its value"));
    }
    if value.as_ref().is_some_and(String::is_empty) {
        return Err(format!("`{key}` has no value"));
    }
    Ok(Some(Line { key: key.to_owned(), value }))
}

/// `"a b"` and `'a b'` are a b.
fn unquoted(text: &str) -> &str {
    let inside = |q: char| text.strip_prefix(q)?.strip_suffix(q);
    inside('"').or_else(|| inside('\'')).unwrap_or(text)
}

/// A line as words of a command line: none for a flag that is off.
fn as_words(arg: &Arg, line: &Line) -> Result<Vec<String>, String> {
    let word = format!("--{}", line.key);
    let value = line.value.as_deref();
    match arg.get_action() {
        ArgAction::SetTrue | ArgAction::Count => match value {
            None | Some("true") => Ok(vec![word]),
            Some("false") => Ok(Vec::new()),
            Some(other) => Err(format!("`{}` is true or false, not `{other}`", line.key)),
        },
        _ => match value {
            Some(value) => Ok(vec![format!("{word}={value}")]),
            None if arg.get_num_args().is_some_and(|n| n.min_values() == 0) => Ok(vec![word]),
            None => Err(format!("`{}` needs a value, as `{} = …`", line.key, line.key)),
        },
    }
}

/// What the command line would say to these words alone.
fn check(words: &[String]) -> Result<(), String> {
    let argv = ["ncforge", "bench", "io"].into_iter().chain(words.iter().map(String::as_str));
    match declaration().try_get_matches_from(argv) {
        Err(e) if e.use_stderr() => {
            let told = e.render().to_string();
            let first = told.lines().next().unwrap_or_default();
            Err(first.strip_prefix("error: ").unwrap_or(first).to_owned())
        }
        _ => Ok(()),
    }
}

/// The words without `--config FILE`.
fn without_config(argv: Vec<OsString>) -> Vec<OsString> {
    let mut out = Vec::with_capacity(argv.len());
    let mut words = argv.into_iter();
    while let Some(word) = words.next() {
        if word == "--config" {
            words.next();
        } else if !word.to_str().is_some_and(|w| w.starts_with("--config=")) {
            out.push(word);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand(text: &str, rest: &str) -> Result<String, Failure> {
        let file = tempfile::NamedTempFile::new().expect("a file");
        std::fs::write(file.path(), text).expect("written");
        let line = format!("ncforge bench io --config {} {rest}", file.path().display());
        let words = expanded(line.split_whitespace().map(OsString::from).collect())?;
        Ok(words.iter().map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn lines_become_words() {
        let text = "# every week\n\ndata-geometry = 4:6:8:5  # small\nreps=9\nwrite = true\nread\n\
                    verify = false\ntestfile = \"a#b.nc\"\nsweep = chunk=none,auto\nsweep = access=ind\n";
        assert_eq!(
            expand(text, "").unwrap(),
            "ncforge bench io --data-geometry=4:6:8:5 --reps=9 --write --read --testfile=a#b.nc \
             --sweep=chunk=none,auto --sweep=access=ind"
        );
    }

    #[test]
    fn the_command_line_wins() {
        assert_eq!(
            expand("reps = 9\nwrite = true", "--reps 3").unwrap(),
            "ncforge bench io --reps 3 --write"
        );
        assert_eq!(
            expand("no-verify = true\nreps = 2", "--verify").unwrap(),
            "ncforge bench io --verify --reps=2"
        );
        assert_eq!(
            expand("verify = true\nreps = 2", "--no-verify").unwrap(),
            "ncforge bench io --no-verify --reps=2"
        );
        assert_eq!(expand("compression-level = 4", "--codec zstd").unwrap(), "ncforge bench io --codec zstd");
        assert_eq!(expand("codec = zstd", "-z 4").unwrap(), "ncforge bench io -z 4");
        assert_eq!(expand("threads = 2\nread", "-r -j 1").unwrap(), "ncforge bench io -r -j 1");
    }

    #[test]
    fn bad_lines_are_told_with_their_number() {
        for (text, told) in [
            ("reps = 9\ncolour = red", "line 2: `bench io` has no option `colour`"),
            ("config = other", "line 1: `bench io` has no option `config`"),
            ("\n\nreps = many", "line 3: invalid value 'many'"),
            ("reps =", "line 1: `reps` has no value"),
            ("reps", "line 1: `reps` needs a value"),
            ("write = 3", "line 1: `write` is true or false, not `3`"),
            ("= 3", "line 1: `= 3` is no option"),
            ("--reps = 3", "line 1: `--reps = 3` is no option"),
            ("reps = 1\nreps = 2", "line 2: `reps` stands in line 1 already"),
        ] {
            let e = expand(text, "").unwrap_err();
            assert!(e.message.contains(told), "{text}: {}", e.message);
            assert_eq!(e.exit, Exit::Usage);
        }
        let none = "ncforge bench io --config=/nowhere/x".split(' ').map(OsString::from).collect();
        assert_eq!(expanded(none).unwrap_err().exit, Exit::BadInput);
    }
}
