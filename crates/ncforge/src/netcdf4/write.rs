//! Writing netCDF-4 files: creation and update in place.
//!
//! A file is a superblock, one block of metadata in front, sized exactly for the schema, and
//! data after it. Every [`ContainerMut::sync`](crate::ContainerMut::sync) writes metadata into
//! space that the committed state does not use (the front block the first time), makes them and the data durable,
//! and then replaces the 48 bytes of the superblock, which are in one sector: that write is the commit. A crash
//! leaves the state of the last sync, or the new one. The first commits write all metadata, later ones what changed
//! ([`standing`]). (Existing contiguous data are overwritten in
//! place, as in other libraries.)
//!
//! The conventions are those of netcdf-c (see [`create`]); the HDF5 is the subset that libraries of the 1.8
//! series read and modify.

mod attached;
mod collections;
mod commit;
mod container;
mod coverage;
mod create;
mod define;
mod facts;
mod heap;
mod image;
mod options;
mod pieces;
mod redefine;
mod references;
mod scales;
mod space;
mod standing;
mod state;
mod types;
mod update;
mod values;
mod writer;

pub use create::create;
pub(crate) use define::check_new;
pub use options::{Alignment, CreateOptions};
pub use update::open_mut;
