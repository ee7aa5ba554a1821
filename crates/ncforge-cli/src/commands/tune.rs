//! `ncforge tune`

use ncforge::Dataset;
use ncforge::model::VarId;
use ncforge_ops::choosing::{Choosing, chunks_for_all, why_none};
use ncforge_ops::tune::{Access, Calibration, Limits};
use ncforge_ops::words::{bytes, seconds};
use serde_json::json;

use super::options::machine_on;
use super::{Context, document};
use crate::args::{CalibrateArgs, ChoosingArgs, ReaderArg, Tune, TuneArgs, TuneChunksArgs};
use crate::exit::{Exit, Failure, Result};

/// Does what was asked for.
pub(crate) fn run(args: &TuneArgs, cx: &Context<'_>) -> Result {
    match &args.what {
        Tune::Chunks(a) => chunks(a, cx),
        Tune::Calibrate(a) => calibrate(a, cx),
    }
}

fn chunks(args: &TuneChunksArgs, cx: &Context<'_>) -> Result {
    let progress = cx.printer.progress("tune chunks");
    let dataset = Dataset::open_with(&args.file, &cx.engine()?)?;
    let schema = dataset.schema();
    let choosing = choosing(&args.choosing, !args.no_sample)?;
    choosing.check(schema, &args.file.display().to_string())?;
    let limits = choosing.limits;
    let vars: Vec<VarId> = if args.vars.is_empty() {
        let large = |v: &VarId| schema.values_bytes(*v).is_some_and(|bytes| bytes > limits.min_bytes);
        schema.var_ids().filter(large).collect()
    } else {
        args.vars.iter().map(|name| dataset.var(name)).collect::<ncforge::Result<_>>()?
    };
    let chosen = chunks_for_all(&dataset, &vars, &choosing)?;
    progress.finish();
    let mut documents = Vec::new();
    for (var, choice) in chosen {
        let path = schema.var_path(var);
        let Some(choice) = choice else {
            let why = why_none(schema, var).filter(|_| !args.vars.is_empty());
            match why {
                Some(why) if args.json => {
                    documents.push(json!({ "variable": path, "choice": null, "why": why }));
                }
                Some(why) => cx.printer.line(format!("{}\n  {why}", cx.printer.heading(&path))),
                None => {}
            }
            continue;
        };
        if args.json {
            documents.push(json!({ "variable": path, "choice": choice }));
            continue;
        }
        cx.printer.line(cx.printer.heading(&path));
        for line in &choice.reasons {
            cx.printer.line(format!("  {line}"));
        }
    }
    if args.json {
        let body = json!({ "file": args.file.display().to_string(), "variables": documents });
        document::print("tune-chunks", &body, cx.printer);
    }
    Ok(Exit::Ok)
}

/// What stands behind `--for`.
pub(super) fn reads(text: &str) -> Result<Vec<Access>> {
    Access::parse(text, &[]).map_err(|e| {
        Failure::usage(
            format!("--for {text}: {e}"),
            "write series, or series=3,map=1 (with weights), or time=all,lat=1,lon=1 (lengths of dimensions)",
        )
    })
}

/// How shapes are chosen.
pub(super) fn choosing(args: &ChoosingArgs, sample: bool) -> std::result::Result<Choosing, Failure> {
    Ok(Choosing {
        accesses: match &args.reads {
            Some(text) => reads(text)?,
            None => Access::usual(),
        },
        machine: match args.reader {
            ReaderArg::Ncforge => machine_on(args.storage),
            ReaderArg::NetcdfC => machine_on(args.storage).netcdf_c(),
        },
        limits: Limits {
            writer_memory: args.writer_memory.map(|s| s.0).or(Limits::default().writer_memory),
            ..Limits::default()
        },
        sample,
        expect: match &args.expect {
            Some(text) => Choosing::parse_expected(text).map_err(Failure::usage_of)?,
            None => Vec::new(),
        },
    })
}

fn calibrate(args: &CalibrateArgs, cx: &Context<'_>) -> Result {
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let progress = cx.printer.progress("tune calibrate");
    let found = ncforge_bench::calibrate::calibrate(&folder, cx.threads())?;
    progress.finish();
    if args.json {
        document::print("tune-calibrate", &json!({ "calibration": found }), cx.printer);
    } else {
        let m = &found.machine;
        let rate = |r: f64| format!("{}/s", bytes(r as u64));
        let rows = [
            ("request, in the page cache", seconds(m.request)),
            ("bandwidth, in the page cache", rate(m.bandwidth)),
            ("request, from the disk", found.cold_request.map_or_else(|| "unknown".into(), seconds)),
            ("bandwidth, from the disk", found.cold_bandwidth.map_or_else(|| "unknown".into(), rate)),
            ("a read besides its bytes", seconds(m.read)),
            ("a chunk of the index", format!("{:.1} ns", m.index * 1e9)),
            ("a chunk besides its bytes", seconds(m.chunk)),
            ("a row besides its bytes", format!("{:.1} ns", m.row * 1e9)),
            ("a line of memory that a row begins", format!("{:.1} ns", m.line * 1e9)),
            ("until other threads help", seconds(m.wake)),
            ("handing over values", rate(m.deliver)),
            ("keeping chunks of partial reads", rate(m.keep)),
            ("decoders, beside the default machine", format!("{:.2}", m.decoder)),
            ("threads", format!("{:.0}", m.threads)),
            ("what each more adds to one", format!("{:.2}", m.gain)),
        ];
        for (what, value) in rows {
            cx.printer.line(format!("{what:<38}{value:>12}"));
        }
    }
    if args.dry_run {
        return Ok(Exit::Ok);
    }
    let path = Calibration::path().ok_or_else(|| {
        Failure::usage("there is no home folder to keep the result in", "name a file by NCFORGE_MACHINE")
    })?;
    found.store(&path)?;
    cx.printer.note(format!("kept in {}", path.display()));
    Ok(Exit::Ok)
}
