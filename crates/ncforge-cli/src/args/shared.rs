//! Arguments that several commands take, each declared once.

use clap::{Args, ValueEnum};

/// Formats to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// The input's own format
    Keep,
    /// netCDF classic, CDF-1
    #[value(alias = "cdf1", alias = "nc3")]
    Classic,
    /// netCDF 64-bit offset, CDF-2
    #[value(alias = "64-bit-offset", alias = "nc6")]
    Cdf2,
    /// netCDF 64-bit data, CDF-5
    #[value(alias = "64-bit-data", alias = "nc5")]
    Cdf5,
    /// netCDF-4
    #[value(alias = "nc4", alias = "netCDF-4")]
    Netcdf4,
    /// netCDF-4 restricted to the classic model
    #[value(alias = "nc7", alias = "nc4c")]
    Netcdf4Classic,
}

/// Codecs to compress with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CodecArg {
    /// What the input has
    Keep,
    /// No compression
    None,
    /// zlib: read by every netCDF-4 reader
    #[value(alias = "zlib")]
    Deflate,
    /// Zstandard: faster; needs a plugin in other readers
    Zstd,
    /// For each variable what a sample of its values says: none, or deflate with or without shuffle
    Auto,
}

/// What `--codec auto` is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GoalArg {
    /// Size, reading and writing: the least time of one write and ten reads from storage of 250 MB/s at most
    Balanced,
    /// The least time of a read from this machine's storage, or that of --storage
    FastRead,
    /// The fewest bytes
    Small,
}

/// How an output is compressed.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct CodecArgs {
    /// Compression
    #[arg(long, value_enum, default_value = "keep")]
    pub(crate) codec: CodecArg,
    /// With --codec auto: what for [default: balanced]
    #[arg(long, value_enum)]
    pub(crate) goal: Option<GoalArg>,
    /// With --codec auto: zstd may be chosen, too; other readers need a plugin for it
    #[arg(long)]
    pub(crate) allow_zstd: bool,
    /// Level of compression: 0-9 for deflate (0: none), 1-22 for zstd
    #[arg(long, value_name = "N")]
    pub(crate) level: Option<u32>,
}

/// What of the input goes into the output.
#[derive(Args, Debug)]
pub(crate) struct OnlyArgs {
    /// Only these variables, and the dimensions that they use
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    pub(crate) vars: Vec<String>,
}

/// How a long run goes, and goes on.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct RunArgs {
    /// Read the output back and compare every value
    #[arg(long)]
    pub(crate) verify: bool,
    /// Show what would be done, and do nothing
    #[arg(short = 'n', long)]
    pub(crate) dry_run: bool,
    /// Go on with an interrupted run
    #[arg(long)]
    pub(crate) resume: bool,
    /// Seconds between two notes of what is done, from which --resume goes on
    #[arg(long, value_name = "SECONDS", default_value = "2", hide = true)]
    pub(crate) checkpoint: f64,
    /// Do not write the command line into the `history` attribute
    #[arg(long)]
    pub(crate) no_history: bool,
}

/// What becomes of an output that is there already, and how what was done is told.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct WrittenArgs {
    /// Overwrite the output if it exists
    #[arg(short = 'O', long)]
    pub(crate) overwrite: bool,
    /// What was done (or would be), as JSON
    #[arg(long)]
    pub(crate) json: bool,
}
