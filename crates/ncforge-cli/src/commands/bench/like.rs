//! `ncforge bench like`

use ncforge::tune::Machine;
use ncforge_bench::driver::Driver;
use ncforge_bench::report::results_table;
use ncforge_bench::result::results_csv;
use ncforge_bench::rounds::Rounds;
use ncforge_bench::workload::like::{LikeOptions, run as run_like};

use super::{libraries, output};
use crate::args::LikeArgs;
use crate::commands::Context;
use crate::exit::{Exit, Result};
use crate::interrupt;

/// Exit code 4 when two ways gave different values.
pub(super) fn run(args: &LikeArgs, cx: &Context<'_>) -> Result {
    let libraries = libraries(&args.library)?;
    let libraries: Vec<&dyn Driver> = libraries.iter().map(AsRef::as_ref).collect();
    let options = LikeOptions {
        var: args.var.clone(),
        reads: args.reads.clone(),
        most: args.array_bytes.0,
        rounds: Rounds {
            repetitions: args.repetitions.get(),
            warmup: args.warmup,
            guard: !args.no_guard,
            seed: args.seed,
        },
        cold: args.cold,
        threads: cx.global.threads.map(usize::from),
        memory: cx.global.memory.map(|m| m.0),
        folder: args.folder.clone(),
        machine: Machine { threads: cx.engine()?.threads() as f64, ..Machine::of_user() },
    };
    interrupt::catch();
    let results = run_like(&libraries, &args.file, &options, &mut |text| {
        cx.printer.detail(text);
        if interrupt::requested() { Err(ncforge_bench::Error::Stopped) } else { Ok(()) }
    })?;
    let wrong = results.sections.iter().any(ncforge_bench::result::Section::is_wrong);
    output::put(&args.output, results, &results_table, &results_csv, cx)?;
    Ok(if wrong { Exit::BadInput } else { Exit::Ok })
}
