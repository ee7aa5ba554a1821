//! `ncforge copy`

pub(crate) mod report;

use std::path::Path;

use ncforge::store::companion_path;
use ncforge::{Dataset, Engine, Error};
use ncforge_ops::copy::{CopyOptions, copy, partial_path, plan};

use super::{Context, page};
use crate::args::{CopyArgs, WrittenArgs};
use crate::exit::{Exit, Failure, Result};
use crate::{hint, interrupt};

/// Runs the command.
pub(crate) fn run(args: &CopyArgs, cx: &Context<'_>) -> Result {
    let options = args.request(cx.command_line())?.options()?;
    page::check_folder(&args.output)?;
    let engine = cx.engine()?;
    if args.run.dry_run {
        let progress = cx.printer.progress("plan");
        let source = Dataset::open_with(&args.input, &engine)?;
        let plan = plan(&source, &options.for_output(&args.output), &engine)?;
        progress.finish();
        report::plan(&plan, &args.written, cx.printer)?;
        return Ok(Exit::Ok);
    }
    copy_and_report(&args.input, &args.output, &options, &engine, &args.written, cx)
}

/// Copies, shows progress, reports what was done.
fn copy_and_report(
    input: &Path,
    output: &Path,
    options: &CopyOptions,
    engine: &Engine,
    written: &WrittenArgs,
    cx: &Context<'_>,
) -> Result {
    interrupt::catch();
    let progress = cx.printer.progress("copy");
    let done = copy(input, output, options, engine, &progress);
    progress.finish();
    match done {
        Ok(report) => {
            report::done(&report, written, cx.printer)?;
            Ok(Exit::Ok)
        }
        Err(Error::Exists(path)) => {
            Err(Failure { hint: exists_hint(input, &path), ..Failure::from(Error::Exists(path)) })
        }
        Err(e) => Err(unfinished(e, output)),
    }
}

/// A failure, with what it left of the output and what can be done with that.
pub(super) fn unfinished(e: Error, output: &Path) -> Failure {
    let first = match &e {
        Error::Io { .. } => format!("{}; ", hint::of(&e)),
        Error::Interrupted(_) => String::new(),
        _ => return e.into(),
    };
    match files_left(output) {
        Some(files) => {
            let hint = format!("{first}--resume goes on from what is done; to give up, remove {files}");
            Failure { hint, ..e.into() }
        }
        None => e.into(),
    }
}

/// The files of an output that is not complete, if there are any.
pub(super) fn files_left(output: &Path) -> Option<String> {
    let files: Vec<String> = [partial_path(output), companion_path(output, "journal")]
        .iter()
        .filter(|file| file.exists())
        .map(|file| format!("`{}`", file.display()))
        .collect();
    (!files.is_empty()).then(|| files.join(" and "))
}

fn exists_hint(input: &Path, output: &Path) -> String {
    let same = std::fs::canonicalize(input).ok() == std::fs::canonicalize(output).ok();
    match same {
        true => "it is the input itself; -O replaces it when the copy is complete".into(),
        false => "give -O to overwrite it".into(),
    }
}
