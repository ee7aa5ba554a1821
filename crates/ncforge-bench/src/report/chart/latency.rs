//! How long single calls took: which share of them was done within which time.

use super::Chart;
use super::canvas::{INK, SERIES, Side, WIDTH, picture, short};
use super::scale::{Scale, Unit};
use crate::result::Row;

/// Fewer calls say nothing about their distribution.
const LEAST: usize = 20;

/// A line for each row, as many as there are colours; of more rows, the first ones.
pub(crate) fn latency(label: &str, rows: &[&Row]) -> Option<Chart> {
    let rows: Vec<&&Row> = rows.iter().filter(|r| r.calls.len() >= LEAST).take(SERIES.len()).collect();
    if rows.is_empty() {
        return None;
    }
    let (left, top, bottom) = (64, 12, 250);
    let right = WIDTH - 30;
    let values = rows.iter().flat_map(|r| r.calls.iter().map(|&s| f64::from(s)));
    let xs = Scale::log(Unit::Seconds, values, (left, right));
    let ys = Scale::linear(Unit::Plain, 1.0, (bottom, top));
    let legend = rows.len() as i32 * 18;
    let svg = picture(bottom + 40 + legend, |c| {
        c.axis_across(&xs.ticks(), (top, bottom));
        let shares = [0.0, 0.25, 0.5, 0.75, 0.9, 1.0].map(|s| (ys.at(s), format!("{:.0} %", s * 100.0)));
        c.axis_up(&shares, (left, right));
        for (i, row) in rows.iter().enumerate() {
            let last = (row.calls.len() - 1).max(1) as f64;
            let places = row.calls.iter().enumerate();
            let line = places.map(|(n, &s)| (xs.at(f64::from(s)), ys.at(n as f64 / last))).collect();
            c.line(line, SERIES[i], 2);
            let y = bottom + 38 + i as i32 * 18;
            c.line(vec![(left, y), (left + 26, y)], SERIES[i], 4);
            let at = |share: f64| f64::from(row.calls[(share * last).round() as usize]);
            let numbers = format!(
                "{}: half within {}, 99 % within {}, longest {}",
                short(&row.case, 60),
                Unit::Seconds.text(at(0.5)),
                Unit::Seconds.text(at(0.99)),
                Unit::Seconds.text(at(1.0))
            );
            c.text(&numbers, (left + 34, y), Side::Left, INK);
        }
    });
    let words = "share of calls that were done within a time; further left is faster, steeper is more even"
        .to_owned();
    Some(Chart { title: format!("{label}: single calls"), words, svg })
}
