//! Datatypes (message type 3): all classes of the format, as plain data.
//!
//! [`Datatype::parse`] reads versions 1 to 5 of the message (format specification, "The Datatype Message").

mod parse;

/// A type of elements as the file stores them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Datatype {
    /// Bytes of one stored element.
    pub size: u32,
    /// The meaning of the bytes.
    pub class: Class,
}

/// Byte order of stored numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ByteOrder {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
    /// VAX mixed order (floats only).
    Vax,
}

/// How fixed-length text ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum StringPadding {
    /// At the first NUL.
    NullTerminated,
    /// Padded with NULs.
    NullPadded,
    /// Padded with blanks.
    SpacePadded,
}

/// Encoding of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Charset {
    /// US-ASCII (in practice anything).
    Ascii,
    /// UTF-8.
    Utf8,
}

/// The parts of a float, in bits from the least significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FloatLayout {
    /// Byte order.
    pub order: ByteOrder,
    /// First bit in use.
    pub bit_offset: u16,
    /// Bits in use.
    pub precision: u16,
    /// Bit of the sign.
    pub sign_location: u8,
    /// First bit of the exponent.
    pub exponent_location: u8,
    /// Bits of the exponent.
    pub exponent_size: u8,
    /// First bit of the mantissa.
    pub mantissa_location: u8,
    /// Bits of the mantissa.
    pub mantissa_size: u8,
    /// The bias of the exponent.
    pub exponent_bias: u32,
    /// 0 not normalised, 1 most significant bit always set, 2 that bit implied.
    pub normalisation: u8,
}

/// Types nest (compound of array of vlen of …); no real one is deeper, and a damaged one must not exhaust the stack.
pub(crate) const MAX_DEPTH: u32 = 32;

/// A member of a compound.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Member {
    /// Its name, as stored.
    pub name: Vec<u8>,
    /// Byte offset in the compound.
    pub offset: u32,
    /// Its type.
    pub datatype: Datatype,
}

/// A member of an enumeration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EnumMember {
    /// Its name, as stored.
    pub name: Vec<u8>,
    /// Its value: the stored bytes of the base type.
    pub value: Vec<u8>,
}

/// The target of a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ReferenceKind {
    /// An object: the address of its header.
    Object,
    /// A region of a dataset.
    Region,
    /// One of the kinds that came with HDF5 1.12 (object 2, region 3, attribute 4).
    Newer(u8),
}

/// The classes of datatypes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Class {
    /// Integers.
    Fixed {
        /// Byte order.
        order: ByteOrder,
        /// Two's complement.
        signed: bool,
        /// First bit in use.
        bit_offset: u16,
        /// Bits in use.
        precision: u16,
    },
    /// Floating point.
    Float(FloatLayout),
    /// Times (never finished in HDF5).
    Time {
        /// Byte order.
        order: ByteOrder,
        /// Bits in use.
        precision: u16,
    },
    /// Text of fixed length.
    String {
        /// The kind of its end.
        padding: StringPadding,
        /// Its encoding.
        charset: Charset,
    },
    /// Bits.
    Bitfield {
        /// Byte order.
        order: ByteOrder,
        /// First bit in use.
        bit_offset: u16,
        /// Bits in use.
        precision: u16,
    },
    /// Bytes that mean nothing to HDF5.
    Opaque {
        /// A word about them.
        tag: Vec<u8>,
    },
    /// A record.
    Compound {
        /// Its members, in order of definition.
        members: Vec<Member>,
    },
    /// A reference.
    Reference(ReferenceKind),
    /// Named integers.
    Enum {
        /// The integer type.
        base: Box<Datatype>,
        /// Names and values.
        members: Vec<EnumMember>,
    },
    /// A ragged row, in the global heap.
    Vlen {
        /// The type of its elements.
        base: Box<Datatype>,
    },
    /// Text of any length, in the global heap.
    VlenString {
        /// The kind of its end.
        padding: StringPadding,
        /// Its encoding.
        charset: Charset,
    },
    /// A small array of fixed shape.
    Array {
        /// Its shape, slowest dimension first.
        dims: Vec<u32>,
        /// The type of its elements.
        base: Box<Datatype>,
    },
    /// A complex number (HDF5 2.0).
    Complex {
        /// The type of both parts.
        base: Box<Datatype>,
    },
}

