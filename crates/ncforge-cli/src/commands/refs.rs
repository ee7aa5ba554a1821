//! `ncforge refs`

use std::path::Path;

use ncforge_ops::refs::{RefsFormat, RefsReport, archive, references};
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
    let mut text = String::new();
    let report = match options.format {
        RefsFormat::Cf => {
            archive(&args.files, &args.output, args.written.overwrite, &options, &engine, &progress)
        }
        RefsFormat::Kerchunk => references(&args.files, &options, &engine, &progress).map(|made| {
            text = made.json();
            made.report()
        }),
    };
    progress.finish();
    let report = report?;
    if options.format == RefsFormat::Kerchunk {
        if args.output == Path::new("-") {
            cx.printer.data(&text);
        } else {
            page::write_whole(&args.output, &text, args.written.overwrite)?;
        }
    }
    for left_out in &report.left_out {
        cx.printer.warn(format_args!("`{}` is not in the references: {}", left_out.name, left_out.why));
    }
    let in_words = document::put("refs", &report, &args.written, cx.printer)?;
    if in_words {
        report.notes.iter().for_each(|note| cx.printer.note(format_args!("note: {note}")));
        if args.output != Path::new("-") {
            print(&args.output, &report, options.format, cx.printer);
        }
    }
    // Readers of the references get other values than from the files, or fewer.
    Ok(if report.left_out.is_empty() { Exit::Ok } else { Exit::Differences })
}

fn print(output: &Path, report: &RefsReport, format: RefsFormat, printer: &Printer) {
    let (part, stored) = match format {
        RefsFormat::Kerchunk => ("chunk", "in the references"),
        RefsFormat::Cf => ("fragment", "variables stored"),
    };
    let along = report.along.as_ref().map_or_else(String::new, |dim| format!(" along {dim}"));
    printer.note(format_args!(
        "{}{along} -> {}: {}, {} in the files, {} {stored}, {:.2} s",
        many(report.files as u64, "file"),
        output.display(),
        many(report.variables as u64, "variable"),
        many(report.chunks, part),
        count(report.inlined),
        report.seconds
    ));
}
