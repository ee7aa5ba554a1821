//! Emission of HDF5 metadata: from the plain description of a whole file ([`Image`]) to one contiguous block of
//! bytes, and the superblock that points to it.
//!
//! The block holds, in this order: object headers, dense attribute storage, global heap collections for
//! attributes, chunk indexes. Its size is known exactly from the description and the *number* of chunks, before
//! any chunk has a place ([`Assembly::size`]), so it can stand in front of the data. The same description always
//! gives the same bytes: no times, no addresses that depend on anything but the order of objects.
//!
//! The subset of the format is what libraries of the 1.8 series read (HDF5 File Format Specification version 3.0):
//! superblock 2, object headers 2, links in their group's header, version 1 B-trees for chunks. Headers that
//! hold more links or attributes than a library would store there by default say so in their phase-change
//! values, so that libraries which modify the file stay within the rules.

mod assemble;
mod btree;
mod bytes;
pub(crate) mod chunks;
mod datatype;
mod dense;
mod header;
pub(crate) mod heap;
mod image;
mod messages;
mod superblock;

pub(crate) use assemble::{Addresses, Assembly};
pub(crate) use chunks::{ChunkSource, ChunkTable, Planned};
pub(crate) use datatype::encode_datatype;
pub(crate) use image::{Attribute, Blob, Dataset, Image, Kind, Layout, Link, Object, ObjectId};
pub(crate) use superblock::{SUPERBLOCK_SIZE, superblock};
