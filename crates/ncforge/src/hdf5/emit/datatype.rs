//! Datatype messages (HDF5 File Format Specification IV.A.2.d), as libhdf5 1.8 and later write them: version 1
//! for simple classes, version 3 (packed names) for compound, array and enumeration.

use super::bytes::{Out, to_u16, to_u32, width};
use crate::error::Result;

/// An encoded datatype message, with the facts that outer types need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datatype {
    /// The message.
    pub encoded: Vec<u8>,
    /// Bytes of one element in the file.
    pub size: u32,
}

/// One member of a compound.
#[derive(Clone, Debug)]
pub struct Member {
    /// Name, without terminator.
    pub name: Vec<u8>,
    /// Byte offset in the record.
    pub offset: u32,
    /// Type.
    pub datatype: Datatype,
}

fn head(class: u8, version: u8, bits: u32, size: u32) -> Out {
    let mut o = Out::new();
    o.u8(version << 4 | class).uint(u64::from(bits), 3).u32(size);
    o
}

fn done(o: Out, size: u32) -> Datatype {
    Datatype { encoded: o.0, size }
}

impl Datatype {
    /// An integer of 1, 2, 4 or 8 bytes.
    pub fn integer(size: u32, signed: bool, big: bool) -> Self {
        let mut o = head(0, 1, u32::from(big) | u32::from(signed) << 3, size);
        o.u16(0).u16((size * 8) as u16);
        done(o, size)
    }

    /// IEEE 754 binary32 or binary64.
    pub fn float(size: u32, big: bool) -> Self {
        let bits = size * 8;
        let (exponent, bias) = if size == 4 { (8, 127) } else { (11, 1023) };
        let mantissa = bits - 1 - exponent;
        // Bits 4-5: the mantissa's top bit is implied; bits 8-15: where the sign stands.
        let mut o = head(1, 1, u32::from(big) | 0x20 | (bits - 1) << 8, size);
        o.u16(0).u16(bits as u16).u8(mantissa as u8).u8(exponent as u8).u8(0).u8(mantissa as u8).u32(bias);
        done(o, size)
    }

    /// A string of fixed length, padded by NULs, ASCII by declaration.
    pub fn fixed_string(size: u32) -> Self {
        done(head(3, 1, 0, size), size)
    }

    /// A string of any length, UTF-8 by declaration.
    pub fn string() -> Self {
        let mut o = head(9, 1, 0x0101, 16);
        o.bytes(&Self::integer_like_char().encoded);
        done(o, 16)
    }

    /// The base type of variable-length strings, as libhdf5 writes it: an 8-bit number.
    fn integer_like_char() -> Self {
        let mut o = head(0, 1, 0, 1);
        o.u16(0).u16(8);
        done(o, 1)
    }

    /// A ragged row.
    pub fn vlen(base: &Datatype) -> Self {
        // The version follows the base type's, as libhdf5 does.
        let version = (base.encoded[0] >> 4).max(1);
        let mut o = head(9, version, 0, 16);
        o.bytes(&base.encoded);
        done(o, 16)
    }

    /// A blob of fixed size.
    pub fn opaque(size: u32) -> Self {
        done(head(5, 1, 0, size), size)
    }

    /// A reference to an object: its address.
    pub fn object_reference() -> Self {
        done(head(7, 1, 0, 8), 8)
    }

    /// A record.
    pub fn compound(size: u32, members: &[Member]) -> Result<Self> {
        let mut o = head(6, 3, u32::from(to_u16(members.len(), "a compound type with fields")?), size);
        let w = width(u64::from(size));
        for m in members {
            o.cstr(&m.name).uint(u64::from(m.offset), w).bytes(&m.datatype.encoded);
        }
        Ok(done(o, size))
    }

    /// Named integers; `values` are in the base type's stored form.
    pub fn enumeration(base: &Datatype, members: &[(Vec<u8>, Vec<u8>)]) -> Result<Self> {
        let n = to_u16(members.len(), "an enumeration with members")?;
        let mut o = head(8, 3, u32::from(n), base.size);
        o.bytes(&base.encoded);
        for (name, _) in members {
            o.cstr(name);
        }
        for (_, value) in members {
            o.bytes(value);
        }
        Ok(done(o, base.size))
    }

    /// A fixed array inside a record.
    pub fn array(base: &Datatype, shape: &[u32]) -> Result<Self> {
        let size = shape.iter().try_fold(u64::from(base.size), |a, &n| a.checked_mul(u64::from(n)));
        let size = to_u32(size.unwrap_or(u64::MAX), "an array type with bytes")?;
        let mut o = head(10, 3, 0, size);
        o.u8(u8::try_from(shape.len()).unwrap_or(u8::MAX));
        for &n in shape {
            o.u32(n);
        }
        o.bytes(&base.encoded);
        Ok(done(o, size))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(d: &Datatype) -> String {
        d.encoded.iter().map(|b| format!("{b:02x}")).collect()
    }

    /// The same bytes as netcdf-c 4.10 with HDF5 2.2 wrote for the same types.
    #[test]
    fn bytes_are_those_of_libhdf5() {
        assert_eq!(hex(&Datatype::integer(4, true, false)), "100800000400000000002000");
        assert_eq!(hex(&Datatype::float(4, true)), "11211f000400000000002000170800177f000000");
        assert_eq!(hex(&Datatype::float(8, false)), "11203f000800000000004000340b0034ff030000");
        assert_eq!(hex(&Datatype::string()), "1901010010000000100000000100000000000800");
        assert_eq!(
            hex(&Datatype::vlen(&Datatype::integer(2, true, false))),
            "1900000010000000100800000200000000001000"
        );
        assert_eq!(hex(&Datatype::opaque(5)), "1500000005000000");
        let u1 = Datatype::integer(1, false, false);
        let e = Datatype::enumeration(&u1, &[(b"A".to_vec(), vec![1]), (b"Bb".to_vec(), vec![2])]);
        assert_eq!(hex(&e.unwrap()), "380200000100000010000000010000000000080041004262000102");
        let members = [
            ("a", 0, Datatype::integer(4, true, false)),
            ("b", 8, Datatype::array(&Datatype::float(8, false), &[2, 3]).unwrap()),
            ("c", 56, Datatype::array(&Datatype::fixed_string(1), &[5]).unwrap()),
        ]
        .map(|(n, offset, datatype)| Member { name: n.into(), offset, datatype });
        assert_eq!(
            hex(&Datatype::compound(64, &members).unwrap()),
            "360300004000000061000010080000040000000000200062000\
             83a0000003000000002020000000300000011203f00080000000000\
             4000340b0034ff030000\
             6300383a0000000500000001050000001300000001000000"
                .replace(' ', "")
        );
    }
}
