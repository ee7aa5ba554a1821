//! `ncforge ncrcat`: ncrcat's options, translated into joining files.

mod translate;

use std::path::Path;

use ncforge::{Dataset, Error, TileOption};
use ncforge_ops::combine::concat;

use super::{Context, concat as joining, page};
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
    done.map_err(|e| failure(e, args, &output))?.notes.iter().for_each(|note| cx.printer.warn(note));
    Ok(Exit::Ok)
}

/// The failure that the user sees: its hint names options of ncrcat, or the command that has another one.
fn failure(error: Error, args: &NcrcatArgs, output: &Path) -> Failure {
    let hint = match &error {
        Error::BadOption { option: "select", what } => {
            let typed: Vec<String> = args.slabs.iter().map(|slab| format!("-d {slab}")).collect();
            return Failure::usage(
                format!("ncrcat: {}: {what}", typed.join(" ")),
                "-d DIM,MIN,MAX takes indices from 0, both included; with a point they are values of the coordinate",
            );
        }
        Error::TilesUnless { unless: TileOption::HolesFill, .. } => {
            "-v takes other variables; `ncforge concat --holes fill` fills the places of one that a file lacks"
        }
        Error::TilesUnless { unless: TileOption::Decode, .. } => {
            "`ncforge concat --decode` unpacks a variable with another scale_factor or add_offset"
        }
        Error::TilesUnless { .. } => {
            "only the record dimension may differ: `ncforge concat --along DIM` joins along another"
        }
        _ => return joining::failure(error, output),
    };
    Failure { hint: hint.to_owned(), ..error.into() }
}
