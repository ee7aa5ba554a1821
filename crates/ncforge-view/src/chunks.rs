//! Chunks: the grid with a read on it, and how large every chunk came out.

use maud::{Markup, html};
use ncforge::model::shape;
use ncforge_ops::doctor::{Read, VariableAnatomy};
use ncforge_tune::words::{bytes, count, many};

use crate::svg::{Side, Svg, short};

/// Lines of a grid in one direction, at most; more chunks than this share one.
const MOST_LINES: u64 = 48;
const PANEL: (f64, f64) = (300.0, 150.0);
const MARGIN: (f64, f64) = (52.0, 26.0);
/// Columns of the drawing of sizes.
const BINS: usize = 140;

/// The pairs of axes that are drawn: down and across. `None`: one line of chunks.
fn planes(rank: usize) -> Vec<(Option<usize>, usize)> {
    match rank {
        0 => Vec::new(),
        1 => vec![(None, 0)],
        2 => vec![(Some(0), 1)],
        // The dimension that grows against the fastest, and the two fastest: the map.
        _ => vec![(Some(0), rank - 1), (Some(rank - 2), rank - 1)],
    }
}

/// The grid with one read on it, a drawing for each pair of axes.
pub(crate) fn grid(v: &VariableAnatomy, read: &Read) -> Markup {
    let Some(chunk) = &v.chunk else { return html! {} };
    let name = format!(
        "Chunks of {} with a {} on them: {} touched, {} wanted",
        v.path,
        read.pattern.name,
        many(read.chunks, "chunk"),
        bytes(read.wanted)
    );
    let drawing = |(down, across): (Option<usize>, usize)| {
        let height = if down.is_none() { 70.0 } else { PANEL.1 + MARGIN.1 + 6.0 };
        let mut svg = Svg::new(PANEL.0 + MARGIN.0 + 4.0, height);
        panel(&mut svg, v, chunk, read, (down, across), (MARGIN.0, 4.0));
        match down {
            Some(down) => {
                svg.named("drawing", &format!("{name}; {} and {}", v.axes[down].0, v.axes[across].0))
            }
            None => svg.named("drawing", &name),
        }
    };
    html! { div.panels { @for plane in planes(v.axes.len()) { (drawing(plane)) } } }
}

fn panel(
    svg: &mut Svg,
    v: &VariableAnatomy,
    chunk: &[u64],
    read: &Read,
    (down, across): (Option<usize>, usize),
    (x, y): (f64, f64),
) {
    let size = (PANEL.0, if down.is_some() { PANEL.1 } else { 34.0 });
    // Where elements from..to of an axis lie, in a length of `length` units.
    let span = |axis: usize, from: u64, to: u64, length: f64| {
        let all = v.axes[axis].1.max(1) as f64;
        (from as f64 / all * length, (to - from) as f64 / all * length)
    };
    let touched = |axis: usize| {
        let c = chunk[axis].max(1);
        let end = read.start[axis] + read.pattern.counts[axis];
        (read.start[axis] / c * c, (end.div_ceil(c) * c).min(v.axes[axis].1))
    };
    let wanted = |axis: usize| (read.start[axis], read.start[axis] + read.pattern.counts[axis]);
    let boxed = |of: &dyn Fn(usize) -> (u64, u64)| {
        let (from, to) = of(across);
        let (left, w) = span(across, from, to, size.0);
        let (top, h) = match down {
            Some(axis) => {
                let (from, to) = of(axis);
                span(axis, from, to, size.1)
            }
            None => (0.0, size.1),
        };
        ((x + left, y + top), (w, h))
    };
    svg.rect("untouched", (x, y), size);
    let ((left, top), (w, h)) = boxed(&touched);
    svg.rect("touched", (left, top), (w.max(1.5), h.max(1.5)));
    let mut lines = Vec::new();
    let cuts = |axis: usize| {
        let (c, all) = (chunk[axis].max(1), v.axes[axis].1.max(1));
        let n = all.div_ceil(c);
        let step = n.div_ceil(MOST_LINES);
        (step..n).step_by(step as usize).map(move |i| (i * c) as f64 / all as f64).collect::<Vec<_>>()
    };
    lines.extend(cuts(across).iter().map(|f| ((x + f * size.0, y), (x + f * size.0, y + size.1))));
    if let Some(axis) = down {
        lines.extend(cuts(axis).iter().map(|f| ((x, y + f * size.1), (x + size.0, y + f * size.1))));
    }
    svg.lines("cut", &lines);
    let ((left, top), (w, h)) = boxed(&wanted);
    // A read thinner than a line must be visible all the same.
    let (w2, h2) = (w.max(4.0), h.max(4.0));
    svg.rect("wanted", ((left - (w2 - w) / 2.0).max(x), (top - (h2 - h) / 2.0).max(y)), (w2, h2));
    let axis_name = |axis: usize| format!("{} {}", short(&v.axes[axis].0, 18), count(v.axes[axis].1));
    svg.text("axis", (x + size.0 / 2.0, y + size.1 + 13.0), Side::Middle, &axis_name(across));
    if let Some(axis) = down {
        // Stands upright: turned words are hard to read, so the name is short.
        svg.text("axis", (x - 4.0, y + 8.0), Side::Right, &short(&v.axes[axis].0, 6));
    }
}

