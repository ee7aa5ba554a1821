//! One workload on the page.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::parts::{Space, list, rich, table};
use crate::report::chart::{self, Chart, Point};
use crate::report::table::{ONLY, phase, published};
use crate::result::{Row, Section, View};

/// More bars than this are not drawn: a view shows more.
const BARS: usize = 40;
/// Rows whose ranks are drawn, at most.
const LANES: usize = 6;

/// The section with this number. Of an only section, all words that the summary has are not said again.
pub(super) fn section(s: &Section, number: usize, only: bool, space: &mut Space) -> Markup {
    let mut parts: Vec<Markup> = Vec::new();
    let others = published(s);
    // Published figures are the reason for the page.
    let others = (!others.rows.is_empty()).then(|| table("Published figures", &others, space));
    let heated = s.views.iter().any(|v| matches!(v, View::Heat { .. }));
    for label in s.labels() {
        let rows = s.labelled(&label);
        let mut charts = Vec::new();
        if rows.len() <= BARS && !(heated && rows.len() > BARS / 2) {
            charts.extend(chart::bars(&label, &rows));
        }
        charts.extend(chart::latency(&label, &rows));
        parts.push(html! {
            h3 { (label) }
            @for c in charts { (figure(c, space)) }
            (table(&format!("{}: {label}", s.workload), &phase(s, &label), space))
        });
    }
    let mut charts = Vec::new();
    for view in &s.views {
        charts.extend(view_chart(s, view));
    }
    let mut ranks = Vec::new();
    let several = s.rows.iter().any(|r| r.lanes.len() > 1);
    for row in s.rows.iter().filter(|r| r.lanes.len() > 1 || !several).take(LANES) {
        ranks.extend(chart::lanes(row));
    }
    html! {
        section id=(format!("section-{number}")) {
            h2 { (rich(&s.title)) }
            @if !only || s.words.len() > ONLY { (list(&s.words)) }
            @if let Some(others) = &others { h3 { "Theirs and ours" } (others) }
            @for c in charts { (figure(c, space)) }
            @for part in &parts { (part) }
            @if !ranks.is_empty() { h3 { "Ranks over time" } }
            @for c in ranks { (figure(c, space)) }
            @for note in &s.notes { p.note { "Note: " (rich(note)) } }
        }
    }
}

fn figure(c: Chart, space: &mut Space) -> Markup {
    if c.svg.len() > space.pictures {
        return html! { p.note { "This page cannot take the chart “" (c.title) "”." } };
    }
    space.pictures -= c.svg.len();
    // The picture has a name for those who do not see it.
    let svg = c.svg.named("plot", &format!("{}. {}", c.title, c.words));
    html! {
        figure {
            figcaption { strong { (c.title) } span.muted { " " (c.words) } }
            div.scroll { (svg) }
        }
    }
}

fn view_chart(s: &Section, view: &View) -> Option<Chart> {
    match view {
        View::Heat { title, phase, only, across, down, columns } => {
            let of = |r: &&Row| phase.is_empty() || r.label() == *phase;
            let rows: Vec<&Row> = s.rows.iter().filter(of).filter(|r| has(r, only)).collect();
            // The front of the same rows, if there is one.
            let front = s.views.iter().find_map(|v| match v {
                View::Front { across, up, chosen, only: o, .. } if o == only => {
                    Some((front_points(s, across, up, only), chosen.clone()))
                }
                _ => None,
            });
            let (points, chosen) = front.unwrap_or_default();
            let best: Vec<&str> = chart::unbeaten(&points).iter().map(|p| p.case.as_str()).collect();
            chart::heat(title, &rows, (across, down), *columns, &|r| best.contains(&r.case.as_str()), &|r| {
                chosen.is_some() && r.facts.get("chunk_shape") == chosen.as_ref()
            })
        }
        View::Front { title, across, up, chosen, only } => {
            let points = front_points(s, across, up, only);
            chart::front(title, &points, (across, up), chosen.as_deref())
        }
        View::Scaling { title, phase, over } => chart::scaling(title, &s.labelled(phase), over),
    }
}

/// Whether a row has all of these facts.
fn has(row: &Row, only: &BTreeMap<String, String>) -> bool {
    only.iter().all(|(name, value)| row.facts.get(name) == Some(value))
}

fn front_points(s: &Section, across: &str, up: &str, only: &BTreeMap<String, String>) -> Vec<Point> {
    let of = |label: &str| s.labelled(label).into_iter().filter(|r| has(r, only)).collect::<Vec<&Row>>();
    chart::points(&of(across), &of(up))
}
