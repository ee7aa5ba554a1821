//! Reading of datatype messages.

use super::{
    ByteOrder, Charset, Class, Datatype, EnumMember, FloatLayout, MAX_DEPTH, Member, ReferenceKind,
    StringPadding,
};
use crate::error::Result;
use crate::hdf5::cursor::Cursor;
use crate::hdf5::dataspace::MAX_RANK;

impl Datatype {
    /// Reads a datatype message, versions 1 to 5.
    pub(crate) fn parse(c: &mut Cursor<'_>) -> Result<Datatype> {
        parse(c, 0)
    }
}

fn parse(c: &mut Cursor<'_>, depth: u32) -> Result<Datatype> {
    if depth > MAX_DEPTH {
        return Err(c.unsupported(format!("a datatype nested more than {MAX_DEPTH} deep")));
    }
    let start = *c;
    let head = c.u8()?;
    let (class, version) = (head & 15, head >> 4);
    if !(1..=5).contains(&version) {
        return Err(start.fail(format!("version {version} of a datatype message is not known")));
    }
    let bits = c.uint(3)? as u32;
    let size = c.u32()?;
    if size == 0 {
        return Err(start.fail("a datatype of no bytes"));
    }
    let order = if bits & 1 == 0 { ByteOrder::Little } else { ByteOrder::Big };
    let class = match class {
        0 => {
            let (bit_offset, precision) = (c.u16()?, c.u16()?);
            Class::Fixed { order, signed: bits & 8 != 0, bit_offset, precision }
        }
        1 => Class::Float(float(c, bits)?),
        2 => Class::Time { order, precision: c.u16()? },
        3 => Class::String { padding: padding(&start, bits & 15)?, charset: charset(bits >> 4 & 15) },
        4 => {
            let (bit_offset, precision) = (c.u16()?, c.u16()?);
            Class::Bitfield { order, bit_offset, precision }
        }
        5 => {
            let tag = c.bytes((bits & 0xFF) as usize)?;
            let end = tag.iter().position(|&b| b == 0).unwrap_or(tag.len());
            Class::Opaque { tag: tag[..end].to_vec() }
        }
        6 => Class::Compound { members: compound(c, version, bits & 0xFFFF, size, depth)? },
        7 => Class::Reference(match bits & 15 {
            0 => ReferenceKind::Object,
            1 => ReferenceKind::Region,
            n => ReferenceKind::Newer(n as u8),
        }),
        8 => enumeration(c, version, bits & 0xFFFF, depth)?,
        9 => {
            let base = parse(c, depth + 1)?;
            match bits & 15 {
                0 => Class::Vlen { base: Box::new(base) },
                1 => Class::VlenString {
                    padding: padding(&start, bits >> 4 & 15)?,
                    charset: charset(bits >> 8 & 15),
                },
                n => return Err(start.fail(format!("a variable-length type of kind {n}"))),
            }
        }
        10 => array(c, version, size, depth)?,
        11 => Class::Complex { base: Box::new(parse(c, depth + 1)?) },
        n => return Err(start.fail(format!("datatype class {n} is not known"))),
    };
    Ok(Datatype { size, class })
}

fn float(c: &mut Cursor<'_>, bits: u32) -> Result<FloatLayout> {
    let order = match (bits & 1 != 0, bits & 0x40 != 0) {
        (false, false) => ByteOrder::Little,
        (true, false) => ByteOrder::Big,
        (true, true) => ByteOrder::Vax,
        (false, true) => return Err(c.fail("a float of unknown byte order")),
    };
    Ok(FloatLayout {
        order,
        normalisation: (bits >> 4 & 3) as u8,
        sign_location: (bits >> 8 & 0xFF) as u8,
        bit_offset: c.u16()?,
        precision: c.u16()?,
        exponent_location: c.u8()?,
        exponent_size: c.u8()?,
        mantissa_location: c.u8()?,
        mantissa_size: c.u8()?,
        exponent_bias: c.u32()?,
    })
}

fn padding(c: &Cursor<'_>, code: u32) -> Result<StringPadding> {
    Ok(match code {
        0 => StringPadding::NullTerminated,
        1 => StringPadding::NullPadded,
        2 => StringPadding::SpacePadded,
        n => return Err(c.fail(format!("string padding of kind {n}"))),
    })
}

fn charset(code: u32) -> Charset {
    if code == 1 { Charset::Utf8 } else { Charset::Ascii }
}

fn compound(c: &mut Cursor<'_>, version: u8, count: u32, size: u32, depth: u32) -> Result<Vec<Member>> {
    // The smallest member is one name byte, its offset and an 8-byte type.
    let mut members = Vec::with_capacity((count as usize).min(c.remaining() / 8));
    // Version 3 stores offsets in as few bytes as hold the compound's size.
    let offset_bytes = (32 - size.leading_zeros()).div_ceil(8) as usize;
    for _ in 0..count {
        let name = if version >= 3 { c.cstr()? } else { c.padded_cstr()? }.to_vec();
        let here = *c;
        let offset = if version >= 3 { c.uint(offset_bytes)? as u32 } else { c.u32()? };
        let dims = if version == 1 { member_dims(c)? } else { Vec::new() };
        let mut datatype = parse(c, depth + 1)?;
        if !dims.is_empty() {
            let total = dims.iter().try_fold(datatype.size, |a, &n| a.checked_mul(n));
            let total = total.ok_or_else(|| here.fail("a compound member of more than 4 GiB"))?;
            datatype = Datatype { size: total, class: Class::Array { dims, base: Box::new(datatype) } };
        }
        if offset.checked_add(datatype.size).is_none_or(|end| end > size) {
            return Err(here.fail(format!(
                "member `{}` at offset {offset} with {} bytes does not fit its compound of {size} bytes",
                String::from_utf8_lossy(&name),
                datatype.size
            )));
        }
        members.push(Member { name, offset, datatype });
    }
    Ok(members)
}

