//! `ncforge refs`

use std::path::Path;

use ncforge_ops::refs::{RefsReport, references};
use ncforge_ops::words::{count, many};

use super::{Context, document, page};
use crate::args::RefsArgs;
use crate::exit::{Exit, Result};
use crate::interrupt;
use crate::printer::Printer;

/// Makes the references, writes them, and reports what they hold.
pub(crate) fn run(args: &RefsArgs, cx: &Context<'_>) -> Result {
    let options = args.request().options()?;
    page::check(&args.output, args.written.overwrite)?;
    let engine = cx.engine()?;
    interrupt::catch();
    let progress = cx.printer.progress("refs");
    let made = references(&args.files, &options, &engine, &progress);
    progress.finish();
    let made = made?;
    let text = made.json();
    if args.output == Path::new("-") {
        cx.printer.data(&text);
    } else {
        page::write_whole(&args.output, &text, args.written.overwrite)?;
    }
    let report = made.report();
    for left_out in &report.left_out {
        cx.printer.warn(format_args!("`{}` is not in the references: {}", left_out.name, left_out.why));
    }
    let in_words = document::put("refs", &report, &args.written, cx.printer)?;
    if in_words {
        report.notes.iter().for_each(|note| cx.printer.note(format_args!("note: {note}")));
        if args.output != Path::new("-") {
            print(&args.output, &report, cx.printer);
        }
    }
    // Readers of the references get other values than from the files, or fewer.
    Ok(if report.left_out.is_empty() { Exit::Ok } else { Exit::Differences })
}

fn print(output: &Path, report: &RefsReport, printer: &Printer) {
    let along = report.along.as_ref().map_or_else(String::new, |dim| format!(" along {dim}"));
    printer.note(format_args!(
        "{}{along} -> {}: {}, {} in the files, {} in the references, {:.2} s",
        many(report.files as u64, "file"),
        output.display(),
        many(report.variables as u64, "variable"),
        many(report.chunks, "chunk"),
        count(report.inlined),
        report.seconds
    ));
}
