//! Where charts are drawn: rectangles, lines and words at whole pixels.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::error::{Error, Result};

/// Words and axes.
pub(super) const INK: RGBColor = RGBColor(1, 1, 1);
/// Words of less weight.
pub(super) const MUTED: RGBColor = RGBColor(0x60, 0x60, 0x61);
/// Lines behind the data.
pub(super) const GRID: RGBColor = RGBColor(0xDD, 0xDD, 0xDE);
/// The colour of the paper.
pub(super) const PAPER: RGBColor = RGBColor(0xFE, 0xFE, 0xFE);
/// What is to be looked at: the ceiling, the choice.
pub(super) const MARK: RGBColor = RGBColor(0xD5, 0x5E, 0x01);
/// Series, in this order: blue, orange, green, pink, sky, grey (Okabe and Ito, without those that are pale on paper).
pub(super) const SERIES: [RGBColor; 6] = [
    RGBColor(0x00, 0x72, 0xB2),
    RGBColor(0xE6, 0x9F, 0x00),
    RGBColor(0x00, 0x9E, 0x73),
    RGBColor(0xCC, 0x79, 0xA7),
    RGBColor(0x56, 0xB4, 0xE9),
    RGBColor(0x80, 0x80, 0x81),
];
/// Width of all charts.
pub(super) const WIDTH: i32 = 860;
/// Height of words, with what stands out above and below.
const FONT: i32 = 16;
/// Width of a letter, about.
pub(super) const LETTER: i32 = 7;

/// On which side of its place a text stands.
#[derive(Clone, Copy)]
pub(super) enum Side {
    Left,
    Middle,
    Right,
}

/// A picture in the making. The first thing that fails is told at the end.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
    failure: Option<String>,
}

/// Draws a picture of this height.
pub(super) fn picture(height: i32, draw: impl FnOnce(&mut Canvas<'_>)) -> Result<String> {
    let mut svg = String::new();
    let size = (WIDTH.unsigned_abs(), height.max(1).unsigned_abs());
    let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
    let mut canvas = Canvas { area, failure: None };
    draw(&mut canvas);
    let ended = canvas.area.present().map_err(|e| e.to_string());
    if let Some(why) = canvas.failure.take().or(ended.err()) {
        return Err(Error::Invalid(format!("a chart cannot be drawn: {why}")));
    }
    drop(canvas);
    Ok(svg)
}

impl Canvas<'_> {
    fn note<E: std::fmt::Display>(&mut self, done: std::result::Result<(), E>) {
        if let Err(e) = done {
            self.failure.get_or_insert(e.to_string());
        }
    }

    /// A filled rectangle.
    pub(super) fn rect(&mut self, from: (i32, i32), to: (i32, i32), colour: RGBColor) {
        let done = self.area.draw(&Rectangle::new([from, to], colour.filled()));
        self.note(done);
    }

    /// The outline of a rectangle.
    pub(super) fn frame(&mut self, from: (i32, i32), to: (i32, i32), colour: RGBColor, width: u32) {
        let done = self.area.draw(&Rectangle::new([from, to], colour.stroke_width(width)));
        self.note(done);
    }

    /// A line through these places.
    pub(super) fn line(&mut self, places: Vec<(i32, i32)>, colour: RGBColor, width: u32) {
        let done = self.area.draw(&PathElement::new(places, colour.stroke_width(width)));
        self.note(done);
    }

    /// An area with an outline.
    pub(super) fn area(&mut self, places: Vec<(i32, i32)>, inside: RGBColor, outline: RGBColor) {
        let done = self.area.draw(&Polygon::new(places.clone(), inside.filled()));
        self.note(done);
        let first = places.first().copied();
        self.line(places.into_iter().chain(first).collect(), outline, 1);
    }

    /// A disc.
    pub(super) fn dot(&mut self, at: (i32, i32), radius: i32, colour: RGBColor) {
        let done = self.area.draw(&Circle::new(at, radius, colour.filled()));
        self.note(done);
    }

    /// A ring.
    pub(super) fn ring(&mut self, at: (i32, i32), radius: i32, colour: RGBColor, width: u32) {
        let done = self.area.draw(&Circle::new(at, radius, colour.stroke_width(width)));
        self.note(done);
    }

    /// Words; the place is at their left end, middle or right end, half way up.
    pub(super) fn text(&mut self, text: &str, at: (i32, i32), side: Side, colour: RGBColor) {
        let across = match side {
            Side::Left => HPos::Left,
            Side::Middle => HPos::Center,
            Side::Right => HPos::Right,
        };
        let style = ("sans-serif", FONT).into_font().color(&colour).pos(Pos::new(across, VPos::Center));
        let done = self.area.draw(&Text::new(text.to_owned(), at, style));
        self.note(done);
    }
}

/// The text, not longer than this.
pub(super) fn short(text: &str, letters: usize) -> String {
    if text.chars().count() <= letters {
        return text.to_owned();
    }
    // What tells cases apart stands at both ends.
    let keep = letters.saturating_sub(1);
    let head: String = text.chars().take(keep / 2).collect();
    let tail: Vec<char> = text.chars().collect();
    head + "…" + &tail[tail.len() - (keep - keep / 2)..].iter().collect::<String>()
}
