//! `ncforge bench like`

use ncforge_bench::driver::Driver;
use ncforge_bench::report::results_table;
use ncforge_bench::result::results_csv;
use ncforge_bench::rounds::Rounds;
use ncforge_bench::workload::like::{LikeOptions, run as run_like};

use super::steps::Steps;
use super::{libraries, machine, output, with_card};
use crate::args::LikeArgs;
use crate::commands::Context;
use crate::exit::{Exit, Result};
use crate::interrupt;

/// Exit code 4 when two ways gave different values.
pub(super) fn run(args: &LikeArgs, cx: &Context<'_>) -> Result {
    let libraries = libraries(&args.beside.library)?;
    let libraries: Vec<&dyn Driver> = libraries.iter().map(AsRef::as_ref).collect();
    let options = LikeOptions {
        var: args.var.clone(),
        reads: args.reads.clone(),
        most: args.array_bytes.0,
        rounds: Rounds {
            repetitions: args.repetitions.get(),
            warmup: args.rounds.warmup,
            guard: !args.rounds.no_guard,
            seed: args.seed,
        },
        cold: args.cold,
        threads: cx.threads(),
        memory: cx.memory(),
        folder: args.place.folder.clone(),
        machine: machine(cx)?,
    };
    interrupt::catch();
    let steps = Steps::of("like", cx);
    let results = run_like(&libraries, &args.file, &options, &mut |step| steps.tell_or_stop(step))?;
    steps.finish();
    let wrong = results.sections.iter().any(ncforge_bench::result::Section::is_wrong);
    let results = with_card(results, args.place.folder.as_deref(), &libraries);
    output::put(&args.output, results, &results_table, &results_csv, cx)?;
    Ok(if wrong { Exit::BadInput } else { Exit::Ok })
}
