//! Bodies of object header messages (HDF5 File Format Specification IV.A.2), in the versions that a library of
//! the 1.8 series reads and writes.

use super::bytes::{Out, UNDEFINED, to_u16, to_u32, too_large};
use super::image::Layout;
use crate::error::{Error, Result};
use crate::hdf5::dataspace::Dataspace;
use crate::hdf5::fill::{FillKind, FillValue};
use crate::model::{Filter, shape};

/// Message types.
pub(super) mod kind {
    pub(in super::super) const DATASPACE: u8 = 0x01;
    pub(in super::super) const LINK_INFO: u8 = 0x02;
    pub(in super::super) const DATATYPE: u8 = 0x03;
    pub(in super::super) const FILL: u8 = 0x05;
    pub(in super::super) const LINK: u8 = 0x06;
    pub(in super::super) const LAYOUT: u8 = 0x08;
    pub(in super::super) const GROUP_INFO: u8 = 0x0A;
    pub(in super::super) const FILTERS: u8 = 0x0B;
    pub(in super::super) const ATTRIBUTE: u8 = 0x0C;
    pub(in super::super) const ATTRIBUTE_INFO: u8 = 0x15;
    pub(in super::super) const REFERENCE_COUNT: u8 = 0x16;
}

/// Message flags.
pub(super) mod flag {
    /// The message never changes.
    pub(in super::super) const CONSTANT: u8 = 0x01;
    /// The message is not to be shared between objects.
    pub(in super::super) const DONT_SHARE: u8 = 0x04;
}

/// Most compact links or attributes that a library may store before it changes to dense storage.
pub(super) const COMPACT_MAX: u16 = u16::MAX;
/// Below this many, a library turns back to compact storage (the library's default).
pub(super) const DENSE_MIN: u16 = 6;
/// The limit of objects that state none (the library's default).
pub(super) const COMPACT_DEFAULT: usize = 8;

pub(super) fn dataspace(space: &Dataspace) -> Result<Vec<u8>> {
    let mut o = Out::new();
    match space {
        Dataspace::Scalar => {
            o.bytes(&[2, 0, 0, 0]);
        }
        Dataspace::Null => {
            o.bytes(&[2, 0, 0, 2]);
        }
        Dataspace::Simple { dims, max } => {
            let rank = u8::try_from(dims.len()).ok().filter(|&r| r <= 32);
            let rank = rank.ok_or_else(|| too_large("a dataspace of rank", dims.len() as u64, 32))?;
            o.bytes(&[2, rank, 1, 1]);
            for &d in dims.iter().chain(max) {
                o.u64(d);
            }
        }
    }
    Ok(o.0)
}

pub(super) fn fill(fill: &FillValue) -> Result<Vec<u8>> {
    let mut o = Out::new();
    let times = fill.alloc_time & 3 | (fill.write_time & 3) << 2;
    match &fill.value {
        FillKind::Default => o.u8(3).u8(times),
        FillKind::Undefined => o.u8(3).u8(times | 0x10),
        FillKind::User(v) => {
            o.u8(3).u8(times | 0x20).u32(to_u32(v.len() as u64, "a fill value with bytes")?).bytes(v)
        }
    };
    Ok(o.0)
}

/// `tree`: the address of the chunk index, undefined when there is no chunk.
pub(super) fn layout(layout: &Layout, tree: u64) -> Result<Vec<u8>> {
    let mut o = Out::new();
    o.u8(3);
    match layout {
        Layout::Compact(bytes) => {
            o.u8(0).u16(to_u16(bytes.len(), "compact data with bytes")?).bytes(bytes);
        }
        Layout::Contiguous { address, size } => {
            o.u8(1).u64(address.unwrap_or(UNDEFINED)).u64(*size);
        }
        Layout::Chunked { chunk, element_size, .. } => {
            let bytes = shape::checked(chunk, u64::from(*element_size));
            to_u32(bytes.unwrap_or(u64::MAX), "a chunk with bytes")?;
            o.u8(2).u8(chunk.len() as u8 + 1).u64(tree);
            for &c in chunk {
                o.u32(to_u32(c, "a chunk length")?);
            }
            o.u32(*element_size);
        }
    }
    Ok(o.0)
}

/// Filter pipeline, version 2. Filters of the library's own (below 256) carry no name.
pub(super) fn filters(filters: &[Filter]) -> Result<Vec<u8>> {
    let n = u8::try_from(filters.len()).ok().filter(|&n| n <= 32);
    let mut o = Out::new();
    o.u8(2).u8(n.ok_or_else(|| too_large("a pipeline with filters", filters.len() as u64, 32))?);
    for f in filters {
        o.u16(f.id);
        if f.id >= 256 {
            o.u16(0);
        }
        o.u16(u16::from(f.optional)).u16(to_u16(f.params.len(), "a filter with parameters")?);
        for &p in &f.params {
            o.u32(p);
        }
    }
    Ok(o.0)
}

pub(super) fn link_info(count: usize) -> Vec<u8> {
    let mut o = Out::new();
    // Creation order is tracked and indexed; no dense storage.
    o.u8(0).u8(3).u64(count as u64).u64(UNDEFINED).u64(UNDEFINED).u64(UNDEFINED);
    o.0
}

pub(super) fn group_info(links: usize) -> Vec<u8> {
    let mut o = Out::new();
    o.u8(0);
    if links > COMPACT_DEFAULT {
        o.u8(1).u16(COMPACT_MAX).u16(DENSE_MIN);
    } else {
        o.u8(0);
    }
    o.0
}

/// A hard link, with its number in the order of creation. Names are declared ASCII, as netcdf-c does for all.
pub(super) fn link(name: &[u8], order: u64, address: u64) -> Result<Vec<u8>> {
    if name.is_empty() {
        return Err(Error::Internal("an object without a name cannot be stored".into()));
    }
    let wide = name.len() > 255;
    let len = to_u16(name.len(), "a name with bytes")?;
    let mut o = Out::new();
    o.u8(1).u8(0x04 | u8::from(wide)).u64(order);
    o.uint(u64::from(len), if wide { 2 } else { 1 }).bytes(name).u64(address);
    Ok(o.0)
}

/// Addresses of an object's dense attribute storage, undefined when it has none.
#[derive(Clone, Copy, Debug)]
pub(super) struct DenseAddresses {
    pub(super) heap: u64,
    pub(super) by_name: u64,
    pub(super) by_order: u64,
}

impl DenseAddresses {
    pub(super) const NONE: Self = Self { heap: UNDEFINED, by_name: UNDEFINED, by_order: UNDEFINED };
}

pub(super) fn attribute_info(count: usize, dense: DenseAddresses) -> Result<Vec<u8>> {
    let mut o = Out::new();
    o.u8(0).u8(3).u16(to_u16(count, "an object with attributes")?);
    o.u64(dense.heap).u64(dense.by_name).u64(dense.by_order);
    Ok(o.0)
}

/// Attribute message, version 3.
pub(super) fn attribute(name: &[u8], datatype: &[u8], space: &Dataspace, data: &[u8]) -> Result<Vec<u8>> {
    let space = dataspace(space)?;
    let mut o = Out::new();
    o.u8(3).u8(0);
    o.u16(to_u16(name.len() + 1, "an attribute name with bytes")?);
    o.u16(to_u16(datatype.len(), "an attribute type with bytes")?);
    o.u16(space.len() as u16);
    o.u8(0).cstr(name).bytes(datatype).bytes(&space).bytes(data);
    Ok(o.0)
}
