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

pub(crate) mod attribute;
pub(crate) mod btree1;
pub(crate) mod btree2;
pub(crate) mod checksum;
pub(crate) mod chunk_index;
pub(crate) mod cursor;
pub(crate) mod dataset;
pub(crate) mod dataspace;
pub(crate) mod datatype;
pub(crate) mod emit;
pub(crate) mod file;
pub(crate) mod fill;
pub(crate) mod fractal_heap;
pub(crate) mod global_heap;
pub(crate) mod group;
pub(crate) mod layout;
pub(crate) mod link;
pub(crate) mod local_heap;
pub(crate) mod mappings;
pub(crate) mod message;
pub(crate) mod pipeline;
pub(crate) mod rounds;
pub(crate) mod selection;
pub(crate) mod source;
pub(crate) mod span;
pub(crate) mod superblock;
