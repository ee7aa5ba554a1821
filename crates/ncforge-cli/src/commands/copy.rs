//! `ncforge copy`

pub(crate) mod report;
mod several;

use std::path::Path;

use ncforge::store::companion_path;
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Engine, Error};
use ncforge_ops::copy::{CopyOptions, CopyReport, Plan, copy, partial_path, plan};
use ncforge_ops::progress::Progress;

use super::{Context, page};
use crate::args::CopyArgs;
use crate::exit::{Exit, Failure, Result};
use crate::{hint, interrupt};

/// Runs the command.
pub(crate) fn run(args: &CopyArgs, cx: &Context<'_>) -> Result {
    let (inputs, output) = args.paths()?;
    let input = match inputs {
        [one] if !several::is_folder(output) => one,
        _ => return several::run(args, inputs, output, cx),
    };
    let options = args.request(cx.command_line())?.options()?;
    page::check_folder(output)?;
    let engine = cx.engine()?;
    if args.run.dry_run {
        let progress = cx.printer.progress("plan");
        let plan = planned(input, output, &options, &engine)?;
        progress.finish();
        report::plan(&plan, &args.written, cx.printer)?;
        return Ok(Exit::Ok);
    }
    interrupt::catch();
    let progress = cx.printer.progress("copy");
    let done = copied(input, output, &options, &engine, &progress);
    progress.finish();
    report::done(&done?, &args.written, cx.printer)?;
    Ok(Exit::Ok)
}

/// The plan of copying a file.
fn planned(input: &Path, output: &Path, options: &CopyOptions, engine: &Engine) -> Result<Plan> {
    let source = Dataset::open_with(input, engine)?;
    Ok(plan(&source, &options.clone().for_output(output)?, engine)?)
}

/// Copies a file.
fn copied(
    input: &Path,
    output: &Path,
    options: &CopyOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<CopyReport> {
    copy(input, output, options, engine, progress).map_err(|e| match e {
        Error::Exists(path) => {
            Failure { hint: exists_hint(input, &path), ..Failure::from(Error::Exists(path)) }
        }
        e => unfinished(e, output),
    })
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
        .map(|file| format!("`{}`", shown_path(file)))
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
