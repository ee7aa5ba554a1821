//! Numbers as CDL shows them: C's `%g`, with the trailing zeros and the suffixes of `ncdump`.

use std::io::Write;

use ncforge::model::{Atomic, DType, Number};

/// Significant digits of a float, as `ncdump` prints it.
const FLOAT_DIGITS: usize = 7;
/// Significant digits of a double, as `ncdump` prints it.
const DOUBLE_DIGITS: usize = 15;

/// The significant digits of numbers that were asked for, as by `ncdump -p`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digits {
    /// Digits of a float; 7 by default.
    pub float: Option<usize>,
    /// Digits of a double; 15 by default.
    pub double: Option<usize>,
}

/// C's `%#.<digits>g`: always with a decimal point, trailing zeros kept.
pub(super) fn general(x: f64, digits: usize) -> String {
    let (significand, exponent) = parts(x, digits - 1);
    if exponent < -4 || exponent >= digits as i32 {
        let point = if significand.contains('.') { "" } else { "." };
        return format!("{significand}{point}{}", exponent_text(exponent));
    }
    let decimals = (digits as i32 - 1 - exponent) as usize;
    let point = if decimals == 0 { "." } else { "" };
    format!("{x:.decimals$}{point}")
}

/// Rust's exponent format gives the rounded significand, with `decimals` decimals, and the exponent that C's rules need.
fn parts(x: f64, decimals: usize) -> (String, i32) {
    let text = format!("{x:.decimals$e}");
    let (significand, exponent) = text.split_once('e').expect("`{:e}` of a finite number has an exponent");
    (significand.to_owned(), exponent.parse().expect("the exponent is an integer"))
}

