//! What joining files did, or would do, for people and as JSON.

use ncforge_ops::combine::{ConcatPlan, ConcatReport};
use ncforge_ops::words::{bytes, many};

use crate::args::WrittenArgs;
use crate::commands::copy::report::{ending, print_plan, tell_digest};
use crate::commands::document;
use crate::exit::Failure;
use crate::printer::Printer;

/// Tells what was done.
pub(super) fn done(r: &ConcatReport, written: &WrittenArgs, printer: &Printer) -> Result<(), Failure> {
    r.notes.iter().for_each(|note| printer.warn(note));
    if !document::put("concat", r, written, printer)? {
        return Ok(());
    }
    let c = &r.copy;
    if c.was_complete {
        printer.note(format_args!("{} is complete already", c.output));
        return Ok(());
    }
    printer.note(format_args!(
        "{} -> {}: `{}` has {}, {} {} -> {} {}, {} ({} moved as they are), {:.2} s ({}/s){}",
        many(r.files as u64, "file"),
        c.output,
        r.along,
        many(r.length, "step"),
        bytes(c.input_bytes),
        c.source_format,
        bytes(c.output_bytes),
        c.format,
        many(c.variables as u64, "variable"),
        c.raw_variables,
        c.seconds,
        bytes((c.values_bytes as f64 / c.seconds.max(1e-3)) as u64),
        ending(c)
    ));
    tell_digest(c, printer);
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
