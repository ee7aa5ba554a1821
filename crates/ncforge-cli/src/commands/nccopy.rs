//! `ncforge nccopy`

use super::Context;
use crate::args::NccopyArgs;
use crate::exit::Result;

/// Runs the command.
pub(crate) fn run(args: &NccopyArgs, cx: &Context<'_>) -> Result {
    let _ = cx.printer;
    Err(ncforge::Error::Unsupported { path: args.input.display().to_string(), what: "this command".into() }
        .into())
}
