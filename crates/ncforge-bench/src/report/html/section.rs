//! One workload on the page.

use maud::{Markup, html};

use super::{Room, list, rich, table};
use crate::report::chart::{self, Chart, Point};
use crate::report::table::{ONLY, phase, published};
use crate::result::{Row, Section, View};

/// More bars than this are not looked at: then a view tells more.
const BARS: usize = 40;
/// Rows whose ranks are drawn, at most.
const LANES: usize = 6;

/// The section with this number. Of an only section, all words that the summary has are not said again.
pub(super) fn section(s: &Section, number: usize, only: bool, room: &mut Room) -> Markup {
    let mut parts: Vec<Markup> = Vec::new();
    let beside = published(s);
    // What others have published is what the reader came for.
    let beside = (!beside.rows.is_empty()).then(|| table("Beside published figures", &beside, room));
    let heated = s.views.iter().any(|v| matches!(v, View::Heat { .. }));
    for label in s.labels() {
        let rows: Vec<&Row> = s.rows.iter().filter(|r| r.label() == label).collect();
        let mut charts = Vec::new();
        if rows.len() <= BARS && !(heated && rows.len() > BARS / 2) {
            charts.extend(chart::bars(&label, &rows));
        }
        charts.extend(chart::latency(&label, &rows));
        parts.push(html! {
            h3 { (label) }
            @for c in charts { (figure(c, room)) }
            (table(&format!("{}: {label}", s.workload), &phase(s, &label), room))
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
            @if let Some(beside) = &beside { h3 { "Theirs and ours" } (beside) }
            @for c in charts { (figure(c, room)) }
            @for part in &parts { (part) }
            @if !ranks.is_empty() { h3 { "Ranks over time" } }
            @for c in ranks { (figure(c, room)) }
            @for note in &s.notes { p.note { "Note: " (rich(note)) } }
        }
    }
}

fn figure(c: Chart, room: &mut Room) -> Markup {
    if c.svg.len() > room.pictures {
        return html! { p.note { "No room on this page for the chart “" (c.title) "”." } };
    }
    room.pictures -= c.svg.len();
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
    let has = |only: &std::collections::BTreeMap<String, String>| {
        let only = only.clone();
        move |r: &&Row| only.iter().all(|(name, value)| r.facts.get(name) == Some(value))
    };
    match view {
        View::Heat { title, phase, only, across, down, columns } => {
            let of = |r: &&Row| phase.is_empty() || r.label() == *phase;
            let rows: Vec<&Row> = s.rows.iter().filter(of).filter(has(only)).collect();
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
        View::Scaling { title, phase, over } => {
            let rows: Vec<&Row> = s.rows.iter().filter(|r| r.label() == *phase).collect();
            chart::scaling(title, &rows, over)
        }
    }
}

fn front_points(
    s: &Section,
    across: &str,
    up: &str,
    only: &std::collections::BTreeMap<String, String>,
) -> Vec<Point> {
    let of = |label: &str| -> Vec<&Row> {
        let fits = |r: &&Row| only.iter().all(|(name, value)| r.facts.get(name) == Some(value));
        s.rows.iter().filter(|r| r.label() == label).filter(fits).collect()
    };
    chart::points(&of(across), &of(up))
}
