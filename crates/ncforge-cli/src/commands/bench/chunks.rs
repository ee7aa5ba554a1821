//! `ncforge bench chunks`

use std::path::{Path, PathBuf};

use ncforge_bench::calibrate::calibrate;
use ncforge_bench::driver::Driver;
use ncforge_bench::report::chunks::{regret_section, regret_sections, sweep_section};
use ncforge_bench::report::{results_table, results_words};
use ncforge_bench::result::Results;
use ncforge_bench::workload::chunks::proof::{ARRAYS, Array};
use ncforge_bench::workload::chunks::regret::{self, MIXES, RegretOptions, RegretReport};
use ncforge_bench::workload::chunks::sweep::{self, SweepOptions};
use ncforge_bench::workload::chunks::{Effort, Files, Variant, grid};
use ncforge_tune::{Calibration, Limits, Machine, axes_of};

use super::steps::Steps;
use super::{libraries, machine, output, own_driver, temporary, with_card};
use crate::args::{ChunksBenchArgs, SwitchArg};
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

/// Places at which reads begin that take all or one element of every axis, and those that take a part.
const PLACES: (usize, usize) = (48, 48);

/// Exit code 3 when two variants gave different values.
pub(super) fn run(args: &ChunksBenchArgs, cx: &Context<'_>) -> Result {
    let own_folder = match args.keep {
        true => None,
        false => Some(temporary(args.place.folder.as_deref())?),
    };
    let folder = match (&own_folder, &args.place.folder) {
        (Some(dir), _) => dir.path().to_owned(),
        (None, dir) => dir.clone().unwrap_or_default(),
    };
    let own = own_driver(cx);
    let libraries = libraries(&args.peers.library)?;
    let mut drivers: Vec<&dyn Driver> = Vec::new();
    if !args.only_libraries {
        drivers.push(&own);
    }
    drivers.extend(libraries.iter().map(AsRef::as_ref));
    let steps = Steps::of("chunks", cx);
    if args.regret || args.proof.is_some() {
        let mut reports = Vec::new();
        let measured = measured(cx, &steps)?;
        for file in subjects(args, &folder)? {
            let options = regret_options(args, &file, measured, cx)?;
            let files = Files::new(&folder).keeping(args.keep);
            let found = regret::run(&drivers, &file, &files, &options, &mut |step| steps.tell(step))?;
            if !args.output.takes_stdout() {
                let done = Results::of(found.iter().map(regret_section).collect());
                steps.data(&results_words(&done));
            }
            reports.extend(found);
        }
        steps.finish();
        return summed_up(args, cx, &reports, &drivers);
    }
    let made = match &args.array {
        Some(name) => Some(Array::named(name)?.write(&folder, args.array_bytes.0)?),
        None => args.file.clone(),
    };
    let file = made.as_deref().unwrap_or(Path::new(""));
    let mut shapes = shapes(args, file)?;
    let machine = machine(cx)?;
    let level = args.deflate.iter().copied().max().unwrap_or(0);
    // For a variable that has no maps or series, nothing is chosen, and nothing is marked.
    let chosen = regret::chosen(file, args.var.as_deref(), regret::HALVES, level, machine).ok();
    if let Some(chosen) = chosen.as_ref().filter(|c| args.shapes.is_empty() && !shapes.contains(c)) {
        shapes.push(chosen.clone());
    }
    let mut variants = vec![Variant::classic()];
    for chunks in &shapes {
        for &deflate in &args.deflate {
            for (i, shuffle) in args.shuffle.iter().enumerate() {
                // Without compression nothing is shuffled: one row.
                if deflate == 0 && i > 0 {
                    continue;
                }
                let shuffle = deflate > 0 && *shuffle == SwitchArg::On;
                variants.push(Variant { chunks: Some(chunks.clone()), deflate, shuffle });
            }
        }
    }
    let options = SweepOptions {
        var: args.var.clone(),
        variants,
        caches: args.caches.iter().map(|c| c.0).collect(),
        series: args.series,
        series_first: args.series_first,
        repetitions: args.repetitions.get(),
        cold: args.cold,
        cell_seconds: args.cell_seconds,
    };
    let mut report_step = |step: &str| {
        steps.tell(step);
        Ok(())
    };
    let report = sweep::run(&drivers, file, &Files::new(&folder), &options, &mut report_step)?;
    steps.finish();
    let results = Results::of(vec![sweep_section(&report, chosen.as_deref())]);
    let results = with_card(results, args.place.folder.as_deref(), &drivers);
    output::put(&args.output, results, &results_table, cx)?;
    let same = report.rows.iter().all(|row| row.same_values);
    Ok(if same { Exit::Ok } else { Exit::Differences })
}