impl Datatype {
    /// The number of types that it holds one inside the other; at most [`MAX_DEPTH`] are read.
    pub(crate) fn depth(&self) -> u32 {
        match &self.class {
            Class::Compound { members } => {
                1 + members.iter().map(|member| member.datatype.depth()).max().unwrap_or(0)
            }
            Class::Enum { base, .. }
            | Class::Vlen { base }
            | Class::Array { base, .. }
            | Class::Complex { base } => 1 + base.depth(),
            Class::VlenString { .. } => 1,
            _ => 0,
        }
    }

    /// An integer that uses all its bits.
    pub(crate) fn integer(size: u32, signed: bool, order: ByteOrder) -> Self {
        let precision = (8 * size) as u16;
        Datatype { size, class: Class::Fixed { order, signed, bit_offset: 0, precision } }
    }

    /// IEEE binary32.
    pub(crate) fn f32(order: ByteOrder) -> Self {
        Datatype { size: 4, class: Class::Float(FloatLayout::binary32(order)) }
    }

    /// IEEE binary64.
    pub(crate) fn f64(order: ByteOrder) -> Self {
        Datatype { size: 8, class: Class::Float(FloatLayout::binary64(order)) }
    }

    /// Fixed-length text, NUL-terminated ASCII as C writers make it.
    pub(crate) fn string(size: u32) -> Self {
        let class = Class::String { padding: StringPadding::NullTerminated, charset: Charset::Ascii };
        Datatype { size, class }
    }

    /// The name in messages: "a reference", "a 2-byte float", …
    pub(crate) fn describe(&self) -> String {
        let size = self.size;
        match &self.class {
            Class::Fixed { precision, .. } if u64::from(*precision) == 8 * u64::from(size) => {
                format!("a {size}-byte integer")
            }
            Class::Fixed { precision, .. } => format!("a {size}-byte integer of {precision} bits"),
            Class::Float(_) => format!("a {size}-byte float"),
            Class::Time { .. } => "a time".into(),
            Class::String { .. } => format!("a string of {size} bytes"),
            Class::Bitfield { .. } => "a bit field".into(),
            Class::Opaque { .. } => "an opaque type".into(),
            Class::Compound { .. } => "a compound".into(),
            Class::Reference(_) => "a reference".into(),
            Class::Enum { .. } => "an enumeration".into(),
            Class::Vlen { base } => format!("a ragged row of {}", base.describe()),
            Class::VlenString { .. } => "a string".into(),
            Class::Array { base, .. } => format!("an array of {}", base.describe()),
            Class::Complex { .. } => "a complex number".into(),
        }
    }

    /// The normal form: byte orders little, text conventions plain. Two types with equal normal forms hold the same values in the same
    /// places.
    pub(crate) fn normal(&self) -> Datatype {
        let le = ByteOrder::Little;
        let class = match &self.class {
            Class::Fixed { signed, bit_offset, precision, .. } => {
                Class::Fixed { order: le, signed: *signed, bit_offset: *bit_offset, precision: *precision }
            }
            Class::Float(f) if f.order == ByteOrder::Big => Class::Float(FloatLayout { order: le, ..*f }),
            Class::Time { precision, .. } => Class::Time { order: le, precision: *precision },
            Class::Bitfield { bit_offset, precision, .. } => {
                Class::Bitfield { order: le, bit_offset: *bit_offset, precision: *precision }
            }
            Class::String { .. } => Datatype::string(1).class,
            Class::VlenString { .. } => {
                Class::VlenString { padding: StringPadding::NullTerminated, charset: Charset::Ascii }
            }
            Class::Compound { members } => {
                let normal = |m: &Member| Member { datatype: m.datatype.normal(), ..m.clone() };
                Class::Compound { members: members.iter().map(normal).collect() }
            }
            Class::Enum { base, members } => {
                let big = matches!(base.class, Class::Fixed { order: ByteOrder::Big, .. });
                let normal = |m: &EnumMember| {
                    let mut m = m.clone();
                    if big {
                        m.value.reverse();
                    }
                    m
                };
                Class::Enum { base: Box::new(base.normal()), members: members.iter().map(normal).collect() }
            }
            Class::Vlen { base } => Class::Vlen { base: Box::new(base.normal()) },
            Class::Array { dims, base } => Class::Array { dims: dims.clone(), base: Box::new(base.normal()) },
            Class::Complex { base } => Class::Complex { base: Box::new(base.normal()) },
            other => other.clone(),
        };
        Datatype { size: self.size, class }
    }
}

