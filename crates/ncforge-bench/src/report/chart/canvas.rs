//! Where charts are drawn: rectangles, lines and words at whole pixels.

use ncforge_view::{At, Paint, Svg};
pub(super) use ncforge_view::{Side, short};

/// A colour, which the style sheet replaces on dark paper.
pub(super) type Colour = &'static str;

/// Words and axes.
pub(super) const INK: Colour = "#010101";
/// Words of less weight.
pub(super) const MUTED: Colour = "#606061";
/// Lines behind the data.
pub(super) const GRID: Colour = "#DDDDDE";
/// The colour of the paper.
pub(super) const PAPER: Colour = "#FEFEFE";
/// The colour of highlights: the ceiling, the choice.
pub(super) const MARK: Colour = "#D55E01";
/// Series, in this order: blue, orange, green, pink, sky, grey (Okabe and Ito, without those that are pale on paper).
pub(super) const SERIES: [Colour; 6] = ["#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#808081"];
/// Width of all charts.
pub(super) const WIDTH: i32 = 860;
/// Width of a letter, about.
pub(super) const LETTER: i32 = 7;

/// A picture in the making, at whole pixels.
pub(super) struct Canvas(Svg);

/// Draws a picture of this height.
pub(super) fn picture(height: i32, draw: impl FnOnce(&mut Canvas)) -> Svg {
    let mut canvas = Canvas(Svg::new(WIDTH.into(), height.max(1).into()));
    draw(&mut canvas);
    canvas.0
}

fn at((x, y): (i32, i32)) -> At {
    (x.into(), y.into())
}

impl Canvas {
    /// A filled rectangle.
    pub(super) fn rect(&mut self, from: (i32, i32), to: (i32, i32), colour: Colour) {
        self.0.rect(Paint::Fill(colour), at(from), at((to.0 - from.0, to.1 - from.1)));
    }

    /// The outline of a rectangle.
    pub(super) fn frame(&mut self, from: (i32, i32), to: (i32, i32), colour: Colour, width: u32) {
        self.0.rect(Paint::Stroke(colour, width), at(from), at((to.0 - from.0, to.1 - from.1)));
    }

    /// A line through these places.
    pub(super) fn line(&mut self, places: Vec<(i32, i32)>, colour: Colour, width: u32) {
        self.0.polyline(Paint::Stroke(colour, width), places.into_iter().map(at));
    }

    /// An area with an outline.
    pub(super) fn area(&mut self, places: Vec<(i32, i32)>, inside: Colour, outline: Colour) {
        self.0.polygon(Paint::Fill(inside), places.iter().copied().map(at));
        let first = places.first().copied();
        self.line(places.into_iter().chain(first).collect(), outline, 1);
    }

    /// A disc.
    pub(super) fn dot(&mut self, place: (i32, i32), radius: i32, colour: Colour) {
        self.0.dot(Paint::Fill(colour), at(place), radius.into());
    }

    /// A ring.
    pub(super) fn ring(&mut self, place: (i32, i32), radius: i32, colour: Colour, width: u32) {
        self.0.dot(Paint::Stroke(colour, width), at(place), radius.into());
    }

    /// Lines at the ticks of an axis across, from `top` to `bottom`, and their numbers below.
    pub(super) fn axis_across(&mut self, ticks: &[(i32, String)], (top, bottom): (i32, i32)) {
        for (x, text) in ticks {
            self.line(vec![(*x, top), (*x, bottom)], GRID, 1);
            self.text(text, (*x, bottom + 14), Side::Middle, MUTED);
        }
    }

    /// Lines at the ticks of an axis upwards, from `left` to `right`, and their numbers left of them.
    pub(super) fn axis_up(&mut self, ticks: &[(i32, String)], (left, right): (i32, i32)) {
        for (y, text) in ticks {
            self.line(vec![(left, *y), (right, *y)], GRID, 1);
            self.text(text, (left - 8, *y), Side::Right, MUTED);
        }
    }

    /// Words; the place is at their left end, middle or right end, half way up.
    pub(super) fn text(&mut self, text: &str, place: (i32, i32), side: Side, colour: Colour) {
        self.0.text(Paint::Fill(colour), at(place), side, text);
    }
}