/// The files that are measured: the one that was named, or those made for the purpose.
fn subjects(args: &ChunksBenchArgs, folder: &Path) -> std::result::Result<Vec<PathBuf>, Failure> {
    let Some(names) = &args.proof else { return Ok(args.file.clone().into_iter().collect()) };
    let arrays = match names.is_empty() {
        true => ARRAYS.to_vec(),
        false => names.iter().map(|n| Array::named(n)).collect::<std::result::Result<_, _>>()?,
    };
    arrays.iter().map(|a| Ok(a.write(folder, args.array_bytes.0)?)).collect()
}

/// This machine: as the user had it measured, else measured now.
fn measured(cx: &Context<'_>, steps: &Steps<'_>) -> std::result::Result<Machine, Failure> {
    if Calibration::load().is_some() {
        return machine(cx);
    }
    steps.tell("measuring this machine, as `tune calibrate` does");
    Ok(calibrate(&std::env::temp_dir(), cx.threads())?.machine)
}

fn regret_options(
    args: &ChunksBenchArgs,
    file: &Path,
    measured: Machine,
    cx: &Context<'_>,
) -> std::result::Result<RegretOptions, Failure> {
    let mixes = match args.mixes.is_empty() {
        true => MIXES.iter().map(|m| (*m).to_owned()).collect(),
        false => args.mixes.clone(),
    };
    Ok(RegretOptions {
        var: args.var.clone(),
        shapes: shapes(args, file)?,
        mixes,
        deflate: args.deflate.iter().copied().max().unwrap_or(1),
        effort: Effort { rounds: args.repetitions.get(), places: PLACES.0, parts: PLACES.1 },
        limits: limits(args),
        machine: machine(cx)?,
        measured,
    })
}

/// Prints the joint results of several reports; each was printed by itself as it came.
fn summed_up(
    args: &ChunksBenchArgs,
    cx: &Context<'_>,
    reports: &[RegretReport],
    drivers: &[&dyn Driver],
) -> Result {
    let together = |results: &Results| match &results.sections[..] {
        [all, _, ..] => results_words(&Results { sections: vec![all.clone()], ..results.clone() }),
        _ => String::new(),
    };
    let results = with_card(Results::of(regret_sections(reports)), args.place.folder.as_deref(), drivers);
    output::put(&args.output, results, &together, cx)?;
    Ok(Exit::Ok)
}

fn limits(args: &ChunksBenchArgs) -> Limits {
    Limits { writer_memory: Some(args.writer_memory.0), ..Limits::default() }
}

fn shapes(args: &ChunksBenchArgs, file: &Path) -> std::result::Result<Vec<Vec<u64>>, Failure> {
    if args.shapes.is_empty() {
        let dataset = ncforge::Dataset::open(file)?;
        let var = ncforge_bench::workload::access::largest(file, args.var.as_deref())?;
        let id = dataset.var(&var.name)?;
        let (shape, axes) = (dataset.schema().shape(id), axes_of(dataset.schema(), id));
        let element = var.size as u64;
        let judged = args.regret || args.proof.is_some();
        // A shape that a program cannot append to is no alternative to the chosen one.
        let allowed = |chunks: &[u64]| !judged || limits(args).can_append(&axes, element, chunks);
        return Ok(grid(&shape, element, args.most_shapes.get(), allowed));
    }
    args.shapes
        .iter()
        .map(|text| {
            text.split(',')
                .map(|n| n.trim().parse::<u64>().ok().filter(|&n| n > 0))
                .collect::<Option<Vec<_>>>()
        })
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| {
            Failure::usage("a chunk shape is written as lengths: 1,128,256", "several by `;`, in quotes")
        })
}
