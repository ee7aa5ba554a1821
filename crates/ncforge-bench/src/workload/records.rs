//! The workload `records`: files of many records, as stations write them, in every way that ncforge stores them.
//!
//! Two data sets, made from a fixed seed, and what people do with them:
//!
//! * [`station`]: one file of hourly records of 31 instruments. Four variables are read from records at random places,
//!   again (with what the library has decoded still there), and from records one after the other.
//! * [`network`]: a network of daily climate stations, one file each, over decades. The files are created empty, filled year
//!   by year, corrected here and there; then three variables of a few stations are read.
//!
//! ```
//! use ncforge_bench::workload::records::{Setup, Stored, station};
//!
//! let setup = Setup { repetitions: 1, ..Setup::default() };
//! let options = station::Options { records: 300, reads: 20, setup, ..station::Options::default() };
//! let stored = [Stored::Classic, "zipped:16K:zstd".parse()?];
//! let section = station::run(&[], &stored, &options, &mut |_| {})?;
//! assert!(!section.is_wrong());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod network;
mod section;
pub mod station;
mod stored;
mod weather;
mod writing;

use std::path::Path;

use super::folder;
use crate::driver::Driver;
pub use section::Setup;
pub use stored::{Stored, codec};

/// The reason why a library cannot read a file of records, if there is one: builds of netCDF-C differ in the filters that they have.
fn refusal(driver: &dyn Driver, path: &Path, var: &str) -> Option<String> {
    let read = || driver.open(path)?.read(var, &writing::records_from(0, 1), &mut [0; 4]);
    read().err().map(|e| e.to_string())
}
