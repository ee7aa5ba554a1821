//! `ncforge nocscombine`, `rebuild_nemo`, `mppnccombine`: the flags of other tools, translated into a combination.
//!
//! What those tools get right comes out the same; where no tile is, the variable's own fill value stands (they write
//! zeros or what memory happened to hold). Flags that steer their use of memory are accepted, and have no effect on the
//! result: the budget is `--memory`'s.

mod mppnccombine;
mod nocscombine;
mod rebuild_nemo;

use std::path::PathBuf;

use ncforge::ops::combine::{CombineOptions, combine, plan};

use super::Context;
use super::combine::report;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

pub(crate) use mppnccombine::run as mppnccombine;
pub(crate) use nocscombine::run as nocscombine;
pub(crate) use rebuild_nemo::run as rebuild_nemo;

/// A combination that a front-end asks for.
struct Request {
    tiles: Vec<PathBuf>,
    output: PathBuf,
    options: CombineOptions,
    /// Say what was done.
    verbose: bool,
    /// Say nothing but errors.
    silent: bool,
    /// Show how tiles lie first.
    show: bool,
    /// Show the plan, and do nothing.
    dry: bool,
}

fn run(request: &Request, cx: &Context<'_>) -> Result {
    let engine = cx.engine()?;
    let Request { tiles, output, options, .. } = request;
    if request.show || request.dry {
        let plan = plan(tiles, output, options, &engine)?;
        report::plan(&plan, false, cx.printer);
        if request.dry {
            return Ok(Exit::Ok);
        }
    }
    interrupt::catch();
    let progress = cx.printer.progress();
    let done = combine(tiles, output, options, &engine, &progress);
    progress.finish();
    let done = done?;
    match (request.silent, request.verbose) {
        (true, _) => {}
        (_, true) => report::done(&done, false, cx.printer),
        _ => done.notes.iter().for_each(|note| cx.printer.warn(note)),
    }
    Ok(Exit::Ok)
}

/// The words of a command line, one after the other.
struct Words<'a> {
    tool: &'static str,
    usage: &'static str,
    rest: std::slice::Iter<'a, String>,
}

impl<'a> Words<'a> {
    fn new(tool: &'static str, usage: &'static str, words: &'a [String]) -> Self {
        Words { tool, usage, rest: words.iter() }
    }

    fn next(&mut self) -> Option<&'a str> {
        self.rest.next().map(String::as_str)
    }

    fn wrong(&self, what: impl AsRef<str>) -> Failure {
        Failure::usage(format!("{}: {}", self.tool, what.as_ref()), format!("usage: {}", self.usage))
    }

    /// The word behind an option.
    fn value(&mut self, option: &str) -> Result<&'a str> {
        self.next().ok_or_else(|| self.wrong(format!("{option} needs a value")))
    }

    /// A number behind an option.
    fn number(&mut self, option: &str) -> Result<u64> {
        let text = self.value(option)?;
        text.parse().map_err(|_| self.wrong(format!("{option} needs a number, not `{text}`")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_one_by_one() {
        let line: Vec<String> = ["-ts", "3", "-x"].map(String::from).to_vec();
        let mut words = Words::new("tool", "tool FILE", &line);
        assert_eq!(words.next(), Some("-ts"));
        assert_eq!(words.number("-ts").ok(), Some(3));
        assert!(words.number("-n").is_err(), "not a number");
        assert!(words.value("-d").is_err(), "nothing left");
    }
}
