//! `ncforge nccopy`: nccopy's options, translated into those of a copy.

mod translate;

use ncforge::Dataset;
use ncforge_ops::copy::copy;
use ncforge_tune::words::{bytes, many};

use super::{Context, page};
use crate::args::NccopyArgs;
use crate::exit::{Exit, Result};
use crate::interrupt;

/// Copies; says nothing when all is well, as nccopy does.
pub(crate) fn run(args: &NccopyArgs, cx: &Context<'_>) -> Result {
    page::check_folder(&args.output)?;
    let engine = cx.engine()?;
    let options = {
        let source = Dataset::open_with(&args.input, &engine)?;
        translate::translate(args, source.schema())?.options()?
    };
    interrupt::catch();
    let progress = cx.printer.progress_on_terminal("copy");
    let done = copy(&args.input, &args.output, &options, &engine, &progress);
    progress.finish();
    let report = done?;
    for note in &report.notes {
        cx.printer.warn(note);
    }
    cx.printer.detail(format_args!(
        "{}, {} -> {}, {:.1} s",
        many(report.variables as u64, "variable"),
        bytes(report.input_bytes),
        bytes(report.output_bytes),
        report.seconds
    ));
    Ok(Exit::Ok)
}
