//! The work of every rank over time.

use super::Chart;
use super::canvas::{INK, SERIES, Side, WIDTH, picture};
use super::scale::{Scale, Unit};
use crate::result::Row;

const LINE: i32 = 24;
/// More ranks are not drawn: the first and the last say what is to be seen.
const MOST: usize = 32;

/// The ranks of one row in the repetition with the median time.
pub(crate) fn lanes(row: &Row) -> Option<Chart> {
    let end = row.lanes.iter().flat_map(|l| &l.spans).map(|s| s.2).fold(0.0f64, f64::max);
    if row.lanes.is_empty() || end <= 0.0 {
        return None;
    }
    let shown: Vec<_> = row.lanes.iter().take(MOST).collect();
    let mut kinds: Vec<&str> = Vec::new();
    for (what, ..) in shown.iter().flat_map(|l| &l.spans) {
        if !kinds.contains(&what.as_str()) {
            kinds.push(what);
        }
    }
    let (left, top) = (76, 8);
    let bottom = top + shown.len() as i32 * LINE;
    let xs = Scale::linear(Unit::Seconds, end, (left, WIDTH - 30));
    let svg = picture(bottom + 52, |c| {
        c.axis_across(&xs.ticks(), (top, bottom));
        for (i, lane) in shown.iter().enumerate() {
            let y = top + i as i32 * LINE;
            c.text(&format!("rank {}", lane.rank), (left - 8, y + LINE / 2), Side::Right, INK);
            for (what, from, to) in &lane.spans {
                let kind = kinds.iter().position(|k| k == what).unwrap_or(0) % SERIES.len();
                let (a, b) = (xs.at(*from), xs.at(*to));
                c.rect((a, y + 4), (b.max(a + 1), y + LINE - 4), SERIES[kind]);
            }
        }
        let mut x = left;
        for (i, kind) in kinds.iter().enumerate() {
            c.rect((x, bottom + 32), (x + 14, bottom + 46), SERIES[i % SERIES.len()]);
            c.text(kind, (x + 20, bottom + 39), Side::Left, INK);
            x += 46 + kind.chars().count() as i32 * 8;
        }
    });
    let hidden = row.lanes.len() - shown.len();
    let mut words =
        "one repetition, the one with the median time; between calls, values are made and checked".to_owned();
    if hidden > 0 {
        words += &format!("; {hidden} more ranks are not drawn");
    }
    Some(Chart { title: format!("{}, {}: ranks over time", row.label(), row.case), words, svg })
}
