//! The HDF5 file format, with no netCDF in it.

pub mod checksum;
pub mod cursor;
pub mod dataspace;
pub mod datatype;
pub mod fill;
pub mod layout;
pub mod link;
pub mod message;
pub mod pipeline;
pub mod source;
pub mod superblock;
