//! Pictures in SVG: rectangles, lines, discs and words, whose colours are the page's.

use std::fmt::{Display, Formatter, Write};

use maud::{Markup, PreEscaped, html};

/// A place: across and down.
pub type At = (f64, f64);

/// The paint of a shape.
#[derive(Clone, Copy, Debug)]
pub enum Paint<'p> {
    /// A class of the style sheet.
    Class(&'p str),
    /// Its inside in a colour.
    Fill(&'p str),
    /// Its outline in a colour, this many units wide.
    Stroke(&'p str, u32),
}

impl<'p> From<&'p str> for Paint<'p> {
    fn from(class: &'p str) -> Self {
        Paint::Class(class)
    }
}

impl<'p> From<&'p String> for Paint<'p> {
    fn from(class: &'p String) -> Self {
        Paint::Class(class)
    }
}

impl Display for Paint<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Paint::Class(name) => write!(f, "class=\"{name}\""),
            Paint::Fill(colour) => write!(f, "fill=\"{colour}\""),
            Paint::Stroke(colour, width) => {
                write!(f, "fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\"")
            }
        }
    }
}

/// A picture in the making. Lengths are in its own units, a unit is about a pixel.
#[derive(Debug)]
pub struct Svg {
    size: (f64, f64),
    drawn: String,
}

/// On which side of its place a word stands.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    /// The text begins there.
    Left,
    /// The text's middle is there.
    Middle,
    /// The text ends there.
    Right,
}

impl Svg {
    /// An empty picture.
    pub fn new(width: f64, height: f64) -> Self {
        Svg { size: (width, height), drawn: String::new() }
    }

    /// A rectangle: its upper left corner, its width and height.
    pub fn rect<'p>(&mut self, paint: impl Into<Paint<'p>>, (x, y): At, (w, h): (f64, f64)) {
        let paint = paint.into();
        // Writing to a String cannot fail.
        let _ = write!(
            self.drawn,
            "<rect {paint} x=\"{x:.2}\" y=\"{y:.2}\" width=\"{w:.2}\" height=\"{h:.2}\"/>"
        );
    }

    /// Lines as one path, each from one place to another.
    pub fn lines<'p>(&mut self, paint: impl Into<Paint<'p>>, lines: &[(At, At)]) {
        if lines.is_empty() {
            return;
        }
        let _ = write!(self.drawn, "<path {} d=\"", paint.into());
        for ((x, y), (u, v)) in lines {
            let _ = write!(self.drawn, "M{x:.2} {y:.2}L{u:.2} {v:.2}");
        }
        self.drawn.push_str("\"/>");
    }

    /// A line through places.
    pub fn polyline<'p>(&mut self, paint: impl Into<Paint<'p>>, places: impl IntoIterator<Item = At>) {
        self.through("polyline", paint.into(), places);
    }

    /// An area with corners.
    pub fn polygon<'p>(&mut self, paint: impl Into<Paint<'p>>, corners: impl IntoIterator<Item = At>) {
        self.through("polygon", paint.into(), corners);
    }

    fn through(&mut self, what: &str, paint: Paint<'_>, places: impl IntoIterator<Item = At>) {
        let _ = write!(self.drawn, "<{what} {paint} points=\"");
        for (x, y) in places {
            let _ = write!(self.drawn, "{x:.2},{y:.2} ");
        }
        self.drawn.push_str("\"/>");
    }

    /// A disc, or a ring.
    pub fn dot<'p>(&mut self, paint: impl Into<Paint<'p>>, (x, y): At, radius: f64) {
        let paint = paint.into();
        let _ = write!(self.drawn, "<circle {paint} cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius:.2}\"/>");
    }

    /// Words, half way up at their place.
    pub fn text<'p>(&mut self, paint: impl Into<Paint<'p>>, (x, y): At, side: Side, text: &str) {
        let anchor = match side {
            Side::Left => "start",
            Side::Middle => "middle",
            Side::Right => "end",
        };
        let (paint, escaped) = (paint.into(), html! { (text) }.into_string());
        let _ = write!(
            self.drawn,
            "<text {paint} x=\"{x:.2}\" y=\"{:.2}\" text-anchor=\"{anchor}\">{escaped}</text>",
            y + 4.5
        );
    }

    /// The picture, with its name for those who do not see it. `class` is one of the style sheet's.
    pub fn named(self, class: &str, name: &str) -> Markup {
        let (w, h) = self.size;
        let view = format!("0 0 {w:.0} {h:.0}");
        html! {
            svg class=(class) xmlns="http://www.w3.org/2000/svg" viewBox=(view) width=(format!("{w:.0}"))
                height=(format!("{h:.0}")) role="img" aria-label=(name) { (PreEscaped(self.drawn)) }
        }
    }

    /// Bytes of what is drawn so far.
    pub fn len(&self) -> usize {
        self.drawn.len()
    }

    /// Whether nothing is drawn so far.
    pub fn is_empty(&self) -> bool {
        self.drawn.is_empty()
    }
}

/// A name, not longer than this: what distinguishes names is at both ends.
pub fn short(text: &str, letters: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= letters {
        return text.to_owned();
    }
    let keep = letters.saturating_sub(1);
    let head: String = all[..keep / 2].iter().collect();
    let tail: String = all[all.len() - (keep - keep / 2)..].iter().collect();
    format!("{head}…{tail}")
}
