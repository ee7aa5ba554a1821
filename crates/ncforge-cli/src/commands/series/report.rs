//! What was made of the files, or would be, for people and as JSON.

use std::path::Path;

use ncforge_ops::combine::{OutputReport, SeriesReport, StreamReport};
use ncforge_tune::words::{bytes, many, seconds};

use crate::args::WrittenArgs;
use crate::commands::copy::report::{chosen, tell_digest};
use crate::commands::document;
use crate::exit::Failure;
use crate::printer::Printer;
use ncforge::store::remote::shown_path;

/// Tells what was done, or what would be.
pub(super) fn tell(
    r: &SeriesReport,
    is_plan: bool,
    folder: &Path,
    written: &WrittenArgs,
    printer: &Printer,
) -> Result<(), Failure> {
    let name = if is_plan { "series-plan" } else { "series" };
    let has_text = document::put(name, r, written, printer)?;
    r.streams.iter().for_each(|stream| cautions(stream, printer));
    if !has_text {
        return Ok(());
    }
    for stream in &r.streams {
        match is_plan {
            true => planned(stream, printer),
            false => made(stream, printer),
        }
    }
    let failed = match r.failures {
        0 => String::new(),
        n => format!(", {n} failed"),
    };
    let outputs = many(r.outputs as u64, "output");
    let total = format!(
        "{} of {} -> {}: {outputs}, {} -> {}{}, {}{failed}",
        many(r.files as u64, "file"),
        many(r.streams.len() as u64, "stream"),
        shown_path(folder),
        bytes(r.input_bytes),
        if is_plan { "about " } else { "" },
        bytes(r.output_bytes),
        seconds(r.seconds),
    );
    match is_plan {
        true => printer.line(total),
        false => printer.note(total),
    }
    Ok(())
}

/// Tells what failed, and what users should know of a stream.
fn cautions(stream: &StreamReport, printer: &Printer) {
    for bad in &stream.bad {
        printer.caution(format_args!("`{}` is left out: {}", shown_path(&bad.file), bad.error));
    }
    if let Some(error) = &stream.error {
        printer.caution(format_args!("{}: nothing is made of this stream: {error}", name(stream)));
    }
    for (output, error) in stream.outputs.iter().filter_map(|o| Some((o, o.error.as_ref()?))) {
        printer.caution(format_args!("`{}` is not made: {error}", shown_path(&output.path)));
    }
    let known = |note: &&String| stream.error.as_ref() != Some(*note);
    let notes = [&stream.gaps, &stream.overlaps, &stream.differing, &stream.notes].into_iter().flatten();
    notes.filter(known).for_each(|note| printer.warn(format_args!("{}: {note}", name(stream))));
}

/// A stream's name.
fn name(stream: &StreamReport) -> String {
    match stream.case.is_empty() {
        true => stream.stream.clone(),
        false => format!("{}.{}", stream.case, stream.stream),
    }
}

/// A stream in one line.
fn heading(stream: &StreamReport) -> String {
    let dates = match (&stream.start, &stream.end) {
        (Some(start), Some(end)) => format!(", {start}-{end}"),
        _ => String::new(),
    };
    format!(
        "{}: {}, `{}` has {}{dates}",
        name(stream),
        many(stream.files as u64, "file"),
        stream.along,
        many(stream.length, "step"),
    )
}

/// Tells what was made of a stream.
fn made(stream: &StreamReport, printer: &Printer) {
    if stream.error.is_some() {
        return;
    }
    let states = ["made", "grown", "complete", "unchanged"];
    let count = |state: &str| stream.outputs.iter().filter(|o| o.state == state).count();
    let counted: Vec<String> =
        states.into_iter().filter(|s| count(s) > 0).map(|s| format!("{} {s}", count(s))).collect();
    printer.note(format_args!("{}: {}", heading(stream), counted.join(", ")));
    for output in &stream.outputs {
        printer.detail(format_args!("{}: {}", shown_path(&output.path), output.state));
        tell_digest(output.digest.as_deref(), &shown_path(&output.path), printer);
    }
    chosen(stream.outputs.iter().flat_map(|o| &o.chosen)).iter().for_each(|line| printer.note(line));
}

/// Tells what would be made of a stream.
fn planned(stream: &StreamReport, printer: &Printer) {
    if stream.error.is_some() {
        return;
    }
    printer.line(printer.heading(heading(stream)));
    let widths = |of: &dyn Fn(&OutputReport) -> usize| stream.outputs.iter().map(of).max().unwrap_or(0);
    let file = |o: &OutputReport| o.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let (names, files) = (widths(&|o| o.variable.chars().count()), widths(&|o| file(o).chars().count()));
    for o in &stream.outputs {
        let state = if o.state == "planned" { "" } else { o.state };
        let row = format!(
            "{:names$}  {:files$}  {:>8}  {:>10}  {:>8}  {state}",
            o.variable,
            file(o),
            many(o.steps, "step"),
            bytes(o.bytes),
            seconds(o.seconds),
        );
        printer.line(row.trim_end());
    }
    chosen(stream.outputs.iter().flat_map(|o| &o.chosen)).iter().for_each(|line| printer.line(line));
}