/// An exponent as C writes it.
fn exponent_text(exponent: i32) -> String {
    format!("e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs())
}

/// C's `%.<decimals>e`.
pub(super) fn scientific(x: f64, decimals: usize) -> String {
    let (significand, exponent) = parts(x, decimals);
    significand + &exponent_text(exponent)
}

/// The text without zeros at the end of its fraction; the point stays.
fn without_trailing_zeros(text: &str) -> String {
    let (number, exponent) = text.find('e').map_or((text, ""), |at| text.split_at(at));
    format!("{}{exponent}", number.trim_end_matches('0'))
}

/// C's `%.<digits>g`: no trailing zeros, no lonely point.
pub(super) fn plain(x: f64, digits: usize) -> String {
    let text = general(x, digits);
    let (number, exponent) = text.find('e').map_or((text.as_str(), ""), |at| text.split_at(at));
    format!("{}{exponent}", number.trim_end_matches('0').trim_end_matches('.'))
}

/// A float or double that is no number, in CDL; `None` for finite ones.
fn special(x: f64, suffix: &str) -> Option<String> {
    if x.is_nan() {
        Some(format!("NaN{suffix}"))
    } else if x.is_infinite() {
        Some(format!("{}Infinity{suffix}", if x < 0.0 { "-" } else { "" }))
    } else {
        None
    }
}

impl Digits {
    /// Whether they were asked for of numbers of a type.
    pub(super) fn are_given(self, dtype: DType) -> bool {
        match dtype {
            DType::Atomic(Atomic::Float) => self.float.is_some(),
            DType::Atomic(Atomic::Double) => self.double.is_some(),
            _ => false,
        }
    }

    /// A float in an attribute: `1.f`, `0.1f`, `1.e+20f`, `NaNf`.
    fn float_attribute(self, x: f32) -> String {
        let x = f64::from(x);
        special(x, "f")
            .unwrap_or_else(|| without_trailing_zeros(&general(x, self.float.unwrap_or(FLOAT_DIGITS))) + "f")
    }

    /// A double in an attribute: `1.`, `0.1`, `NaN`.
    fn double_attribute(self, x: f64) -> String {
        special(x, "")
            .unwrap_or_else(|| without_trailing_zeros(&general(x, self.double.unwrap_or(DOUBLE_DIGITS))))
    }

    /// A float inside a compound or a row: no suffix but on the special ones, as `ncdump` has it.
    fn float_plain(self, x: f32) -> String {
        let x = f64::from(x);
        special(x, "f").unwrap_or_else(|| plain(x, self.float.unwrap_or(FLOAT_DIGITS)))
    }

    /// A double inside a compound or a row.
    fn double_plain(self, x: f64) -> String {
        special(x, "").unwrap_or_else(|| plain(x, self.double.unwrap_or(DOUBLE_DIGITS)))
    }
}

/// The number that an element's bytes are; 0 where they are too few.
fn read(kind: Atomic, bytes: &[u8]) -> Number {
    Number::read(kind, bytes).unwrap_or(Number::Integer(0))
}

/// The value of an element of an integer type.
pub(super) fn integer(kind: Atomic, bytes: &[u8]) -> i128 {
    read(kind, bytes).integer().unwrap_or(0)
}

/// Appends one number of an attribute, with the suffix that says its type.
pub(super) fn push_attribute_number(out: &mut Vec<u8>, digits: Digits, kind: Atomic, bytes: &[u8]) {
    let text = match read(kind, bytes) {
        Number::Float(x) => digits.float_attribute(x),
        Number::Double(x) => digits.double_attribute(x),
        Number::Integer(n) => n.to_string(),
    };
    let suffix = match kind {
        Atomic::Byte => "b",
        Atomic::Short => "s",
        Atomic::UByte => "UB",
        Atomic::UShort => "US",
        Atomic::UInt => "U",
        Atomic::Int64 => "LL",
        Atomic::UInt64 => "ULL",
        Atomic::Char | Atomic::Int | Atomic::Float | Atomic::Double => "",
    };
    let _ = write!(out, "{text}{suffix}");
}

/// Appends one number inside a compound or a row: no suffix.
pub(super) fn push_plain_number(out: &mut Vec<u8>, digits: Digits, kind: Atomic, bytes: &[u8]) {
    let text = match read(kind, bytes) {
        Number::Float(x) => digits.float_plain(x),
        Number::Double(x) => digits.double_plain(x),
        Number::Integer(n) => n.to_string(),
    };
    out.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_shown_as_ncdump_shows_them() {
        for (x, text) in [
            (0.0f32, "0.f"),
            (-0.0, "-0.f"),
            (1.0, "1.f"),
            (0.1, "0.1f"),
            (-9999.0, "-9999.f"),
            (1e20, "1.e+20f"),
            (9.96921e36, "9.96921e+36f"),
            (1e-5, "1.e-05f"),
            (0.0001, "0.0001f"),
            (1_234_567.0, "1234567.f"),
            (12_345_678.0, "1.234568e+07f"),
            (100.0, "100.f"),
            (9_999_999.5, "1.e+07f"),
            (f32::NAN, "NaNf"),
            (f32::INFINITY, "Infinityf"),
            (f32::NEG_INFINITY, "-Infinityf"),
            (f32::from_bits(1), "1.401298e-45f"),
        ] {
            assert_eq!(Digits::default().float_attribute(x), text);
        }
    }

    #[test]
    fn doubles_are_shown_as_ncdump_shows_them() {
        for (x, text) in [
            (0.0, "0."),
            (1.5, "1.5"),
            (0.1, "0.1"),
            (1e15, "1.e+15"),
            (123_456_789_012_345.0, "123456789012345."),
            (9.969_209_968_386_87e36, "9.96920996838687e+36"),
            (1e-300, "1.e-300"),
            (-1e100, "-1.e+100"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(Digits::default().double_attribute(x), text);
        }
        let digits = Digits::default();
        assert_eq!(digits.double_plain(100.0), "100");
        assert_eq!(digits.double_plain(1e100), "1e+100");
        assert_eq!(digits.float_plain(0.25), "0.25");
        let few = Digits { float: Some(3), double: Some(1) };
        assert_eq!(
            (few.float_plain(1.0 / 3.0), few.double_attribute(25.0)),
            ("0.333".into(), "2.e+01".into())
        );
    }

    #[test]
    fn integers_carry_their_type() {
        let (mut out, digits) = (Vec::new(), Digits::default());
        push_attribute_number(&mut out, digits, Atomic::UInt64, &u64::MAX.to_ne_bytes());
        out.push(b' ');
        push_attribute_number(&mut out, digits, Atomic::Byte, &[0xFF]);
        out.push(b' ');
        push_attribute_number(&mut out, digits, Atomic::Int, &(-5i32).to_ne_bytes());
        assert_eq!(out, b"18446744073709551615ULL -1b -5");
    }
}
