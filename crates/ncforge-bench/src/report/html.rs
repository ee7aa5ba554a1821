//! Results as one page that needs nothing but itself: no network, no script.

mod section;

use maud::{DOCTYPE, Markup, PreEscaped, html};

use ncforge_view::STYLE;

use super::table::{Table, machine, measured, summary};
use crate::result::Results;

/// Pictures of a page have at most so many bytes together; what does not fit is named.
const PICTURES: usize = 2 << 20;
/// Tables of a page have at most so many rows together.
const ROWS: usize = 2500;

/// What is left of the room on a page.
struct Room {
    pictures: usize,
    rows: usize,
}

/// The page: what was found in words, tables, charts, the machine.
///
/// ```
/// use ncforge_bench::report::results_page;
/// use ncforge_bench::result::{Measurement, Results, Row, Section};
///
/// let mut row = Row::new("by <hand>", "write", 1000);
/// row.measurements = vec![Measurement::of(0.5)];
/// let results = Results::of(vec![Section { rows: vec![row], ..Section::new("example", "An example") }]);
/// let page = results_page(&results);
/// assert!(page.starts_with("<!DOCTYPE html>") && page.contains("by &lt;hand&gt;"));
/// ```
pub fn results_page(results: &Results) -> String {
    let mut room = Room { pictures: PICTURES, rows: ROWS };
    let sections = results
        .sections
        .iter()
        .enumerate()
        .map(|(i, s)| section::section(s, i, results.sections.len() == 1, &mut room))
        .collect::<Vec<Markup>>();
    let title = match &results.sections[..] {
        [one] => format!("ncforge bench: {}", one.title),
        _ => "ncforge bench".to_owned(),
    };
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title.replace('`', "")) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) }
            }
            body {
                header {
                    h1 { (rich(&title)) }
                    @if !results.environment.ncforge.is_empty() {
                        p.muted { (measured(results)) ", ncforge " (results.environment.ncforge) }
                    }
                }
                main {
                    section.summary #summary {
                        h2 { "What was found" }
                        (list(&summary(results)))
                    }
                    @if results.sections.len() > 1 {
                        nav aria-label="Sections" {
                            ol {
                                @for (i, s) in results.sections.iter().enumerate() {
                                    li { a href=(format!("#section-{i}")) { (rich(&s.title)) } }
                                }
                                li { a href="#machine" { "Machine" } }
                            }
                        }
                    }
                    @for s in &sections { (s) }
                    section #machine {
                        h2 { "Machine" }
                        dl {
                            @for (name, value) in machine(results) {
                                dt { (name) }
                                dd { (value) }
                            }
                        }
                    }
                }
                footer {
                    p { "Times are medians; intervals hold the median with 95 % probability (bootstrap). Repetitions that something else disturbed are left out where at least three others are there." }
                }
            }
        }
    };
    page.into_string()
}

fn list(texts: &[String]) -> Markup {
    html! {
        @if !texts.is_empty() {
            ul { @for text in texts { li { (rich(text)) } } }
        }
    }
}

/// Words with what stands between backquotes as code.
fn rich(text: &str) -> Markup {
    html! {
        @for (i, part) in text.split('`').enumerate() {
            @if i % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The first rows of a table, as many as there is room for.
fn table(caption: &str, table: &Table, room: &mut Room) -> Markup {
    let shown = table.rows.len().min(room.rows);
    room.rows -= shown;
    let left_out = table.rows.len() - shown;
    let class = |c: usize| if table.head[c].starts_with('#') { "number" } else { "text" };
    html! {
        div.scroll tabindex="0" {
            table {
                caption { (caption) }
                thead {
                    tr {
                        @for (c, h) in table.head.iter().enumerate() {
                            th scope="col" class=(class(c)) { (h.trim_start_matches('#')) }
                        }
                    }
                }
                tbody {
                    @for row in table.rows.iter().take(shown) {
                        tr class=[row.iter().any(|c| c == "WRONG").then_some("wrong")] {
                            @for (c, cell) in row.iter().enumerate() {
                                @if c == 0 { th scope="row" class="text" { (cell) } }
                                @else { td class=(class(c)) { (cell) } }
                            }
                        }
                    }
                }
            }
        }
        @if left_out > 0 { p.note { (left_out) " more rows stand in the saved result only." } }
    }
}
