//! A map of the file's bytes: metadata, values of each variable, nothing.

use std::collections::HashMap;

use maud::{Markup, html};
use ncforge_ops::doctor::{Anatomy, Use};
use ncforge_tune::words::bytes;

use crate::svg::Svg;

/// Cells of a line, and lines.
const COLUMNS: usize = 96;
const LINES: usize = 16;
const CELL: (f64, f64) = (9.0, 12.0);
/// Variables with a colour of their own; all others share one.
pub(crate) const COLOURS: usize = 5;

/// The variables with most bytes, in the order of their colours.
pub(crate) fn largest(file: &Anatomy) -> Vec<usize> {
    let mut order: Vec<usize> = (0..file.variables.len()).filter(|&i| file.variables[i].stored > 0).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(file.variables[i].stored), i));
    order.truncate(COLOURS);
    order
}

/// The style's class of what bytes are for.
fn class(what: Use, coloured: &[usize]) -> String {
    match what {
        Use::Metadata => "meta".into(),
        Use::Nothing => "free".into(),
        Use::Records => "v6".into(),
        Use::Data(i) => match coloured.iter().position(|&c| c == i) {
            Some(n) => format!("v{}", n + 1),
            None => "v6".into(),
        },
    }
}

/// The main use of each cell of equal bytes. Metadata is never hidden by what is larger.
fn cells(file: &Anatomy, n: usize) -> Vec<Use> {
    let mut share: Vec<HashMap<Use, u64>> = vec![HashMap::new(); n];
    let edge = |i: usize| (u128::from(file.bytes) * i as u128 / n as u128) as u64;
    let mut i = 0;
    for run in &file.runs {
        let end = run.from + run.len;
        while i + 1 < n && edge(i + 1) <= run.from {
            i += 1;
        }
        let mut k = i;
        while k < n && edge(k) < end {
            let inside = end.min(edge(k + 1)).saturating_sub(run.from.max(edge(k)));
            *share[k].entry(run.what).or_default() += inside;
            k += 1;
        }
    }
    let most = |uses: &HashMap<Use, u64>| {
        let all: u64 = uses.values().sum();
        if uses.get(&Use::Metadata).is_some_and(|&m| m * 8 >= all && m > 0) {
            return Use::Metadata;
        }
        let order = |u: &Use| match u {
            Use::Data(i) => (0, *i),
            Use::Records => (1, 0),
            Use::Metadata => (2, 0),
            Use::Nothing => (3, 0),
        };
        let mut list: Vec<(&Use, &u64)> = uses.iter().filter(|u| *u.1 > 0).collect();
        list.sort_by_key(|(u, n)| (std::cmp::Reverse(**n), order(u)));
        list.first().map_or(Use::Nothing, |u| *u.0)
    };
    share.iter().map(most).collect()
}

/// The map with its legend.
pub(crate) fn map(file: &Anatomy) -> Markup {
    if file.bytes == 0 {
        return html! { p.note { "The file is empty." } };
    }
    let coloured = largest(file);
    let n = (COLUMNS * LINES).min(usize::try_from(file.bytes).unwrap_or(usize::MAX)).max(1);
    let lines = n.div_ceil(COLUMNS);
    let mut svg = Svg::new(COLUMNS as f64 * CELL.0, lines as f64 * CELL.1);
    let cells = cells(file, n);
    // Neighbours of one use are one rectangle.
    let mut i = 0;
    while i < n {
        let line_end = (i / COLUMNS + 1) * COLUMNS;
        let mut j = i + 1;
        while j < n.min(line_end) && cells[j] == cells[i] {
            j += 1;
        }
        let at = ((i % COLUMNS) as f64 * CELL.0, (i / COLUMNS) as f64 * CELL.1);
        svg.rect(&class(cells[i], &coloured), at, ((j - i) as f64 * CELL.0, CELL.1 - 1.5));
        i = j;
    }
    let mut legend: Vec<(String, String, u64)> =
        vec![("meta".into(), "metadata".into(), file.bytes_for(Use::Metadata))];
    for (k, &i) in coloured.iter().enumerate() {
        legend.push((format!("v{}", k + 1), file.variables[i].path.clone(), file.bytes_for(Use::Data(i))));
    }
    let named: u64 = legend.iter().map(|l| l.2).sum();
    let nothing = file.bytes_for(Use::Nothing);
    let others = file.bytes.saturating_sub(named).saturating_sub(nothing);
    if others > 0 {
        legend.push(("v6".into(), "other variables, and records of several".into(), others));
    }
    legend.push(("free".into(), "free, padding, heaps of strings".into(), nothing));
    let words: Vec<String> = legend.iter().map(|l| format!("{} {}", l.1, bytes(l.2))).collect();
    html! {
        figure {
            figcaption {
                strong { "Where the bytes are" }
                span.muted { "From the first byte (top left) to the last, line by line; a cell is " (bytes(file.bytes.div_ceil(n as u64))) "." }
            }
            div.scroll { (svg.named("drawing", &format!("Map of the file's bytes: {}", words.join(", ")))) }
            ul.legend {
                @for (class, name, size) in &legend {
                    li { svg.key viewBox="0 0 12 12" aria-hidden="true" { rect class=(class) width="12" height="12"; } (name) " " span.muted { (bytes(*size)) } }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ncforge_ops::doctor::Run;

    use super::*;

    #[test]
    fn cells_are_what_most_of_them_is_for() {
        let run = |from, len, what| Run { from, len, what };
        let file = Anatomy {
            file: "f".into(),
            format: "netCDF-4",
            bytes: 100,
            runs: vec![
                run(0, 5, Use::Metadata),
                run(5, 45, Use::Data(0)),
                run(50, 40, Use::Nothing),
                run(90, 10, Use::Data(1)),
            ],
            variables: Vec::new(),
        };
        // Metadata shows where it takes an eighth of a cell.
        let got = cells(&file, 4);
        assert_eq!(got, [Use::Metadata, Use::Data(0), Use::Nothing, Use::Nothing]);
        assert_eq!(cells(&file, 10)[9], Use::Data(1));
        assert_eq!(cells(&file, 1), [Use::Data(0)]);
    }
}
