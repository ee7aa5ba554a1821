//! `ncforge bench convert`

use std::num::NonZeroUsize;

use clap::Args;

use super::{FolderArgs, LibraryArgs, OutputArgs, RoundsArgs};
use crate::args::GlobalArgs;

/// Write floats raw, converted in several ways, and by libraries, and tell what portability costs.
///
/// The same floats go to disk as they lie in memory; as big-endian floats one by one through a stream, one by one
/// through memory, and by whole blocks; and by ncforge and netCDF-C into classic and netCDF-4 files.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct ConvertArgs {
    /// How many floats, each number as a part of its own
    #[arg(long, value_name = "N,N", value_delimiter = ',', default_value = "10M,100M")]
    pub(crate) floats: Vec<Count>,
    /// 10M floats only, three repetitions
    #[arg(long, conflicts_with_all = ["floats", "repetitions"])]
    pub(crate) quick: bool,
    #[command(flatten)]
    pub(crate) peers: LibraryArgs,
    /// Floats that are converted and written in one call
    #[arg(long, value_name = "N", default_value = "1048576")]
    pub(crate) block: NonZeroUsize,
    /// Measured repetitions
    #[arg(long, value_name = "N", default_value = "5")]
    pub(crate) repetitions: NonZeroUsize,
    #[command(flatten)]
    pub(crate) rounds: RoundsArgs,
    /// Where the floats start
    #[arg(long, value_name = "N", default_value = "1")]
    pub(crate) seed: u64,
    #[command(flatten)]
    pub(crate) place: FolderArgs,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Exit codes: 0 done, 1 failed, 2 usage, 4 a file does not hold what was written.

Example:
  ncforge bench convert --quick --library netcdf-c";

/// A number of things; suffixes are powers of 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Count(pub(crate) u64);

impl std::str::FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (digits, unit) = match text.char_indices().last() {
            Some((at, 'k' | 'K')) => (&text[..at], 1_000),
            Some((at, 'M')) => (&text[..at], 1_000_000),
            Some((at, 'G')) => (&text[..at], 1_000_000_000),
            _ => (text, 1),
        };
        let whole = digits.trim().parse::<u64>().ok().and_then(|n| n.checked_mul(unit)).filter(|&n| n > 0);
        whole.map(Count).ok_or_else(|| format!("`{text}` is no number such as 10M or 250k"))
    }
}

#[cfg(test)]
mod tests {
    use super::Count;

    #[test]
    fn counts_are_decimal() {
        for (text, n) in [("12", 12), ("250k", 250_000), ("10M", 10_000_000), ("1G", 1_000_000_000)] {
            assert_eq!(text.parse(), Ok(Count(n)));
        }
        for text in ["", "0", "M", "-1", "1.5M", "99999999999G"] {
            assert!(text.parse::<Count>().is_err(), "{text}");
        }
    }
}
