//! `ncforge report`

use std::path::PathBuf;

use clap::Args;

use super::GlobalArgs;

/// Make a page of saved benchmark results.
///
/// The form follows from the ending of the output's name: `.html` is one page that needs no network, `.md` Markdown, `.csv` a row
/// a measurement, `.json` the results as one. Host names, devices and folders are left out.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct ReportArgs {
    /// Results, saved by `ncforge bench … --json=PATH`
    #[arg(required = true, value_name = "RESULT")]
    pub(crate) results: Vec<PathBuf>,
    /// The page: .html, .md, .csv or .json
    #[arg(short = 'o', long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Keep host names, devices and folders
    #[arg(long)]
    pub(crate) show_paths: bool,
    /// Replace an existing output
    #[arg(short = 'O', long)]
    pub(crate) overwrite: bool,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Example:
  ncforge bench io -w -r --driver raw,ncforge --json=io.json
  ncforge report io.json -o io.html";
