//! Which files are one stream, by their names: names of one stream differ in their dates and numbers alone.
//!
//! * A date is what [`Stamp`] reads. Where a name has a date that is finer than a year, four digits alone are a number.
//! * Digits behind or before a letter (`h0`, `d01`, `1m`) belong to the name.
//! * Another number tells streams apart if one of them has several files then (members of an ensemble); otherwise it counts files.
//! * The last number of a name without a date counts files.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::super::files::number_in;
use super::stamp::Stamp;
use crate::endings;

/// Marks between the parts of a name.
const MARKS: [char; 3] = ['.', '_', '-'];

/// Files of one stream, by their names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Named {
    /// The name without dates, numbers of files and extension: `case.cam.h0`.
    pub(super) stem: String,
    /// The files, in the order of the dates and numbers in their names.
    pub(super) files: Vec<PathBuf>,
    /// The first and the last date of the names.
    pub(super) dates: Option<(String, String)>,
}

impl Named {
    /// The case and the stream: the last two words of what has dots, `cam.h0` of `case.cam.h0`, are the stream.
    pub(super) fn case_and_stream(&self) -> (&str, &str) {
        let mut dots = self.stem.rmatch_indices('.').map(|(at, _)| at);
        let last = dots.next();
        let Some(at) = dots.next().or(last) else { return ("", &self.stem) };
        (&self.stem[..at], &self.stem[at + 1..])
    }
}

/// A part of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Date(Stamp),
    Number(String),
}

/// Groups files into streams, in the order of the first file of each.
pub(super) fn streams(files: &[PathBuf]) -> Vec<Named> {
    let parsed: Vec<Vec<Piece>> = files.iter().map(|file| pieces(&name_of(file))).collect();
    let mut alike: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (i, pieces) in parsed.iter().enumerate() {
        alike.entry(skeleton(pieces)).or_default().push(i);
    }
    let mut found: Vec<Vec<usize>> = alike.into_values().flat_map(|all| apart(&parsed, all)).collect();
    found.sort_by_key(|all| all.iter().min().copied());
    found.into_iter().map(|all| named(files, &parsed, all)).collect()
}

fn name_of(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // What may follow the path of an object.
    name.split(['?', '#']).next().unwrap_or_default().to_owned()
}

/// The parts of a name, without its extension.
fn pieces(name: &str) -> Vec<Piece> {
    let (body, _) = endings::without(name);
    let mut out = scan(body);
    let is_fine = |p: &Piece| matches!(p, Piece::Date(stamp) if !stamp.is_year());
    if out.iter().any(is_fine) {
        for piece in &mut out {
            if let Piece::Date(stamp) = piece
                && stamp.is_year()
            {
                *piece = Piece::Number(stamp.digits.clone());
            }
        }
    }
    let counts = |p: &Piece| !matches!(p, Piece::Text(_));
    if !out.iter().any(counts)
        && let Some((from, to)) = number_in(body)
    {
        let text = |part: &str| Piece::Text(part.to_owned());
        out = vec![text(&body[..from]), Piece::Number(body[from..to].to_owned()), text(&body[to..])];
    }
    out
}

fn scan(body: &str) -> Vec<Piece> {
    let bytes = body.as_bytes();
    let letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
    let mut out = vec![Piece::Text(String::new())];
    let mut at = 0;
    while let Some(here) = body[at..].chars().next() {
        if let Some((stamp, end)) = Stamp::at(body, at) {
            out.extend([Piece::Date(stamp), Piece::Text(String::new())]);
            at = end;
            continue;
        }
        let len = bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let text = &body[at..at + len.max(here.len_utf8())];
        at += text.len();
        match out.last_mut() {
            Some(Piece::Text(last))
                if len == 0 || letter(at) || last.ends_with(|c: char| c.is_ascii_alphabetic()) =>
            {
                last.push_str(text);
            }
            _ => out.extend([Piece::Number(text.to_owned()), Piece::Text(String::new())]),
        }
    }
    out
}

/// A name with its dates and numbers left open.
fn skeleton(pieces: &[Piece]) -> String {
    let open = |piece: &Piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Date(_) => "\u{1}".to_owned(),
        Piece::Number(_) => "\u{2}".to_owned(),
    };
    pieces.iter().map(open).collect()
}

fn dates(pieces: &[Piece]) -> impl Iterator<Item = &Stamp> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Date(stamp) => Some(stamp),
        _ => None,
    })
}

fn numbers(pieces: &[Piece]) -> impl DoubleEndedIterator<Item = &str> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Number(digits) => Some(digits.as_str()),
        _ => None,
    })
}

/// Files of one skeleton, apart where their numbers tell streams apart.
fn apart(parsed: &[Vec<Piece>], all: Vec<usize>) -> Vec<Vec<usize>> {
    let mut by_numbers: BTreeMap<Vec<&str>, Vec<usize>> = BTreeMap::new();
    for &i in &all {
        let mut key: Vec<&str> = numbers(&parsed[i]).collect();
        if dates(&parsed[i]).next().is_none() {
            key.pop();
        }
        by_numbers.entry(key).or_default().push(i);
    }
    match by_numbers.values().any(|files| files.len() > 1) {
        true => by_numbers.into_values().collect(),
        false => vec![all],
    }
}

