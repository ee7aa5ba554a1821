//! `ncforge bench selftest`

use ncforge_bench::selftest::{Outcome, run as run_checks, table};

use serde_json::json;

use super::steps::Steps;
use super::temporary;
use crate::args::SelftestArgs;
use crate::commands::{Context, document};
use crate::exit::{Exit, Result};
use crate::interrupt;

/// Exit code 1 when something was not found.
pub(super) fn run(args: &SelftestArgs, cx: &Context<'_>) -> Result {
    let folder = temporary(args.folder.as_deref())?;
    interrupt::catch();
    let steps = Steps::of("selftest", cx);
    let only: Vec<&str> = args.only.iter().map(String::as_str).collect();
    let checks =
        run_checks(&only, args.leave_out.as_deref(), folder.path(), &mut |step| steps.tell_or_stop(step))?;
    steps.finish();
    if args.json {
        document::print("bench-selftest", &json!({ "checks": checks }), cx.printer);
    } else {
        cx.printer.data(&table(&checks));
    }
    let missed: Vec<_> =
        checks.iter().filter(|c| c.outcome == Outcome::Missed).map(|c| c.name.as_str()).collect();
    if missed.is_empty() {
        return Ok(Exit::Ok);
    }
    cx.printer.warn(format_args!(
        "missed: {}; numbers of this benchmark on this machine are not to be trusted",
        missed.join(", ")
    ));
    Ok(Exit::Failed)
}
