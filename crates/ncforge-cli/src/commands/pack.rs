//! `ncforge pack`, `unpack`, `compact`

use std::path::Path;

use ncforge::Error;
use ncforge_ops::pack::{PackReport, compact, pack, unpack};
use ncforge_ops::words::bytes;

use super::{Context, document, page};
use crate::args::{CompactArgs, PackArgs, UnpackArgs};
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Packs.
pub(crate) fn run(args: &PackArgs, cx: &Context<'_>) -> Result {
    let options = args.request().options()?;
    page::check_folder(&args.output)?;
    let engine = cx.engine()?;
    done(cx, args.written.json, ("pack", "packed"), |progress| {
        pack(&args.input, &args.output, &options, &engine, progress)
    })
}

/// Unpacks.
pub(crate) fn run_unpack(args: &UnpackArgs, cx: &Context<'_>) -> Result {
    page::check_folder(&args.output)?;
    let engine = cx.engine()?;
    let work = |progress: &dyn ncforge_ops::progress::Progress| {
        unpack(&args.input, &args.output, args.written.overwrite, &engine, progress)
    };
    done(cx, args.written.json, ("unpack", "unpacked"), work)
}

/// Compacts.
pub(crate) fn run_compact(args: &CompactArgs, cx: &Context<'_>) -> Result {
    let engine = cx.engine()?;
    done(cx, args.json, ("compact", "compacted"), |progress| {
        compact(Path::new(&args.file), &engine, progress)
    })
}

/// Does the work (its name, and the word for it when it is done) with a bar, and reports what was done.
fn done(
    cx: &Context<'_>,
    json: bool,
    (name, word): (&str, &str),
    work: impl FnOnce(&dyn ncforge_ops::progress::Progress) -> ncforge::Result<PackReport>,
) -> Result {
    interrupt::catch();
    let progress = cx.printer.progress(name);
    let report = work(&progress);
    progress.finish();
    let report = report.map_err(failure)?;
    if json {
        document::print(name, &report, cx.printer);
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

/// Nothing is kept of work that was stopped; and what is not packed, or cannot be packed, is so by its kind.
pub(super) fn failure(e: Error) -> Failure {
    match e {
        Error::Interrupted(what) => Failure {
            message: what,
            hint: "nothing of it was kept; run the same command again".into(),
            exit: Exit::Sigint,
        },
        e @ Error::Invalid(_) => Failure {
            hint: "`ncforge pack` packs classic files; `ncforge copy IN OUT.ncz` makes a packed file of other ones".into(),
            ..e.into()
        },
        other => other.into(),
    }
}
