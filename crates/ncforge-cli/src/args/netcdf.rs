//! `ncforge run`, `ncforge netcdf`: programs that use netCDF-C.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::GlobalArgs;

/// Run a program that uses netCDF-C, with ncforge under it.
///
/// The program itself is unchanged: NCO, CDO, GDAL, models in Fortran, C or C++, with MPI or without, and scripts in Python, R and
/// Julia that load netCDF-C late. netCDF-C opens the files and answers all questions about them; ncforge reads large selections of
/// values and encodes written values, on all cores, and opens zipped files (.ncz) and variables whose filters the program has no
/// plug-in for. Results are the same. Writing is experimental: compare the results, or set NCFORGE_NETCDF=read. Options of ncforge come
/// before the program; -j, --memory and -v set NCFORGE_THREADS, NCFORGE_MEMORY and NCFORGE_NETCDF=log for it, as well as LD_PRELOAD.
///
/// NCFORGE_NETCDF=off serves nothing, NCFORGE_NETCDF=read leaves writes to netCDF-C, NCFORGE_NETCDF=log lists on standard error the reads
/// and writes that are served, and the reasons for others; words are separated by commas.
#[derive(Args, Debug)]
#[command(
    after_long_help = "Examples:\n  ncforge run ncks -d lat,10 -d lon,20 big.nc series.nc\n  ncforge run ncdump -h archive.ncz\n  ncforge run -v -j 2 cdo timmean big.nc mean.nc\n  ncforge run python script.py\n  mpiexec -n 64 ncforge run ./model\n\nInside Python: import ncforge; ncforge.accelerate()"
)]
pub(crate) struct ProgramArgs {
    /// The program and its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true, value_name = "COMMAND", value_hint = clap::ValueHint::CommandWithArguments)]
    pub(crate) command: Vec<OsString>,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// Let netCDF-C load ncforge by itself, or say what is served.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:\n  ncforge netcdf status ncks\n  ncforge netcdf enable")]
pub(crate) struct NetcdfArgs {
    /// What to do.
    #[command(subcommand)]
    pub(crate) what: Netcdf,
}

/// What `ncforge netcdf` does.
#[derive(Debug, Subcommand)]
pub(crate) enum Netcdf {
    #[command(about = "Let netCDF-C 4.10.1 and later load ncforge, by three lines in ~/.ncrc")]
    Enable(EnableArgs),
    #[command(about = "Remove these lines")]
    Disable(EnableArgs),
    #[command(about = "Say where the library is, and whether a program is served")]
    Status(StatusArgs),
}

/// Write the lines that make netCDF-C load ncforge, or remove them.
#[derive(Args, Debug)]
#[command(
    after_long_help = "Examples:\n  ncforge netcdf enable\n  ncforge netcdf disable --file ~/project/.ncrc"
)]
pub(crate) struct EnableArgs {
    /// The configuration file of netCDF-C [default: $NCRCENV_RC, else .ncrc in $NCRCENV_HOME or $HOME]
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

/// Say where the library is, whether netCDF-C loads it by itself, and what it would serve in a program.
#[derive(Args, Debug)]
#[command(after_long_help = "Examples:\n  ncforge netcdf status\n  ncforge netcdf status cdo")]
pub(crate) struct StatusArgs {
    /// A program that `ncforge run` would start
    #[arg(value_hint = clap::ValueHint::CommandName)]
    pub(crate) program: Option<OsString>,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}
