//! How netCDF types are stored in HDF5, as netcdf-c stores them.

use crate::error::{Error, Result};
use crate::hdf5::datatype::{ByteOrder, Charset, Class, Datatype, EnumMember, Member, StringPadding};
use crate::layout::{Element, Order};
use crate::model::{Atomic, DType, Endian, Schema, UserKind, element_of, encode_name};

/// The byte order of the file for a variable's choice.
pub(super) fn byte_order(endian: Endian) -> ByteOrder {
    match endian {
        Endian::Little => ByteOrder::Little,
        Endian::Big => ByteOrder::Big,
        Endian::Native if cfg!(target_endian = "big") => ByteOrder::Big,
        Endian::Native => ByteOrder::Little,
    }
}

/// A string of any length, declared to be UTF-8.
pub(super) fn string_type() -> Datatype {
    let class = Class::VlenString { padding: StringPadding::NullTerminated, charset: Charset::Utf8 };
    Datatype { size: 16, class }
}

/// The stored type of an atomic type.
pub(super) fn atomic_type(a: Atomic, order: ByteOrder) -> Datatype {
    match a {
        Atomic::Char => Datatype::string(1),
        Atomic::Float => Datatype::f32(order),
        Atomic::Double => Datatype::f64(order),
        Atomic::Byte | Atomic::Short | Atomic::Int | Atomic::Int64 => {
            Datatype::integer(a.size() as u32, true, order)
        }
        Atomic::UByte | Atomic::UShort | Atomic::UInt | Atomic::UInt64 => {
            Datatype::integer(a.size() as u32, false, order)
        }
    }
}

/// The stored type of a netCDF type.
pub(super) fn stored_type(schema: &Schema, dtype: DType, order: ByteOrder) -> Result<Datatype> {
    let t = match dtype {
        DType::Atomic(a) => return Ok(atomic_type(a, order)),
        DType::String => return Ok(string_type()),
        DType::User(t) => schema.user_type(t),
    };
    let size32 = |n: usize| {
        u32::try_from(n).ok().filter(|&n| n > 0).ok_or_else(|| Error::NotRepresentable {
            format: "netCDF-4",
            what: format!("type `{}` of {n} bytes", t.name),
        })
    };
    match &t.kind {
        UserKind::Opaque { size } => {
            Ok(Datatype { size: size32(*size)?, class: Class::Opaque { tag: Vec::new() } })
        }
        UserKind::Vlen { base } => {
            let base = Box::new(stored_type(schema, *base, order)?);
            Ok(Datatype { size: 16, class: Class::Vlen { base } })
        }
        UserKind::Enum { base, members } => {
            let values = members.iter().map(|(name, value)| {
                let value = enum_value(*base, *value, order).ok_or_else(|| {
                    Error::BadType(format!("`{name}` of enumeration `{}` does not fit its type", t.name))
                })?;
                Ok(EnumMember { name: encode_name(name), value })
            });
            let members = values.collect::<Result<_>>()?;
            let base = Box::new(atomic_type(*base, order));
            Ok(Datatype { size: base.size, class: Class::Enum { base, members } })
        }
        UserKind::Compound { size, fields } => {
            let mut members = Vec::with_capacity(fields.len());
            // Strings take more space in the file (16 bytes) than in memory (8): fields behind them are shifted.
            let (mut end, mut moved) = (0, 0);
            let mut rising: Vec<usize> = (0..fields.len()).collect();
            rising.sort_by_key(|&i| fields[i].offset);
            for i in rising {
                let f = &fields[i];
                let bad = |what: &str| Error::BadType(format!("field `{}` of `{}` {what}", f.name, t.name));
                let element = stored_type(schema, f.dtype, order)?;
                let bytes = |of: usize| {
                    let count = f.shape.iter().try_fold(1usize, |a, &n| a.checked_mul(n as usize));
                    count.and_then(|n| n.checked_mul(of)).ok_or_else(|| bad("is too large"))
                };
                let (memory, stored) = (bytes(schema.memory_size(f.dtype))?, bytes(element.size as usize)?);
                if f.offset < end {
                    return Err(bad("overlaps another"));
                }
                end = f
                    .offset
                    .checked_add(memory)
                    .filter(|e| e <= size)
                    .ok_or_else(|| bad(&format!("does not end within the {size} bytes of a value")))?;
                let datatype = if f.shape.is_empty() {
                    element
                } else {
                    let class = Class::Array { dims: f.shape.clone(), base: Box::new(element) };
                    Datatype { size: size32(stored)?, class }
                };
                let offset =
                    u32::try_from(f.offset.saturating_add(moved)).map_err(|_| bad("is too far out"))?;
                members.push((i, Member { name: encode_name(&f.name), offset, datatype }));
                moved = moved.saturating_add(stored.saturating_sub(memory));
            }
            // Values have their parts in the order of the fields.
            members.sort_by_key(|(i, _)| *i);
            let members = members.into_iter().map(|(_, m)| m).collect();
            Ok(Datatype { size: size32(size.saturating_add(moved))?, class: Class::Compound { members } })
        }
    }
}

fn enum_value(base: Atomic, value: i128, order: ByteOrder) -> Option<Vec<u8>> {
    let bits = 8 * base.size() as u32;
    let signed = matches!(base, Atomic::Byte | Atomic::Short | Atomic::Int | Atomic::Int64);
    let (low, high) =
        if signed { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    if value < low || value > high {
        return None;
    }
    let mut bytes = value.to_le_bytes()[..base.size()].to_vec();
    if order == ByteOrder::Big {
        bytes.reverse();
    }
    Some(bytes)
}

/// The conversion between stored elements of a type and those in memory.
pub(super) fn element(schema: &Schema, dtype: DType, stored: &Datatype, endian: Endian) -> Element {
    element_of(schema, dtype, endian).unwrap_or(Element {
        size: stored.size as usize,
        order: Order::Keep,
        heap: true,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Field, Format, GroupId, TypeId, UserType};

    fn stored(size: usize, fields: &[(usize, DType)]) -> Result<Datatype> {
        let mut schema = Schema::new(Format::Netcdf4);
        let field =
            |(i, &(offset, dtype)): (usize, _)| Field { name: format!("f{i}"), offset, dtype, shape: vec![] };
        let kind = UserKind::Compound { size, fields: fields.iter().enumerate().map(field).collect() };
        schema.types.push(UserType { name: "t".into(), group: GroupId(0), kind });
        stored_type(&schema, DType::User(TypeId(0)), ByteOrder::Little)
    }

    #[test]
    fn fields_lie_beside_each_other_within_the_value() {
        let (text, int) = (DType::String, DType::Atomic(Atomic::Int));
        for (size, fields) in [
            (4, [(0, text), (0, int)]),
            (12, [(0, text), (4, int)]),
            (10, [(0, text), (8, int)]),
            (8, [(0, int), (2, int)]),
            (8, [(0, int), (usize::MAX, int)]),
        ] {
            assert!(matches!(stored(size, &fields), Err(Error::BadType(_))), "{size} {fields:?}");
        }
    }

    #[test]
    fn what_strings_take_more_in_the_file_shifts_what_lies_behind_them() {
        let (text, int) = (DType::String, DType::Atomic(Atomic::Int));
        for (fields, offsets) in [([(0, text), (8, int)], [0, 16]), ([(8, int), (0, text)], [16, 0])] {
            let Datatype { size, class: Class::Compound { members } } = stored(16, &fields).unwrap() else {
                panic!("a compound")
            };
            assert_eq!((size, members[0].offset, members[1].offset), (24, offsets[0], offsets[1]));
        }
    }
}
