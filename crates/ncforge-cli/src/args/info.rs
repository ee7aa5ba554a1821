//! `ncforge info`

use std::path::PathBuf;

use clap::Args;
use ncforge_ops::doctor::DoctorRequest;
use ncforge_ops::request::{RequestError, value};

use super::{GlobalArgs, WrittenArgs};

/// Show what is in a file and how it is stored.
///
/// Prints the header as CDL, as `ncdump -h` does, followed by a table of how each variable is stored: sizes
/// in memory and on disk, ratio, chunks, filters, access points. `ncforge dump` prints values.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER, mut_arg("json", |a| a.conflicts_with_all(["special", "header", "storage", "kind"])))]
pub(crate) struct InfoArgs {
    /// Files to look at
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Exactly what `ncdump -hs` prints: the header with storage as special attributes (_Storage, _ChunkSizes, …)
    #[arg(short = 's', long = "special")]
    pub(crate) special: bool,
    /// Exactly what `ncdump -h` prints: the header without storage
    #[arg(long, conflicts_with = "special")]
    pub(crate) header: bool,
    /// Only the table of storage, no header
    #[arg(long, conflicts_with_all = ["special", "header"])]
    pub(crate) storage: bool,
    /// Only the kind of file, as `ncdump -k` prints it
    #[arg(long, conflicts_with_all = ["special", "header", "storage"])]
    pub(crate) kind: bool,
    /// Only what reading it from an object store takes: requests and bytes to open it, for a map, a series, and everything
    #[arg(long, conflicts_with_all = ["special", "header", "storage", "kind"])]
    pub(crate) requests: bool,
    /// The name of the dataset in CDL [default: the file's name without its last extension]
    #[arg(long, value_name = "NAME", conflicts_with = "json")]
    pub(crate) name: Option<String>,
    /// Write a page with drawings (the chunks with reads on them, a map of the bytes, sizes of chunks); it needs no network. - is stdout
    #[arg(long, value_name = "PATH", conflicts_with_all = ["special", "header", "storage", "kind", "requests", "json", "name"])]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    /// How the values will be read, for the drawings: as of `ncforge doctor` [default: series, map and full]
    #[arg(long = "for", value_name = "READS", requires = "html")]
    pub(crate) reads: Option<String>,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

impl InfoArgs {
    /// The request for what a page draws.
    pub(crate) fn request(&self) -> Result<DoctorRequest, RequestError> {
        Ok(DoctorRequest {
            reads: self.reads.as_deref().map(|text| value("for", text)).transpose()?,
            sample: false,
            ..DoctorRequest::default()
        })
    }
}

const AFTER: &str = "\
Examples:
  ncforge info sst.nc                 header and storage
  ncforge info -s sst.nc              as ncdump -hs
  ncforge info --requests s3://bucket/sst.nc   what reading it takes
  ncforge info sst.nc --html sst.html  the chunks and the bytes, drawn
  ncforge info --json sst.nc | jq '.files[].variables[].storage.ratio'";
