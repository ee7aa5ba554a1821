//! One number of an atomic type, read from the bytes of an element in memory.
//!
//! Every type of the netCDF data model fits without loss: integers of up to 64 bits, `float` and `double` each as it is.

use super::Atomic;

/// Doubles of this magnitude and more are not taken for whole numbers: their neighbours are more than 1 apart.
const LARGEST_WHOLE: f64 = 9e15;

/// The value of one element of an atomic type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// A number of an integer type, or the code of a `char`.
    Integer(i128),
    /// `NC_FLOAT`.
    Float(f32),
    /// `NC_DOUBLE`.
    Double(f64),
}

impl Number {
    /// The number that native-order bytes are; `None` where there are not just as many as the type has.
    ///
    /// ```
    /// use ncforge::model::{Atomic, Number};
    /// assert_eq!(Number::read(Atomic::Short, &(-3i16).to_ne_bytes()), Some(Number::Integer(-3)));
    /// assert_eq!(Number::read(Atomic::Float, &1.5f32.to_ne_bytes()), Some(Number::Float(1.5)));
    /// assert_eq!(Number::read(Atomic::Int, &[1, 2]), None);
    /// ```
    pub fn read(kind: Atomic, bytes: &[u8]) -> Option<Number> {
        macro_rules! integer {
            ($t:ty) => {
                Number::Integer(<$t>::from_ne_bytes(bytes.try_into().ok()?).into())
            };
        }
        Some(match kind {
            Atomic::Byte => integer!(i8),
            Atomic::UByte | Atomic::Char => integer!(u8),
            Atomic::Short => integer!(i16),
            Atomic::UShort => integer!(u16),
            Atomic::Int => integer!(i32),
            Atomic::UInt => integer!(u32),
            Atomic::Int64 => integer!(i64),
            Atomic::UInt64 => integer!(u64),
            Atomic::Float => Number::Float(f32::from_ne_bytes(bytes.try_into().ok()?)),
            Atomic::Double => Number::Double(f64::from_ne_bytes(bytes.try_into().ok()?)),
        })
    }

    /// The number as a double; NaN where the bytes are none of the type's.
    pub fn read_f64(kind: Atomic, bytes: &[u8]) -> f64 {
        Number::read(kind, bytes).map_or(f64::NAN, Number::to_f64)
    }

    /// The nearest double: integers of more than 53 bits lose their last ones.
    pub fn to_f64(self) -> f64 {
        match self {
            Number::Integer(n) => n as f64,
            Number::Float(x) => f64::from(x),
            Number::Double(x) => x,
        }
    }

    /// The integer; `None` for `float` and `double`.
    pub fn integer(self) -> Option<i128> {
        match self {
            Number::Integer(n) => Some(n),
            Number::Float(_) | Number::Double(_) => None,
        }
    }

    /// The whole number that it is, whatever its type; `None` for fractions and for what does not fit.
    ///
    /// ```
    /// use ncforge::model::Number;
    /// assert_eq!(Number::Double(4.0).whole(), Some(4));
    /// assert_eq!(Number::Float(0.5).whole(), None);
    /// assert_eq!(Number::Integer(u64::MAX.into()).whole(), None);
    /// ```
    pub fn whole(self) -> Option<i64> {
        match self {
            Number::Integer(n) => i64::try_from(n).ok(),
            Number::Float(_) | Number::Double(_) => {
                let x = self.to_f64();
                (x.fract() == 0.0 && x.abs() < LARGEST_WHOLE).then_some(x as i64)
            }
        }
    }

    /// The bytes of the element of type `kind` that is this number, in native order; `None` where the type does not have it. Every NaN is
    /// the same number.
    ///
    /// ```
    /// use ncforge::model::{Atomic, Number};
    /// assert_eq!(Number::Double(7.0).exactly(Atomic::Short), Some(7i16.to_ne_bytes().to_vec()));
    /// assert_eq!(Number::Double(7.5).exactly(Atomic::Short), None);
    /// assert_eq!(Number::Integer(200).exactly(Atomic::Byte), None);
    /// ```
    pub fn exactly(self, kind: Atomic) -> Option<Vec<u8>> {
        macro_rules! integer {
            ($t:ty) => {
                <$t>::try_from(self.as_integer()?).ok()?.to_ne_bytes().to_vec()
            };
        }
        macro_rules! float {
            ($t:ty) => {{
                let near = match self {
                    Number::Integer(n) => n as $t,
                    Number::Float(x) => x as $t,
                    Number::Double(x) => x as $t,
                };
                let same = match self {
                    Number::Integer(n) => near.is_finite() && near as i128 == n,
                    _ => f64::from(near) == self.to_f64() || near.is_nan(),
                };
                same.then(|| near.to_ne_bytes().to_vec())?
            }};
        }
        Some(match kind {
            Atomic::Byte => integer!(i8),
            Atomic::Char | Atomic::UByte => integer!(u8),
            Atomic::Short => integer!(i16),
            Atomic::UShort => integer!(u16),
            Atomic::Int => integer!(i32),
            Atomic::UInt => integer!(u32),
            Atomic::Int64 => integer!(i64),
            Atomic::UInt64 => integer!(u64),
            Atomic::Float => float!(f32),
            Atomic::Double => float!(f64),
        })
    }

    /// The integer of any size that it is.
    fn as_integer(self) -> Option<i128> {
        match self {
            Number::Integer(n) => Some(n),
            _ => {
                let x = self.to_f64();
                (x.fract() == 0.0 && x.abs() < 2f64.powi(100)).then_some(x as i128)
            }
        }
    }

    /// The bytes of the element of type `kind` that is nearest to a double, in native order.
    ///
    /// ```
    /// use ncforge::model::{Atomic, Number};
    /// assert_eq!(Number::nearest(Atomic::Short, 7.2), 7i16.to_ne_bytes());
    /// ```
    pub fn nearest(kind: Atomic, x: f64) -> Vec<u8> {
        macro_rules! element {
            ($t:ty) => {
                (x as $t).to_ne_bytes().to_vec()
            };
        }
        match kind {
            Atomic::Byte => element!(i8),
            Atomic::Char | Atomic::UByte => element!(u8),
            Atomic::Short => element!(i16),
            Atomic::UShort => element!(u16),
            Atomic::Int => element!(i32),
            Atomic::UInt => element!(u32),
            Atomic::Int64 => element!(i64),
            Atomic::UInt64 => element!(u64),
            Atomic::Float => element!(f32),
            Atomic::Double => element!(f64),
        }
    }
}

/// The number as its own type prints it: the shortest text that reads back as the same value, with an exponent as in C and NumPy.
impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Number::Integer(n) => write!(f, "{n}"),
            Number::Float(x) => f.write_str(&with_exponent(format!("{x:?}"))),
            Number::Double(x) => f.write_str(&with_exponent(format!("{x:?}"))),
        }
    }
}

/// A float's text with a sign and two digits in its exponent.
fn with_exponent(text: String) -> String {
    let Some((digits, exponent)) = text.split_once('e') else { return text };
    match exponent.strip_prefix('-') {
        Some(below) => format!("{digits}e-{below:0>2}"),
        None => format!("{digits}e+{exponent:0>2}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponents_are_those_of_c_and_numpy() {
        assert_eq!(Number::Float(9.96921e36).to_string(), "9.96921e+36");
        assert_eq!(Number::Double(-1e-5).to_string(), "-1e-05");
        assert_eq!(Number::Double(1e300).to_string(), "1e+300");
        assert_eq!(Number::Double(0.5).to_string(), "0.5");
    }
}
