//! A map of times over two circumstances, with the cases that no other beats, and the one that was chosen.

use super::Chart;
use super::canvas::{Colour, INK, LETTER, MARK, MUTED, Side, WIDTH, picture, short};
use crate::report::seconds;
use crate::result::Row;

/// Colours from fast to slow, equal steps to the eye, also for those who see colours differently (cividis).
const RAMP: [Colour; 9] =
    ["#FEE838", "#E1CC55", "#C3B369", "#A59C74", "#8A8678", "#707173", "#575D6D", "#3B496C", "#123570"];
/// Up to here dark words are read better, from here light ones.
const LIGHT_FROM: usize = 5;
const LINE: i32 = 28;
const NAME: usize = 24;
const WHITE: Colour = "#FFFFFF";
const BLACK: Colour = "#000000";

/// One cell for each row that has both facts, in shades from the fastest to the slowest of all, or of its column; `front` and `chosen` say of a row whether it is to be marked.
pub(crate) fn heat(
    title: &str,
    rows: &[&Row],
    (across, down): (&str, &str),
    by_column: bool,
    front: &dyn Fn(&Row) -> bool,
    chosen: &dyn Fn(&Row) -> bool,
) -> Option<Chart> {
    let fact = |r: &Row, name: &str| r.facts.get(name).cloned();
    let cells: Vec<(String, String, f64, &Row)> = rows
        .iter()
        .filter_map(|r| Some((fact(r, across)?, fact(r, down)?, r.summary()?.median, *r)))
        .collect();
    let columns = sorted(cells.iter().map(|c| c.0.as_str()));
    let lines = sorted(cells.iter().map(|c| c.1.as_str()));
    let least = if by_column { 4 } else { 5 };
    if cells.len() < least || columns.len() < 2 && lines.len() < 2 {
        return None;
    }
    let range = |mine: &dyn Fn(&str) -> bool| {
        let times = cells.iter().filter(|c| mine(&c.0)).map(|c| c.2);
        times.fold((f64::INFINITY, 0.0f64), |(l, h), s| (l.min(s), h.max(s)))
    };
    let (fast, slow) = range(&|_| true);
    // Of a column, how many times as long as its fastest; of all columns, the most.
    let times = |column: &str, s: f64| s / if by_column { range(&|c| c == column).0 } else { fast };
    let most = cells.iter().map(|c| times(&c.0, c.2)).fold(1.0, f64::max);
    let step = |column: &str, s: f64| {
        let share = if most > 1.0 { times(column, s).ln() / most.ln() } else { 0.0 };
        ((share * RAMP.len() as f64) as usize).min(RAMP.len() - 1)
    };
    let (pale, dark) = match by_column {
        true => ("1 ×".to_owned(), format!("{most:.1} ×")),
        false => (seconds(fast), seconds(slow)),
    };
    let letters =
        |list: &[String]| list.iter().map(|t| t.chars().count().min(NAME)).max().unwrap_or(0) as i32;
    let left = letters(&lines).max(4) * LETTER + 20;
    let width = ((WIDTH - left - 10) / columns.len() as i32).min(130);
    // Words under narrow columns stand in two heights in turn.
    let narrow = letters(&columns) * LETTER > width;
    let numbers = width >= 52;
    let top = 8;
    let bottom = top + lines.len() as i32 * LINE;
    let svg = picture(bottom + 84, |c| {
        for (i, text) in lines.iter().enumerate() {
            c.text(&short(text, NAME), (left - 8, top + i as i32 * LINE + LINE / 2), Side::Right, INK);
        }
        for (i, text) in columns.iter().enumerate() {
            let fits = (if narrow { 2 * width } else { width } / LETTER).max(3).unsigned_abs() as usize;
            let y = bottom + 13 + if narrow && i % 2 == 1 { 15 } else { 0 };
            c.text(&short(text, fits), (left + i as i32 * width + width / 2, y), Side::Middle, INK);
        }
        for (x, y, s, row) in &cells {
            let place = |list: &[String], v: &str| list.iter().position(|l| l == v).unwrap_or(0) as i32;
            let (px, py) = (left + place(&columns, x) * width, top + place(&lines, y) * LINE);
            let shade = step(x, *s);
            let ink = if shade >= LIGHT_FROM { WHITE } else { BLACK };
            c.rect((px + 1, py + 1), (px + width - 1, py + LINE - 1), RAMP[shade]);
            if numbers {
                c.text(&seconds(*s), (px + width / 2, py + LINE / 2), Side::Middle, ink);
            }
            if front(row) {
                c.dot((px + 8, py + 8), 3, ink);
            }
            if chosen(row) {
                c.frame((px + 2, py + 2), (px + width - 2, py + LINE - 2), MARK, 3);
            }
        }
        let y = bottom + 52;
        c.text(&pale, (left, y), Side::Left, MUTED);
        for (i, colour) in RAMP.iter().enumerate() {
            let x = left + 70 + i as i32 * 24;
            c.rect((x, y - 7), (x + 24, y + 7), colour);
        }
        c.text(&dark, (left + 80 + 24 * RAMP.len() as i32, y), Side::Left, MUTED);
        let axes = format!("down: {}; across: {}", named(down), named(across));
        c.text(&axes, (left, y + 22), Side::Left, MUTED);
    });
    let has = |what: &dyn Fn(&Row) -> bool| cells.iter().any(|c| what(c.3));
    let mut words = match by_column {
        true => format!("in every column pale is its fastest, dark takes up to {most:.1} times as long"),
        false => format!("pale is fast ({pale}), dark is slow ({dark})"),
    };
    if has(front) {
        words += "; a dot: no other case is better in both phases";
    }
    if has(chosen) {
        words += "; framed: what ncforge chooses";
    }
    Some(Chart { title: title.to_owned(), words, svg })
}

/// The name of a fact for readers.
fn named(fact: &str) -> String {
    match fact {
        "chunk_first" => "length of chunks along the first dimension".to_owned(),
        "chunk_rest" => "their lengths along the others".to_owned(),
        "chunk_asked" => "chunks asked for".to_owned(),
        "engine" => "library".to_owned(),
        "layout" => "file, and how the variable is stored in it".to_owned(),
        other => other.replace('_', " "),
    }
}

/// Every text once; those that are numbers, or lists of numbers, by size.
fn sorted<'a>(texts: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut list: Vec<String> = Vec::new();
    for text in texts {
        if !list.iter().any(|l| l == text) {
            list.push(text.to_owned());
        }
    }
    let numbers = |t: &str| t.split(':').map(|n| n.parse::<u64>().ok()).collect::<Option<Vec<_>>>();
    list.sort_by_key(|t| match numbers(t) {
        Some(n) => (1, n.iter().product::<u64>(), n, String::new()),
        None => (0, 0, Vec::new(), t.clone()),
    });
    list
}
