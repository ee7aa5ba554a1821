//! `ncforge bench io`

use ncforge::Atomic;
use ncforge_bench::driver::Coding;
use ncforge_bench::report::io::{io_results, io_table, netcdf_bench_table};
use ncforge_bench::result::{Results, results_csv};
use ncforge_bench::team::{Alone, MpiTeam, SharedTeam, Team};
use ncforge_bench::workload::io::{
    AccessKind, CaseAsk, ChunkChoice, Content, DriverAsk, GeometryRequest, IoOptions, IoReport, StoredAs,
    plan, run, sample_type,
};

use super::steps::Steps;
use super::{output, ranks, team};
use crate::args::{IoArgs, OutputForm};
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Runs this process' part: alone, as a rank of a job, or as the one who starts the ranks.
pub(super) fn run_io(args: &IoArgs, cx: &Context<'_>) -> Result {
    let job = MpiTeam::from_environment()?;
    if job.is_none()
        && let Some(numbers) = ranks::asked(args)?
    {
        return ranks::run(args, &numbers, cx);
    }
    let options = options(args, &args.sweep, cx)?;
    if let Some(team) = job {
        return as_rank(&team, args, &options, cx);
    }
    if let Some(team) = SharedTeam::from_environment()? {
        return as_rank(&team, args, &options, cx);
    }
    let asked = args.nodes.map_or(1, usize::from).saturating_mul(args.ppn.map_or(1, usize::from));
    let ranks = args.ranks.map_or(asked, usize::from);
    if args.dry_run {
        cx.printer.data(&plan(&options, ranks as u64)?.text);
        return Ok(Exit::Ok);
    }
    if ranks == 1 {
        return as_rank(&Alone, args, &options, cx);
    }
    // What does not fit is reported once, before anything is started.
    plan(&options, ranks as u64)?;
    team::start(ranks, cx)
}

/// One rank of a team; rank 0 prints.
fn as_rank(team: &dyn Team, args: &IoArgs, options: &IoOptions, cx: &Context<'_>) -> Result {
    if args.dry_run {
        if team.rank() == 0 {
            cx.printer.data(&plan(options, team.size() as u64)?.text);
        }
        return Ok(Exit::Ok);
    }
    interrupt::catch();
    // One of the ranks tells.
    let steps = (team.rank() == 0).then(|| Steps::of("io", cx));
    let stop = || interrupt::requested();
    let mut report = match run(team, options, Some(&stop)) {
        Ok(report) => report,
        Err(e) if e.is_told_elsewhere() => return Ok(Exit::from_code(e.exit_code())),
        // Reported while the team stands: a launcher ends the job once a rank has left it with an error.
        Err(e) => {
            drop(steps);
            let failure = Failure::from(e);
            cx.printer.failure(&failure);
            return Ok(failure.exit);
        }
    };
    if let Some(steps) = steps {
        steps.finish();
    }
    report.command = Some(cx.command_line());
    let exit = if report.wrong().is_some() { Exit::BadInput } else { Exit::Ok };
    if team.rank() == 0 {
        print(args, &report, cx)?;
    }
    Ok(exit)
}

fn print(args: &IoArgs, report: &IoReport, cx: &Context<'_>) -> std::result::Result<(), Failure> {
    let table = |_: &Results| if as_there(args) { as_netcdf_bench(args, report) } else { io_table(report) };
    output::put(&args.reports, io_results(report), &table, &results_csv, cx)?;
    if let Some((case, _, verdict)) = report.wrong() {
        cx.printer.warn(format_args!(
            "{} of {} values that {} read are wrong",
            verdict.wrong, verdict.checked, case.name
        ));
        for m in &verdict.first {
            let place: Vec<String> =
                report.geometry.names.iter().zip(&m.at).map(|(n, i)| format!("{n} {i}")).collect();
            cx.printer.warn(format_args!("at {}: {} instead of {}", place.join(", "), m.found, m.expected));
        }
    }
    Ok(())
}

/// NetCDF-Bench's table; where it only verifies, its verdicts follow.
fn as_netcdf_bench(args: &IoArgs, report: &IoReport) -> String {
    let mut text = netcdf_bench_table(report);
    if args.verify && !args.read {
        let word = if report.wrong().is_some() { "FAILED" } else { "PASSED" };
        (0..report.geometry.ranks()).for_each(|rank| text += &format!("TEST {word} [{rank}]\n"));
    }
    text
}

/// Whether all is done as NetCDF-Bench does it.
pub(super) fn as_there(args: &IoArgs) -> bool {
    args.output == OutputForm::Parser
}

