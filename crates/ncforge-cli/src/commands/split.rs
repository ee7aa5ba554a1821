//! `ncforge split`

use ncforge_ops::split::split;
use ncforge_tune::words::bytes;

use super::{Context, document};
use crate::args::SplitArgs;
use crate::exit::{Exit, Result};
use crate::interrupt;
use ncforge::store::remote::shown_path;

/// Runs the command.
pub(crate) fn run(args: &SplitArgs, cx: &Context<'_>) -> Result {
    let options = args.request().options()?;
    let engine = cx.engine()?;
    interrupt::catch();
    let progress = cx.printer.progress("split");
    let done = split(&args.input, args.output.as_deref(), &options, &engine, &progress);
    progress.finish();
    let report = done?;
    if !document::put("split", &report, &args.written, cx.printer)? {
        return Ok(Exit::Ok);
    }
    let left_out = match report.left_out {
        0 => String::new(),
        n => format!(" ({n} left out)"),
    };
    cx.printer.note(format_args!(
        "{} -> {} tiles{left_out}, {} to begin with: {}, {:.2} s",
        shown_path(&args.input),
        report.tiles,
        report.first,
        bytes(report.output_bytes),
        report.seconds
    ));
    report.notes.iter().for_each(|note| cx.printer.warn(note));
    Ok(Exit::Ok)
}
