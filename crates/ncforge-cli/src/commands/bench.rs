//! `ncforge bench`: runs a workload and prints its report.

mod again;
mod chunks;
mod combine;
mod compare;
mod convert;
mod doctor;
mod io;
mod like;
mod output;
mod ranks;
mod records;
mod rerun;
mod seeds;
mod selftest;

use std::path::PathBuf;

use ncforge_bench::driver::{Driver, NcforgeDriver};
use ncforge_bench::report::access::{access_results, access_table};
use ncforge_bench::result::results_csv;
use ncforge_bench::workload::access::{AccessOptions, Pattern, run as run_access};

use super::Context;
use crate::args::{AccessArgs, BenchArgs, PatternArg, Workload};
use crate::exit::{Exit, Failure, Result};

/// Runs the workload that was asked for.
pub(crate) fn run(args: &BenchArgs, cx: &Context<'_>) -> Result {
    if let Some(out) = args.workload.output() {
        output::check(out)?;
    }
    match &args.workload {
        Workload::Access(a) => access(a, cx),
        Workload::Chunks(a) => chunks::run(a, cx),
        Workload::Convert(a) => convert::run(a, cx),
        Workload::Io(a) => io::run_io(a, cx),
        Workload::Records(a) => records::run(a, cx),
        Workload::Combine(a) => combine::run(a, cx),
        Workload::Like(a) => like::run(a, cx),
        Workload::Seeds(a) => seeds::run(a, cx),
        Workload::Compare(a) => compare::run(a, cx),
        Workload::Rerun(a) => rerun::run(a, cx),
        Workload::Doctor(a) => doctor::run(a, cx),
        Workload::Selftest(a) => selftest::run(a, cx),
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
    let driver = NcforgeDriver::new(cx.global.threads.map(usize::from), cx.global.memory.map(|size| size.0));
    let report = run_access(&[&driver], &args.files, &options)?;
    let table = |_: &_| access_table(&report);
    output::put(&args.output, access_results(&report), &table, &results_csv, cx)?;
    let differ = report.rows.iter().any(|row| row.same_values == Some(false));
    Ok(if differ { Exit::Differences } else { Exit::Ok })
}

/// Libraries by their paths; `find` is the system's netCDF-C, `h5` its HDF5.
fn libraries(paths: &[PathBuf]) -> Result<Vec<Box<dyn Driver>>, Failure> {
    paths.iter().map(|p| Ok(ncforge_bench::driver::library(p)?)).collect()
}

fn pattern(asked: PatternArg) -> Pattern {
    match asked {
        PatternArg::Map => Pattern::Map,
        PatternArg::Series => Pattern::Series,
        PatternArg::Full => Pattern::Full,
    }
}
