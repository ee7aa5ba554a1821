//! Options that several benchmarks take, each declared once.

use std::path::PathBuf;

use clap::Args;

use ncforge_ops::request::Size;

/// What else is measured, besides ncforge.
#[derive(Args, Debug)]
pub(crate) struct LibraryArgs {
    /// A netCDF-C library to measure as well, by its path (repeatable); `netcdf-c` is the system's
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Vec<PathBuf>,
}

/// Where a benchmark's own files lie.
#[derive(Args, Debug)]
pub(crate) struct FolderArgs {
    /// Folder for the files [default: the system's temporary one]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
}

/// Repetitions in addition to those that count.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct RoundsArgs {
    /// Repetitions before that which do not count
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) warmup: usize,
    /// Do not measure again what something else on the machine disturbed
    #[arg(long)]
    pub(crate) no_guard: bool,
}

/// A cache size, or the library's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CacheArg(pub(crate) Option<u64>);

impl std::str::FromStr for CacheArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "default" => Ok(CacheArg(None)),
            _ => text.parse::<Size>().map(|s| CacheArg(Some(s.0))).map_err(|e| e.to_string()),
        }
    }
}

/// A time that is one.
pub(super) fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if s.is_finite() && s > 0.0 => Ok(s),
        _ => Err(format!("`{text}` is no number of seconds")),
    }
}
