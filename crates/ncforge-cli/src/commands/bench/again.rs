//! The program runs itself, and its result is read.

use std::ffi::OsString;
use std::process::Stdio;

use ncforge_bench::result::Results;

use super::itself::Itself;
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

/// Options that say where results go: with a path, behind a blank, if they have one always.
const OUTPUTS: [(&str, bool); 4] =
    [("--csv", false), ("--json", false), ("--markdown", true), ("--html", true)];

/// The words of a command line without where its results go. Optional paths of `bench io` may stand behind a blank.
pub(super) fn without_outputs(words: &[String]) -> Vec<String> {
    let mut out = Vec::new();
    let mut words = words.iter().peekable();
    let mut is_io = false;
    while let Some(word) = words.next() {
        is_io |= word == "io";
        let named = OUTPUTS.iter().find(|(name, _)| {
            word.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('='))
        });
        match named {
            None => out.push(word.clone()),
            Some((name, always)) if word == name => {
                let path = words.peek().is_some_and(|next| *always || is_io && !next.starts_with('-'));
                if path {
                    words.next();
                }
            }
            Some(_) => {}
        }
    }
    out
}

/// Runs the program with these words; gives its exit code, and the result if it has one. `shown`: its table is printed. It is as
/// quiet as this run.
pub(super) fn run(
    words: &[String],
    shown: bool,
    cx: &Context<'_>,
) -> Result<(Exit, Option<Results>), Failure> {
    let hint = || {
        "TMPDIR names a folder that can be written to, and the command must still be where it was".to_owned()
    };
    let failed = |message: String| Failure { class: None, message, hint: hint(), exit: Exit::Failed };
    let dir = tempfile::Builder::new().prefix("ncforge-bench-").tempdir();
    let dir = dir.map_err(|e| failed(format!("cannot make a folder for the result: {e}")))?;
    let saved = dir.path().join("result.json");
    let mut to = OsString::from("--json=");
    to.push(&saved);
    let mut command = Itself::of(cx)?.command();
    command.args(words).arg(to);
    if cx.global.quiet && !words.iter().any(|w| w == "-q" || w == "--quiet") {
        command.arg("--quiet");
    }
    if !shown {
        command.stdout(Stdio::null());
    }
    let status = command.status().map_err(|e| failed(format!("cannot start the program again: {e}")))?;
    let exit = Exit::from_code(status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1));
    let results = if saved.exists() { Some(Results::load(&saved)?) } else { None };
    Ok((exit, results))
}

#[cfg(test)]
mod tests {
    use super::without_outputs;

    #[test]
    fn places_of_results_are_left_out() {
        let words = |t: &str| t.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let cleaned = |t: &str| without_outputs(&words(t)).join(" ");
        assert_eq!(cleaned("bench io -w --json out.json --csv -r --html=x.html"), "bench io -w -r");
        assert_eq!(cleaned("bench access --json a.nc --markdown - b.nc"), "bench access a.nc b.nc");
        assert_eq!(cleaned("bench chunks --csv=x.csv f.nc"), "bench chunks f.nc");
    }
}