/// Version 1 stores the shape of an array member next to its type.
fn member_dims(c: &mut Cursor<'_>) -> Result<Vec<u32>> {
    let rank = usize::from(c.u8()?);
    if rank > 4 {
        return Err(c.fail(format!("a compound member of {rank} dimensions (at most 4 in version 1)")));
    }
    c.skip(3 + 4 + 4)?;
    let all = (0..4).map(|_| c.u32()).collect::<Result<Vec<_>>>()?;
    if all[..rank].contains(&0) {
        return Err(c.fail("a compound member with a dimension of length 0"));
    }
    Ok(all[..rank].to_vec())
}

fn enumeration(c: &mut Cursor<'_>, version: u8, count: u32, depth: u32) -> Result<Class> {
    let base = parse(c, depth + 1)?;
    let count = count as usize;
    let mut names = Vec::with_capacity(count.min(c.remaining()));
    for _ in 0..count {
        names.push(if version >= 3 { c.cstr()? } else { c.padded_cstr()? }.to_vec());
    }
    let mut members = Vec::with_capacity(names.len());
    for name in names {
        members.push(EnumMember { name, value: c.bytes(base.size as usize)?.to_vec() });
    }
    Ok(Class::Enum { base: Box::new(base), members })
}

fn array(c: &mut Cursor<'_>, version: u8, size: u32, depth: u32) -> Result<Class> {
    let here = *c;
    let rank = usize::from(c.u8()?);
    if rank == 0 || rank > MAX_RANK {
        return Err(here.fail(format!("an array type of {rank} dimensions")));
    }
    if version < 3 {
        c.skip(3)?;
    }
    let dims = (0..rank).map(|_| c.u32()).collect::<Result<Vec<_>>>()?;
    if version < 3 {
        c.skip(4 * rank)?;
    }
    let base = parse(c, depth + 1)?;
    let total = dims.iter().try_fold(base.size, |a, &n| a.checked_mul(n));
    if total != Some(size) || dims.contains(&0) {
        return Err(here
            .fail(format!("an array type of {size} bytes whose shape is {dims:?} of {} bytes", base.size)));
    }
    Ok(Class::Array { dims, base: Box::new(base) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdf5::cursor::Sizes;

    fn parse_bytes(bytes: &[u8]) -> Result<Datatype> {
        Datatype::parse(&mut Cursor::new("t.h5", bytes, 0, Sizes::default()))
    }

    const I32: [u8; 12] = [0x10, 0x08, 0, 0, 4, 0, 0, 0, 0, 0, 32, 0];

    #[test]
    fn integers_say_size_sign_and_order() {
        assert_eq!(parse_bytes(&I32).unwrap(), Datatype::integer(4, true, ByteOrder::Little));
        let big = [0x10, 0x01, 0, 0, 2, 0, 0, 0, 0, 0, 16, 0];
        assert_eq!(parse_bytes(&big).unwrap(), Datatype::integer(2, false, ByteOrder::Big));
    }

    #[test]
    fn compounds_of_all_versions_say_the_same() {
        // One member `n` at offset 4 of 8 bytes.
        let v1 =
            [&[0x16, 1, 0, 0, 8, 0, 0, 0][..], b"n\0\0\0\0\0\0\0", &[4, 0, 0, 0], &[0; 28], &I32].concat();
        let v2 = [&[0x26, 1, 0, 0, 8, 0, 0, 0][..], b"n\0\0\0\0\0\0\0", &[4, 0, 0, 0], &I32].concat();
        let v3 = [&[0x36, 1, 0, 0, 8, 0, 0, 0][..], b"n\0", &[4], &I32].concat();
        let first = parse_bytes(&v1).unwrap();
        assert_eq!(first, parse_bytes(&v2).unwrap());
        assert_eq!(first, parse_bytes(&v3).unwrap());
        let Class::Compound { members } = first.class else { panic!("a compound") };
        assert_eq!((members[0].name.as_slice(), members[0].offset), (&b"n"[..], 4));
    }

    #[test]
    fn members_outside_of_their_compound_are_damage() {
        let v3 = [&[0x36, 1, 0, 0, 7, 0, 0, 0][..], b"n\0", &[4], &I32].concat();
        assert!(parse_bytes(&v3).unwrap_err().to_string().contains("does not fit"));
    }

    #[test]
    fn nesting_without_end_is_damage() {
        // A ragged row of a ragged row of …
        let row = [0x19, 0, 0, 0, 16, 0, 0, 0];
        assert!(parse_bytes(&row.repeat(10_000)).unwrap_err().to_string().contains("nested"));
    }

    #[test]
    fn every_short_message_is_an_error() {
        let v3 = [&[0x38, 1, 0, 0, 4, 0, 0, 0][..], &I32, b"red\0", &[1, 0, 0, 0]].concat();
        assert!(parse_bytes(&v3).is_ok());
        for n in 0..v3.len() {
            assert!(parse_bytes(&v3[..n]).is_err());
        }
    }
}
