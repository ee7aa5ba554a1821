//! The HDF5 file format, with no netCDF in it.
//!
//! Follows the HDF5 File Format Specification, versions 1 to 4. From the bottom up: [`cursor`], [`source`] and
//! [`span`] read bytes within bounds; [`superblock`], [`message`] (object headers) and one module a message kind turn them into
//! plain data; [`btree1`], [`btree2`], [`local_heap`], [`global_heap`] and [`fractal_heap`] find things;
//! [`mod@file`], [`group`], [`attribute`] and [`dataset`] put it together; [`chunk_index`] finds chunks; [`rounds`]
//! fetches the metadata of many objects at the same time, for stores with latency.
//!
//! Nothing here trusts the file: lengths are checked against what is there before anything is allocated,
//! structures that point to each other in circles are noticed, and damage is [`crate::Error::Corrupt`] with the
//! byte to blame.

pub mod attribute;
pub mod btree1;
pub mod btree2;
pub mod checksum;
pub mod chunk_index;
pub mod cursor;
pub mod dataset;
pub mod dataspace;
pub mod datatype;
pub mod emit;
pub mod file;
pub mod fill;
pub mod fractal_heap;
pub mod global_heap;
pub mod group;
pub mod layout;
pub mod link;
pub mod local_heap;
pub mod message;
pub mod pipeline;
pub mod rounds;
pub mod source;
pub mod span;
pub mod superblock;
