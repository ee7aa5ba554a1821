//! `ncforge ncrcat`: ncrcat's options, translated into joining files.

mod translate;

use ncforge::Dataset;
use ncforge_ops::combine::concat;

use super::concat::failure;
use super::{Context, page};
use crate::args::NcrcatArgs;
use crate::exit::{Exit, Failure, Result};
use crate::{hint, interrupt};

/// Joins; says nothing but notes, as ncrcat does.
pub(crate) fn run(args: &NcrcatArgs, cx: &Context<'_>) -> Result {
    let (files, output) = translate::files(args)?;
    page::check_folder(&output)?;
    let engine = cx.engine()?;
    let options = {
        let first = Dataset::open_with(&files[0], &engine).map_err(|e| {
            let hint = hint::of(&e).into_owned();
            Failure { hint, ..e.into() }
        })?;
        translate::request(args, first.schema(), cx.command_line())?.options()?
    };
    interrupt::catch();
    let progress = cx.printer.progress_on_terminal("ncrcat");
    let done = concat(&files, &output, &options, &engine, &progress);
    progress.finish();
    done.map_err(|e| failure(e, &output))?.notes.iter().for_each(|note| cx.printer.warn(note));
    Ok(Exit::Ok)
}
