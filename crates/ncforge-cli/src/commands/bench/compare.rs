//! `ncforge bench compare`

use ncforge_bench::report::compare;
use ncforge_bench::result::Results;

use crate::args::BenchCompareArgs;
use crate::commands::{Context, document};
use crate::exit::{Exit, Failure, Result};

/// Exit code 3 when a row is slower by more than is allowed.
pub(super) fn run(args: &BenchCompareArgs, cx: &Context<'_>) -> Result {
    let (before, after) = (Results::load(&args.before)?, Results::load(&args.after)?);
    let found = compare(&before, &after);
    if found.changes.is_empty() {
        return Err(Failure::usage(
            "the two results have no row in common",
            "a row is the same when workload, case, phase and the state of the cache are",
        ));
    }
    let limit = args.fail_if_slower.map(|s| s.0);
    if document::put("bench-compare", &found, &args.written, cx.printer)? {
        cx.printer.data(&if args.markdown { found.markdown(limit) } else { found.table(limit) });
    }
    let slower = limit.is_some_and(|l| !found.slower(l).is_empty());
    Ok(if slower { Exit::Differences } else { Exit::Ok })
}
