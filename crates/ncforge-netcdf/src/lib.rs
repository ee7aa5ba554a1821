//! **ncforge under netCDF-C**: programs that call netCDF-C, as they are, with ncforge reading and writing for them.
//!
//! NetCDF-C sends every call through a table of functions for the format of the file. This library puts its own functions
//! into the tables for HDF5 and classic files, and defines a format for zipped files. NetCDF-C opens every file and answers
//! everything about its schema; ncforge reads large selections of numbers and text from files that are open for reading, and
//! encodes the chunks of compressed variables that netCDF-C gives to HDF5 to write. Whatever ncforge does not serve, netCDF-C's
//! own function does, with the same arguments.
//!
//! Guarantees: values and error numbers are netCDF-C's. A library whose table is of a version that is not known, or hidden,
//! is left alone; so are files that are shared, opened in parallel, in memory or remote, and files that changed after they were
//! opened. No panic reaches the program.
//!
//! Ways in: preloaded (`ncforge run`), it is installed in every netCDF-C, when that initialises itself; a program
//! that runs already calls [`ncforge_netcdf_enable`] (`ncforge.accelerate()` in Python); netCDF-C 4.10.1 and later can load
//! it as a plug-in by three lines of its configuration file ([`ncforge_netcdf_plugin`]).
#![deny(unsafe_op_in_unsafe_fn)]

mod abi;
mod call;
mod cdi;
mod engine;
mod files;
mod heap;
mod hook;
mod image;
mod imports;
mod initialisation;
mod install;
#[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod late;
#[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod leaving;
mod libraries;
mod limits;
mod messages;
mod mpi;
mod policy;
mod report;
mod serve;
mod tables;
mod variables;
mod writers;
mod writing;
mod zipped;

pub use cdi::cdiGetFiletype;
pub use install::{ncforge_netcdf_enable, ncforge_netcdf_plugin, ncforge_netcdf_status};
#[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use late::dlsym;
#[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub use leaving::pthread_exit;