impl FloatLayout {
    /// Whether these are two-byte numbers as IEEE 754 makes them, with any division into exponent and mantissa that a
    /// 4-byte float can hold: binary16 (h5py's `float16`), bfloat16.
    pub(crate) fn is_half(&self) -> bool {
        let bits = self.exponent_size.checked_add(self.mantissa_size);
        (self.bit_offset, self.precision, self.normalisation) == (0, 16, 2)
            && (self.sign_location, self.mantissa_location, bits) == (15, 0, Some(15))
            && self.exponent_location == self.mantissa_size
            && (2..=8).contains(&self.exponent_size)
            && u64::from(self.exponent_bias) == (1 << (self.exponent_size - 1)) - 1
            && self.order != ByteOrder::Vax
    }

    /// The value of a number for which [`FloatLayout::is_half`] holds; exact.
    pub(crate) fn half(&self, bits: u16) -> f32 {
        let field = |at: u8, n: u8| (u32::from(bits) >> at) & ((1 << n) - 1);
        let (top, bias) = ((1 << self.exponent_size) - 1, self.exponent_bias as i32);
        let mantissa = field(self.mantissa_location, self.mantissa_size);
        let fraction = f64::from(mantissa) / f64::from(1u32 << self.mantissa_size);
        let size = match field(self.exponent_location, self.exponent_size) {
            0 => fraction * 2f64.powi(1 - bias),
            e if e == top && mantissa == 0 => f64::INFINITY,
            e if e == top => f64::NAN,
            e => (1.0 + fraction) * 2f64.powi(e as i32 - bias),
        };
        (if field(self.sign_location, 1) == 1 { -size } else { size }) as f32
    }

    /// IEEE binary32.
    pub(crate) fn binary32(order: ByteOrder) -> Self {
        FloatLayout {
            order,
            bit_offset: 0,
            precision: 32,
            sign_location: 31,
            exponent_location: 23,
            exponent_size: 8,
            mantissa_location: 0,
            mantissa_size: 23,
            exponent_bias: 127,
            normalisation: 2,
        }
    }

    /// IEEE binary64.
    pub(crate) fn binary64(order: ByteOrder) -> Self {
        FloatLayout {
            order,
            bit_offset: 0,
            precision: 64,
            sign_location: 63,
            exponent_location: 52,
            exponent_size: 11,
            mantissa_location: 0,
            mantissa_size: 52,
            exponent_bias: 1023,
            normalisation: 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_floats_are_exact() {
        let half = FloatLayout {
            order: ByteOrder::Little,
            bit_offset: 0,
            precision: 16,
            sign_location: 15,
            exponent_location: 10,
            exponent_size: 5,
            mantissa_location: 0,
            mantissa_size: 10,
            exponent_bias: 15,
            normalisation: 2,
        };
        assert!(half.is_half());
        let values = [0x3c00, 0xc000, 0x3555, 0x0001, 0x7bff].map(|bits| half.half(bits));
        assert_eq!(values, [1.0, -2.0, 0.333_251_95, 5.960_464_5e-8, 65504.0]);
        assert!(half.half(0x7e00).is_nan() && half.half(0xfc00) == f32::NEG_INFINITY);
    }
}
