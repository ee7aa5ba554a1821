//! What joining files did, or would do, for people and as JSON.

use ncforge_ops::combine::{ConcatPlan, ConcatReport};
use ncforge_tune::words::{bytes, many};

use crate::args::WrittenArgs;
use crate::commands::copy::report::{print_plan, tell};
use crate::commands::document;
use crate::exit::Failure;
use crate::printer::Printer;

/// Tells what was done.
pub(super) fn done(r: &ConcatReport, written: &WrittenArgs, printer: &Printer) -> Result<(), Failure> {
    r.notes.iter().for_each(|note| printer.warn(note));
    if document::put("concat", r, written, printer)? {
        let facts = format!("`{}` has {}, ", r.along, many(r.length, "step"));
        tell(&r.copy, &many(r.files as u64, "file"), &facts, printer);
    }
    Ok(())
}

/// Tells what would be done.
pub(super) fn plan(p: &ConcatPlan, written: &WrittenArgs, printer: &Printer) -> Result<(), Failure> {
    if !document::put("concat-plan", p, written, printer)? {
        return Ok(());
    }
    let joined = p.notes.iter().filter(|note| !p.copy.notes.contains(note));
    joined.for_each(|note| printer.warn(note));
    printer.line(printer.heading(format_args!(
        "{} along `{}`: {}, {}",
        many(p.files as u64, "file"),
        p.along,
        many(p.length, "step"),
        bytes(p.bytes)
    )));
    print_plan(&p.copy, printer);
    Ok(())
}
