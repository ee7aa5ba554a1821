//! **ncforge** reads and writes netCDF files, classic (CDF-1, CDF-2, CDF-5) and netCDF-4, in parallel and without a C
//! library.
//!
//! The idea: *a format says where the bytes lie and how they are encoded; one engine moves them.* What programs use:
//!
//! * [`Dataset`] reads a file of any format; [`DatasetMut`] creates or updates one, and [`Definer`] defines what is in it;
//! * [`Schema`] describes a file: [`model`] has its groups, dimensions, variables, attributes, types and values;
//! * [`Hyperslab`] and [`Picks`] select elements;
//! * [`Engine`] has the threads and the memory;
//! * [`store`] has the traits of what bytes are read from and written to;
//! * [`codec`] is the crate `ncforge-codec`: filters and their chains;
//! * [`raw`] is for tools that move bytes themselves.
#![deny(unsafe_op_in_unsafe_fn)]

mod buffer;
mod classic;
pub mod codec;
mod container;
mod dataset;
mod engine;
mod error;
mod hdf5;
mod layout;
pub mod model;
mod netcdf4;
pub mod raw;
mod select;
pub mod store;
mod view;

pub use buffer::Buffer;
pub use dataset::{
    Alignment, ChunkChooser, Converted, CreateOptions, Dataset, DatasetMut, DefineMode, Definer, Element,
    FileId, Imap, NewFilter, NewLayout, NewStorage, NewVariable, OpenOptions, Owner, UpdateOptions,
    check_changed, check_new, convert_numbers, default_chunks, set_follow,
};
pub use engine::{Engine, EngineOptions, EngineStats, parse_size, without_signals};
pub use error::{
    Error, ErrorClass, ErrorKind, Late, Limit, NameFault, Op, Result, Stale, TileFault, TileOption, nearest,
};
pub use model::{Atomic, Attribute, DType, Dimension, Format, Group, Schema, Value, Values, Variable};
pub use select::{Hyperslab, Pick, Picks};
