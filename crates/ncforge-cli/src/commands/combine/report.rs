//! How tiles lie and what a combination did, or would do, for people and as JSON.

use ncforge::model::shape;
use ncforge_ops::combine::{CombinePlan, CombineReport, Picture};
use ncforge_tune::words::{bytes, many};

use crate::args::WrittenArgs;
use crate::commands::copy::report::{print_plan as copy_plan, tell};
use crate::commands::document;
use crate::exit::{Failure, Result};
use crate::printer::Printer;

/// Holes that are listed.
const MOST_HOLES: usize = 8;

/// Tells what was done.
pub(crate) fn done(r: &CombineReport, written: &WrittenArgs, printer: &Printer) -> Result<(), Failure> {
    if document::put("combine", r, written, printer)? {
        print_done(r, printer);
    } else {
        r.notes.iter().for_each(|note| printer.warn(note));
    }
    Ok(())
}

/// Prints the report in words.
pub(crate) fn print_done(r: &CombineReport, printer: &Printer) {
    r.notes.iter().for_each(|note| printer.warn(note));
    if !r.copy.was_complete {
        warn_of_holes(r, printer);
    }
    let removed = match r.tiles_removed {
        0 => String::new(),
        n => format!("{} removed, ", many(n as u64, "tile")),
    };
    tell(&r.copy, &many(r.tiles as u64, &format!("{} tile", r.scheme)), &removed, printer);
}

/// Names the places that are in no tile.
pub(crate) fn warn_of_holes(r: &CombineReport, printer: &Printer) {
    r.mosaics.iter().filter(|m| m.hole_points > 0).for_each(|m| printer.warn(holes(m)));
}

fn holes(m: &Picture) -> String {
    let all: u64 = shape::elements(&m.shape);
    let are = if m.hole_points == 1 { "is" } else { "are" };
    let mut text = format!("{} of {all} points of ({}) {are} in no tile", m.hole_points, m.dims.join(", "));
    for (i, (start, count)) in m.holes.iter().take(MOST_HOLES).enumerate() {
        let ranges: Vec<String> = start.iter().zip(count).map(|(s, n)| format!("{s}..{}", s + n)).collect();
        text += if i == 0 { ": " } else { "; " };
        text += &ranges.join(" x ");
    }
    if m.holes.len() > MOST_HOLES {
        text += &format!(" and {} more", m.holes.len() - MOST_HOLES);
    }
    text
}

/// Tells how the tiles lie and what would be done.
pub(crate) fn plan(p: &CombinePlan, written: &WrittenArgs, printer: &Printer) -> Result<(), Failure> {
    if document::put("combine-plan", p, written, printer)? {
        print_plan(p, printer);
    }
    Ok(())
}

/// Prints the plan in words.
pub(crate) fn print_plan(p: &CombinePlan, printer: &Printer) {
    for note in &p.notes {
        printer.warn(note);
    }
    printer.line(printer.heading(format_args!(
        "{} of the scheme {}, {}",
        many(p.tiles as u64, "tile"),
        p.scheme,
        bytes(p.tile_bytes)
    )));
    if !p.missing.is_empty() {
        let list: Vec<String> = p.missing.iter().take(20).map(u64::to_string).collect();
        let more = if p.missing.len() > 20 { ", …" } else { "" };
        printer.line(format_args!("missing tiles: {}{more}", list.join(", ")));
    }
    for m in &p.mosaics {
        let shape: Vec<String> = m.shape.iter().map(u64::to_string).collect();
        let lattice: Vec<String> = m.lattice.iter().map(usize::to_string).collect();
        let mut line = format!(
            "({}) = {}: {}, lattice {}",
            m.dims.join(", "),
            shape.join(" x "),
            many(m.tiles as u64, "tile"),
            lattice.join(" x ")
        );
        if m.halo.iter().any(|&h| h > 0) {
            let halo: Vec<String> = m.halo.iter().map(u64::to_string).collect();
            line += &format!(", halo {} cut off", halo.join(" x "));
        }
        printer.line(line);
        // A row of one-dimensional coordinates says nothing that the map does not.
        if m.dims.len() > 1 || p.mosaics.iter().all(|m| m.dims.len() == 1) {
            for row in &m.drawing {
                printer.line(format_args!("  {row}"));
            }
        }
        if m.hole_points > 0 {
            printer.line(holes(m));
        }
    }
    copy_plan(&p.copy, printer);
}
