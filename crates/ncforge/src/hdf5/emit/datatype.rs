//! Writing of datatype messages (HDF5 File Format Specification IV.A.2.d), as libhdf5 1.8 and later write them:
//! version 1 for simple classes, version 3 (names without padding) for compound, array and enumeration.

use super::bytes::{Out, to_u16, width};
use crate::error::{Error, Result};
use crate::hdf5::datatype::{ByteOrder, Charset, Class, Datatype, FloatLayout, ReferenceKind, StringPadding};

/// The message of a datatype.
pub(crate) fn encode_datatype(t: &Datatype) -> Result<Vec<u8>> {
    let mut o = Out::new();
    encode(t, &mut o)?;
    Ok(o.0)
}

fn head(o: &mut Out, class: u8, version: u8, bits: u32, size: u32) {
    o.u8(version << 4 | class).uint(u64::from(bits), 3).u32(size);
}

fn encode(t: &Datatype, o: &mut Out) -> Result<()> {
    let size = t.size;
    match &t.class {
        Class::Fixed { order, signed, bit_offset, precision } => {
            head(o, 0, 1, big(*order)? | u32::from(*signed) << 3, size);
            o.u16(*bit_offset).u16(*precision);
        }
        Class::Float(f) => float(f, size, o),
        Class::Time { order, precision } => {
            head(o, 2, 1, big(*order)?, size);
            o.u16(*precision);
        }
        Class::String { padding, charset } => head(o, 3, 1, text(*padding, *charset), size),
        Class::Bitfield { order, bit_offset, precision } => {
            head(o, 4, 1, big(*order)?, size);
            o.u16(*bit_offset).u16(*precision);
        }
        Class::Opaque { tag } => {
            let padded = tag.len().next_multiple_of(8);
            let bits = u8::try_from(padded).map_err(|_| not_written(t))?;
            head(o, 5, 1, u32::from(bits), size);
            o.bytes(tag);
            o.bytes(&[0; 8][..padded - tag.len()]);
        }
        Class::Compound { members } => {
            let n = to_u16(members.len(), "a compound type with fields")?;
            head(o, 6, 3, u32::from(n), size);
            let w = width(u64::from(size));
            for m in members {
                o.cstr(&m.name).uint(u64::from(m.offset), w);
                encode(&m.datatype, o)?;
            }
        }
        Class::Reference(kind) => match kind {
            ReferenceKind::Object => head(o, 7, 1, 0, size),
            ReferenceKind::Region => head(o, 7, 1, 1, size),
            ReferenceKind::Newer(_) => return Err(not_written(t)),
        },
        Class::Enum { base, members } => {
            let n = to_u16(members.len(), "an enumeration with members")?;
            head(o, 8, 3, u32::from(n), size);
            encode(base, o)?;
            for m in members {
                o.cstr(&m.name);
            }
            for m in members {
                o.bytes(&m.value);
            }
        }
        // The version follows the base type's, as libhdf5 does.
        Class::Vlen { base } => {
            head(o, 9, version(base), 0, size);
            encode(base, o)?;
        }
        Class::VlenString { padding, charset } => {
            // Bits 0-3: a string; 4-7: padding; 8-11: encoding. The base type is an 8-bit number.
            head(o, 9, 1, 1 | text(*padding, *charset) << 4, size);
            encode(&Datatype::integer(1, false, ByteOrder::Little), o)?;
        }
        Class::Array { dims, base } => {
            head(o, 10, 3, 0, size);
            o.u8(u8::try_from(dims.len()).map_err(|_| not_written(t))?);
            for &n in dims {
                o.u32(n);
            }
            encode(base, o)?;
        }
        Class::Complex { .. } => return Err(not_written(t)),
    }
    Ok(())
}

fn not_written(t: &Datatype) -> Error {
    Error::NotRepresentable { format: "HDF5 1.8", what: t.describe() }
}

fn big(order: ByteOrder) -> Result<u32> {
    match order {
        ByteOrder::Little => Ok(0),
        ByteOrder::Big => Ok(1),
        ByteOrder::Vax => Err(Error::NotRepresentable { format: "HDF5", what: "VAX integers".into() }),
    }
}

