//! `ncforge zip`, `unzip`, `compact`

use std::path::Path;

use ncforge::Error;
use ncforge_ops::zip::{ZipReport, compact, unzip, zip};
use ncforge_tune::words::bytes;

use super::{Context, document, page};
use crate::args::{CompactArgs, UnzipArgs, WrittenArgs, ZipArgs};
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Zips.
pub(crate) fn run(args: &ZipArgs, cx: &Context<'_>) -> Result {
    let options = args.request().options()?;
    page::check_folder(&args.output)?;
    let engine = cx.engine()?;
    done(cx, &args.written, ("zip", "zipped"), |progress| {
        zip(&args.input, &args.output, &options, &engine, progress)
    })
}

/// Unzips.
pub(crate) fn run_unzip(args: &UnzipArgs, cx: &Context<'_>) -> Result {
    page::check_folder(&args.output)?;
    let engine = cx.engine()?;
    let work = |progress: &dyn ncforge_ops::progress::Progress| {
        unzip(&args.input, &args.output, args.written.overwrite, &engine, progress)
    };
    done(cx, &args.written, ("unzip", "unzipped"), work)
}

/// Compacts.
pub(crate) fn run_compact(args: &CompactArgs, cx: &Context<'_>) -> Result {
    let engine = cx.engine()?;
    done(cx, &args.written, ("compact", "compacted"), |progress| {
        compact(Path::new(&args.file), &engine, progress)
    })
}

/// Does the work (its name, and the word for it when it is done) with a bar, and reports what was done.
fn done(
    cx: &Context<'_>,
    written: &WrittenArgs,
    (name, word): (&str, &str),
    work: impl FnOnce(&dyn ncforge_ops::progress::Progress) -> ncforge::Result<ZipReport>,
) -> Result {
    interrupt::catch();
    let progress = cx.printer.progress(name);
    let report = work(&progress);
    progress.finish();
    let report = report.map_err(failure)?;
    report.notes.iter().for_each(|note| cx.printer.warn(note));
    if !document::put(name, &report, written, cx.printer)? {
        return Ok(Exit::Ok);
    }
    cx.printer.note(format_args!(
        "{word} {} to {}: {} from {}, {:.1} s",
        report.input,
        report.output,
        bytes(report.output_bytes),
        bytes(report.input_bytes),
        report.seconds
    ));
    Ok(Exit::Ok)
}

/// What is not zipped, or cannot be zipped, is so by its kind.
pub(super) fn failure(e: Error) -> Failure {
    match e {
        e @ Error::WrongKind { .. } => Failure {
            hint: "`ncforge zip` zips classic files; `ncforge copy IN OUT.ncz` makes a zipped file of other ones".into(),
            ..e.into()
        },
        other => other.into(),
    }
}
