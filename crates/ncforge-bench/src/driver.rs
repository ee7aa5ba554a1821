//! Libraries under the benchmark, behind one trait.

mod blocks;
mod coding;
mod hdf5;
mod interface;
mod libnetcdf;
mod library;
mod mpi_io;
mod ncforge;
mod parallel;
mod plain;
mod raw;
mod steps;
mod zarr;

pub use blocks::{Access, BlockFile, ChunkAsk, DimSpec, FileSpec, MARK, VarSpec};
pub use coding::{Codec, Coding, Rounding, Shuffle};
pub use hdf5::Hdf5Driver;
pub(crate) use hdf5::PARALLEL as PARALLEL_HDF5;
pub use interface::{Driver, Opened, Session, VarInfo};
pub use libnetcdf::LibnetcdfDriver;
pub(crate) use library::{is_hdf5, system};
pub use library::{library, netcdf_c};
pub use mpi_io::MpiIoDriver;
pub use ncforge::NcforgeDriver;
pub(crate) use parallel::{PARALLEL, parallel_builds};
pub(crate) use plain::is_marked;
pub use raw::RawDriver;
pub(crate) use zarr::{files, is_marked_store, is_store, stored as stored_in_zarr};