fn text(padding: StringPadding, charset: Charset) -> u32 {
    let padding = match padding {
        StringPadding::NullTerminated => 0,
        StringPadding::NullPadded => 1,
        StringPadding::SpacePadded => 2,
    };
    padding
        | match charset {
            Charset::Ascii => 0,
            Charset::Utf8 => 0x10,
        }
}

fn float(f: &FloatLayout, size: u32, o: &mut Out) {
    // Bits 0 and 6: byte order; 4-5: normalisation; 8-15: where the sign stands.
    let order = match f.order {
        ByteOrder::Little => 0,
        ByteOrder::Big => 1,
        ByteOrder::Vax => 0x41,
    };
    let bits = order | u32::from(f.normalisation & 3) << 4 | u32::from(f.sign_location) << 8;
    // Version 3 brought the VAX order.
    head(o, 1, if f.order == ByteOrder::Vax { 3 } else { 1 }, bits, size);
    o.u16(f.bit_offset).u16(f.precision);
    o.u8(f.exponent_location).u8(f.exponent_size).u8(f.mantissa_location).u8(f.mantissa_size);
    o.u32(f.exponent_bias);
}

/// The version that a type is written in.
fn version(t: &Datatype) -> u8 {
    match &t.class {
        Class::Compound { .. } | Class::Enum { .. } | Class::Array { .. } => 3,
        Class::Vlen { base } => version(base),
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdf5::datatype::{EnumMember, Member};

    fn hex(t: &Datatype) -> String {
        encode_datatype(t).unwrap().iter().map(|b| format!("{b:02x}")).collect()
    }

    fn array(base: Datatype, dims: &[u32]) -> Datatype {
        let size = base.size * dims.iter().product::<u32>();
        Datatype { size, class: Class::Array { dims: dims.to_vec(), base: Box::new(base) } }
    }

    /// The expected bytes were written by netcdf-c 4.10 with HDF5 2.2.
    #[test]
    fn bytes_are_those_of_libhdf5() {
        let le = ByteOrder::Little;
        assert_eq!(hex(&Datatype::integer(4, true, le)), "100800000400000000002000");
        assert_eq!(hex(&Datatype::f32(ByteOrder::Big)), "11211f000400000000002000170800177f000000");
        assert_eq!(hex(&Datatype::f64(le)), "11203f000800000000004000340b0034ff030000");
        let class = Class::VlenString { padding: StringPadding::NullTerminated, charset: Charset::Utf8 };
        assert_eq!(hex(&Datatype { size: 16, class }), "1901010010000000100000000100000000000800");
        let class = Class::Vlen { base: Box::new(Datatype::integer(2, true, le)) };
        assert_eq!(hex(&Datatype { size: 16, class }), "1900000010000000100800000200000000001000");
        let class = Class::Opaque { tag: Vec::new() };
        assert_eq!(hex(&Datatype { size: 5, class }), "1500000005000000");
        let member = |name: &[u8], value: u8| EnumMember { name: name.to_vec(), value: vec![value] };
        let class = Class::Enum {
            base: Box::new(Datatype::integer(1, false, le)),
            members: vec![member(b"A", 1), member(b"Bb", 2)],
        };
        let e = Datatype { size: 1, class };
        assert_eq!(hex(&e), "380200000100000010000000010000000000080041004262000102");
        let members = [
            (b"a", 0, Datatype::integer(4, true, le)),
            (b"b", 8, array(Datatype::f64(le), &[2, 3])),
            (b"c", 56, array(Datatype::string(1), &[5])),
        ];
        let members =
            members.map(|(n, offset, datatype)| Member { name: n.to_vec(), offset, datatype }).to_vec();
        assert_eq!(
            hex(&Datatype { size: 64, class: Class::Compound { members } }),
            "36030000400000006100001008000004000000000020006200083a0000003000000002020000000300000011203f00080000\
             0000004000340b0034ff0300006300383a0000000500000001050000001300000001000000"
        );
    }
}
