//! Types and fill values in Zarr's terms.
//!
//! Types are NumPy's, as Zarr version 2 writes them: byte order, kind, bytes. A `char` is a string of one byte.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ncforge::model::equality::one_nan;
use ncforge::model::{Atomic, DType, Number, Schema, UserKind};
use ncforge::raw::{Element, Order};
use serde_json::Value;

/// The type of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Numbers, or characters.
    Fixed {
        /// The type.
        atomic: Atomic,
        /// Whether numbers are stored in big-endian order.
        big: bool,
    },
    /// Strings of variable length.
    Strings,
}

impl Kind {
    /// The type of a variable; a reason if Zarr has no such type.
    pub(super) fn of(schema: &Schema, dtype: DType, element: &Element) -> Result<Kind, String> {
        let fixed = |atomic: Atomic| {
            let swapped = !matches!(element.order, Order::Keep);
            Ok(Kind::Fixed { atomic, big: cfg!(target_endian = "big") != swapped })
        };
        match dtype {
            DType::Atomic(atomic) => fixed(atomic),
            DType::String => Ok(Kind::Strings),
            DType::User(t) => match &schema.user_type(t).kind {
                UserKind::Enum { base, .. } => fixed(*base),
                kind => {
                    let what = match kind {
                        UserKind::Compound { .. } => "compound",
                        UserKind::Vlen { .. } => "vlen",
                        _ => "opaque",
                    };
                    Err(format!("its type `{}` is a {what} type", schema.user_type(t).name))
                }
            },
        }
    }

    /// Values in the order of this machine with one NaN: they are equal where their bytes are.
    pub(super) fn one_nan(self, values: &[u8]) -> Vec<u8> {
        let mut values = values.to_vec();
        if let Kind::Fixed { atomic, .. } = self {
            one_nan(atomic, &mut values);
        }
        values
    }

    /// The type of values in the order of this machine.
    pub(super) fn native(self) -> Kind {
        match self {
            Kind::Fixed { atomic, .. } => Kind::Fixed { atomic, big: cfg!(target_endian = "big") },
            Kind::Strings => Kind::Strings,
        }
    }

    /// NumPy's name.
    pub(super) fn numpy(self) -> String {
        let Kind::Fixed { atomic, big } = self else { return "|O".into() };
        let kind = match atomic {
            Atomic::Char => 'S',
            Atomic::Byte | Atomic::Short | Atomic::Int | Atomic::Int64 => 'i',
            Atomic::UByte | Atomic::UShort | Atomic::UInt | Atomic::UInt64 => 'u',
            Atomic::Float | Atomic::Double => 'f',
        };
        let order = match (atomic.size(), big) {
            (1, _) => '|',
            (_, true) => '>',
            (_, false) => '<',
        };
        format!("{order}{kind}{}", atomic.size())
    }

    /// Bytes of an element; 0 for strings.
    pub(super) fn size(self) -> usize {
        match self {
            Kind::Fixed { atomic, .. } => atomic.size(),
            Kind::Strings => 0,
        }
    }

    /// A fill value as Zarr version 2 writes it, from bytes in native order; `None` where JSON has no such value: a NaN
    /// with other bits than NumPy's, or bytes that are not one element.
    pub(super) fn fill(self, bytes: &[u8]) -> Option<Value> {
        let Kind::Fixed { atomic, .. } = self else { return None };
        Some(match Number::read(atomic, bytes)? {
            Number::Integer(_) if atomic == Atomic::Char => BASE64_STANDARD.encode(bytes).into(),
            Number::Integer(n) => match u64::try_from(n) {
                Ok(n) => n.into(),
                Err(_) => i64::try_from(n).ok()?.into(),
            },
            Number::Float(x) if x.is_nan() && x.to_bits() != 0x7fc0_0000 => return None,
            Number::Double(x) if x.is_nan() && x.to_bits() != 0x7ff8_0000_0000_0000 => return None,
            number => match number.to_f64() {
                x if x.is_nan() => "NaN".into(),
                f64::INFINITY => "Infinity".into(),
                f64::NEG_INFINITY => "-Infinity".into(),
                x => x.into(),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_fill_values() {
        let kind = |atomic, big| Kind::Fixed { atomic, big };
        assert_eq!(kind(Atomic::Float, true).numpy(), ">f4");
        assert_eq!(kind(Atomic::UInt64, false).numpy(), "<u8");
        assert_eq!(kind(Atomic::Char, true).numpy(), "|S1");
        assert_eq!(kind(Atomic::Byte, true).fill(&[0x81]), Some((-127).into()));
        assert_eq!(kind(Atomic::Char, false).fill(&[0]), Some("AA==".into()));
        assert_eq!(kind(Atomic::UInt64, false).fill(&u64::MAX.to_ne_bytes()), Some(u64::MAX.into()));
        let double = kind(Atomic::Double, false);
        assert_eq!(double.fill(&f64::NAN.to_ne_bytes()), Some("NaN".into()));
        assert_eq!(double.fill(&f64::from_bits(0x7ff8_0000_0000_0001).to_ne_bytes()), None);
        assert_eq!(double.fill(&f64::NEG_INFINITY.to_ne_bytes()), Some("-Infinity".into()));
        // A float is written so that it reads back as the same float.
        let float = kind(Atomic::Float, false).fill(&9.969_21e36f32.to_ne_bytes()).unwrap();
        assert_eq!(float.as_f64().unwrap() as f32, 9.969_21e36);
    }
}
