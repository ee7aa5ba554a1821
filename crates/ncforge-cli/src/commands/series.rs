//! `ncforge series`

mod report;

use std::ffi::OsString;
use std::path::Path;

use ncforge::Error;
use ncforge_ops::combine::{plan_series, series};

use super::{Context, concat};
use crate::args::SeriesArgs;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Runs the command.
pub(crate) fn run(args: &SeriesArgs, cx: &Context<'_>) -> Result {
    let options = args.request(command_line(args, cx))?.options()?;
    let (files, folder) = (args.files(), &args.output);
    let engine = cx.engine()?;
    let progress = cx.printer.progress("series");
    let is_plan = args.copy.run.dry_run;
    if !is_plan {
        interrupt::catch();
    }
    let make = if is_plan { plan_series } else { series };
    let done = make(files, folder, &options, &engine, &progress);
    progress.finish();
    let done = done.map_err(|e| failure(e, folder))?;
    report::tell(&done, is_plan, folder, &args.copy.written, cx.printer)?;
    Ok(if done.failures == 0 { Exit::Ok } else { Exit::Differences })
}

/// The command line for the history of the outputs: of many files the first and the last.
fn command_line(args: &SeriesArgs, cx: &Context<'_>) -> String {
    let is_file = |word: &OsString| args.copy.is_path(Path::new(word));
    let last = cx.argv.iter().filter(|word| is_file(word)).count();
    let (mut seen, mut words) = (0, Vec::new());
    for word in cx.argv {
        seen += usize::from(is_file(word));
        match is_file(word) && seen > 1 && seen < last {
            true if seen == 2 => words.push("...".into()),
            true => {}
            false => words.push(word.clone()),
        }
    }
    cx.history(&words)
}

/// The failure that the user sees.
fn failure(error: Error, folder: &Path) -> Failure {
    let hint = match &error {
        Error::Exists(_) => {
            "-O replaces outputs, --append adds later steps to them, --resume leaves those alone that are complete"
        }
        Error::BadOption { option: "name", .. } => {
            "--name with {case}, {stream}, {start} and {end} tells them apart"
        }
        Error::Tiles(_) => {
            "`ncforge info FILE` shows what a file says; --keep-going goes on with the other files and streams"
        }
        Error::Corrupt { .. } | Error::NotNetcdf { .. } | Error::NotHdf5 { .. } => {
            "get the file anew, or go on without it by --keep-going"
        }
        _ => return concat::failure(error, folder),
    };
    Failure { hint: hint.to_owned(), ..error.into() }
}
