//! Pictures in SVG: rectangles, lines and words, whose colours are the page's.

use std::fmt::Write;

use maud::{Markup, PreEscaped, html};

/// Where something is: across and down.
pub(crate) type At = (f64, f64);

/// A picture in the making. Lengths are in its own units, a unit is about a pixel.
#[derive(Debug)]
pub(crate) struct Svg {
    size: (f64, f64),
    drawn: String,
}

/// On which side of its place a word stands.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Side {
    Middle,
    Right,
}

impl Svg {
    pub(crate) fn new(width: f64, height: f64) -> Self {
        Svg { size: (width, height), drawn: String::new() }
    }

    /// A filled rectangle; `class` is one of the style sheet's.
    pub(crate) fn rect(&mut self, class: &str, (x, y): (f64, f64), (w, h): (f64, f64)) {
        // Writing to a String cannot fail.
        let _ = write!(
            self.drawn,
            "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.2}\" width=\"{w:.2}\" height=\"{h:.2}\"/>"
        );
    }

    /// Lines as one path, each from one place to another.
    pub(crate) fn lines(&mut self, class: &str, lines: &[(At, At)]) {
        if lines.is_empty() {
            return;
        }
        let _ = write!(self.drawn, "<path class=\"{class}\" d=\"");
        for ((x, y), (u, v)) in lines {
            let _ = write!(self.drawn, "M{x:.2} {y:.2}L{u:.2} {v:.2}");
        }
        self.drawn.push_str("\"/>");
    }

    pub(crate) fn dot(&mut self, class: &str, (x, y): (f64, f64), radius: f64) {
        let _ =
            write!(self.drawn, "<circle class=\"{class}\" cx=\"{x:.2}\" cy=\"{y:.2}\" r=\"{radius:.2}\"/>");
    }

    /// Words, half way up at their place.
    pub(crate) fn text(&mut self, class: &str, (x, y): (f64, f64), side: Side, text: &str) {
        let anchor = match side {
            Side::Middle => "middle",
            Side::Right => "end",
        };
        let escaped = html! { (text) }.into_string();
        let _ = write!(
            self.drawn,
            "<text class=\"{class}\" x=\"{x:.2}\" y=\"{:.2}\" text-anchor=\"{anchor}\">{escaped}</text>",
            y + 4.5
        );
    }

    /// The picture, with its name for those who do not see it.
    pub(crate) fn named(self, name: &str) -> Markup {
        let (w, h) = self.size;
        let view = format!("0 0 {w:.0} {h:.0}");
        html! {
            svg.drawing xmlns="http://www.w3.org/2000/svg" viewBox=(view) width=(format!("{w:.0}"))
                height=(format!("{h:.0}")) role="img" aria-label=(name) { (PreEscaped(self.drawn)) }
        }
    }
}

/// A name, not longer than this: what tells names apart stands at both ends.
pub(crate) fn short(text: &str, letters: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= letters {
        return text.to_owned();
    }
    let keep = letters.saturating_sub(1);
    let head: String = all[..keep / 2].iter().collect();
    let tail: String = all[all.len() - (keep - keep / 2)..].iter().collect();
    format!("{head}…{tail}")
}
