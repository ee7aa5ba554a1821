//! `ncforge zip`, `unzip`, `compact`, `verify`

use std::path::PathBuf;

use clap::Args;
use ncforge_ops::request::Size;
use ncforge_ops::zip::{ZipCodec, ZipRequest};

use super::{GlobalArgs, WrittenArgs, word};

/// Zip a classic file into compressed blocks, to be read and written in place.
///
/// A zipped file (`.ncz` by convention) is used like any other: read, written anywhere, appended to, redefined, by
/// every command, the library and Python. `unzip` gives back the file to the byte.
#[derive(Args, Debug)]
#[command(after_long_help = ZIP_AFTER)]
pub(crate) struct ZipArgs {
    /// The classic file
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The zipped file
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    /// Size of a block, a power of two from 4K to 1M: larger ones are smaller on disk, smaller ones faster to read
    /// values and series from
    #[arg(long, value_name = "SIZE", default_value = "16K")]
    pub(crate) block: Size,
    /// How blocks are compressed
    #[arg(long, value_parser = word::<ZipCodec>(), default_value = "zstd")]
    pub(crate) codec: ZipCodec,
    /// Level of compression: 0 to 9 for deflate, 1 to 22 for zstd [default: 4]
    #[arg(long, value_name = "N")]
    pub(crate) level: Option<u32>,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const ZIP_AFTER: &str = "\
Examples:
  ncforge zip sst.nc sst.ncz
  ncforge info sst.ncz                what it saves, variable by variable
  ncforge copy model.nc4 model.ncz    a netCDF-4 file is converted first";

const UNZIP_AFTER: &str = "\
Example:
  ncforge unzip station.ncz station.nc";

const COMPACT_AFTER: &str = "\
Example:
  ncforge compact station.ncz";

const VERIFY_AFTER: &str = "\
Examples:
  ncforge verify sst.nc station.ncz
  ncforge verify archive/*.nc || echo damaged";

/// Unzip a zipped file.
///
/// The output is the classic file that was zipped, to the byte, with what was changed since.
#[derive(Args, Debug)]
#[command(after_long_help = UNZIP_AFTER)]
pub(crate) struct UnzipArgs {
    /// The zipped file
    #[arg(value_name = "IN")]
    pub(crate) input: PathBuf,
    /// The classic file
    #[arg(value_name = "OUT")]
    pub(crate) output: PathBuf,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// Rewrite a zipped file without the space that updates left unused, in one step.
///
/// Blocks are moved as they are, without decoding them. `ncforge info --storage` says how much space is unused.
#[derive(Args, Debug)]
#[command(after_long_help = COMPACT_AFTER)]
pub(crate) struct CompactArgs {
    /// The zipped file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// Read everything in files, and check it against its checksums.
///
/// Decodes every chunk, or zipped block, and reports what cannot be read, with the variables concerned; everything else stays
/// readable. Exit code 3 if anything is damaged. Values without a checksum (classic files, contiguous variables, chunks without
/// zlib or Fletcher-32) are only shown to be there: `ncforge compare` checks them against another copy of the file.
#[derive(Args, Debug)]
#[command(after_long_help = VERIFY_AFTER)]
pub(crate) struct VerifyArgs {
    /// Files, or URLs
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

impl ZipArgs {
    /// The request that these arguments are.
    pub(crate) fn request(&self) -> ZipRequest {
        ZipRequest {
            block: self.block,
            codec: self.codec,
            level: self.level,
            overwrite: self.written.overwrite,
            ..ZipRequest::default()
        }
    }
}
