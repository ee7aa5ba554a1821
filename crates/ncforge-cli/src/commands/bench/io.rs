//! `ncforge bench io`

use ncforge::Atomic;
use ncforge_bench::driver::Coding;
use ncforge_bench::report::io::{io_results, io_table, netcdf_bench_table};
use ncforge_bench::result::{Results, results_csv};
use ncforge_bench::team::{Alone, MpiTeam, SharedTeam, Team};
use ncforge_bench::workload::io::{
    AccessKind, CaseAsk, ChunkChoice, Content, DriverAsk, GeometryRequest, IoOptions, IoReport, Preset,
    StoredAs, endian_name, plan, run, sample_type,
};

use super::steps::Steps;
use super::{output, ranks, team};
use crate::args::{CacheArg, Compat, IoArgs, OutputForm};
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};
use crate::interrupt;

/// Seconds that a precision is waited for when nobody says.
const UNTIL_BUDGET: f64 = 60.0;

/// Runs this process' part: alone, as a rank of a job, or as the one who starts the ranks.
pub(super) fn run_io(args: &IoArgs, cx: &Context<'_>) -> Result {
    let job = MpiTeam::from_environment()?;
    if job.is_none()
        && let Some(numbers) = ranks::asked(args)?
    {
        return ranks::run(args, &numbers, cx);
    }
    let options = options(args, &args.sweep, cx)?;
    if let Some(path) = &args.ops_log {
        let folder = path.parent().filter(|f| !f.as_os_str().is_empty());
        if path.is_dir() || folder.is_some_and(|f| !f.is_dir()) {
            let why = format!("`{}` cannot be written: no such folder, or a folder itself", path.display());
            return Err(Failure::usage(why, "name a file in a folder that exists"));
        }
    }
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
    // What does not fit is told once, before anything is started.
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
        // Told while the team stands: a launcher ends the job once a rank has left it with an error.
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
    let exit = exit_of(args, &report);
    if team.rank() == 0 {
        print(args, &report, cx)?;
    }
    Ok(exit)
}

fn exit_of(args: &IoArgs, report: &IoReport) -> Exit {
    let disturbed = report.phases.iter().filter(|p| p.disturbed).count();
    if report.wrong().is_some() || !report.disagreements().is_empty() {
        Exit::BadInput
    } else if args.strict && disturbed * 2 > report.phases.len() {
        Exit::Differences
    } else {
        Exit::Ok
    }
}

