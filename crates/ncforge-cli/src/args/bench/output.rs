//! Where the result of a benchmark goes.

use std::path::{Path, PathBuf};

use clap::Args;

/// Forms of the result, in addition to the table.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Reports")]
pub(crate) struct OutputArgs {
    /// Write a row a measurement as CSV; without a path to stdout, in place of the table
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub(crate) csv: Option<PathBuf>,
    /// Write everything as JSON, which `bench compare` and `report` read; without a path to stdout, in place of the table
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
    /// Write tables as Markdown; - is stdout
    #[arg(long, value_name = "PATH")]
    pub(crate) markdown: Option<PathBuf>,
    /// Write a page with tables and charts; it needs no network. - is stdout
    #[arg(long, value_name = "PATH")]
    pub(crate) html: Option<PathBuf>,
    /// Keep host names, devices and folders in pages
    #[arg(long)]
    pub(crate) show_paths: bool,
    /// Replace files that exist: reports, and of `bench io` a file that no benchmark has written
    #[arg(short = 'O', long)]
    pub(crate) overwrite: bool,
}

impl OutputArgs {
    /// Where each form goes: CSV, JSON, Markdown, page.
    pub(crate) fn paths(&self) -> [Option<&Path>; 4] {
        [self.csv.as_deref(), self.json.as_deref(), self.markdown.as_deref(), self.html.as_deref()]
    }

    /// Whether one of the forms takes the place of the table.
    pub(crate) fn takes_stdout(&self) -> bool {
        self.paths().into_iter().flatten().any(|p| p == Path::new("-"))
    }
}
