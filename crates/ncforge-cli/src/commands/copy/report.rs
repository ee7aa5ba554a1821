//! Reports and plans of copies, for people and as JSON.

use ncforge_ops::copy::{ChosenChunks, CopyReport, Plan};
use ncforge_ops::digest::line;
use ncforge_tune::words::{bytes, many};

use crate::args::WrittenArgs;
use crate::commands::document;
use crate::exit::{Failure, Result};
use crate::printer::Printer;

/// Tells what was done.
pub(super) fn done(r: &CopyReport, written: &WrittenArgs, printer: &Printer) -> Result<(), Failure> {
    for note in &r.notes {
        printer.warn(note);
    }
    if document::put("copy", r, written, printer)? {
        tell(r, &r.input, "", printer);
    }
    Ok(())
}

/// Tells what became of an output: a line, in which `facts` stand in front of what every output has, the digest, if it was asked for, and
/// chunks that were chosen.
pub(crate) fn tell(r: &CopyReport, from: &str, facts: &str, printer: &Printer) {
    printer.note(summary(r, from, facts));
    tell_digest(r.digest.as_deref(), &r.output, printer);
    if !r.was_complete {
        chosen(&r.chosen).iter().for_each(|line| printer.note(line));
    }
}

/// Prints the digest of an output, if it was asked for.
pub(crate) fn tell_digest(digest: Option<&str>, output: &str, printer: &Printer) {
    if let Some(digest) = digest {
        printer.line(line(digest, output));
    }
}

/// An output in one line.
pub(super) fn summary(r: &CopyReport, from: &str, facts: &str) -> String {
    if r.was_complete {
        return format!("{} is complete already", r.output);
    }
    let rate = r.values_bytes as f64 / r.seconds.max(1e-3);
    let moved = match r.raw_variables {
        0 => String::new(),
        n => format!(" ({n} moved as they are)"),
    };
    let resumed = match r.resumed_steps {
        0 => String::new(),
        1 => ", 1 step was done before".to_owned(),
        n => format!(", {n} steps were done before"),
    };
    format!(
        "{from} -> {}: {facts}{} {} -> {} {}, {}{moved}, {:.2} s ({}/s){resumed}{}",
        r.output,
        bytes(r.input_bytes),
        r.source_format,
        bytes(r.output_bytes),
        r.format,
        many(r.variables as u64, "variable"),
        r.seconds,
        bytes(rate as u64),
        if r.verified { ", verified" } else { "" },
    )
}

/// Lines about chunks that were chosen: variables that differ in their names only share one.
pub(crate) fn chosen<'a>(list: impl IntoIterator<Item = &'a ChosenChunks>) -> Vec<String> {
    let mut kinds: Vec<(Vec<&str>, &ChosenChunks)> = Vec::new();
    for one in list {
        match kinds.iter_mut().find(|(_, c)| c.chunks == one.chunks && c.slower == one.slower) {
            // Several outputs have it.
            Some((names, _)) if names.contains(&one.variable.as_str()) => {}
            Some((names, _)) => names.push(&one.variable),
            None => kinds.push((vec![&one.variable], one)),
        }
    }
    let words = |(names, c): (Vec<&str>, &ChosenChunks)| {
        ChosenChunks { variable: names.join(", "), ..c.clone() }.words()
    };
    kinds.into_iter().map(words).collect()
}

/// Tells what would be done.
pub(super) fn plan(p: &Plan, written: &WrittenArgs, printer: &Printer) -> Result<(), Failure> {
    if document::put("copy-plan", p, written, printer)? {
        print_plan(p, printer);
    }
    Ok(())
}

/// Prints the plan in words.
pub(crate) fn print_plan(p: &Plan, printer: &Printer) {
    for note in &p.notes {
        printer.warn(note);
    }
    printer.line(printer.heading(format_args!("{} ({}) -> {}", p.input, p.source_format, p.format)));
    let mut rows = vec![["variable", "values", "from", "to", "way", "boxes", "passes"].map(String::from)];
    for v in &p.variables {
        rows.push([
            v.name.clone(),
            bytes(v.values_bytes),
            v.source.clone(),
            v.target.clone(),
            v.route.to_string(),
            v.boxes.to_string(),
            format!("{:.1}", v.passes),
        ]);
    }
    let widths: Vec<usize> =
        (0..7).map(|i| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0)).collect();
    for row in &rows {
        let cells: Vec<String> = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(i, (cell, &w))| {
                // Names and storage read from the left, numbers from the right.
                if matches!(i, 1 | 5 | 6) { format!("{cell:>w$}") } else { format!("{cell:<w$}") }
            })
            .collect();
        printer.line(cells.join("  ").trim_end());
    }
    for v in &p.variables {
        let choices = [v.codec.as_ref().map(|c| &c.reasons), v.choice.as_ref().map(|c| &c.reasons)];
        for reasons in choices.into_iter().flatten() {
            for (i, reason) in reasons.iter().enumerate() {
                match i {
                    0 => printer.line(format_args!("{}: {reason}", v.name)),
                    _ => printer.line(format_args!("  {reason}")),
                }
            }
        }
    }
    for line in chosen(p.variables.iter().filter_map(|v| v.reads.as_ref())) {
        printer.line(line);
    }
    let t = &p.totals;
    printer.line(format_args!(
        "{} of values; read {}, decode {}, encode {}, write about {}{}",
        bytes(t.values_bytes),
        bytes(t.read),
        bytes(t.decoded),
        bytes(t.encoded),
        bytes(t.written),
        match t.spilled {
            0 => String::new(),
            n => format!(", temporary file of {}", bytes(n)),
        },
    ));
    let largest = p.variables.iter().map(|v| v.memory).max().unwrap_or(0);
    printer.line(format_args!(
        "memory: boxes up to {} of a budget of {}; {}; about {} s",
        bytes(largest),
        bytes(p.memory),
        many(p.threads as u64, "thread"),
        t.seconds.ceil(),
    ));
}
