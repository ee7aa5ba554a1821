//! `ncforge copy`

pub(crate) mod report;

use ncforge::{Dataset, Engine, Error};
use ncforge_ops::copy::{CopyOptions, copy, partial_path, plan};

use super::{Context, page};
use crate::args::{CopyArgs, WrittenArgs};
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

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
    input: &std::path::Path,
    output: &std::path::Path,
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
        Err(e @ Error::Io { .. }) if partial_path(output).exists() => Err(Failure {
            hint: format!(
                "what is done is kept: --resume goes on; to give up, remove `{}`",
                partial_path(output).display()
            ),
            ..Failure::from(e)
        }),
        Err(e) => Err(e.into()),
    }
}

fn exists_hint(input: &std::path::Path, output: &std::path::Path) -> String {
    let same = std::fs::canonicalize(input).ok() == std::fs::canonicalize(output).ok();
    match same {
        true => "it is the input itself; -O replaces it when the copy is complete".into(),
        false => "give -O to overwrite it".into(),
    }
}
