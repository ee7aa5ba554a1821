//! `ncforge tune`

use ncforge_ops::choosing::{Tuned, tune_chunks};
use ncforge_tune::Calibration;
use ncforge_tune::words::{bytes, seconds};
use serde_json::json;

use super::{Context, document};
use crate::args::{CalibrateArgs, Tune, TuneArgs, TuneChunksArgs};
use crate::exit::{Exit, Failure, Result};

/// Does what was asked for.
pub(crate) fn run(args: &TuneArgs, cx: &Context<'_>) -> Result {
    match &args.what {
        Tune::Chunks(a) => chunks(a, cx),
        Tune::Calibrate(a) => calibrate(a, cx),
    }
}

fn chunks(args: &TuneChunksArgs, cx: &Context<'_>) -> Result {
    let request = args.request()?;
    let progress = cx.printer.progress("tune chunks");
    let found = tune_chunks(&args.file, &request, &cx.engine()?)?;
    progress.finish();
    if !document::put("tune-chunks", &found, &args.written, cx.printer)? {
        return Ok(Exit::Ok);
    }
    for Tuned { variable, choice, why } in &found.variables {
        cx.printer.line(cx.printer.heading(variable));
        let reasons = choice.iter().flat_map(|choice| choice.reasons.iter().map(String::as_str));
        for line in reasons.chain(*why) {
            cx.printer.line(format!("  {line}"));
        }
    }
    Ok(Exit::Ok)
}

fn calibrate(args: &CalibrateArgs, cx: &Context<'_>) -> Result {
    let folder = args.folder.clone().unwrap_or_else(std::env::temp_dir);
    let progress = cx.printer.progress("tune calibrate");
    let found = ncforge_bench::calibrate::calibrate(&folder, cx.threads())?;
    progress.finish();
    if document::put("tune-calibrate", &json!({ "calibration": found }), &args.written, cx.printer)? {
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
            ("decoders, relative to the default machine", format!("{:.2}", m.decoder)),
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
