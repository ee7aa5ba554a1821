//! `ncforge copy`

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::{ChoosingArgs, CodecArgs, FormatArg, GlobalArgs, OnlyArgs, ProfileArg, RunArgs, WrittenArgs};

/// Byte orders to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum EndianArg {
    /// What the input has
    Keep,
    /// This machine's
    Native,
    /// Least significant byte first
    Little,
    /// Most significant byte first
    Big,
}

/// Chunk shapes to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChunksArg {
    /// What the input has.
    Keep,
    /// Chosen by ncforge, for the usual reads or for these.
    Auto(Option<String>),
    /// A specification as of `nccopy -c`.
    Spec(String),
}

impl FromStr for ChunksArg {
    type Err = std::convert::Infallible;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        Ok(match s {
            "keep" => ChunksArg::Keep,
            "auto" => ChunksArg::Auto(None),
            _ if s.starts_with("auto:") => ChunksArg::Auto(Some(s["auto:".len()..].to_owned())),
            spec => ChunksArg::Spec(spec.to_owned()),
        })
    }
}

/// Copy a file into another format, chunk shape or compression.
///
/// Memory stays within the budget whatever the file's size. The output appears under its name only when it is
/// whole. Without options the copy keeps everything as it is in the input.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct CopyArgs {
    /// The file to copy
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The file to write
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Format of the output
    #[arg(long, value_enum, default_value = "keep")]
    pub(crate) format: FormatArg,
    /// Short for --format classic
    #[arg(short = '3', group = "short_format", conflicts_with = "format")]
    pub(crate) classic: bool,
    /// Short for --format netcdf4
    #[arg(short = '4', group = "short_format", conflicts_with = "format")]
    pub(crate) netcdf4: bool,
    /// Short for --format cdf5
    #[arg(short = '5', group = "short_format", conflicts_with = "format")]
    pub(crate) cdf5: bool,
    /// Short for --format cdf2
    #[arg(short = '6', group = "short_format", conflicts_with = "format")]
    pub(crate) cdf2: bool,
    /// Short for --format netcdf4-classic
    #[arg(short = '7', group = "short_format", conflicts_with = "format")]
    pub(crate) netcdf4_classic: bool,
    /// Chunk shapes: keep; auto, or auto:READS as for --for; or a specification such as `time/365,lat/40,lon/40` or
    /// `sst:365,40,40` [default: keep, with --for auto]
    #[arg(long, value_name = "keep|auto[:READS]|SPEC")]
    pub(crate) chunks: Option<ChunksArg>,
    #[command(flatten)]
    pub(crate) choosing: ChoosingArgs,
    #[command(flatten)]
    pub(crate) coding: CodecArgs,
    /// Shuffle bytes before compression [default: yes, where numbers are longer than a byte]
    #[arg(long, overrides_with = "no_shuffle")]
    pub(crate) shuffle: bool,
    /// Do not shuffle
    #[arg(long, overrides_with = "shuffle")]
    pub(crate) no_shuffle: bool,
    /// Add a checksum to every chunk
    #[arg(long)]
    pub(crate) fletcher32: bool,
    /// Filters of single variables, as nccopy -F takes them: `tas|pr,shuffle|deflate,1`, `v,none`; repeatable
    #[arg(long, value_name = "SPEC")]
    pub(crate) filters: Vec<String>,
    /// Round floats and doubles to so many significant decimal digits, so that they compress better; coordinates
    /// keep all of theirs. This changes values
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=15), conflicts_with = "keep_bits")]
    pub(crate) keep_digits: Option<u32>,
    /// The same, to so many bits of the mantissa
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=52))]
    pub(crate) keep_bits: Option<u32>,
    /// Byte order of numbers in netCDF-4 output
    #[arg(long, value_enum, default_value = "keep")]
    pub(crate) endian: EndianArg,
    /// Leave out chunks that hold nothing but the fill value; they read the same
    #[arg(long)]
    pub(crate) skip_fill: bool,
    /// Make unlimited dimensions fixed ones of their length
    #[arg(long)]
    pub(crate) fix_unlimited: bool,
    /// Lay the output out as somebody requires it
    #[arg(long, value_enum)]
    pub(crate) profile: Option<ProfileArg>,
    #[command(flatten)]
    pub(crate) only: OnlyArgs,
    #[command(flatten)]
    pub(crate) run: RunArgs,
    #[command(flatten)]
    pub(crate) told: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Examples:
  ncforge copy in.nc out.nc --format netcdf4 --chunks auto --codec deflate --verify
  ncforge copy in.nc out.nc --for series=3,map=1 --dry-run
  ncforge copy in.nc out.nc --chunks time/365,lat/40,lon/40 --codec zstd --level 3
  ncforge copy -5 in.nc out.nc";

impl CopyArgs {
    /// The format asked for, by `--format` or by digit.
    pub(crate) fn format(&self) -> FormatArg {
        match () {
            () if self.classic => FormatArg::Classic,
            () if self.netcdf4 => FormatArg::Netcdf4,
            () if self.cdf5 => FormatArg::Cdf5,
            () if self.cdf2 => FormatArg::Cdf2,
            () if self.netcdf4_classic => FormatArg::Netcdf4Classic,
            () => self.format,
        }
    }
}
