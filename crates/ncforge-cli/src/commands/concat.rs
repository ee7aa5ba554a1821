//! `ncforge concat`

mod report;

use std::path::Path;

use ncforge::{Error, TileOption};
use ncforge_ops::combine::{concat, plan_concat};

use super::copy::unfinished;
use super::{Context, page};
use crate::args::ConcatArgs;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Runs the command.
pub(crate) fn run(args: &ConcatArgs, cx: &Context<'_>) -> Result {
    let options = args.request(cx.command_line())?.options()?;
    let output = &args.output;
    page::check_folder(output)?;
    let engine = cx.engine()?;
    let progress = cx.printer.progress("concat");
    if args.copy.run.dry_run {
        let plan = plan_concat(args.files(), output, &options, &engine).map_err(|e| failure(e, output))?;
        progress.finish();
        report::plan(&plan, &args.copy.written, cx.printer)?;
        return Ok(Exit::Ok);
    }
    interrupt::catch();
    let done = concat(args.files(), output, &options, &engine, &progress);
    progress.finish();
    report::done(&done.map_err(|e| failure(e, output))?, &args.copy.written, cx.printer)?;
    Ok(Exit::Ok)
}

/// The failure that the user sees.
pub(super) fn failure(error: Error, output: &Path) -> Failure {
    let hint = match &error {
        Error::TilesUnless { unless: TileOption::HolesFill, .. } => {
            "--holes fill fills the places of a variable that a file lacks; --vars takes other variables"
        }
        Error::TilesUnless { unless: TileOption::DifferingFirst, .. } => {
            "--differing first takes the first file's"
        }
        Error::TilesUnless { unless: TileOption::Decode, .. } => {
            "--decode unpacks a variable with another scale_factor or add_offset"
        }
        Error::TilesUnless { .. } => {
            "only the dimension along which files are joined may differ: --along DIM names another"
        }
        Error::Tiles(_) => {
            "`ncforge compare` shows in what two files differ; `ncforge info FILE` shows what one says"
        }
        Error::Order { .. } => "give every step once; --unsorted joins the files as they are given",
        _ => return unfinished(error, output),
    };
    Failure { hint: hint.to_owned(), ..error.into() }
}
