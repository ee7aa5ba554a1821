//! `ncforge doctor`

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ncforge_ops::doctor::{Codes, DoctorRequest, Profile};
use ncforge_ops::request::{RequestError, value};
use ncforge_tune::StorageKind;

use super::{GlobalArgs, WrittenArgs, word};

/// Say what is slow in files, for whom, by how much, why, and which command fixes it.
///
/// Reads metadata and a few chunks, never more than 128 MiB of a file. Exit code 3 when something at or above --fail-on
/// was found.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER, arg_required_else_help = true)]
pub(crate) struct DoctorArgs {
    /// The files
    #[arg(value_name = "FILE", required_unless_present = "rules")]
    pub(crate) files: Vec<PathBuf>,
    /// Only these rules: codes, beginnings of codes (NC1), or names
    #[arg(long, value_name = "CODES", default_value = "", hide_default_value = true)]
    pub(crate) select: Codes,
    /// Not these rules
    #[arg(long, value_name = "CODES", default_value = "", hide_default_value = true)]
    pub(crate) ignore: Codes,
    /// How the values will be read: map, series, profile, column, box, full with weights, as series=3,map=1;
    /// or lengths of dimensions, as time=all,lat=1,lon=1 [default: series, map and full alike]
    #[arg(long = "for", value_name = "READS")]
    pub(crate) reads: Option<String>,
    /// The storage that the files will be read from [default: this machine's, as calibrated]
    #[arg(long, value_parser = word::<StorageKind>())]
    pub(crate) storage: Option<StorageKind>,
    /// Exit with 3 when something this bad, or worse, was found
    #[arg(long, value_enum, default_value = "warning")]
    pub(crate) fail_on: FailOn,
    /// Also compare the files: what must agree for reading them as one
    #[arg(long)]
    pub(crate) across: bool,
    /// Check only the layout that a project requires; a verdict for each file
    #[arg(long, value_parser = word::<Profile>())]
    pub(crate) profile: Option<Profile>,
    /// The netCDF-C library whose default cache counts, by its path; `netcdf-c` is the system's [default: that of 4.9.3 and later]
    #[arg(long, value_name = "PATH")]
    pub(crate) library: Option<PathBuf>,
    /// Do not look at values
    #[arg(long)]
    pub(crate) no_sample: bool,
    /// Write a page with drawings (the chunks with reads on them, a map of the bytes, sizes of chunks, before and after with break-even); it needs no network. - is stdout
    #[arg(long, value_name = "PATH", conflicts_with_all = ["json", "across"])]
    pub(crate) html: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    /// List the rules
    #[arg(long)]
    pub(crate) rules: bool,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

impl DoctorArgs {
    /// The request that these arguments are.
    pub(crate) fn request(&self) -> Result<DoctorRequest, RequestError> {
        Ok(DoctorRequest {
            select: self.select.clone(),
            ignore: self.ignore.clone(),
            reads: self.reads.as_deref().map(|text| value("for", text)).transpose()?,
            storage: self.storage,
            profile: self.profile,
            library: self.library.clone(),
            sample: !self.no_sample,
            ..DoctorRequest::default()
        })
    }
}

const AFTER: &str = "\
Examples:
  ncforge doctor tas.nc
  ncforge doctor tas.nc --for series --ignore NC3
  ncforge doctor --across tas_*.nc --fail-on error
  ncforge doctor --profile cmip7 *.nc && echo ready
  ncforge doctor tas.nc --html tas.html
  ncforge doctor --rules";

/// From which severity on the command fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FailOn {
    /// Anything
    Info,
    /// Warnings and errors
    Warning,
    /// Errors
    Error,
    /// Nothing
    Never,
}
