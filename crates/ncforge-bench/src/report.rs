//! Results as tables, as Markdown, as a page; and results of two runs compared.

pub mod access;
mod chart;
pub mod chunks;
mod compare;
mod html;
pub mod io;
mod markdown;
mod scaled;
mod table;
mod text;

pub use ncforge_tune::words::{bytes, seconds};

pub use compare::{Change, Comparison, compare};
pub use html::results_page;
pub use markdown::results_markdown;
pub use scaled::over_ranks;
pub use text::{results_brief, results_table, results_words};
