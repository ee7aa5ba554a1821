//! HDF5 attributes as netCDF attributes: one-dimensional rows of values.
//!
//! Follows netCDF-C: scalar fixed-length text is `char`, an array of it is strings; null spaces are attributes
//! of no values. Beyond it: arrays of more dimensions are flattened, and an attribute whose type nothing else
//! uses gets a named type rather than being dropped.

use super::narrow;
use super::types::{Types, atomic, order};
use super::values::{Decoder, is_heap};
use crate::buffer::Buffer;
use crate::codec::kernels::order_in_place;
use crate::error::Result;
use crate::hdf5::attribute::Attribute as Stored;
use crate::hdf5::dataspace::Dataspace;
use crate::hdf5::datatype::{ByteOrder, Class, Datatype};
use crate::hdf5::file::File;
use crate::layout::Element;
use crate::model::{Atomic, Attribute, DType, Endian, GroupId, Values, decode_name};

/// Attributes that carry netCDF's or HDF5's own conventions and are no user's.
const HIDDEN: [&[u8]; 17] = [
    b"CLASS",
    b"DIMENSION_LIST",
    b"NAME",
    b"REFERENCE_LIST",
    b"_ARRAY_DIMENSIONS",
    b"_Codecs",
    b"_Format",
    b"_IsNetcdf4",
    b"_NCProperties",
    b"_Netcdf4Coordinates",
    b"_Netcdf4Dimid",
    b"_SuperblockVersion",
    b"_nc3_strict",
    b"_nczarr_attr",
    b"_nczarr_group",
    b"_nczarr_array",
    b"_nczarr_superblock",
];

/// Whether an attribute is one of the conventions' own.
pub(crate) fn is_hidden(name: &[u8]) -> bool {
    // Few attributes of users begin like these.
    matches!(name.first(), Some(b'_' | b'C' | b'D' | b'N' | b'R')) && HIDDEN.contains(&name)
}

/// The attributes of an object as the walk over the file leaves them.
#[derive(Clone, Debug, Default)]
pub(crate) struct FoundAttrs {
    /// Attributes that need no more than themselves to be understood: nearly all.
    pub(crate) ready: Vec<Attribute>,
    /// Attributes of user-defined types, which are known only when all types are; each with its place among all.
    pub(crate) raw: Vec<(usize, Stored)>,
}

/// The attributes that are a user's, understood as far as they can be without the file's types.
pub(crate) fn understood(file: &File, stored: &[Stored]) -> Result<FoundAttrs> {
    let users = || stored.iter().filter(|a| !is_hidden(&a.name));
    let mut out = FoundAttrs { ready: Vec::with_capacity(users().count()), raw: Vec::new() };
    for (i, a) in users().enumerate() {
        match plain(file, a)? {
            Some(attr) => out.ready.push(attr),
            None => out.raw.push((i, a.detach())),
        }
    }
    Ok(out)
}

/// The datatype without the shape that an array type is: netCDF flattens shapes.
fn flat(stored: &Stored) -> (&Datatype, Option<u64>) {
    let (mut datatype, mut committed) = (&stored.datatype, stored.committed);
    while let Class::Array { base, .. } = &datatype.class {
        (datatype, committed) = (base, None);
    }
    (datatype, committed)
}

/// An attribute of numbers, text or strings; `None` for all others.
fn plain(file: &File, stored: &Stored) -> Result<Option<Attribute>> {
    let (datatype, committed) = flat(stored);
    let name = || decode_name(&stored.name);
    let is_text = matches!(datatype.class, Class::String { .. });
    if is_text && !matches!(stored.space, Dataspace::Simple { .. }) {
        let values = Values::fixed(&stored.data);
        return Ok(Some(Attribute { name: name(), dtype: Atomic::Char.into(), values }));
    }
    if is_text || matches!(datatype.class, Class::VlenString { .. }) && committed.is_none() {
        let values = Values::Heap(Decoder::new(file, &stored.data).heap(datatype, &stored.data)?);
        return Ok(Some(Attribute { name: name(), dtype: DType::String, values }));
    }
    if let Some((widen, atomic)) = narrow::widen(datatype).zip(narrow::read_as(datatype)) {
        let values = Values::fixed(&widen.widened(&stored.data)?);
        return Ok(Some(Attribute { name: name(), dtype: atomic.into(), values }));
    }
    let Some(atomic) = atomic(datatype).filter(|_| committed.is_none()) else { return Ok(None) };
    let mut bytes = Buffer::from(&stored.data[..]);
    if let Some(order) = order(datatype) {
        let endian = if order == ByteOrder::Big { Endian::Big } else { Endian::Little };
        order_in_place(&mut bytes, &Element::atomic(atomic, endian));
    }
    Ok(Some(Attribute { name: name(), dtype: atomic.into(), values: Values::Fixed(bytes) }))
}

/// A netCDF attribute, or why there is none.
pub(crate) fn convert(
    file: &File,
    types: &mut Types,
    group: GroupId,
    stored: &Stored,
) -> Result<std::result::Result<Attribute, String>> {
    let (datatype, committed) = flat(stored);
    let dtype = match types.of(datatype, committed, group) {
        Ok(dtype) => dtype,
        Err(why) => return Ok(Err(why)),
    };
    let mut decoder = Decoder::new(file, &stored.data);
    let values = if is_heap(datatype) {
        Values::Heap(decoder.heap(datatype, &stored.data)?)
    } else {
        Values::fixed(&decoder.fixed(datatype, &stored.data)?)
    };
    Ok(Ok(Attribute { name: decode_name(&stored.name), dtype, values }))
}

/// The text of a hidden attribute of fixed-length text.
pub(crate) fn text(attrs: &[Stored], name: &[u8]) -> Option<Vec<u8>> {
    let a = attrs.iter().find(|a| a.name[..] == *name)?;
    let Datatype { class: Class::String { .. }, .. } = a.datatype else { return None };
    let end = a.data.iter().position(|&b| b == 0).unwrap_or(a.data.len());
    Some(a.data[..end].to_vec())
}
