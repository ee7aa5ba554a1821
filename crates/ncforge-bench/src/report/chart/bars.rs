//! One bar a case, every repetition as a dot (of many, how they are spread), the interval of the median, and the ceiling.

use super::Chart;
use super::canvas::{Canvas, INK, LETTER, MARK, PAPER, SERIES, Side, WIDTH, picture, short};
use super::scale::{Scale, Unit};
use super::violin;
use crate::result::Row;
use crate::stats::median_interval;

const LINE: i32 = 26;
const NAME: usize = 44;

/// The rows of one phase. With bytes: rates, more is better; without: seconds, less is better. `None` where there is nothing to
/// compare.
pub(crate) fn bars(label: &str, rows: &[&Row]) -> Option<Chart> {
    let unit = if rows.iter().all(|r| r.bytes > 0) { Unit::Rate } else { Unit::Seconds };
    let of = |r: &Row, s: f64| if unit == Unit::Rate { r.bytes as f64 / s.max(1e-12) } else { s };
    let bars: Vec<Bar> = rows
        .iter()
        .filter_map(|r| {
            let all: Vec<f64> = r.seconds().into_iter().map(|s| of(r, s)).collect();
            let middle = of(r, r.summary()?.median);
            Some(Bar {
                name: r.case.clone(),
                engine: &r.engine,
                interval: median_interval(&all),
                all,
                middle,
            })
        })
        .collect();
    if bars.len() < 2 {
        return None;
    }
    let largest = bars.iter().flat_map(|b| &b.all).fold(0.0f64, |a, &b| a.max(b));
    let least = bars.iter().map(|b| b.middle).fold(f64::INFINITY, f64::min);
    let letters = bars.iter().map(|b| b.name.chars().count().min(NAME)).max().unwrap_or(0) as i32;
    let left = letters * LETTER + 16;
    let pixels = (left, WIDTH - 96);
    // Far apart, bars from nothing would hide the short ones.
    let log = largest > 60.0 * least && least > 0.0;
    let scale = match log {
        true => Scale::log(unit, bars.iter().flat_map(|b| b.all.clone()), pixels),
        false => Scale::linear(unit, largest, pixels),
    };
    // The ceiling is what plain system calls reach.
    let raw = bars.iter().filter(|b| b.engine == "raw").map(|b| b.middle);
    let ceiling = raw.fold(None, |best: Option<f64>, v| Some(best.map_or(v, |b| b.max(v))));
    let ceiling = ceiling.filter(|_| unit == Unit::Rate);
    let mut engines: Vec<&str> = Vec::new();
    for bar in &bars {
        if !engines.contains(&bar.engine) {
            engines.push(bar.engine);
        }
    }
    let bottom = 10 + bars.len() as i32 * LINE;
    let svg = picture(bottom + 40, |c| {
        c.axis_across(&scale.ticks(), (6, bottom));
        for (i, bar) in bars.iter().enumerate() {
            let colour = engines.iter().position(|e| *e == bar.engine).unwrap_or(0) % SERIES.len();
            bar.draw(c, &scale, 10 + i as i32 * LINE, left, SERIES[colour]);
        }
        if let Some(v) = ceiling {
            let x = scale.at(v);
            c.line(vec![(x, 4), (x, bottom)], MARK, 2);
            c.text("ceiling", (x, bottom + 28), Side::Middle, MARK);
        }
        for (i, bar) in bars.iter().enumerate() {
            bar.value(c, &scale, 10 + i as i32 * LINE + LINE / 2, unit, ceiling.map(|v| scale.at(v)));
        }
    });
    let better = if unit == Unit::Rate { "longer is faster" } else { "shorter is faster" };
    let words = format!(
        "{better}; bars: medians; thick line: 95 % interval of the median; {}{}{}",
        if bars.iter().any(|b| b.all.len() >= violin::LEAST) {
            "outlines: how repetitions are spread, thick where many are"
        } else {
            "dots: repetitions"
        },
        if ceiling.is_some() { "; orange line: plain system calls" } else { "" },
        if log { "; equal steps are equal ratios" } else { "" }
    );
    let what = if unit == Unit::Rate { "rates" } else { "times" };
    Some(Chart { title: format!("{label}: {what}"), words, svg })
}

struct Bar<'a> {
    name: String,
    engine: &'a str,
    all: Vec<f64>,
    middle: f64,
    interval: Option<(f64, f64)>,
}

impl Bar<'_> {
    fn draw(&self, c: &mut Canvas, scale: &Scale, top: i32, left: i32, colour: super::canvas::Colour) {
        let middle = top + LINE / 2;
        c.text(&short(&self.name, NAME), (left - 8, middle), Side::Right, INK);
        c.rect((left, top + 5), (scale.at(self.middle), top + LINE - 5), colour);
        let places: Vec<i32> = self.all.iter().map(|&v| scale.at(v)).collect();
        let spread = violin::outline(&places);
        if let Some(spread) = &spread {
            let half = f64::from(LINE / 2 - 2);
            let upper = spread.iter().map(|(x, share)| (*x, middle - (share * half).round() as i32));
            let lower = spread.iter().rev().map(|(x, share)| (*x, middle + (share * half).round() as i32));
            c.area(upper.chain(lower).collect(), PAPER, INK);
        }
        if let Some((low, high)) = self.interval {
            c.line(vec![(scale.at(low), middle), (scale.at(high), middle)], INK, 3);
        }
        if spread.is_none() {
            places.iter().for_each(|&x| c.ring((x, middle), 3, INK, 1));
        }
    }

    /// The median in words, behind everything that is drawn of the bar. Where the line of the ceiling would cross it, on paper.
    fn value(&self, c: &mut Canvas, scale: &Scale, middle: i32, unit: Unit, ceiling: Option<i32>) {
        let text = unit.text(self.middle);
        let end = self.all.iter().map(|&v| scale.at(v)).fold(scale.at(self.middle), i32::max) + 10;
        let span = (end - 3, end + text.chars().count() as i32 * LETTER);
        if ceiling.is_some_and(|x| (span.0..=span.1).contains(&x)) {
            c.rect((span.0, middle - 8), (span.1, middle + 8), PAPER);
        }
        c.text(&text, (end, middle), Side::Left, INK);
    }
}