/// Whether lines of the grid stand for several chunks each.
pub(crate) fn is_coarse(v: &VariableAnatomy) -> bool {
    let Some(chunk) = &v.chunk else { return false };
    v.axes.iter().zip(chunk).any(|(a, &c)| a.1.div_ceil(c.max(1)) > MOST_LINES)
}

/// Stored bytes of every chunk, in the order of the file.
pub(crate) fn sizes(v: &VariableAnatomy) -> Markup {
    if v.chunks.len() < 2 {
        return html! {};
    }
    let mut sorted: Vec<u64> = v.chunks.iter().map(|c| c.len).collect();
    sorted.sort_unstable();
    let (least, middle, most) = (sorted[0], sorted[sorted.len() / 2], sorted[sorted.len() - 1]);
    let raw = shape::product(v.chunk.iter().flatten().copied()).saturating_mul(v.element);
    let top = most.max(1) as f64;
    let (width, height, left) = (860.0, 120.0, 84.0);
    let mut svg = Svg::new(width, height + 8.0);
    let bins = BINS.min(v.chunks.len());
    let step = (width - left - 6.0) / bins as f64;
    for share in [0.0, 0.5, 1.0] {
        let y = 6.0 + (height - 12.0) * (1.0 - share);
        svg.lines("grid", &[((left, y), (width - 4.0, y))]);
        svg.text("axis", (left - 6.0, y), Side::Right, &bytes((top * share) as u64));
    }
    for bin in 0..bins {
        let part = &v.chunks[bin * v.chunks.len() / bins..(bin + 1) * v.chunks.len() / bins];
        let (lo, hi) = part.iter().fold((u64::MAX, 0), |(l, h), c| (l.min(c.len), h.max(c.len)));
        let mean = part.iter().map(|c| c.len as f64).sum::<f64>() / part.len().max(1) as f64;
        let y = |n: f64| 6.0 + (height - 12.0) * (1.0 - n / top);
        let x = left + bin as f64 * step;
        svg.rect("bar", (x, y(mean)), ((step - 1.0).max(0.8), y(0.0) - y(mean)));
        if hi > lo {
            svg.lines("whisker", &[((x + step / 2.0, y(hi as f64)), (x + step / 2.0, y(lo as f64)))]);
        }
    }
    let words = format!(
        "{}, of {} of values each; stored smallest {}, median {}, largest {}",
        many(v.chunks.len() as u64, "chunk"),
        bytes(raw),
        bytes(least),
        bytes(middle),
        bytes(most)
    );
    html! {
        figure.chart {
            figcaption {
                strong { "Stored size of each chunk" }
                span.muted { (words) ". In the order of the file" @if bins < v.chunks.len() { "; a bar is the mean of several, its line reaches from the smallest to the largest" } "." }
            }
            div.scroll { (svg.named("drawing", &words)) }
        }
    }
}
