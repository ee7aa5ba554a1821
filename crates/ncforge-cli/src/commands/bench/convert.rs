//! `ncforge bench convert`

use ncforge_bench::driver::Driver;
use ncforge_bench::report::convert::{convert_results, convert_table};
use ncforge_bench::result::results_csv;
use ncforge_bench::rounds::Rounds;
use ncforge_bench::workload::convert::{ConvertOptions, run as run_convert};

use super::steps::Steps;
use super::{libraries, output, with_card};
use crate::args::ConvertArgs;
use crate::commands::Context;
use crate::exit::{Exit, Result};
use crate::interrupt;

/// What --quick writes, and how often.
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
    let report = run_convert(&libraries, &options, &mut |step| steps.tell_or_stop(step))?;
    steps.finish();
    let table = |_: &_| convert_table(&report);
    let results = with_card(convert_results(&report), args.place.folder.as_deref(), &libraries);
    output::put(&args.output, results, &table, &results_csv, cx)?;
    let wrong: Vec<_> = report.rows.iter().filter(|r| !r.right).collect();
    for r in &wrong {
        cx.printer.warn(format_args!("{}: the file does not hold the {} floats", r.way.text(), r.floats));
    }
    Ok(if wrong.is_empty() { Exit::Ok } else { Exit::BadInput })
}
