//! The page: head, style, one section a file.

use maud::{DOCTYPE, Markup, PreEscaped, html};
use ncforge_ops::doctor::{Anatomy, Use};
use ncforge_tune::words::{bytes, many};

use crate::{bytes as map, variable};

/// The style of all pages, for light and for dark paper, screens and printers.
pub const STYLE: &str = concat!(
    ":root {\n",
    include_str!("light.css"),
    "}\n@media screen and (prefers-color-scheme: dark) {\n:root {\n",
    include_str!("dark.css"),
    "}\n}\n",
    include_str!("style.css")
);
/// The further style of drawings of files.
pub(crate) const DRAWINGS: &str = include_str!("drawings.css");
/// Variables that are drawn, the largest first; the others are named.
const MOST_VARIABLES: usize = 12;

/// A page about files: their bytes, their largest variables, the reads on their chunks.
pub fn info_page(files: &[Anatomy]) -> String {
    let title = match files {
        [one] => one.file.clone(),
        _ => many(files.len() as u64, "file"),
    };
    page(
        &title,
        &html! { @for (i, file) in files.iter().enumerate() { (file_section(file, Some(i), files.len() > 1)) } },
    )
}

/// A page that needs nothing but itself: no network, no script. `style` is added to [`STYLE`].
pub fn frame(title: &str, style: &str, header: &Markup, main: &Markup, footer: &str) -> String {
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) }
                link rel="icon" href="data:,";
                style { (PreEscaped(STYLE)) (PreEscaped(style)) }
            }
            body {
                header { (header) }
                main { (main) }
                footer { p { (footer) } }
            }
        }
    };
    page.into_string()
}

const FOOTER: &str = "Bytes and chunks are counted from the file, for a read in the middle. Times are predicted by the cost model for the first read \
    of a program, with the rates that this machine was calibrated with, or the usual ones; loops of reads cost less.";

/// The frame of a page about files.
pub(crate) fn page(title: &str, body: &Markup) -> String {
    let header = html! {
        h1 { (title) }
        p.muted { "ncforge " (env!("CARGO_PKG_VERSION")) }
    };
    frame(&format!("{title} – ncforge"), DRAWINGS, &header, body, FOOTER)
}

/// A file in one line.
pub(crate) fn summary(file: &Anatomy) -> String {
    let values: u64 = file.variables.iter().map(|v| v.bytes).fold(0, u64::saturating_add);
    format!(
        "{}, {}: {} on disk, {} of values in memory, metadata {}",
        file.format,
        many(file.variables.len() as u64, "variable"),
        bytes(file.bytes),
        bytes(values),
        bytes(file.bytes_for(Use::Metadata)),
    )
}

/// The variables that are drawn.
pub(crate) fn drawn(file: &Anatomy) -> Vec<usize> {
    let mut order: Vec<usize> = (0..file.variables.len()).filter(|&i| file.variables[i].bytes > 0).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(file.variables[i].bytes), i));
    // A coordinate of a few bytes means little next to what fills the file.
    let most = order.first().map_or(0, |&i| file.variables[i].bytes);
    order.retain(|&i| file.variables[i].bytes.saturating_mul(1000) >= most);
    order.truncate(MOST_VARIABLES);
    order
}

/// All about a file, the `number`th of a page. `titled`: under its name.
pub(crate) fn file_section(file: &Anatomy, number: Option<usize>, titled: bool) -> Markup {
    let drawn = drawn(file);
    let left_out = file.variables.len() - drawn.len();
    html! {
        section id=[number.map(|n| format!("file-{n}"))] {
            @if titled { h2 { (file.file) } }
            p { (summary(file)) "." }
            (map::map(file))
            @if titled { h3 { "Variables" } } @else { h2 { "Variables" } }
            @for &i in &drawn { (variable::section(&file.variables[i], variable_id(number, i))) }
            @if left_out > 0 { p.note { (many(left_out as u64, "smaller variable")) " not drawn." } }
        }
    }
}

/// The target of links to a variable of a page.
pub(crate) fn variable_id(file: Option<usize>, variable: usize) -> Option<String> {
    file.map(|n| format!("file-{n}-variable-{variable}"))
}
