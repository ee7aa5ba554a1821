//! `ncforge dump`: the options of netCDF's own `ncdump`, letter by letter.

use std::path::PathBuf;

use clap::Args;
use ncforge_ops::describe::{CdlOptions, Digits, DumpOptions, DumpedValues};

use super::{GlobalArgs, List};

/// Print a file and its values as CDL, as `ncdump` does.
///
/// The text is that of `ncdump`, and `ncgen` makes a file of it. Without options: the header, and the values of all variables.
#[derive(Args, Debug)]
#[command(disable_help_flag = true, after_long_help = AFTER)]
pub(crate) struct DumpArgs {
    #[command(flatten)]
    pub(crate) global: GlobalArgs,
    /// The file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The header, no values
    #[arg(short = 'h')]
    header: bool,
    /// Values of coordinate variables only
    #[arg(short = 'c')]
    coordinates: bool,
    /// Values of these variables only: names, in whichever groups, or paths
    #[arg(short = 'v', value_name = "VAR,…")]
    vars: Vec<List>,
    /// Storage as special attributes (_Storage, _ChunkSizes, …)
    #[arg(short = 's')]
    special: bool,
    /// Times as text: "2000-01-31 12:30"
    #[arg(short = 't', overrides_with = "iso_times")]
    times: bool,
    /// The same with a T between date and time
    #[arg(short = 'i', overrides_with = "times")]
    iso_times: bool,
    /// Length of lines [default: 80]
    #[arg(short = 'l', value_name = "N", value_parser = clap::value_parser!(u32).range(10..))]
    length: Option<u32>,
    /// Significant digits of floats, and of doubles [default: 7,15]
    #[arg(short = 'p', value_name = "N[,N]", value_parser = digits)]
    digits: Option<Digits>,
    /// Values of these groups only: names, wherever they are, or paths
    #[arg(short = 'g', value_name = "GROUP,…")]
    groups: Vec<List>,
    /// The name of the dataset [default: the file's name without its last extension]
    #[arg(short = 'n', value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// The kind of file, and nothing else
    #[arg(short = 'k')]
    pub(crate) kind: bool,
    /// Print help
    #[arg(long, action = clap::ArgAction::Help, help_heading = NOT_NCDUMP)]
    help: Option<bool>,
}

const NOT_NCDUMP: &str = "Options that ncdump does not have";

const AFTER: &str = "\
Examples:
  ncforge dump -v time,lat sst.nc
  ncforge dump -t -v time sst.nc      times as dates
  ncforge dump sst.nc | ncgen -o again.nc";

impl DumpArgs {
    /// What is to be printed; `name` is that of the dataset.
    pub(crate) fn options(&self, name: String) -> DumpOptions {
        DumpOptions {
            cdl: CdlOptions { name, special: self.special },
            values: match (self.header, self.coordinates) {
                (true, _) => DumpedValues::None,
                (_, true) => DumpedValues::Coordinates,
                _ => DumpedValues::All,
            },
            vars: List::all(&self.vars),
            times: match (self.times, self.iso_times) {
                (_, true) => Some('T'),
                (true, _) => Some(' '),
                _ => None,
            },
            line_length: self.length.map(|n| n as usize),
            digits: self.digits.unwrap_or_default(),
            groups: List::all(&self.groups),
        }
    }
}

fn digits(text: &str) -> Result<Digits, String> {
    let number = |word: &str| match word.parse() {
        Ok(n @ 1..=20) => Ok(n),
        _ => Err(format!("`{word}` is no number from 1 to 20")),
    };
    let (float, double) = text.split_once(',').map_or((text, None), |(f, d)| (f, Some(d)));
    Ok(Digits { float: Some(number(float)?), double: double.map(number).transpose()? })
}
