//! HDF5 attributes as netCDF attributes: one-dimensional rows of values.
//!
//! Follows netCDF-C: scalar fixed-length text is `char`, an array of it is strings; null spaces are attributes
//! of no values. Beyond it: arrays of more dimensions are flattened, and an attribute whose type nothing else
//! uses gets a named type rather than being dropped.

use super::types::Types;
use super::values::{Decoder, is_heap};
use crate::error::Result;
use crate::hdf5::attribute::Attribute as Stored;
use crate::hdf5::dataspace::Dataspace;
use crate::hdf5::datatype::{Class, Datatype};
use crate::hdf5::file::File;
use crate::model::{Atomic, Attribute, DType, GroupId, Values, decode_name};

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
    HIDDEN.contains(&name)
}

/// A netCDF attribute, or why there is none.
pub(crate) fn convert(
    file: &File,
    types: &mut Types,
    group: GroupId,
    stored: &Stored,
) -> Result<std::result::Result<Attribute, String>> {
    let name = decode_name(&stored.name);
    // An array type is a shape; netCDF flattens shapes.
    let (mut datatype, mut committed) = (&stored.datatype, stored.committed);
    while let Class::Array { base, .. } = &datatype.class {
        (datatype, committed) = (base, None);
    }
    let is_text = matches!(datatype.class, Class::String { .. });
    if is_text && !matches!(stored.space, Dataspace::Simple { .. }) {
        let values = Values::fixed(&stored.data);
        return Ok(Ok(Attribute { name, dtype: Atomic::Char.into(), values }));
    }
    let mut decoder = Decoder::new(file, &stored.data);
    if is_text {
        let values = Values::Heap(decoder.heap(datatype, &stored.data)?);
        return Ok(Ok(Attribute { name, dtype: DType::String, values }));
    }
    let dtype = match types.of(datatype, committed, group) {
        Ok(dtype) => dtype,
        Err(why) => return Ok(Err(why)),
    };
    let values = if is_heap(datatype) {
        Values::Heap(decoder.heap(datatype, &stored.data)?)
    } else {
        Values::fixed(&decoder.fixed(datatype, &stored.data)?)
    };
    Ok(Ok(Attribute { name, dtype, values }))
}

/// The text of a hidden attribute of fixed-length text.
pub(crate) fn text(attrs: &[Stored], name: &[u8]) -> Option<Vec<u8>> {
    let a = attrs.iter().find(|a| a.name == name)?;
    let Datatype { class: Class::String { .. }, .. } = a.datatype else { return None };
    let end = a.data.iter().position(|&b| b == 0).unwrap_or(a.data.len());
    Some(a.data[..end].to_vec())
}