/// The options in the library's terms, with these sweeps.
pub(super) fn options(
    args: &IoArgs,
    sweeps: &[String],
    cx: &Context<'_>,
) -> std::result::Result<IoOptions, Failure> {
    let as_there = as_there(args);
    let write = args.write || !(args.read || args.verify);
    let nn = |n: Option<std::num::NonZeroUsize>| n.map(|n| usize::from(n) as u64);
    let codec = match args.deflate {
        Some(level) => Coding::deflate(level, false).codec,
        None => args.codec.unwrap_or_default(),
    };
    let drivers = drivers(args)?;
    let base = CaseAsk {
        stored: (args.format == StoredAs::Zarr).then_some(StoredAs::Zarr),
        driver: DriverAsk::Ncforge,
        access: args.access.unwrap_or_default(),
        chunks: args.chunk.clone().unwrap_or_default(),
        coding: Coding { codec, shuffle: args.shuffle.unwrap_or_default(), rounding: args.quantize },
    };
    let mut cases: Vec<CaseAsk> =
        drivers.into_iter().map(|driver| CaseAsk { driver, ..base.clone() }).collect();
    for sweep in sweeps {
        cases = swept(&cases, sweep)?;
    }
    let compressed = cases.iter().any(|c| c.coding.is_filtered());
    let asked = args.access.is_some() || args.sweep.iter().any(|s| is_access(s));
    if !asked && (args.unlimited || compressed) {
        // What only works together is done together.
        cases.iter_mut().for_each(|c| c.access = AccessKind::Collective);
    }
    let content = match &args.data_content {
        Some(content) => content.clone(),
        None if as_there => Content::NetcdfBench,
        None if compressed || cases.iter().any(|c| c.coding.rounding.is_some()) => Content::Field,
        None => Content::Hash,
    };
    let dtype = match (&content, args.dtype) {
        (_, Some(dtype)) => dtype,
        (Content::Sample { path, variable }, None) => sample_type(path, variable)?,
        (_, None) => Atomic::Int,
    };
    let repetitions = args.reps.map_or(if as_there { 1 } else { 5 }, usize::from);
    Ok(IoOptions {
        geometry: GeometryRequest {
            data: args.data.clone(),
            block: args.block.clone(),
            nodes: nn(args.nodes),
            ppn: nn(args.ppn),
        },
        cases,
        write,
        read: args.read || args.verify,
        verify: args.verify || write,
        overwrite: args.reports.overwrite,
        format: args.format.format(),
        dtype,
        unlimited: args.unlimited,
        fill: args.fill,
        content,
        repetitions,
        warmup: warmup(args, repetitions),
        caches: args.cache.clone(),
        sync: !as_there,
        // A number of repetitions that is asked for is the number that is made.
        guard: args.reps.is_none() && !as_there,
        threads: cx.threads(),
        layers: args.layers,
        hints: args.hint.clone(),
        ..IoOptions::new(&args.file)
    })
}

/// Rounds before those that count.
pub(super) fn warmup(args: &IoArgs, repetitions: usize) -> usize {
    usize::from(repetitions > 1 && !as_there(args))
}

/// The libraries, in the order in which they are listed.
fn drivers(args: &IoArgs) -> std::result::Result<Vec<DriverAsk>, Failure> {
    if args.layers {
        if args.sweep.iter().any(|s| s.starts_with("driver=")) {
            let why = "--layers and -L driver exclude one another";
            return Err(Failure::usage(why, "--layers takes the libraries in their order"));
        }
        return Ok(DriverAsk::layers(&args.library));
    }
    let mut drivers = args.driver.clone();
    drivers.extend(args.library.iter().map(|path| DriverAsk::library(path)));
    if args.driver.is_empty() {
        drivers.insert(0, DriverAsk::Ncforge);
    }
    Ok(drivers)
}

/// Whether a sweep goes over kinds of access.
fn is_access(sweep: &str) -> bool {
    sweep.split_once('=').is_some_and(|(name, _)| matches!(name, "access" | "io-type"))
}

/// Every case with every value of one option.
fn swept(cases: &[CaseAsk], sweep: &str) -> std::result::Result<Vec<CaseAsk>, Failure> {
    let usage =
        |why: String| Failure::usage(why, "as -L chunk=none,auto,1:50:50:10 or -L access=ind,coll,file");
    let (name, values) = sweep.split_once('=').ok_or_else(|| usage(format!("`{sweep}` names no values")))?;
    let mut out = Vec::new();
    for case in cases {
        for value in values.split(',') {
            let mut case = case.clone();
            let bad = |e: String| usage(format!("-L {name}: {e}"));
            match name {
                "chunk" | "chunks" => case.chunks = value.parse::<ChunkChoice>().map_err(bad)?,
                "access" | "io-type" => case.access = value.parse().map_err(bad)?,
                "codec" => case.coding.codec = value.parse().map_err(bad)?,
                "quantize" if value == "none" => case.coding.rounding = None,
                "quantize" => case.coding.rounding = Some(value.parse().map_err(bad)?),
                // Plain bytes have no format.
                "format" if case.driver.is_plain() => {
                    value.parse::<StoredAs>().map_err(bad)?;
                }
                "format" => case.stored = Some(value.parse().map_err(bad)?),
                "driver" => case.driver = value.parse().map_err(bad)?,
                "deflate" => {
                    let level = value.parse().ok().filter(|&n| n <= 9);
                    let level = level.ok_or_else(|| bad(format!("`{value}` is no level from 0 to 9")))?;
                    case.coding.codec = Coding::deflate(level, false).codec;
                }
                "shuffle" => case.coding.shuffle = value.parse().map_err(bad)?,
                _ => {
                    return Err(usage(format!(
                        "`{name}` cannot be varied; chunk, access, driver, format, codec, deflate, shuffle, quantize and (outside MPI jobs) ranks can"
                    )));
                }
            }
            if !out.contains(&case) {
                out.push(case);
            }
        }
    }
    Ok(out)
}
