//! Honest measurements of netCDF input and output: *workloads* (what is asked) times *drivers* (the library
//! that does it), with the statistics and the circumstances that a reader needs to believe a number.
//!
//! Rules for every measurement:
//!
//! * **The same work.** Every read is checksummed outside the timed part; results say whether two files, or
//!   two drivers, gave the same values.
//! * **Interleaved.** Repetitions go round all files and patterns in turn, so that a disturbance of the machine
//!   hits all of them.
//! * **The cache state is measured, not hoped for.** Before a cold read the file is evicted from the page cache
//!   and `mincore` says how much of it is still there; the number stands in the result.
//! * **No cache inside.** Every timed read uses a newly opened file, so that no library answers from chunks it
//!   has decoded before.
//!
//! The modules: [`driver`] (libraries behind one trait), [`workload`] (what is measured), [`stats`], [`rounds`], [`environment`],
//! [`cache`] (the page cache), [`memory`] (the process's own), [`doctor`] (what a machine offers), [`result`] (the document that every
//! workload gives), [`report`] (tables, pages, comparisons).

mod c_string;
pub mod cache;
pub mod calibrate;
pub mod clock;
pub mod doctor;
pub mod driver;
pub mod environment;
pub mod error;
pub mod memory;
pub mod noise;
pub mod report;
pub mod result;
pub mod rounds;
pub mod stats;
pub mod team;
pub mod workload;

pub use error::{Error, Result, exit_code};
