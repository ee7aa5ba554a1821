//! Where the result of a benchmark goes.

use std::path::{Path, PathBuf};

use clap::Args;

/// Forms of the result, beside the table.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Reports")]
pub(crate) struct OutputArgs {
    /// Write a row a measurement as CSV; to stdout without a path
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub(crate) csv: Option<PathBuf>,
    /// Write everything as JSON, which `bench compare` and `report` read; to stdout without a path
    #[arg(long, value_name = "PATH", num_args = 0..=1, require_equals = true, default_missing_value = "-")]
    pub(crate) json: Option<PathBuf>,
}

impl OutputArgs {
    /// Whether one of the forms takes the place of the table.
    pub(crate) fn takes_stdout(&self) -> bool {
        [&self.csv, &self.json].into_iter().flatten().any(|p| p == Path::new("-"))
    }
}
