//! `ncforge combine`

pub(crate) mod report;

use ncforge_ops::combine::{combine, plan};

use super::copy::unfinished;
use super::{Context, page};
use crate::args::CombineArgs;
use crate::exit::{Exit, Result};
use crate::interrupt;

/// Runs the command.
pub(crate) fn run(args: &CombineArgs, cx: &Context<'_>) -> Result {
    let options = args.request(cx.command_line())?.options(&args.output)?;
    page::check_folder(&args.output)?;
    let engine = cx.engine()?;
    let progress = cx.printer.progress("combine");
    if args.run.dry_run {
        let plan = plan(&args.tiles, &args.output, &options, &engine)?;
        progress.finish();
        report::plan(&plan, &args.written, cx.printer)?;
        return Ok(Exit::Ok);
    }
    interrupt::catch();
    let done = combine(&args.tiles, &args.output, &options, &engine, &progress);
    progress.finish();
    match done {
        Ok(r) => {
            report::done(&r, &args.written, cx.printer)?;
            Ok(Exit::Ok)
        }
        Err(e) => Err(unfinished(e, &args.output)),
    }
}
