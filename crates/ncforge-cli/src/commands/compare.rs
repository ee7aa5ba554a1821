//! `ncforge compare`

use ncforge::Dataset;
use ncforge_ops::compare::{Comparison, compare};
use ncforge_tune::words::{bytes, count, many};

use super::{Context, document};
use crate::args::CompareArgs;
use crate::exit::{Exit, Result};
use crate::printer::Printer;

/// Runs the command.
pub(crate) fn run(args: &CompareArgs, cx: &Context<'_>) -> Result {
    let options = args.request().options()?;
    let progress = cx.printer.progress("compare");
    let engine = cx.engine()?;
    let left = Dataset::open_with(&args.left, &engine)?;
    let right = Dataset::open_with(&args.right, &engine)?;
    let found = compare(&left, &right, &options, &progress);
    progress.finish();
    let found = found?;
    let mut value = serde_json::to_value(&found).expect("a comparison is plain data");
    value["same"] = found.is_same().into();
    if document::put("compare", &value, &args.written, cx.printer)? {
        tell(&found, cx.printer);
    }
    Ok(if found.is_same() { Exit::Ok } else { Exit::Differences })
}

fn tell(found: &Comparison, printer: &Printer) {
    for d in &found.differences {
        printer.line(d);
    }
    for what in &found.not_compared {
        printer.line(format_args!("not compared: {what}"));
    }
    for note in &found.notes {
        printer.detail(format_args!("note: {note}"));
    }
    let compared = format!(
        "{}, {} ({}) compared",
        many(found.variables, "variable"),
        many(found.values, "value"),
        bytes(found.bytes)
    );
    match found.differences.len() as u64 {
        0 if !found.not_compared.is_empty() => {
            printer.note(format_args!("the same as far as it was compared: {compared}"));
        }
        0 => printer.note(format_args!("the same: {compared}")),
        n => printer.note(format_args!(
            "{}: {compared}, {} differ",
            many(n, "difference"),
            count(found.differing_values)
        )),
    }
}