/// The stream that these files are.
fn named(files: &[PathBuf], parsed: &[Vec<Piece>], mut all: Vec<usize>) -> Named {
    let number = |digits: &str| {
        let digits = digits.trim_start_matches('0');
        (digits.len(), digits.to_owned())
    };
    all.sort_by_cached_key(|&i| {
        let stamps: Vec<Stamp> = dates(&parsed[i]).cloned().collect();
        let numbers: Vec<_> = numbers(&parsed[i]).map(number).collect();
        (stamps, numbers, i)
    });
    let stamps = |i: &usize| -> Vec<String> { dates(&parsed[*i]).map(|s| s.digits.clone()).collect() };
    let (first, last) = (all.first().map(stamps), all.last().map(stamps));
    let dates = first.and_then(|s| s.first().cloned()).zip(last.and_then(|s| s.last().cloned()));
    Named { stem: stem(parsed, &all), files: all.into_iter().map(|i| files[i].clone()).collect(), dates }
}

/// What the names have in common: texts, and numbers that are the same in all. A number that all names end with counts files where there
/// is no date.
fn stem(parsed: &[Vec<Piece>], all: &[usize]) -> String {
    let Some(first) = all.first().map(|&i| &parsed[i]) else { return String::new() };
    let has_date = dates(first).next().is_some();
    let last_number = first.iter().rposition(|p| matches!(p, Piece::Number(_)));
    let mut out = String::new();
    for (at, piece) in first.iter().enumerate() {
        let is_same = all.iter().all(|&i| parsed[i].get(at) == Some(piece));
        match piece {
            Piece::Text(text) => join(&mut out, text),
            Piece::Number(digits) if is_same && (has_date || last_number != Some(at)) => out.push_str(digits),
            _ => {}
        }
    }
    out.trim_end_matches(MARKS).to_owned()
}

/// Adds a text behind something that was left out: one mark stays where there were two.
fn join(out: &mut String, text: &str) {
    let is_open = out.is_empty() || out.ends_with(MARKS);
    out.push_str(if is_open { text.trim_start_matches(MARKS) } else { text });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Stems, numbers of files, first and last date.
    fn grouped(files: &[&str]) -> Vec<(String, usize, String)> {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let words =
            |n: Named| (n.stem, n.files.len(), n.dates.map_or(String::new(), |(a, b)| format!("{a}-{b}")));
        streams(&files).into_iter().map(words).collect()
    }

    #[test]
    fn files_of_models_are_streams() {
        for (files, expected) in [
            (
                &[
                    "o/case.001.cam.h0.2000-02.nc",
                    "o/case.001.cam.h0.2000-01.nc",
                    "o/case.001.cam.h1.2000-01-01-00000.nc",
                    "l/case.001.clm2.h0.2000-01.nc",
                ][..],
                &[
                    ("case.001.cam.h0", 2, "200001-200002"),
                    ("case.001.cam.h1", 1, "20000101000000-20000101000000"),
                    ("case.001.clm2.h0", 1, "200001-200001"),
                ][..],
            ),
            (
                &[
                    "NEMO_1m_20000101_20000131_grid_T.nc",
                    "NEMO_1m_20000201_20000229_grid_T.nc",
                    "NEMO_1m_20000101_20000131_grid_U.nc",
                ],
                &[("NEMO_1m_grid_T", 2, "20000101-20000229"), ("NEMO_1m_grid_U", 1, "20000101-20000131")],
            ),
            (
                &[
                    "wrfout_d01_2000-01-01_00:00:00",
                    "wrfout_d01_2000-01-01_06:00:00",
                    "wrfout_d02_2000-01-01_00:00:00",
                ],
                &[
                    ("wrfout_d01", 2, "20000101000000-20000101060000"),
                    ("wrfout_d02", 1, "20000101000000-20000101000000"),
                ],
            ),
            (&["a/2000/u10_y2000.nc", "a/2001/u10_y2001.nc"], &[("u10", 2, "2000-2001")]),
            (&["day9.nc", "day10.nc"], &[("day", 2, "")]),
            (&["ocean_0002.nc", "ocean_0001.nc"], &[("ocean", 2, "0001-0002")]),
            (
                &["m.01.2000.nc", "m.01.2001.nc", "m.02.2000.nc"],
                &[("m.01", 2, "2000-2001"), ("m.02", 1, "2000-2000")],
            ),
            (&["s_2000_000123.nc", "s_2000_000124.nc"], &[("s", 2, "2000-2000")]),
            (&["grid.nc"], &[("grid", 1, "")]),
            (&["2000.nc", "2001.nc"], &[("", 2, "2000-2001")]),
            (&["é_2000-01.nc4", "é_2000-02.nc4"], &[("é", 2, "200001-200002")]),
        ] {
            let expected: Vec<_> =
                expected.iter().map(|(s, n, d)| ((*s).to_owned(), *n, (*d).to_owned())).collect();
            assert_eq!(grouped(files), expected, "{files:?}");
        }
    }

    #[test]
    fn cases_end_before_their_streams() {
        for (stem, case, stream) in [
            ("b.e21.f09.001.cam.h0", "b.e21.f09.001", "cam.h0"),
            ("case.h0", "case", "h0"),
            ("wrfout_d01", "", "wrfout_d01"),
            ("", "", ""),
        ] {
            let named = Named { stem: stem.into(), files: Vec::new(), dates: None };
            assert_eq!(named.case_and_stream(), (case, stream), "{stem}");
        }
    }

    #[test]
    fn files_come_in_the_order_of_their_numbers() {
        let files: Vec<PathBuf> = ["day10.nc", "day9.nc", "day011.nc"].map(PathBuf::from).to_vec();
        assert_eq!(streams(&files)[0].files, ["day9.nc", "day10.nc", "day011.nc"].map(PathBuf::from));
    }
}
