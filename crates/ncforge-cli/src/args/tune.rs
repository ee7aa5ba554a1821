//! `ncforge tune`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use ncforge_ops::choosing::{ChoosingRequest, Reader, TuneRequest};
use ncforge_ops::request::{RequestError, Size, value};
use ncforge_tune::StorageKind;

use super::shared::listed;
use super::{GlobalArgs, List, WrittenArgs, word};

/// Choose chunk shapes; measure the machine they are for.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true, after_help = TUNE_AFTER)]
pub(crate) struct TuneArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) what: Tune,
}

/// What `tune` can do; for `about` see [`super::Command`].
#[derive(Debug, Subcommand)]
pub(crate) enum Tune {
    #[command(about = "Say which chunk shapes suit the variables of a file, and why")]
    Chunks(TuneChunksArgs),
    #[command(about = "Measure this machine, so that choices fit it")]
    Calibrate(CalibrateArgs),
}

/// Say which chunk shapes suit the variables of a file, and why.
///
/// Nothing is changed: `ncforge copy --chunks auto` chooses the same shapes and writes the file.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct TuneChunksArgs {
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Only these variables [default: those larger than a chunk]
    #[arg(long, value_name = "A,B")]
    pub(crate) vars: Vec<List>,
    #[command(flatten)]
    pub(crate) choosing: ChoosingArgs,
    /// Do not look at the values: compression is taken to be usual
    #[arg(long)]
    pub(crate) no_sample: bool,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// What chunk shapes are chosen for.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ChoosingArgs {
    /// How the values will be read: map, series, profile, column, box, full with weights, as series=3,map=1;
    /// or lengths of dimensions, as time=all,lat=1,lon=1 [default: series, map and full alike]
    #[arg(long = "for", value_name = "READS")]
    pub(crate) reads: Option<String>,
    /// Lengths that unlimited dimensions will have in the end, as time=3650 [default: those that they have]
    #[arg(long, value_name = "DIM=N,...")]
    pub(crate) expect: Option<String>,
    /// The storage that the file will be read from [default: this machine's, as calibrated]
    #[arg(long, value_parser = word::<StorageKind>())]
    pub(crate) storage: Option<StorageKind>,
    /// What will read the file
    #[arg(long, value_parser = word::<Reader>(), default_value = "any")]
    pub(crate) reader: Reader,
    /// Memory of the program that will append to the file, one record at a time: all chunks that a record touches must
    /// fit [default: 1G]
    #[arg(long, value_name = "SIZE")]
    pub(crate) writer_memory: Option<Size>,
}

impl ChoosingArgs {
    /// What is asked of a choice.
    pub(crate) fn request(&self) -> Result<ChoosingRequest, RequestError> {
        Ok(ChoosingRequest {
            reads: self.reads.as_deref().map(|text| value("for", text)).transpose()?,
            expect: self.expect.as_deref().map(|text| value("expect", text)).transpose()?,
            storage: self.storage,
            reader: self.reader,
            writer_memory: self.writer_memory,
        })
    }
}

impl TuneChunksArgs {
    /// The request that these arguments are.
    pub(crate) fn request(&self) -> Result<TuneRequest, RequestError> {
        Ok(TuneRequest {
            vars: listed(&self.vars),
            choosing: self.choosing.request()?,
            sample: !self.no_sample,
            ..TuneRequest::default()
        })
    }
}

const TUNE_AFTER: &str = "\
Examples:
  ncforge tune chunks t2m.nc --for series=3,map=1
  ncforge tune calibrate";

const CALIBRATE_AFTER: &str = "\
Examples:
  ncforge tune calibrate
  ncforge tune calibrate --folder /data --dry-run";

const AFTER: &str = "\
Examples:
  ncforge tune chunks t2m.nc
  ncforge tune chunks t2m.nc --for series=3,map=1
  ncforge tune chunks t2m.nc --for time=all,lat=5,lon=5 --storage object";

/// Measure this machine: requests, bandwidth, decoding. Takes a few seconds and 80 MB in a folder.
///
/// The result is kept for the user (NCFORGE_MACHINE, else ncforge/machine.json in the cache folder) and used by every
/// later choice.
#[derive(Args, Debug)]
#[command(after_long_help = CALIBRATE_AFTER)]
pub(crate) struct CalibrateArgs {
    /// A folder on the storage to measure [default: the system's temporary one]
    #[arg(long, value_name = "DIR", value_hint = clap::ValueHint::DirPath)]
    pub(crate) folder: Option<PathBuf>,
    /// Print what was measured and keep nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}
