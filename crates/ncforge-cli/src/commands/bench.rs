//! `ncforge bench`: runs a workload and prints its report.

mod again;
mod chunks;
mod combine;
mod compare;
mod convert;
mod doctor;
mod io;
mod io_options;
mod itself;
mod output;
mod published;
mod ranks;
mod records;
mod rerun;
mod steps;
mod team;

use std::path::{Path, PathBuf};

use ncforge_bench::driver::{Driver, NcforgeDriver};
use ncforge_bench::report::access::access_section;
use ncforge_bench::report::{results_brief, results_table};
use ncforge_bench::result::Results;
use ncforge_bench::workload::access::{AccessOptions, Pattern, run as run_access};
use ncforge_tune::Machine;
use tempfile::TempDir;

use super::Context;
use crate::args::{AccessArgs, BenchArgs, PatternArg, Workload};
use crate::exit::{Exit, Failure, Result};

/// Runs the workload that was asked for.
pub(crate) fn run(args: &BenchArgs, cx: &Context<'_>) -> Result {
    if let Some(out) = args.workload.output() {
        output::check(out, cx.named)?;
    }
    match &args.workload {
        Workload::Access(a) => access(a, cx),
        Workload::Chunks(a) => chunks::run(a, cx),
        Workload::Convert(a) => convert::run(a, cx),
        Workload::Io(a) => io::run_io(a, cx),
        Workload::Records(a) => records::run(a, cx),
        Workload::Combine(a) => combine::run(a, cx),
        Workload::Published(a) => published::run(a, cx),
        Workload::Compare(a) => compare::run(a, cx),
        Workload::Rerun(a) => rerun::run(a, cx),
        Workload::Doctor(a) => doctor::run(a, cx),
    }
}

/// Exit code 3 when two files of the same shape gave different values.
fn access(args: &AccessArgs, cx: &Context<'_>) -> Result {
    let options = AccessOptions {
        var: args.var.clone(),
        patterns: args.patterns.iter().map(|p| pattern(*p)).collect(),
        repetitions: args.repetitions.get(),
        cold: args.cold,
        seed: args.seed,
    };
    let driver = own_driver(cx);
    let steps = steps::Steps::of("access", cx);
    let report = run_access(&[&driver], &args.files, &options)?;
    steps.finish();
    let results = Results::of(vec![access_section(&report)]);
    let results = with_card(results, args.files.first().map(PathBuf::as_path), &[]);
    let table = if cx.printer.is_verbose() { results_table } else { results_brief };
    output::put(&args.output, results, &table, cx)?;
    let differ = report.rows.iter().any(|row| row.same_values == Some(false));
    Ok(if differ { Exit::Differences } else { Exit::Ok })
}

/// ncforge with the threads and the memory that were asked for.
fn own_driver(cx: &Context<'_>) -> NcforgeDriver {
    NcforgeDriver::new(cx.threads(), cx.memory())
}

/// The machine with the threads that were asked for.
fn machine(cx: &Context<'_>) -> Result<Machine, Failure> {
    Ok(Machine { threads: cx.engine()?.threads() as f64, ..Machine::of_user() })
}

/// A folder for the files of a measurement, which goes away with it: below the one that was named, or in the system's temporary one.
fn temporary(below: Option<&Path>) -> Result<TempDir, Failure> {
    let mut builder = tempfile::Builder::new();
    builder.prefix("ncforge-bench-");
    below.map_or_else(|| builder.tempdir(), |dir| builder.tempdir_in(dir)).map_err(|e| Failure {
        class: None,
        message: format!("cannot make a folder for the files: {e}"),
        hint: "name one that can be written by --folder".into(),
        exit: if e.kind() == std::io::ErrorKind::NotFound { Exit::Usage } else { Exit::Failed },
    })
}

/// Libraries by their paths; `netcdf-c` and `hdf5` are the system's.
fn libraries(paths: &[PathBuf]) -> Result<Vec<Box<dyn Driver>>, Failure> {
    paths.iter().map(|p| Ok(ncforge_bench::driver::library(p)?)).collect()
}

/// A result whose card tells the file system of a folder (`None`: where temporary files go), and what libraries stand on.
fn with_card(results: Results, folder: Option<&Path>, libraries: &[&dyn Driver]) -> Results {
    let folder = folder.map_or_else(std::env::temp_dir, Path::to_owned);
    Results { environment: results.environment.completed(&folder, libraries), ..results }
}

fn pattern(asked: PatternArg) -> Pattern {
    match asked {
        PatternArg::Map => Pattern::Map,
        PatternArg::Series => Pattern::Series,
        PatternArg::Full => Pattern::Full,
        PatternArg::Profile => Pattern::Profile,
        PatternArg::Box => Pattern::Box,
        PatternArg::Stride => Pattern::Stride,
    }
}
