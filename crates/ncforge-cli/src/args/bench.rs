//! `ncforge bench`

mod access;
mod chunks;
mod combine;
mod common;
mod compare;
mod convert;
mod doctor;
mod io;
mod output;
mod published;
mod records;
mod rerun;

use clap::{Args, Subcommand};

pub(crate) use access::{AccessArgs, PatternArg};
pub(crate) use chunks::{ChunksBenchArgs, SwitchArg};
pub(crate) use combine::{BenchCombineArgs, CombinePreset, ToolArg};
pub(crate) use common::{CacheArg, FolderArgs, LibraryArgs, RoundsArgs};
pub(crate) use compare::BenchCompareArgs;
pub(crate) use convert::ConvertArgs;
pub(crate) use doctor::BenchDoctorArgs;
pub(crate) use io::{IoArgs, OutputForm};
pub(crate) use output::OutputArgs;
pub(crate) use published::PublishedArgs;
pub(crate) use records::{RecordsArgs, RecordsPart};
pub(crate) use rerun::RerunArgs;

/// Measure how fast files are read and written.
#[derive(Args, Debug)]
#[command(arg_required_else_help = true, after_help = AFTER)]
pub(crate) struct BenchArgs {
    /// What to measure.
    #[command(subcommand)]
    pub(crate) workload: Workload,
}

const AFTER: &str = "\
Examples:
  ncforge bench access before.nc after.nc
  ncforge bench io -w -r -d 20:100:100:10 --driver ncforge,raw
  ncforge bench compare monday.json friday.json --fail-if-slower 10%";

/// The workloads; for `about` see [`super::Command`].
#[derive(Debug, Subcommand)]
pub(crate) enum Workload {
    #[command(about = "Time the reads that people do: a map, a series, everything")]
    Access(AccessArgs),
    #[command(about = "Store a variable in many chunk shapes and time reads from each")]
    Chunks(Box<ChunksBenchArgs>),
    #[command(about = "Write floats in portable formats, and tell what portability costs")]
    Convert(Box<ConvertArgs>),
    #[command(about = "Write and read an array in blocks, by one process or many, with any library")]
    Io(Box<IoArgs>),
    #[command(about = "Store records of stations in many ways, zipped above all, and read and update them")]
    Records(Box<RecordsArgs>),
    #[command(about = "Put the tiles of a model together, by ncforge, by libraries and by other tools")]
    Combine(Box<BenchCombineArgs>),
    #[command(
        about = "Make measurements again that others have published, next to their figures",
        alias = "seeds"
    )]
    Published(Box<PublishedArgs>),
    #[command(about = "Set two saved results against one another")]
    Compare(BenchCompareArgs),
    #[command(about = "Run a saved benchmark again, and compare")]
    Rerun(Box<RerunArgs>),
    #[command(about = "Look whether this machine is fit to measure on")]
    Doctor(BenchDoctorArgs),
}

impl Workload {
    /// Where its result goes, if it has one.
    pub(crate) fn output(&self) -> Option<&OutputArgs> {
        match self {
            Workload::Access(a) => Some(&a.output),
            Workload::Chunks(a) => Some(&a.output),
            Workload::Convert(a) => Some(&a.output),
            Workload::Io(a) => Some(&a.reports),
            Workload::Records(a) => Some(&a.output),
            Workload::Combine(a) => Some(&a.output),
            Workload::Published(a) => Some(&a.output),
            Workload::Rerun(a) => Some(&a.output),
            Workload::Compare(_) | Workload::Doctor(_) => None,
        }
    }
}
