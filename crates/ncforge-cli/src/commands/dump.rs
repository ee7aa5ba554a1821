//! `ncforge dump`: a file with its values as CDL.

use ncforge::Dataset;
use ncforge_ops::describe::dump;

use super::Context;
use super::info::dataset_name;
use crate::args::DumpArgs;
use crate::exit::{Exit, Result};

/// Prints the file. Text before an error stays printed.
pub(crate) fn run(args: &DumpArgs, cx: &Context<'_>) -> Result {
    let dataset = Dataset::open_with(&args.file, &cx.engine()?)?;
    if args.kind {
        cx.printer.line(dataset.schema().format.kind());
        return Ok(Exit::Ok);
    }
    let name = args.name.clone().unwrap_or_else(|| dataset_name(&args.file));
    dump(&dataset, &args.options(name), &mut |text| cx.printer.bytes(text))?;
    Ok(Exit::Ok)
}
