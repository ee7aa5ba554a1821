//! `ncforge digest`

use std::path::PathBuf;

use clap::Args;

use super::{GlobalArgs, WrittenArgs};

/// Print digests of what files say, not of how it is stored.
///
/// Names, types, dimensions, attributes and every bit of every value count. Format, chunks, compression, byte order and the order of
/// definitions do not, nor do the global attributes `history`, `NCO`, `CDO` and `CDI`: a file has the digest of its copy in another
/// layout. A line is a digest and a name, as sha256sum prints it; with --check, exit code 3 if one differs.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct DigestArgs {
    /// Files, or URLs
    #[arg(value_name = "FILE", required_unless_present = "check")]
    pub(crate) files: Vec<PathBuf>,
    /// Also a line for each variable: `FILE#VARIABLE`
    #[arg(long)]
    pub(crate) variables: bool,
    /// Compute the digests of a list anew (`-`: of stdin) and compare them; -q prints only those that differ
    #[arg(long, value_name = "LIST", conflicts_with_all = ["files", "variables"])]
    pub(crate) check: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Examples:
  ncforge digest archive/*.nc > archive.digests
  ncforge digest --check archive.digests
  ncforge digest --variables model.nc model.ncz";
