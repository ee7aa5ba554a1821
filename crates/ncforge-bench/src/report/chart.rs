//! Charts of results as SVG, for a page.
//!
//! Colours are named by what they are for (`INK`, `GRID`), with values that a page's style sheet replaces for light and for dark
//! paper; without one they are those of light paper. Series have the colours of Okabe and Ito, which people who see
//! colours differently can distinguish, and every chart says in words or numbers what its colours say.

mod bars;
mod canvas;
mod front;
mod heat;
mod lanes;
mod latency;
mod scale;
mod scaling;
mod violin;

pub(crate) use bars::bars;
pub(crate) use front::{Point, front, points, unbeaten};
pub(crate) use heat::heat;
pub(crate) use lanes::lanes;
pub(crate) use latency::latency;
pub(crate) use scaling::scaling;

/// A picture with what it shows, in words for those who do not see it.
#[derive(Debug)]
pub(crate) struct Chart {
    /// The heading.
    pub(crate) title: String,
    /// A description of the chart.
    pub(crate) words: String,
    /// The picture.
    pub(crate) svg: ncforge_view::Svg,
}