fn print(args: &IoArgs, report: &IoReport, cx: &Context<'_>) -> std::result::Result<(), Failure> {
    let table = |_: &Results| if compat(args) { as_netcdf_bench(args, report) } else { io_table(report) };
    output::put(&args.reports, io_results(report), &table, &results_csv, cx)?;
    for line in report.disagreements() {
        cx.printer.warn(line);
    }
    if let Some((case, _, verdict)) = report.wrong() {
        cx.printer.warn(format_args!(
            "{} of {} values that {} read are wrong",
            verdict.wrong, verdict.checked, case.name
        ));
        for m in &verdict.first {
            let (name, dims) = report.geometry.named(m.field);
            let place: Vec<String> = dims.iter().zip(&m.at).map(|(n, i)| format!("{n} {i}")).collect();
            let of = if report.geometry.fields.len() > 1 { format!("`{name}` ") } else { String::new() };
            cx.printer.warn(format_args!(
                "{of}at {}: {} instead of {}",
                place.join(", "),
                m.found,
                m.expected
            ));
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

pub(super) fn compat(args: &IoArgs) -> bool {
    args.compat == Some(Compat::NetcdfBench) || args.output == OutputForm::Parser
}

/// The options in the library's terms, with these sweeps.
pub(super) fn options(
    args: &IoArgs,
    sweeps: &[String],
    cx: &Context<'_>,
) -> std::result::Result<IoOptions, Failure> {
    let as_there = compat(args);
    if as_there && (args.vars.is_some() || args.preset.is_some()) {
        let why = "NetCDF-Bench's table is about one variable, not those of --vars and --preset";
        return Err(Failure::usage(why, "leave out --compat, or the variables"));
    }
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
        endian: args.endian.into(),
        cache: args.chunk_cache.0,
    };
    let mut cases: Vec<CaseAsk> =
        drivers.into_iter().map(|driver| CaseAsk { driver, ..base.clone() }).collect();
    if args.engines {
        cases = on_every_format(cases);
    }
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
    let few = as_there;
    Ok(IoOptions {
        geometry: GeometryRequest {
            data: match (args.preset, &args.data) {
                (Some(preset), None) => Some(preset.data()),
                (Some(preset), Some(data)) => Some(preset.named(data.clone())),
                (None, data) => data.clone(),
            },
            block: args.block.clone(),
            split: args.split.clone(),
            nodes: nn(args.nodes),
            ppn: nn(args.ppn),
            shares: args.shares.clone(),
            decomposition: args.decomposition.clone(),
            variables: args.preset.map(Preset::variables).or_else(|| args.vars.clone()),
        },
        read_block: args.read_block.clone(),
        random: args.random,
        stride: args.stride.clone(),
        read_order: args.read_order.clone(),
        halo: args.halo.clone(),
        compute: args.compute,
        cases,
        write,
        append: args.append,
        rewrite: args.rewrite,
        read: args.read || args.verify,
        verify: args.verify || (write && !args.no_verify),
        overwrite: args.reports.overwrite,
        keep: args.keep,
        format: args.format.format(),
        dtype,
        unlimited: args.unlimited,
        fill: args.fill,
        content,
        seed: args.seed,
        repetitions: args.reps.map_or(if few { 1 } else { 5 }, usize::from),
        warmup: args.warmup.unwrap_or(usize::from(!few)),
        budget: args.budget.or(args.until.map(|_| UNTIL_BUDGET)),
        until: args.until.map(|s| s.0),
        seconds: args.seconds,
        resume: args.resume.clone(),
        ops_log: args.ops_log.clone(),
        caches: args.cache.clone(),
        sync: !args.no_sync && !as_there,
        guard: !args.no_guard && !as_there,
        threads: cx.threads(),
        memory: args.hold.map(|s| s.0),
        layers: args.layers,
        engines: args.engines,
        ceilings: args.ceilings,
        hints: args.hint.clone(),
        ..IoOptions::new(&args.file)
    })
}

/// Each case in each format: plain bytes, which have none, once.
fn on_every_format(cases: Vec<CaseAsk>) -> Vec<CaseAsk> {
    let each = |case: CaseAsk| {
        let formats = if case.driver.is_plain() { &StoredAs::EACH[..1] } else { &StoredAs::EACH[..] };
        let plain = case.driver.is_plain();
        formats
            .iter()
            .map(|&stored| CaseAsk { stored: (!plain).then_some(stored), ..case.clone() })
            .collect::<Vec<_>>()
    };
    cases.into_iter().flat_map(each).collect()
}

/// The libraries, in the order in which they are told.
fn drivers(args: &IoArgs) -> std::result::Result<Vec<DriverAsk>, Failure> {
    if args.layers || args.engines {
        if args.sweep.iter().any(|s| s.starts_with("driver=")) {
            let option = if args.layers { "--layers" } else { "--engines" };
            let why = format!("{option} and -L driver exclude one another");
            return Err(Failure::usage(why, format!("{option} takes the libraries in their order")));
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
                "endian" => {
                    case.endian = endian_name::parse(value)
                        .ok_or_else(|| bad(format!("no byte order `{value}`: native, little, big")))?;
                }
                "chunk-cache" => case.cache = value.parse::<CacheArg>().map_err(bad)?.0,
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
                        "`{name}` cannot be varied; chunk, access, driver, format, codec, deflate, shuffle, quantize, endian, chunk-cache and (outside MPI jobs) ranks can"
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
