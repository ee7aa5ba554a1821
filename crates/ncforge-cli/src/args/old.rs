//! The front-ends with the flags of other tools for tiles: `nocscombine`, `rebuild_nemo`, `mppnccombine`.
//!
//! Those flags (`-ts 3`, `-64`, `-showhaloes`) are not of the kind that is declared; the words are read by hand in
//! [`crate::commands`].

use clap::Args;

/// The words as they stand.
#[derive(Args, Debug)]
#[command(disable_help_flag = true)]
pub(crate) struct OldArgs {
    /// The tool's own options and files
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS", value_hint = clap::ValueHint::AnyPath)]
    pub(crate) words: Vec<String>,
}

/// The names under which the command behaves as another tool.
pub(crate) const NAMES: [&str; 6] =
    ["ncdump", "nccopy", "ncrcat", "nocscombine", "rebuild_nemo", "mppnccombine"];
