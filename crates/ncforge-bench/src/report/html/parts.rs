//! Parts of pages: lists, tables, and how much of them a page can take.

use maud::{Markup, html};

use crate::report::table::Table;

/// Pictures of a page have at most this many bytes together; what does not fit is named.
const PICTURES: usize = 2 << 20;
/// Tables of a page have at most this many rows together.
const ROWS: usize = 2500;

/// The space that a page still has.
pub(super) struct Space {
    /// Bytes of pictures.
    pub(super) pictures: usize,
    /// Rows of tables.
    pub(super) rows: usize,
}

impl Space {
    /// The space of an empty page.
    pub(super) fn whole() -> Self {
        Space { pictures: PICTURES, rows: ROWS }
    }
}

pub(super) fn list(texts: &[String]) -> Markup {
    html! {
        @if !texts.is_empty() {
            ul { @for text in texts { li { (rich(text)) } } }
        }
    }
}

/// Words with what stands between backquotes as code.
pub(super) fn rich(text: &str) -> Markup {
    html! {
        @for (i, part) in text.split('`').enumerate() {
            @if i % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// The first rows of a table, as many as the page can take.
pub(super) fn table(caption: &str, table: &Table, space: &mut Space) -> Markup {
    let shown = table.rows.len().min(space.rows);
    space.rows -= shown;
    let left_out = table.rows.len() - shown;
    let class = |c: usize| if table.head[c].starts_with('#') { "number" } else { "text" };
    html! {
        div.scroll tabindex="0" {
            table {
                caption { (caption) }
                thead {
                    tr {
                        @for (c, h) in table.head.iter().enumerate() {
                            th scope="col" class=(class(c)) { (h.trim_start_matches('#')) }
                        }
                    }
                }
                tbody {
                    @for row in table.rows.iter().take(shown) {
                        tr class=[row.iter().any(|c| c == "WRONG").then_some("wrong")] {
                            @for (c, cell) in row.iter().enumerate() {
                                @if c == 0 { th scope="row" class="text" { (cell) } }
                                @else { td class=(class(c)) { (cell) } }
                            }
                        }
                    }
                }
            }
        }
        @if left_out > 0 { p.note { (left_out) " more rows stand in the saved result only." } }
    }
}
