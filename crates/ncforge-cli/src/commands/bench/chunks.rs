//! `ncforge bench chunks`

use std::path::Path;

use ncforge::tune::Machine;
use ncforge_bench::driver::{Driver, LibnetcdfDriver, NcforgeDriver};
use ncforge_bench::report::chunks::{regret_csv, regret_table, sweep_csv, sweep_table};
use ncforge_bench::workload::chunks::regret::{self, RegretOptions};
use ncforge_bench::workload::chunks::sweep::{self, SweepOptions};
use ncforge_bench::workload::chunks::{Variant, grid};

use crate::args::{ChunksBenchArgs, SwitchArg};
use crate::commands::Context;
use crate::exit::{Exit, Failure, Result};

/// Reads that `--regret` looks at when none are named.
const MIXES: [&str; 7] = ["series", "map", "full", "series,map", "series=9,map=1", "series=1,map=9", "box"];

/// Exit code 3 when two variants gave different values.
pub(super) fn run(args: &ChunksBenchArgs, cx: &Context<'_>) -> Result {
    let folder = match &args.folder {
        Some(dir) => tempfile::Builder::new().prefix("ncforge-bench-").tempdir_in(dir),
        None => tempfile::Builder::new().prefix("ncforge-bench-").tempdir(),
    }
    .map_err(|e| Failure {
        message: format!("cannot make a folder for the files: {e}"),
        hint: Some("name one that can be written by --folder".into()),
        exit: Exit::Failed,
    })?;
    let own = NcforgeDriver::new(cx.global.threads.map(usize::from), cx.global.memory.map(|size| size.0));
    let libraries =
        args.library.iter().map(|path| library(path)).collect::<std::result::Result<Vec<_>, _>>()?;
    let mut drivers: Vec<&dyn Driver> = Vec::new();
    if !args.only_libraries {
        drivers.push(&own);
    }
    drivers.extend(libraries.iter().map(|l| l as &dyn Driver));
    let shapes = shapes(args)?;
    let mut progress = |text: &str| cx.printer.detail(text);
    if args.regret {
        let mixes = match args.mixes.is_empty() {
            true => MIXES.iter().map(|m| (*m).to_owned()).collect(),
            false => args.mixes.clone(),
        };
        let options = RegretOptions {
            var: args.var.clone(),
            shapes,
            mixes,
            deflate: args.deflate.iter().copied().max().unwrap_or(1),
            repetitions: args.repetitions.get(),
            machine: Machine::default(),
        };
        for driver in drivers {
            let report = regret::run(driver, &args.file, folder.path(), &options, &mut progress)?;
            print(args, cx, &report, regret_table, regret_csv)?;
        }
        return Ok(Exit::Ok);
    }
    let mut variants = vec![Variant::classic()];
    for chunks in &shapes {
        for &deflate in &args.deflate {
            for (i, shuffle) in args.shuffle.iter().enumerate() {
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
    };
    let report = sweep::run(&drivers, &args.file, folder.path(), &options, &mut progress)?;
    print(args, cx, &report, sweep_table, sweep_csv)?;
    let same = report.rows.iter().all(|row| row.same_values);
    Ok(if same { Exit::Ok } else { Exit::Differences })
}

fn print<R: serde::Serialize>(
    args: &ChunksBenchArgs,
    cx: &Context<'_>,
    report: &R,
    table: fn(&R) -> String,
    csv: fn(&R) -> String,
) -> std::result::Result<(), Failure> {
    if args.json {
        let document = serde_json::to_value(report).map_err(|e| Failure {
            message: format!("cannot write the report as JSON: {e}"),
            hint: None,
            exit: Exit::Failed,
        })?;
        cx.printer.json(&document);
    } else if args.csv {
        cx.printer.data(&csv(report));
    } else {
        cx.printer.data(&table(report));
    }
    Ok(())
}

fn library(path: &Path) -> std::result::Result<LibnetcdfDriver, Failure> {
    if path == Path::new("find") {
        return LibnetcdfDriver::find().ok_or_else(|| {
            Failure::usage(
                "the system has no netCDF-C library that can be loaded",
                "install it (Debian: libnetcdf19), or give the path of one",
            )
        });
    }
    Ok(LibnetcdfDriver::load(path)?)
}

fn shapes(args: &ChunksBenchArgs) -> std::result::Result<Vec<Vec<u64>>, Failure> {
    if args.shapes.is_empty() {
        let dataset = ncforge::Dataset::open(&args.file)?;
        let var = ncforge_bench::workload::access::largest(&args.file, args.var.as_deref())?;
        let shape = dataset.schema().shape(dataset.var(&var.name)?);
        return Ok(grid(&shape, var.size as u64, args.most_shapes.get()));
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
