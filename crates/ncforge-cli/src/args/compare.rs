//! `ncforge compare`

use std::path::PathBuf;

use clap::Args;
use ncforge_ops::compare::CompareRequest;

use super::shared::listed;
use super::{GlobalArgs, OnlyArgs, WrittenArgs};

/// Compare two files: dimensions, types, attributes, order, and every value.
///
/// Values are compared bit by bit, except that any NaN equals any NaN. Storage (format, chunks, compression,
/// byte order) is not compared, nor lines that one file has in front of the other's `history`. Types that a
/// classic copy replaces (`uint` by `int`) are no difference where all values are the same. Exit code 0: the same; 3: they
/// differ.
#[derive(Args, Debug)]
#[command(after_long_help = AFTER)]
pub(crate) struct CompareArgs {
    /// One file
    #[arg(value_name = "A")]
    pub(crate) left: PathBuf,
    /// The other
    #[arg(value_name = "B")]
    pub(crate) right: PathBuf,
    /// Numbers are the same when |a - b| <= TOL
    #[arg(long, value_name = "TOL", value_parser = tolerance)]
    pub(crate) tolerance: Option<f64>,
    #[command(flatten)]
    pub(crate) only: OnlyArgs,
    /// Also compare what a copy may change: lines in front of the attribute `history`, types that a classic
    /// format lacks, the type of a `_FillValue`
    #[arg(long)]
    pub(crate) strict: bool,
    #[command(flatten)]
    pub(crate) written: WrittenArgs,
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
}

const AFTER: &str = "\
Examples:
  ncforge compare in.nc out.nc && echo the same
  ncforge compare run1.nc run2.nc --vars tas,pr --tolerance 1e-6";

impl CompareArgs {
    /// The request that these arguments are.
    pub(crate) fn request(&self) -> CompareRequest {
        CompareRequest {
            tolerance: self.tolerance,
            vars: listed(&self.only.vars),
            select: self.only.selection(),
            strict: self.strict,
            ..CompareRequest::default()
        }
    }
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(t) if t >= 0.0 => Ok(t),
        _ => Err(format!("`{text}` is not a number of 0 or more, such as 1e-6")),
    }
}
