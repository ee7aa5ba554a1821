//! `ncforge refs`

use std::path::Path;

use ncforge_ops::refs::{RefsFormat, RefsReport, references, write_references};
use ncforge_tune::words::{count, many};

use super::{Context, concat, document, page};
use crate::args::RefsArgs;
use crate::exit::{Exit, Result};
use crate::interrupt;
use crate::printer::Printer;
use ncforge::store::remote::shown_path;

/// Makes the references, writes them, and reports what they hold.
pub(crate) fn run(args: &RefsArgs, cx: &Context<'_>) -> Result {
    let options = args.request().options(Some(&args.output))?;
    let is_printed = args.output == Path::new("-") && options.format == RefsFormat::Kerchunk;
    page::check(&args.output, args.written.overwrite, cx.named)?;
    let engine = cx.engine()?;
    interrupt::catch();
    let progress = cx.printer.progress("refs");
    let report = match is_printed {
        true => references(&args.files, &options, &engine, &progress).map(|made| {
            progress.aside(|| cx.printer.data(&made.json()));
            made.report()
        }),
        false => {
            write_references(&args.files, &args.output, args.written.overwrite, &options, &engine, &progress)
        }
    };
    progress.finish();
    let report = report.map_err(|e| concat::failure(e, &args.output))?;
    for left_out in &report.left_out {
        cx.printer.warn(format_args!("`{}` is not in the references: {}", left_out.name, left_out.why));
    }
    let in_words = document::put("refs", &report, &args.written, cx.printer)?;
    if in_words {
        report.notes.iter().for_each(|note| cx.printer.note(format_args!("note: {note}")));
        if !is_printed {
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
        shown_path(output),
        many(report.variables as u64, "variable"),
        many(report.chunks, part),
        count(report.inlined),
        report.seconds
    ));
}
