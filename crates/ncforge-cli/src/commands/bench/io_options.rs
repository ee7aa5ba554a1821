//! The request of `ncforge bench io` in the library's terms.

use ncforge::Atomic;
use ncforge_bench::driver::Coding;
use ncforge_bench::workload::io::{
    AccessKind, CaseAsk, ChunkChoice, Content, DriverAsk, GeometryRequest, IoOptions, StoredAs, sample_type,
};

use crate::args::{IoArgs, OutputForm};
use crate::commands::Context;
use crate::exit::Failure;

/// Whether all is done as NetCDF-Bench does it.
pub(super) fn as_there(args: &IoArgs) -> bool {
    args.output == OutputForm::Parser
}

/// The options in the library's terms, with these sweeps.
pub(super) fn options(args: &IoArgs, sweeps: &[String], cx: &Context<'_>) -> Result<IoOptions, Failure> {
    let as_there = as_there(args);
    let write = args.write || !(args.read || args.verify);
    let nn = |n: Option<std::num::NonZeroUsize>| n.map(|n| usize::from(n) as u64);
    let codec = match args.deflate {
        Some(level) => Coding::deflate(level, false).codec,
        None => args.codec.unwrap_or_default(),
    };
    let drivers = drivers(args)?;
    let base = CaseAsk {
        stored: args.format,
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
        // Unlimited dimensions and compression need collective access.
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

/// The libraries, in the order in which they are named.
fn drivers(args: &IoArgs) -> Result<Vec<DriverAsk>, Failure> {
    if args.layers {
        if args.sweep.iter().any(|s| s.starts_with("driver=")) {
            let why = "--layers and -L driver exclude one another";
            return Err(Failure::usage(why, "--layers takes the libraries in their order"));
        }
        return Ok(DriverAsk::layers(&args.library));
    }
    let mut drivers = args.driver.clone();
    drivers.extend(args.library.iter().cloned().map(DriverAsk::Library));
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
fn swept(cases: &[CaseAsk], sweep: &str) -> Result<Vec<CaseAsk>, Failure> {
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
                "format" => case.stored = value.parse().map_err(bad)?,
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
