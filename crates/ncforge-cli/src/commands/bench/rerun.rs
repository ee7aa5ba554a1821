//! `ncforge bench rerun`

use ncforge_bench::report::compare;
use ncforge_bench::result::Results;

use super::{again, output};
use crate::args::RerunArgs;
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

/// Runs the command line that a result was made by, and compares.
pub(super) fn run(args: &RerunArgs, cx: &Context<'_>) -> Result {
    let before = Results::load(&args.result)?;
    if before.arguments.first().is_none_or(|w| w != "bench") {
        return Err(Failure::usage(
            "the result does not say how it was made, or not by one run of `ncforge bench`",
            "run it again by hand, and see `ncforge bench compare`",
        ));
    }
    let words = again::without_outputs(&before.arguments);
    let team = before.sections.first().and_then(|s| s.detail.get("team")?.as_str().map(str::to_owned));
    if team.as_ref().is_some_and(|t| t.contains("MPI")) {
        let line = words.iter().map(|w| ncforge_tune::words::quoted(w)).collect::<Vec<_>>().join(" ");
        return Err(Failure::usage(
            "the result comes from an MPI job, which only its launcher can start",
            format!("mpiexec … ncforge {line} --json=again.json, then ncforge bench compare"),
        ));
    }
    for line in before.environment.differences(&Results::of(Vec::new()).environment) {
        cx.printer.warn(format_args!("the machine differs: {line}"));
    }
    let (exit, after) = again::run(&words, !args.output.takes_stdout(), cx)?;
    let Some(after) = after else { return Ok(exit) };
    let after = Results { arguments: words, ..after };
    let found = compare(&before, &after);
    let limit = args.fail_if_slower.map(|s| s.0);
    output::put(&args.output, after, &|_| format!("\n{}", found.table(limit)), cx)?;
    let slower = limit.is_some_and(|l| !found.slower(l).is_empty());
    Ok(if exit == Exit::Ok && slower { Exit::Differences } else { exit })
}
