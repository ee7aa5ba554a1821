//! `ncforge nccopy`: the options of netCDF's own `nccopy`, letter by letter.

use std::path::PathBuf;

use clap::Args;

use super::{Digits, GlobalArgs, List};

/// Copy with the options of netCDF's `nccopy`, which mean the same here.
///
/// Replace `nccopy` by `ncforge nccopy` in a script, or link `nccopy` to `ncforge`. As with nccopy, an output
/// that exists is overwritten and no history is written.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, after_long_help = AFTER)]
pub(crate) struct NccopyArgs {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    /// Kind of the output: classic, '64-bit offset', cdf5, netCDF-4, 'netCDF-4 classic model', and their other
    /// names and numbers
    #[arg(short = 'k', value_name = "KIND")]
    pub(crate) kind: Option<String>,
    #[command(flatten)]
    pub(crate) digits: Digits,
    /// Deflate level of all variables, 0 (none) to 9 [default: as in the input]
    #[arg(short = 'd', value_name = "N", value_parser = clap::value_parser!(u32).range(0..=9))]
    pub(crate) deflate: Option<u32>,
    /// Shuffle before deflating
    #[arg(short = 's')]
    pub(crate) shuffle: bool,
    /// Chunk lengths: 'dim/N,…', 'var:N,…', 'var:' or '/' for none; may be repeated
    #[arg(short = 'c', value_name = "CHUNKSPEC")]
    pub(crate) chunks: Vec<String>,
    /// Make unlimited dimensions fixed
    #[arg(short = 'u')]
    pub(crate) fixed: bool,
    /// Data of these variables only, definitions of all
    #[arg(short = 'v', value_name = "VAR,…", conflicts_with = "only_vars")]
    pub(crate) data_vars: Vec<List>,
    /// These variables only
    #[arg(short = 'V', value_name = "VAR,…")]
    pub(crate) only_vars: Vec<List>,
    /// Data of these groups only, definitions of all
    #[arg(short = 'g', value_name = "GROUP,…", conflicts_with = "only_groups")]
    pub(crate) data_groups: Vec<List>,
    /// These groups only
    #[arg(short = 'G', value_name = "GROUP,…")]
    pub(crate) only_groups: Vec<List>,
    /// Filters of variables: 'var,id,param,…', '*,zstd,3', 'var,none', 'none'; may be repeated
    #[arg(short = 'F', value_name = "FILTERSPEC")]
    pub(crate) filters: Vec<String>,
    /// Variables of fewer bytes are not chunked [default: 8192]
    #[arg(short = 'M', value_name = "SIZE", value_parser = decimal_size)]
    pub(crate) min_chunked: Option<u64>,
    /// Copy buffer: not needed, ncforge plans its own (see --memory)
    #[arg(short = 'm', value_name = "SIZE", value_parser = decimal_size)]
    buffer: Option<u64>,
    /// Chunk cache bytes: not needed
    #[arg(short = 'h', value_name = "SIZE", value_parser = decimal_size)]
    cache_bytes: Option<u64>,
    /// Chunk cache slots: not needed
    #[arg(short = 'e', value_name = "N", value_parser = decimal_size)]
    cache_slots: Option<u64>,
    /// Read the input into memory first: not needed
    #[arg(short = 'r')]
    diskless_input: bool,
    /// Write the output when it is complete: always so
    #[arg(short = 'w')]
    diskless_output: bool,
    /// Estimated chunk caches: not needed
    #[arg(short = 'x', hide = true)]
    estimated_caches: bool,
    /// Log level: as --verbose when above 0
    #[arg(short = 'L', value_name = "N")]
    log_level: Option<u8>,
    /// Read the output back, as ncforge reads, and compare every value
    #[arg(long, help_heading = NOT_NCCOPY)]
    pub(crate) verify: bool,
    /// Go on with an interrupted copy
    #[arg(long, help_heading = NOT_NCCOPY)]
    pub(crate) resume: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help, help_heading = NOT_NCCOPY)]
    help: Option<bool>,
    /// The file to copy
    #[arg(value_name = "INFILE")]
    pub(crate) input: PathBuf,
    /// The file to write
    #[arg(value_name = "OUTFILE")]
    pub(crate) output: PathBuf,
}

const NOT_NCCOPY: &str = "Options that nccopy does not have";

const AFTER: &str = "\
Sizes take the suffixes K, M, G and T, powers of 1000 as in nccopy (--memory: powers of 1024).

Examples:
  ncforge nccopy -d 1 -s -c time/365,lat/40,lon/40 in.nc out.nc
  ncforge nccopy -k cdf5 in.nc out.nc";

impl NccopyArgs {
    /// What these options say about those of every command.
    pub(crate) fn global(&self) -> GlobalArgs {
        GlobalArgs {
            verbose: self.global.verbose.saturating_add(self.log_level.unwrap_or(0)),
            ..self.global.clone()
        }
    }
}

/// A number with an optional suffix, powers of 1000, as nccopy reads it.
fn decimal_size(text: &str) -> Result<u64, String> {
    let bad = || format!("`{text}` is not a number with an optional K, M, G, T or P");
    let split = text.find(|c: char| !(c.is_ascii_digit() || ".eE+-".contains(c))).unwrap_or(text.len());
    let (number, suffix) = text.split_at(split);
    let scale = match suffix {
        "" => 1.0,
        "K" | "k" => 1e3,
        "M" | "m" => 1e6,
        "G" | "g" => 1e9,
        "T" | "t" => 1e12,
        "P" | "p" => 1e15,
        _ => return Err(bad()),
    };
    let bytes = number.parse::<f64>().map_err(|_| bad())? * scale;
    if bytes >= 0.0 && bytes < u64::MAX as f64 { Ok(bytes as u64) } else { Err(bad()) }
}

#[cfg(test)]
mod tests {
    use super::decimal_size;

    #[test]
    fn sizes_are_decimal() {
        assert_eq!(decimal_size("4k"), Ok(4000));
        assert_eq!(decimal_size("1.5M"), Ok(1_500_000));
        assert_eq!(decimal_size("5000000"), Ok(5_000_000));
        for bad in ["", "x", "-1", "1KiB"] {
            assert!(decimal_size(bad).is_err(), "{bad}");
        }
    }
}
