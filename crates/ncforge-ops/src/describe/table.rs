//! How a file is stored, for people: a table of CDL comments, one line a variable.

use std::fmt::Write;

use super::storage::{FileStorage, VarStorage};
use ncforge::codec::describe;
use ncforge::model::{Cause, Endian, Fill, Schema};
use ncforge::raw::{Container, Remark, Said};
use ncforge_tune::words::{self, bytes};

/// The columns of the table.
const HEAD: [&str; 7] = ["variable", "type", "shape", "raw", "on disk", "ratio", "stored as"];

/// The storage of a file: totals, one line a variable, notes, and what was left out. Every line is a CDL
/// comment, so that the text may follow a header.
pub fn table(container: &dyn Container, facts: &FileStorage) -> String {
    let schema = container.schema();
    let mut out = String::from("// storage:\n");
    let file = printable(container.store().name());
    let _ = writeln!(out, "//   {file}: {}", totals(schema, facts));
    if !facts.vars.is_empty() {
        out.push_str("//\n");
        push_rows(&mut out, facts.vars.iter().map(|v| row(schema, v)).collect());
    }
    let skipped = schema.skipped.iter().map(|s| match s.cause {
        Cause::Foreign | Cause::NotFollowed | Cause::Absent => format!("left out: {} ({})", s.path, s.why),
        Cause::Damaged { at: Some(at) } => format!("damaged at byte {at}: {} ({})", s.path, s.why),
        Cause::Damaged { at: None } => format!("damaged: {} ({})", s.path, s.why),
        Cause::Unreadable => format!("cannot be read: {} ({})", s.path, s.why),
    });
    let is_said = |path: &String| {
        let mut about = facts.remarks.iter().filter(|r| r.variable.as_ref() == Some(path));
        about.any(|r| matches!(r.said, Said::Unreadable(_)))
    };
    let trouble = facts.vars.iter().filter_map(|v| {
        let (path, why) = (schema.var_path(v.var), v.trouble.as_ref()?);
        (!is_said(&path)).then(|| format!("`{path}` cannot be read: {why}"))
    });
    let notes: Vec<String> =
        facts.remarks.iter().map(Remark::to_string).chain(skipped).chain(trouble).collect();
    if !notes.is_empty() {
        out.push_str("//\n// notes:\n");
        for n in notes {
            let _ = writeln!(out, "//   {n}");
        }
    }
    out
}

fn totals(schema: &Schema, facts: &FileStorage) -> String {
    let mut text = format!("{}, {} on disk", schema.format.kind(), bytes(facts.file_bytes));
    match facts.metadata_bytes {
        Some(meta) => {
            let (data, meta) = (bytes(facts.stored_bytes), bytes(meta));
            let _ = write!(text, " (values {data}, metadata {meta})");
        }
        None => {
            let _ = write!(text, " (values {})", bytes(facts.stored_bytes));
        }
    }
    let _ = write!(text, ", {} of values in memory", bytes(facts.logical_bytes));
    if let Some(r) = facts.ratio() {
        let _ = write!(text, ", ratio {r:.2}");
    }
    text
}

fn row(schema: &Schema, v: &VarStorage) -> [String; 7] {
    let var = schema.var(v.var);
    let shape = schema.shape(v.var);
    let shown = if shape.is_empty() { "scalar".to_owned() } else { words::shape(&shape) };
    [
        printable(&schema.var_path(v.var)),
        printable(schema.type_name(var.dtype)),
        shown,
        bytes(v.logical_bytes),
        v.stored_bytes.map_or_else(|| "?".to_owned(), bytes),
        v.ratio().map_or_else(|| "-".to_owned(), |r| format!("{r:.2}")),
        stored_as(schema, v),
    ]
}

/// Chunks, filters, byte order and fill in a few words.
fn stored_as(schema: &Schema, v: &VarStorage) -> String {
    let var = schema.var(v.var);
    let mut parts = vec![match (&v.chunks, v.chunks_stored, v.chunks_possible) {
        (Some(c), Some(stored), Some(possible)) if stored == possible => {
            format!("{stored} chunk{} of {}", if stored == 1 { "" } else { "s" }, words::shape(c))
        }
        (Some(c), Some(stored), Some(possible)) => {
            format!("{stored} of {possible} chunks of {}", words::shape(c))
        }
        (Some(c), ..) => format!("chunks of {}", words::shape(c)),
        (None, ..) => v.place.to_owned(),
    }];
    parts.extend(v.filters.iter().map(describe));
    parts.extend(v.points.and_then(|p| p.words()));
    if var.endian == Endian::Big && !schema.format.is_classic() {
        parts.push("big-endian".to_owned());
    }
    if var.fill == Fill::None {
        parts.push("not filled".to_owned());
    }
    parts.join(", ")
}

/// Control characters in names would break the table.
fn printable(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}

fn push_rows(out: &mut String, rows: Vec<[String; 7]>) {
    let rows: Vec<[String; 7]> = std::iter::once(HEAD.map(str::to_owned)).chain(rows).collect();
    let width = |c: usize| rows.iter().map(|r| r[c].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..HEAD.len()).map(width).collect();
    for row in &rows {
        let mut line = String::from("//  ");
        for (c, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            // Sizes and the ratio are numbers: to the right.
            let _ = match c {
                3..=5 => write!(line, " {pad}{cell} "),
                _ => write!(line, " {cell}{pad} "),
            };
        }
        out.push_str(line.trim_end());
        out.push('\n');
    }
}
