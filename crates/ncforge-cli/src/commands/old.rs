//! `ncforge nocscombine`, `rebuild_nemo`, `mppnccombine`: the flags of other tools, translated into a combination.
//!
//! Results that those tools get right come out the same; where no tile is, the missing value stands, or zero, as they write it, unless
//! that is what memory happened to hold (`nocscombine`): then the variable's own fill value. Flags that steer their use of memory bound ours; flags that have no
//! meaning here are refused, never swallowed.

mod hints;
mod mppnccombine;
mod nocscombine;
mod rebuild_nemo;

use std::path::PathBuf;

use ncforge::model::{VarId, shape};
use ncforge::{Engine, EngineOptions, Error, Schema};
use ncforge_ops::combine::{CombineOptions, CombineRequest, combine, plan};

use self::hints::Hints;
use super::combine::report;
use super::copy::files_left;
use super::{Context, page};
use crate::args::ProgressKind;
use crate::exit::{Exit, Failure, Result};
use crate::progress::Reporter;
use crate::{hint, interrupt};

pub(crate) use mppnccombine::run as mppnccombine;
pub(crate) use nocscombine::run as nocscombine;
pub(crate) use rebuild_nemo::run as rebuild_nemo;

/// A combination that a front-end asks for.
struct Translated {
    tiles: Vec<PathBuf>,
    /// Whether these are all: others are not searched for.
    exact: bool,
    output: PathBuf,
    request: CombineRequest,
    /// The hints on failures.
    hints: &'static Hints,
    /// Bytes of memory that its flags allow, and threads.
    memory: Option<u64>,
    threads: Option<usize>,
    /// Say what was done.
    verbose: bool,
    /// Say nothing but errors.
    silent: bool,
    /// Show how tiles lie first.
    show: bool,
    /// Show the plan, and do nothing.
    dry: bool,
}

fn run(asked: &Translated, cx: &Context<'_>) -> Result {
    let Translated { tiles, output, .. } = asked;
    page::check_folder(output)?;
    let options = &CombineOptions { exact: asked.exact, ..asked.request.options(output)? };
    let engine = engine(asked, cx)?;
    let progress = match asked.silent {
        true => Reporter::new(ProgressKind::None, "combine"),
        false => cx.printer.progress_on_terminal("combine"),
    };
    if asked.show || asked.dry {
        let plan = plan(tiles, output, options, &engine).map_err(|e| asked.hints.failure(e))?;
        progress.aside(|| report::print_plan(&plan, cx.printer));
        if asked.dry {
            return Ok(Exit::Ok);
        }
    }
    interrupt::catch();
    let done = combine(tiles, output, options, &engine, &progress);
    progress.finish();
    let done = done.map_err(|e| match (&e, files_left(output)) {
        (Error::Io { .. }, Some(files)) => {
            let hint = format!("{}; the same command begins anew; to give up, remove {files}", hint::of(&e));
            Failure { hint, ..e.into() }
        }
        _ => asked.hints.failure(e),
    })?;
    match (asked.silent, asked.verbose) {
        (true, _) => {}
        (_, true) => report::print_done(&done, cx.printer),
        _ => {
            done.notes.iter().for_each(|note| cx.printer.warn(note));
            report::warn_of_holes(&done, cx.printer);
        }
    }
    Ok(Exit::Ok)
}

/// Less memory is not worth the time that it costs, whatever a flag says.
const LEAST_MEMORY: u64 = 64 << 20;

/// The engine of the command line, with what the tool's own flags say.
fn engine(asked: &Translated, cx: &Context<'_>) -> Result<Engine> {
    let engine = cx.engine()?;
    if asked.memory.is_none() && asked.threads.is_none() {
        return Ok(engine);
    }
    Ok(Engine::new(EngineOptions {
        threads: Some(asked.threads.unwrap_or(engine.threads())),
        memory: Some(asked.memory.map_or(engine.memory(), |m| m.max(LEAST_MEMORY).min(engine.memory()))),
    })?)
}

/// Bytes of one record of a variable, in a tile; `None` if it has no records.
fn record_bytes(tile: &Schema, v: VarId) -> Option<u64> {
    let var = tile.var(v);
    let is_record = var.dims.iter().any(|d| tile.dim(*d).unlimited);
    let size = tile.fixed_size(var.dtype).unwrap_or(16) as u64;
    let fixed = var.dims.iter().map(|d| tile.dim(*d)).filter(|d| !d.unlimited).map(|d| d.len);
    is_record.then(|| shape::product(fixed).saturating_mul(size))
}

/// The budget with which `bytes` bytes are in hand at a time: a box takes half of it.
fn budget_for(bytes: u64) -> u64 {
    bytes.saturating_mul(2)
}

/// The sentence on existing outputs, for the tools that ask nobody.
const OVERWRITES: &str = "An existing output is overwritten, as that tool does.";

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

    /// The text of `--help`; `existing` is the sentence on an output that exists.
    fn help(&self, example: &str, existing: &str) -> String {
        format!(
            "usage: {}\n\nExample:\n  ncforge {example}\n\nThe flags are those of {}; docs/combine.md says what they do here, \
             `ncforge combine --help`\nwhat else can be asked for.\n{existing}",
            self.usage, self.tool
        )
    }

    fn wrong(&self, what: impl AsRef<str>) -> Failure {
        Failure::usage(format!("{}: {}", self.tool, what.as_ref()), format!("usage: {}", self.usage))
    }

    /// The word behind an option.
    fn value(&mut self, option: &str) -> Result<&'a str> {
        self.next().ok_or_else(|| self.wrong(format!("{option} needs a value")))
    }

    /// A number behind an option, if the next word is one.
    fn number_if_any(&mut self) -> Option<u64> {
        let number = self.rest.as_slice().first()?.parse().ok()?;
        self.rest.next();
        Some(number)
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
