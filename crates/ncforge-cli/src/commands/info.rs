//! `ncforge info`

use super::Context;
use crate::args::InfoArgs;
use crate::exit::Result;

/// Runs the command.
pub(crate) fn run(args: &InfoArgs, cx: &Context<'_>) -> Result {
    let _ = cx.printer;
    Err(ncforge::Error::Unsupported {
        path: args.files[0].display().to_string(),
        what: "this command".into(),
    }
    .into())
}
