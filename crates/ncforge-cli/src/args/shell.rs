//! `ncforge completions`, `ncforge man`

use std::path::PathBuf;

use clap::Args;

/// Print a completion script for a shell.
#[derive(Args, Debug)]
#[command(
    after_long_help = "Example:\n  ncforge completions bash > ~/.local/share/bash-completion/completions/ncforge"
)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: clap_complete::Shell,
}

/// Print or write the manual pages.
#[derive(Args, Debug)]
#[command(
    after_long_help = "Examples:\n  ncforge man copy | man -l -\n  ncforge man bench io | man -l -\n  ncforge man --dir ~/.local/share/man/man1\n  ncforge man --markdown > reference.md"
)]
pub(crate) struct ManArgs {
    /// The command whose page is printed, as `copy` or `bench io` [default: ncforge itself]
    pub(crate) command: Vec<String>,
    /// Write all pages into this folder instead
    #[arg(long, value_name = "DIR", conflicts_with = "command", value_hint = clap::ValueHint::DirPath)]
    pub(crate) dir: Option<PathBuf>,
    /// All commands but `bench` in one document, as Markdown; or `bench`
    #[arg(long, value_name = "bench", num_args = 0..=1, conflicts_with_all = ["command", "dir"])]
    pub(crate) markdown: Option<Option<Apart>>,
}

/// A command with a document of its own.
#[derive(clap::ValueEnum, Clone, Copy, Debug)]
pub(crate) enum Apart {
    /// All below `ncforge bench`
    Bench,
}
