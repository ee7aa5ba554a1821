//! `ncforge verify`

use ncforge_ops::progress::Progress;
use ncforge_ops::verify::{VerifyReport, verify};
use ncforge_tune::words::{bytes, count, many};
use serde_json::json;

use super::Context;
use super::document;
use super::zip::failure;
use crate::args::VerifyArgs;
use crate::exit::{Exit, Result};
use crate::printer::Printer;
use ncforge::store::remote::shown_path;

/// Verifies one file after the other. With several, all are tried; the first failure gives the exit code.
pub(crate) fn run(args: &VerifyArgs, cx: &Context<'_>) -> Result {
    let engine = cx.engine()?;
    let mut worst = Exit::Ok;
    let mut documents = Vec::new();
    let progress = cx.printer.progress("verify");
    for path in &args.files {
        progress.item(&shown_path(path));
        let found = verify(path, &engine, &progress);
        let exit = match found {
            Ok(report) => {
                let clean = report.problems.is_empty();
                if !args.written.takes_stdout() {
                    progress.aside(|| tell(&report, cx.printer));
                }
                documents.push(serde_json::to_value(&report).expect("a report is plain data"));
                if clean { Exit::Ok } else { Exit::Differences }
            }
            Err(e) => {
                let failure = failure(e);
                documents.push(document::failed(path, &failure));
                progress.aside(|| cx.printer.failure(&failure));
                failure.exit
            }
        };
        worst = if worst == Exit::Ok { exit } else { worst };
    }
    progress.finish();
    document::put("verify", &json!({ "files": documents }), &args.written, cx.printer)?;
    Ok(worst)
}

fn tell(report: &VerifyReport, printer: &Printer) {
    for p in &report.problems {
        let touches = match p.touches.as_slice() {
            [] if p.image.is_some() => " (no values)".to_owned(),
            // Those of other files name their variable.
            _ if report.commit.is_none() => String::new(),
            [] => String::new(),
            names => format!(" (touches {})", names.join(", ")),
        };
        printer.line(format_args!("{}{touches}", p.what));
    }
    let what = match (report.blocks, report.commit) {
        (Some(blocks), Some(commit)) => format!("{} blocks and pages, commit {commit}", count(blocks)),
        _ => format!("{}, {} of values", many(report.variables, "variable"), bytes(report.bytes)),
    };
    report.notes.iter().for_each(|note| printer.warn(format_args!("{}: {}", report.file, note.what)));
    let found = match (report.problems.len() as u64, report.notes.len() as u64) {
        (0, 0) => "all is well".to_owned(),
        (0, n) => format!("no damage, but {}", many(n, "note")),
        (n, _) => many(n, "problem"),
    };
    printer.note(format_args!("{}: {found}: {what}", report.file));
}
