//! `ncforge refs`

use std::path::PathBuf;

use clap::Args;
use ncforge_ops::refs::{RefsFormat, RefsRequest};
use ncforge_ops::request::Size;

use super::shared::listed;
use super::{GlobalArgs, OnlyArgs, WrittenArgs};

/// Make references to the chunks of files, which readers of Zarr open as one dataset.
///
/// The document is kerchunk's, version 1, as JSON: no value is copied, but for small variables and those that ranges of bytes
/// cannot express. Several files are joined along a dimension, as `ncforge concat` joins them: in the order of its coordinate.
/// `ncforge doctor --across --profile virtual` shows what does not fit together.
///
/// With `--format cf`, or a name that ends in .nc, a netCDF file with aggregation variables (CF conventions, section 2.8) is written instead: it names the
/// variables of the files, whatever their storage, and is read by ncforge, cfdm and cf-python.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct RefsArgs {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// The references; - is stdout
    #[arg(short = 'o', long, value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// What is written: a JSON document of kerchunk's, or a netCDF file with aggregation variables [default: cf if OUT ends in .nc,
    /// else kerchunk]
    #[arg(long, value_name = "FORMAT", value_parser = ["kerchunk", "cf"])]
    pub(crate) format: Option<String>,
    /// The dimension along which several files are joined [default: the unlimited one, else the first whose length differs]
    #[arg(long, value_name = "DIM")]
    pub(crate) along: Option<String>,
    /// Join the files as they are given, even if their coordinates along DIM do not follow each other
    #[arg(long)]
    pub(crate) unsorted: bool,
    /// Store variables of at most this many bytes in the references themselves
    #[arg(long, value_name = "SIZE", default_value = "64K")]
    pub(crate) inline: Size,
    /// The folder or URL under which readers will find the files [default: where they are now]
    #[arg(long, value_name = "URL")]
    pub(crate) base: Option<String>,
    #[command(flatten)]
    pub(crate) only: OnlyArgs,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Examples:
  ncforge refs sst.nc -o sst.json
  ncforge refs tas_*.nc -o tas.json --along time
  ncforge refs tas_*.nc -o tas.json --base s3://bucket/cmip7
  ncforge refs tas_*.nc -o tas.nc

In Python:
  xarray.open_dataset(\"tas.json\", engine=\"kerchunk\")";

impl RefsArgs {
    /// The request that these arguments are.
    pub(crate) fn request(&self) -> RefsRequest {
        RefsRequest {
            along: self.along.clone(),
            unsorted: self.unsorted,
            inline: Some(self.inline),
            base: self.base.clone(),
            vars: listed(&self.only.vars),
            select: self.only.selection(),
            format: self.format.as_deref().map(|word| match word {
                "cf" => RefsFormat::Cf,
                _ => RefsFormat::Kerchunk,
            }),
            ..RefsRequest::default()
        }
    }
}
