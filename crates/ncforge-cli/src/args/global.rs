//! Options that every command takes.

use std::num::NonZeroUsize;

use clap::{ArgAction, Args, ValueEnum};

use ncforge::store::RemoteOptions;
use ncforge_ops::request::Size;

/// How to show progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ProgressKind {
    /// A bar on a terminal, plain lines otherwise
    Auto,
    /// A bar
    Bar,
    /// A line every few seconds
    Plain,
    /// One JSON object per line
    Json,
    /// Nothing
    None,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ColorWhen {
    /// On a terminal, unless NO_COLOR is set
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

pub(super) fn threads(text: &str) -> Result<NonZeroUsize, String> {
    text.parse().map_err(|_| format!("`{text}` is not a number of threads, 1 or more"))
}

/// The heading of these options.
pub(crate) const HEADING: &str = "Options of every command";

/// The options themselves.
#[derive(Args, Clone, Debug, Default)]
// Of each option by itself: a heading for all that follow is that of the options behind these, too.
pub(crate) struct GlobalArgs {
    /// Print details of the work (twice: more details)
    #[arg(short, long, action = ArgAction::Count, help_heading = HEADING)]
    pub(crate) verbose: u8,
    /// Say nothing but results and errors
    #[arg(short, long, help_heading = HEADING)]
    pub(crate) quiet: bool,
    /// Worker threads [default: NCFORGE_THREADS, else what the machine or the job allows]
    #[arg(short = 'j', long, value_name = "N", value_parser = threads, help_heading = HEADING)]
    pub(crate) threads: Option<NonZeroUsize>,
    /// Memory budget, such as 500M or 4G [default: NCFORGE_MEMORY, else a share of what the machine or the job has]
    #[arg(long, value_name = "SIZE", help_heading = HEADING)]
    pub(crate) memory: Option<Size>,
    /// How to show progress [default: auto]
    #[arg(long, value_name = "HOW", help_heading = HEADING)]
    pub(crate) progress: Option<ProgressKind>,
    /// When to use colours [default: auto]
    #[arg(long, value_name = "WHEN", help_heading = HEADING)]
    pub(crate) color: Option<ColorWhen>,
    /// Access URLs without credentials: public data
    #[arg(long, help_heading = HEADING)]
    pub(crate) anonymous: bool,
    /// How URLs are accessed: `endpoint=https://…`, `region=eu-west-2`, `timeout=60s`, … (repeatable)
    #[arg(long = "storage-option", value_name = "NAME=VALUE", value_parser = storage_option, help_heading = HEADING)]
    pub(crate) storage_options: Vec<(String, String)>,
    /// Refuse to read other files that a file leads to: virtual datasets and external links of HDF5, aggregation variables of the CF conventions.
    /// For files of people who must not see this machine's own
    #[arg(long, help_heading = HEADING)]
    pub(crate) no_follow: bool,
}

pub(super) fn storage_option(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err(format!("`{text}` is not NAME=VALUE")),
    }
}

impl GlobalArgs {
    /// How URLs are accessed.
    pub(crate) fn remote(&self) -> RemoteOptions {
        RemoteOptions { anonymous: self.anonymous, options: self.storage_options.iter().cloned().collect() }
    }

    /// These options with those that were given behind the command's name on top.
    pub(crate) fn overridden_by(&self, own: &GlobalArgs) -> GlobalArgs {
        GlobalArgs {
            verbose: self.verbose.saturating_add(own.verbose),
            quiet: self.quiet || own.quiet,
            threads: own.threads.or(self.threads),
            memory: own.memory.or(self.memory),
            progress: own.progress.or(self.progress),
            color: own.color.or(self.color),
            anonymous: self.anonymous || own.anonymous,
            storage_options: [&self.storage_options[..], &own.storage_options[..]].concat(),
            no_follow: self.no_follow || own.no_follow,
        }
    }
}
