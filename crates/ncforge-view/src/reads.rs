//! The cost of reads: as a table, and before and after as a chart.

use maud::{Markup, html};
use ncforge_ops::doctor::{Read, VariableAnatomy};
use ncforge_tune::words::{bytes, count, seconds, times};

use crate::svg::{Side, Svg, short};

/// The reads of a variable, a row each.
pub(crate) fn table(v: &VariableAnatomy) -> Markup {
    let chunked = v.chunk.is_some();
    let filtered = v.reads.iter().any(|r| r.decoded > 0);
    html! {
        div.scroll tabindex="0" {
            table {
                caption { "Reads in the middle of " code { (v.path) } ", the first of a program" }
                thead {
                    tr {
                        th scope="col" { "read" } th scope="col" { "takes" }
                        @if chunked { th.number scope="col" { "chunks" } }
                        th.number scope="col" { "wanted" } th.number scope="col" { "from the file" }
                        @if filtered { th.number scope="col" { "decoded" } }
                        th.number scope="col" { "for each byte" } th.number scope="col" { "predicted" }
                    }
                }
                tbody {
                    @for r in &v.reads {
                        tr {
                            th scope="row" { (r.pattern.name) } td.whole { (takes(v, r)) }
                            @if chunked { td.number { (count(r.chunks)) } }
                            td.number { (bytes(r.wanted)) } td.number { (bytes(r.fetched)) }
                            @if filtered { td.number { (bytes(r.decoded)) } }
                            td.number { (times(r.amplification())) } td.number { (seconds(r.before.seconds)) }
                        }
                    }
                }
            }
        }
    }
}

/// How much of each axis a read takes.
fn takes(v: &VariableAnatomy, r: &Read) -> String {
    let one = |((name, len), n): (&(String, u64), &u64)| match n == len {
        true => format!("all {}", short(name, 16)),
        false => format!("{n} {}", short(name, 16)),
    };
    v.axes.iter().zip(&r.pattern.counts).map(one).collect::<Vec<_>>().join(", ")
}

/// Before and after a copy, with the number of reads after which it has paid for itself.
pub(crate) fn before_after(v: &VariableAnatomy) -> Markup {
    let pairs: Vec<(&Read, f64)> = v.reads.iter().filter_map(|r| Some((r, r.after?.seconds))).collect();
    let (Some(better), false) = (&v.better, pairs.is_empty()) else { return html! {} };
    let shape = ncforge_tune::words::shape(better);
    html! {
        figure.chart {
            figcaption {
                strong { "Before and after" }
                span.muted {
                    "Predicted time of one read: as stored (ring), and in chunks of " (shape) " (disc)."
                    @if let Some(s) = v.copying { " Copying this variable takes about " (seconds(s)) "." }
                }
            }
            div.scroll { (chart(&pairs)) }
        }
        div.scroll tabindex="0" {
            table {
                caption { "Predicted by the cost model, at a random place" }
                thead {
                    tr {
                        th scope="col" { "read" } th.number scope="col" { "now" } th.number scope="col" { "after" }
                        th.number scope="col" { "faster" } th.number scope="col" { "pays after" }
                    }
                }
                tbody {
                    @for (r, after) in &pairs {
                        tr {
                            th scope="row" { (r.pattern.name) }
                            td.number { (seconds(r.before.seconds)) } td.number { (seconds(*after)) }
                            td.number { (times(r.before.seconds / after)) }
                            td.number { (pays(v, r, *after)) }
                        }
                    }
                }
            }
        }
    }
}

fn pays(v: &VariableAnatomy, r: &Read, after: f64) -> String {
    match v.breaks_even(r) {
        Some(1) => "1 read".into(),
        Some(n) => format!("{} reads", count(n)),
        None if after >= r.before.seconds => "never: it gets slower".into(),
        None => "not known".into(),
    }
}

fn chart(pairs: &[(&Read, f64)]) -> Markup {
    let all = pairs.iter().flat_map(|(r, after)| [r.before.seconds, *after]);
    let (lo, hi) = all.fold((f64::INFINITY, 0.0f64), |(l, h), s| (l.min(s), h.max(s)));
    // Whole decades, so that the axis has round numbers.
    let (first, last) = (lo.max(1e-9).log10().floor(), hi.max(1e-9).log10().ceil());
    let last = last.max(first + 1.0);
    let (width, left, row) = (860.0, 150.0, 30.0);
    let bottom = 10.0 + row * pairs.len() as f64;
    let mut svg = Svg::new(width, bottom + 26.0);
    let x = |s: f64| left + (s.max(1e-9).log10() - first) / (last - first) * (width - left - 40.0);
    let mut decade = first;
    while decade <= last + 0.5 {
        let at = x(10f64.powf(decade));
        svg.lines("grid", &[((at, 6.0), (at, bottom))]);
        svg.text("axis", (at, bottom + 12.0), Side::Middle, &seconds(10f64.powf(decade)));
        decade += 1.0;
    }
    for (i, (r, after)) in pairs.iter().enumerate() {
        let y = 10.0 + row * (i as f64 + 0.5);
        svg.text("label", (left - 10.0, y), Side::Right, &short(&r.pattern.name, 18));
        let (a, b) = (x(r.before.seconds), x(*after));
        svg.lines(if b <= a { "gain" } else { "loss" }, &[((a, y), (b, y))]);
        svg.dot("ring", (a, y), 6.0);
        svg.dot(if b <= a { "disc" } else { "disc worse" }, (b, y), 6.0);
    }
    let words: Vec<String> = (pairs.iter())
        .map(|(r, after)| format!("{}: {} to {}", r.pattern.name, seconds(r.before.seconds), seconds(*after)))
        .collect();
    svg.named("drawing", &format!("Before and after: {}", words.join("; ")))
}
