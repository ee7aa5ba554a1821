//! `ncforge compare`

use super::Context;
use crate::args::CompareArgs;
use crate::exit::Result;

/// Runs the command.
pub(crate) fn run(args: &CompareArgs, cx: &Context<'_>) -> Result {
    let _ = cx.printer;
    Err(ncforge::Error::Unsupported { path: args.left.display().to_string(), what: "this command".into() }
        .into())
}
