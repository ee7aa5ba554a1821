//! `ncforge bench convert`

use ncforge_bench::driver::Driver;
use ncforge_bench::report::results_table;
use ncforge_bench::result::Results;
use ncforge_bench::rounds::Rounds;
use ncforge_bench::workload::convert::{ConvertOptions, run as run_convert};

use super::steps::Steps;
use super::{libraries, output, with_card};
use crate::args::ConvertArgs;
use crate::commands::Context;
use crate::exit::{Exit, Result};
use crate::interrupt;

/// The amount that --quick writes, and the repetitions.
const QUICK: (u64, usize) = (10_000_000, 3);

/// Exit code 4 when a file does not hold the floats.
pub(super) fn run(args: &ConvertArgs, cx: &Context<'_>) -> Result {
    let libraries = libraries(&args.peers.library)?;
    let libraries: Vec<&dyn Driver> = libraries.iter().map(AsRef::as_ref).collect();
    let asked: Vec<u64> = args.floats.iter().map(|c| c.0).collect();
    let (floats, repetitions) =
        if args.quick { (vec![QUICK.0], QUICK.1) } else { (asked, args.repetitions.get()) };
    let options = ConvertOptions {
        floats,
        block: args.block.get(),
        seed: args.seed,
        rounds: Rounds {
            repetitions,
            warmup: args.rounds.warmup,
            guard: !args.rounds.no_guard,
            seed: args.seed,
        },
        threads: cx.threads(),
        folder: args.place.folder.clone(),
    };
    interrupt::catch();
    let steps = Steps::of("convert", cx);
    let section = run_convert(&libraries, &options, &mut |step| steps.tell_or_stop(step))?;
    steps.finish();
    for row in section.rows.iter().filter(|r| r.right() == Some(false)) {
        cx.printer.warn(format_args!("{}, {}: the file does not hold the floats", row.case, row.phase));
    }
    let wrong = section.is_wrong();
    let results = with_card(Results::of(vec![section]), args.place.folder.as_deref(), &libraries);
    output::put(&args.output, results, &results_table, cx)?;
    Ok(if wrong { Exit::BadInput } else { Exit::Ok })
}
