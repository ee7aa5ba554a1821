//! `ncforge bench selftest`

use ncforge_bench::selftest::{Outcome, run as run_checks, table};

use crate::args::SelftestArgs;
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Exit code 1 when something was not found.
pub(super) fn run(args: &SelftestArgs, cx: &Context<'_>) -> Result {
    let mut builder = tempfile::Builder::new();
    builder.prefix("ncforge-bench-");
    let folder = args.folder.as_ref().map_or_else(|| builder.tempdir(), |dir| builder.tempdir_in(dir));
    let folder = folder.map_err(|e| Failure {
        message: format!("cannot make a folder for the files: {e}"),
        hint: "name one that can be written by --folder".into(),
        exit: Exit::Failed,
    })?;
    interrupt::catch();
    let only: Vec<&str> = args.only.iter().map(String::as_str).collect();
    let checks = run_checks(&only, args.leave_out.as_deref(), folder.path(), &mut |text| {
        cx.printer.detail(text);
        if interrupt::requested() { Err(ncforge_bench::Error::Stopped) } else { Ok(()) }
    })?;
    if args.json {
        cx.printer.json(&serde_json::to_value(&checks).unwrap_or_default());
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
