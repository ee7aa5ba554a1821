//! One variable on a page.

use maud::{Markup, html};
use ncforge_ops::doctor::VariableAnatomy;
use ncforge_tune::words::{bytes, many, shape, times};

use crate::{chunks, reads};

/// How it is stored, in words.
fn stored(v: &VariableAnatomy) -> String {
    let lens: Vec<u64> = v.axes.iter().map(|a| a.1).collect();
    let names: Vec<&str> = v.axes.iter().map(|a| a.0.as_str()).collect();
    let mut text = match lens.is_empty() {
        true => "one value".to_owned(),
        false => format!("{} ({})", shape(&lens), names.join(", ")),
    };
    text += &format!(": {} of values, {} in the file", bytes(v.bytes), bytes(v.stored));
    if v.stored > 0 && v.stored < v.bytes {
        text += &format!(" ({} smaller)", times(v.bytes as f64 / v.stored as f64));
    }
    match &v.chunk {
        Some(chunk) => {
            text += &format!("; chunks of {}", shape(chunk));
            if !v.chunks.is_empty() {
                text += &format!(", {} stored", many(v.chunks.len() as u64, "chunk"));
            }
        }
        None => text += "; stored in one run, or in records",
    }
    if !v.filters.is_empty() {
        text += &format!("; {}", v.filters.join(", "));
    }
    if let Some(points) = v.points.and_then(|p| p.words()) {
        text += &format!("; {points}");
    }
    text
}

/// The variable with its drawings.
pub(crate) fn section(v: &VariableAnatomy, id: Option<String>) -> Markup {
    html! {
        section id=[id] {
            h3 { code { (v.path) } }
            p.muted { (stored(v)) "." }
            @if !v.reads.is_empty() { (reads::table(v)) }
            @if v.chunk.is_some() && !v.reads.is_empty() {
                figure {
                    figcaption {
                        strong { "The chunks, with a read on them" }
                        span.muted {
                            "Each rectangle is the array seen along two of its axes."
                            @if chunks::is_coarse(v) { " A line may stand for several chunks." }
                        }
                    }
                    ul.legend {
                        li { svg.key viewBox="0 0 12 12" aria-hidden="true" { rect.wanted width="12" height="12"; } "wanted" }
                        li { svg.key viewBox="0 0 12 12" aria-hidden="true" { rect.touched width="12" height="12"; } "chunks that must be read" }
                        li { svg.key viewBox="0 0 12 12" aria-hidden="true" { rect.untouched width="12" height="12"; } "left alone" }
                    }
                    div.reads {
                        @for read in &v.reads {
                            div {
                                p.read { strong { (read.pattern.name) } " " span.muted { (many(read.chunks, "chunk")) ", " (times(read.amplification())) " what is wanted" } }
                                (chunks::grid(v, read))
                            }
                        }
                    }
                }
            }
            (chunks::sizes(v))
        }
    }
}
