//! Cases by what two phases cost, and those that no other case beats in both.

use super::Chart;
use super::canvas::{INK, MARK, MUTED, PAPER, SERIES, Side, WIDTH, picture, short};
use super::scale::{Scale, Unit};
use crate::result::Row;

/// One case with its two times.
#[derive(Clone, Debug)]
pub(crate) struct Point {
    pub(crate) case: String,
    /// The name in the chart: the chunks, where there are any.
    pub(crate) name: String,
    /// Seconds of the phase across.
    pub(crate) across: f64,
    /// Seconds of the phase upwards.
    pub(crate) up: f64,
}

/// Cases that have both phases.
pub(crate) fn points(across: &[&Row], up: &[&Row]) -> Vec<Point> {
    across
        .iter()
        .filter_map(|a| {
            let b = up.iter().find(|b| b.case == a.case)?;
            let name = a.facts.get("chunk_shape").unwrap_or(&a.case).clone();
            Some(Point { case: a.case.clone(), name, across: a.summary()?.median, up: b.summary()?.median })
        })
        .collect()
}

/// Points that no other point beats in one phase without losing in the other, from the left to the right (Pareto's front).
pub(crate) fn unbeaten(points: &[Point]) -> Vec<&Point> {
    let mut order: Vec<&Point> = points.iter().collect();
    order
        .sort_by(|a, b| (a.across, a.up).partial_cmp(&(b.across, b.up)).unwrap_or(std::cmp::Ordering::Equal));
    let mut best = f64::INFINITY;
    order.retain(|p| {
        let keep = p.up < best;
        best = best.min(p.up);
        keep
    });
    order
}

/// All points, the front as a line, the chosen one marked.
pub(crate) fn front(
    title: &str,
    points: &[Point],
    (across, up): (&str, &str),
    chosen: Option<&str>,
) -> Option<Chart> {
    if points.len() < 3 {
        return None;
    }
    let (left, top, bottom) = (84, 34, 360);
    let xs = Scale::log(Unit::Seconds, points.iter().map(|p| p.across), (left, WIDTH - 30));
    let ys = Scale::log(Unit::Seconds, points.iter().map(|p| p.up), (bottom, top));
    let line = unbeaten(points);
    let place = |p: &Point| (xs.at(p.across), ys.at(p.up));
    let svg = picture(bottom + 48, |c| {
        c.axis_across(&xs.ticks(), (top, bottom));
        c.axis_up(&ys.ticks(), (left, WIDTH - 30));
        c.text(&format!("seconds of one {across} →"), (WIDTH - 30, bottom + 34), Side::Right, INK);
        c.text(&format!("↑ seconds of one {up}"), (left + 4, 12), Side::Left, INK);
        // Steps: what lies right of and above them is beaten.
        let mut steps: Vec<(i32, i32)> = Vec::new();
        for p in &line {
            let (x, y) = place(p);
            if let Some(&(_, before)) = steps.last() {
                steps.push((x, before));
            }
            steps.push((x, y));
        }
        c.line(steps, SERIES[0], 2);
        for p in points {
            c.dot(place(p), 4, PAPER);
            c.ring(place(p), 4, MUTED, 1);
        }
        let mut last = None;
        for p in &line {
            let at = place(p);
            c.dot(at, 5, SERIES[0]);
            // Names that would cover one another are left to the table.
            let far = |l: (i32, i32)| (at.0 - l.0).abs() > 90 || (at.1 - l.1).abs() > 16;
            if last.is_none_or(far) {
                c.text(&short(&p.name, 22), (at.0 + 9, at.1 - 9), Side::Left, INK);
                last = Some(at);
            }
        }
        for p in points.iter().filter(|p| chosen.is_some_and(|c| p.name == c)) {
            c.ring(place(p), 10, MARK, 3);
        }
    });
    let found = chosen.is_some_and(|c| points.iter().any(|p| p.name == c));
    let words = format!(
        "{} of {} cases are on the front: no other is better in both{}",
        line.len(),
        points.len(),
        if found { "; the orange ring is what ncforge chooses" } else { "" }
    );
    Some(Chart { title: title.to_owned(), words, svg })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_is_what_nobody_beats() {
        let p = |name: &str, across, up| Point { case: name.into(), name: name.into(), across, up };
        let points =
            [p("a", 1.0, 9.0), p("b", 2.0, 3.0), p("c", 3.0, 3.0), p("d", 4.0, 1.0), p("e", 5.0, 5.0)];
        let names: Vec<&str> = unbeaten(&points).iter().map(|p| p.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "d"]);
        let chart = front("t", &points, ("slab", "series"), Some("b")).unwrap();
        assert!(
            chart.words.contains("3 of 5")
                && chart.svg.named("plot", "t").into_string().contains("seconds of one slab")
        );
    }
}
