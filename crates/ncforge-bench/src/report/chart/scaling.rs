//! Scaling: a number against the count of ranks or bytes.

use super::Chart;
use super::canvas::{INK, SERIES, Side, WIDTH, picture, short};
use super::scale::{Scale, Unit};
use crate::result::Row;

/// A line for each series of rows (those with the same fact `series`), over a fact that is a number.
pub(crate) fn scaling(title: &str, rows: &[&Row], over: &str) -> Option<Chart> {
    let unit = if rows.iter().all(|r| r.bytes > 0) { Unit::Rate } else { Unit::Seconds };
    let mut series: Vec<(&str, Vec<(f64, f64)>)> = Vec::new();
    for row in rows {
        let Some(x) = row.facts.get(over).and_then(|v| v.parse::<f64>().ok()) else { continue };
        let Some(median) = row.summary().map(|s| s.median) else { continue };
        let y = if unit == Unit::Rate { row.bytes as f64 / median.max(1e-12) } else { median };
        let name = row.facts.get("series").unwrap_or(&row.engine);
        match series.iter_mut().find(|s| s.0 == name) {
            Some(s) => s.1.push((x, y)),
            None => series.push((name, vec![(x, y)])),
        }
    }
    series.retain(|s| s.1.len() > 1);
    series.iter_mut().for_each(|s| s.1.sort_by(|a, b| a.0.total_cmp(&b.0)));
    series.truncate(SERIES.len());
    if series.is_empty() {
        return None;
    }
    let (left, top, bottom) = (96, 14, 280);
    let all = || series.iter().flat_map(|s| s.1.iter());
    let mut numbers: Vec<f64> = all().map(|p| p.0).collect();
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    let xs = Scale::log(Unit::Plain, numbers.iter().copied(), (left, WIDTH - 60));
    let ys = match unit {
        Unit::Rate => Scale::linear(unit, all().map(|p| p.1).fold(0.0, f64::max), (bottom, top)),
        _ => Scale::log(unit, all().map(|p| p.1), (bottom, top)),
    };
    let svg = picture(bottom + 46 + series.len() as i32 * 18, |c| {
        let ticks: Vec<(i32, String)> = numbers.iter().map(|&n| (xs.at(n), n.to_string())).collect();
        c.axis_across(&ticks, (top, bottom));
        c.axis_up(&ys.ticks(), (left, WIDTH - 60));
        c.text(over, (WIDTH - 56, bottom + 14), Side::Left, INK);
        for (i, (name, points)) in series.iter().enumerate() {
            let places: Vec<(i32, i32)> = points.iter().map(|p| (xs.at(p.0), ys.at(p.1))).collect();
            places.iter().for_each(|&p| c.dot(p, 4, SERIES[i]));
            c.line(places, SERIES[i], 2);
            let y = bottom + 40 + i as i32 * 18;
            c.line(vec![(left, y), (left + 26, y)], SERIES[i], 4);
            let (first, last) = (points[0], points[points.len() - 1]);
            let times = if unit == Unit::Rate { last.1 / first.1 } else { first.1 / last.1 };
            let text =
                format!("{}: {times:.2}× as fast with {} as with {}", short(name, 50), last.0, first.0);
            c.text(&text, (left + 34, y), Side::Left, INK);
        }
    });
    let words = format!(
        "medians over {over}; {}",
        if unit == Unit::Rate { "higher is faster" } else { "lower is faster" }
    );
    Some(Chart { title: title.to_owned(), words, svg })
}
