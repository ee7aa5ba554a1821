//! `ncforge copy`

use super::Context;
use crate::args::CopyArgs;
use crate::exit::Result;

/// Runs the command.
pub(crate) fn run(args: &CopyArgs, cx: &Context<'_>) -> Result {
    let _ = cx.printer;
    Err(ncforge::Error::Unsupported { path: args.input.display().to_string(), what: "this command".into() }
        .into())
}
