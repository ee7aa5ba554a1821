//! `ncforge bench meta`

use ncforge_bench::driver::{Definitions, Driver};
use ncforge_bench::report::meta::{meta_results, problems};
use ncforge_bench::report::results_table;
use ncforge_bench::result::results_csv;
use ncforge_bench::rounds::Rounds;
use ncforge_bench::workload::io::DriverAsk;
use ncforge_bench::workload::meta::{MetaOptions, run as run_meta};

use super::steps::Steps;
use super::{libraries, output, with_card};
use crate::args::MetaArgs;
use crate::commands::Context;
use crate::exit::{Exit, Result};
use crate::interrupt;

/// Exit code 4 when somebody finds something else in a file than was defined.
pub(super) fn run(args: &MetaArgs, cx: &Context<'_>) -> Result {
    let asked = if args.driver.is_empty() { vec![DriverAsk::Ncforge] } else { args.driver.clone() };
    let mut drivers: Vec<Box<dyn Driver>> = Vec::new();
    for ask in &asked {
        drivers.push(ask.driver(cx.threads())?);
    }
    drivers.extend(libraries(&args.beside.library)?);
    let drivers: Vec<&dyn Driver> = drivers.iter().map(AsRef::as_ref).collect();
    let options = MetaOptions {
        file: Definitions {
            format: args.format,
            groups: args.groups,
            dims: args.dims,
            vars: args.vars,
            attrs: args.attrs,
        },
        files: args.files,
        rounds: Rounds {
            repetitions: args.repetitions.get(),
            warmup: args.rounds.warmup,
            guard: !args.rounds.no_guard,
            seed: args.seed,
        },
        folder: args.place.folder.clone(),
    };
    interrupt::catch();
    let steps = Steps::of("meta", cx);
    let report = run_meta(&drivers, &options, &mut |step| steps.tell_or_stop(step))?;
    steps.finish();
    let results = with_card(meta_results(&report), args.place.folder.as_deref(), &drivers);
    output::put(&args.output, results, &results_table, &results_csv, cx)?;
    let problems = problems(&report);
    for problem in &problems {
        cx.printer.warn(problem);
    }
    Ok(if problems.is_empty() { Exit::Ok } else { Exit::BadInput })
}
