//! Results as one page that needs nothing but itself: no network, no script.

mod parts;
mod section;

use maud::{Markup, html};
use ncforge_view::frame;

use self::parts::{Space, list, rich};
use super::table::{machine, measured, summary};
use crate::result::Results;

const FOOTER: &str = "Times are medians; intervals hold the median with 95 % probability (bootstrap). Repetitions that something else \
    disturbed are left out where at least three others are there.";

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
    let mut space = Space::whole();
    let sections = results
        .sections
        .iter()
        .enumerate()
        .map(|(i, s)| section::section(s, i, results.sections.len() == 1, &mut space))
        .collect::<Vec<Markup>>();
    let title = match &results.sections[..] {
        [one] => format!("ncforge bench: {}", one.title),
        _ => "ncforge bench".to_owned(),
    };
    let header = html! {
        h1 { (rich(&title)) }
        @if !results.environment.ncforge.is_empty() {
            p.muted { (measured(results)) ", ncforge " (results.environment.ncforge) }
        }
    };
    let main = html! {
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
    };
    frame(&title.replace('`', ""), "", &header, &main, FOOTER)
}
