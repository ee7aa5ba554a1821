//! **ncforge** reads, writes and reshapes netCDF files, classic (CDF-1, CDF-2, CDF-5) and netCDF-4, in
//! parallel and without a C library.
//!
//! The idea behind all of it: *a format says where the bytes lie and how they are encoded; one engine moves
//! them.* The rooms, from the bottom up (arrows run down only, see `docs/architecture.md`):
//!
//! * [`model`] – what is in a file: [`Schema`], dimensions, variables, attributes, types, values;
//! * [`select`] – hyperslabs and the arithmetic of chunk grids;
//! * [`layout`] – where one variable's bytes lie ([`VarLayout`]);
//! * [`store`] – where bytes live: files and memory;
//! * [`codec`] – how bytes are encoded;
//! * [`container`] – what every format offers to the engine;
//! * [`classic`], [`hdf5`], [`netcdf4`] – the formats;
//! * [`engine`] – plan, fetch, decode, scatter; gather, encode, place;
//! * [`dataset`] – files of any format as users hold them: [`Dataset`], [`DatasetMut`];
#![deny(unsafe_op_in_unsafe_fn)]

pub mod buffer;
pub mod classic;
pub mod codec;
pub mod container;
pub mod dataset;
pub mod engine;
pub mod error;
pub mod hdf5;
pub mod layout;
pub mod model;
pub mod netcdf4;
pub mod select;
pub mod store;

pub use buffer::Buffer;
pub use container::{Container, ContainerMut};
pub use dataset::{CreateOptions, Dataset, DatasetMut, Definer, Element, OpenOptions};
pub use error::{Error, Late, Limit, Result, TileOption};
pub use layout::VarLayout;
pub use model::{Atomic, Attribute, DType, Dimension, Format, Group, Schema, Value, Values, Variable};
pub use select::Hyperslab;
