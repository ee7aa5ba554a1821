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

/// The zeros at the end of a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Zeros {
    /// All digits are shown, and the point, as by C's `%#g`.
    Kept,
    /// The zeros are left out, the point stays.
    Cut,
    /// A point behind which nothing is left goes, too, as by C's `%g`.
    CutWithPoint,
}

/// Appends a finite number as C's `%.<digits>g` shows it.
///
/// The digits are rounded once, exactly, and then get their point: `%g` has the same digits with an exponent and without.
pub(super) fn push_general(out: &mut Vec<u8>, x: f64, digits: usize, zeros: Zeros) {
    if zeros != Zeros::Kept && push_whole(out, x, digits) {
        if zeros == Zeros::Cut {
            out.push(b'.');
        }
        return;
    }
    let start = out.len();
    let exponent = push_rounded(out, x, digits - 1);
    if digits == 1 {
        out.push(b'.');
    }
    let first = start + usize::from(x.is_sign_negative());
    let in_place = (-4..digits as i32).contains(&exponent);
    match usize::try_from(exponent) {
        Ok(right) if in_place => out[first + 1..first + 2 + right].rotate_left(1),
        Err(_) if in_place => {
            out.remove(first + 1);
            let before = &b"0.000"[..(1 - exponent) as usize];
            out.splice(first..first, before.iter().copied());
        }
        _ => {}
    }
    if zeros != Zeros::Kept {
        while out.last() == Some(&b'0') {
            out.pop();
        }
    }
    if zeros == Zeros::CutWithPoint && out.last() == Some(&b'.') {
        out.pop();
    }
    if !in_place {
        push_exponent(out, exponent);
    }
}

/// Appends a whole number of at most `digits` digits; whether the number is one.
fn push_whole(out: &mut Vec<u8>, x: f64, digits: usize) -> bool {
    let whole = x as i64;
    let is_whole = whole as f64 == x && whole.unsigned_abs() < 10u64.pow(digits.min(DOUBLE_DIGITS) as u32);
    if is_whole {
        if whole == 0 && x.is_sign_negative() {
            out.push(b'-');
        }
        let _ = write!(out, "{whole}");
    }
    is_whole
}

/// Appends the significand, rounded to `decimals` decimals, as Rust's exponent format has it, and gives the exponent.
fn push_rounded(out: &mut Vec<u8>, x: f64, decimals: usize) -> i32 {
    let start = out.len();
    // Writing to memory cannot fail.
    let _ = write!(out, "{x:.decimals$e}");
    let at = out[start..].iter().rposition(|b| *b == b'e').map_or(out.len(), |at| start + at);
    let digits = out.get(at + 1..).unwrap_or_default();
    let (is_negative, digits) = digits.strip_prefix(b"-").map_or((false, digits), |digits| (true, digits));
    let size = digits.iter().fold(0, |n, digit| n * 10 + i32::from(digit - b'0'));
    out.truncate(at);
    if is_negative { -size } else { size }
}

/// Appends an exponent as C writes it.
fn push_exponent(out: &mut Vec<u8>, exponent: i32) {
    let _ = write!(out, "e{}{:02}", if exponent < 0 { '-' } else { '+' }, exponent.unsigned_abs());
}

/// Appends a finite number as C's `%.<decimals>e` shows it.
pub(super) fn push_scientific(out: &mut Vec<u8>, x: f64, decimals: usize) {
    let exponent = push_rounded(out, x, decimals);
    push_exponent(out, exponent);
}

/// Appends a float or double that is no number, as CDL has it; whether it is one.
fn push_special(out: &mut Vec<u8>, x: f64, suffix: &str) -> bool {
    let text = match () {
        () if x.is_nan() => "NaN",
        () if x == f64::INFINITY => "Infinity",
        () if x == f64::NEG_INFINITY => "-Infinity",
        () => return false,
    };
    let _ = write!(out, "{text}{suffix}");
    true
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

    /// Appends a float: `1.f`, `0.1f`, `1.e+20f`, `NaNf` in an attribute; elsewhere only what is no number has the suffix, as in `ncdump`.
    fn push_float(self, out: &mut Vec<u8>, x: f32, zeros: Zeros) {
        if !push_special(out, x.into(), "f") {
            push_general(out, x.into(), self.float.unwrap_or(FLOAT_DIGITS), zeros);
            if zeros == Zeros::Cut {
                out.push(b'f');
            }
        }
    }

    /// Appends a double: `1.`, `0.1`, `NaN` in an attribute.
    fn push_double(self, out: &mut Vec<u8>, x: f64, zeros: Zeros) {
        if !push_special(out, x, "") {
            push_general(out, x, self.double.unwrap_or(DOUBLE_DIGITS), zeros);
        }
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

/// Appends a number, its fraction as it is written there.
fn push_number(out: &mut Vec<u8>, digits: Digits, kind: Atomic, bytes: &[u8], zeros: Zeros) {
    match read(kind, bytes) {
        Number::Float(x) => digits.push_float(out, x, zeros),
        Number::Double(x) => digits.push_double(out, x, zeros),
        Number::Integer(n) => {
            // Numbers of 128 bits take longer to print; only large ones of `uint64` need them.
            let _ = match i64::try_from(n) {
                Ok(n) => write!(out, "{n}"),
                Err(_) => write!(out, "{n}"),
            };
        }
    }
}

/// Appends one number of an attribute, with the suffix that says its type.
pub(super) fn push_attribute_number(out: &mut Vec<u8>, digits: Digits, kind: Atomic, bytes: &[u8]) {
    push_number(out, digits, kind, bytes, Zeros::Cut);
    out.extend_from_slice(match kind {
        Atomic::Byte => b"b",
        Atomic::Short => b"s",
        Atomic::UByte => b"UB",
        Atomic::UShort => b"US",
        Atomic::UInt => b"U",
        Atomic::Int64 => b"LL",
        Atomic::UInt64 => b"ULL",
        Atomic::Char | Atomic::Int | Atomic::Float | Atomic::Double => b"",
    });
}

/// Appends one number inside a compound or a row: no suffix.
pub(super) fn push_plain_number(out: &mut Vec<u8>, digits: Digits, kind: Atomic, bytes: &[u8]) {
    push_number(out, digits, kind, bytes, Zeros::CutWithPoint);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(digits: Digits, x: Number, zeros: Zeros) -> String {
        let mut out = Vec::new();
        match x {
            Number::Float(x) => digits.push_float(&mut out, x, zeros),
            Number::Double(x) => digits.push_double(&mut out, x, zeros),
            Number::Integer(_) => {}
        }
        String::from_utf8(out).unwrap()
    }

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
            assert_eq!(shown(Digits::default(), Number::Float(x), Zeros::Cut), text);
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
            assert_eq!(shown(Digits::default(), Number::Double(x), Zeros::Cut), text);
        }
        let plain = |digits, x| shown(digits, x, Zeros::CutWithPoint);
        let digits = Digits::default();
        assert_eq!(plain(digits, Number::Double(100.0)), "100");
        assert_eq!(plain(digits, Number::Double(1e100)), "1e+100");
        assert_eq!(plain(digits, Number::Float(0.25)), "0.25");
        let few = Digits { float: Some(3), double: Some(1) };
        assert_eq!(plain(few, Number::Float(1.0 / 3.0)), "0.333");
        assert_eq!(shown(few, Number::Double(25.0), Zeros::Cut), "2.e+01");
    }

    /// C's own `snprintf`, for numbers of all sizes, with all zeros and without.
    #[test]
    fn numbers_are_those_of_printf() {
        let printed = |format: &std::ffi::CStr, digits: usize, x: f64| {
            let mut text = [0u8; 512];
            // SAFETY: the format takes an int and a double, and the buffer's length is given.
            let len = unsafe {
                libc::snprintf(
                    text.as_mut_ptr().cast(),
                    text.len(),
                    format.as_ptr(),
                    digits as libc::c_int,
                    x,
                )
            };
            String::from_utf8_lossy(&text[..len as usize]).into_owned()
        };
        let own = |push: &dyn Fn(&mut Vec<u8>)| {
            let mut out = b"x".to_vec();
            push(&mut out);
            String::from_utf8(out.split_off(1)).unwrap()
        };
        let mut random = 0x2545_F491_4F6C_DD1D_u64;
        for i in 0..200_000u32 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let x = match i % 5 {
                0 => f64::from_bits(random),
                1 => f64::from(f32::from_bits(random as u32)),
                2 => f64::from(random as i32) / 10f64.powi((random >> 40) as i32 % 12),
                3 => f64::from(random as i32) / f64::from(1u32 << (random >> 59)),
                _ => (random as i64 >> (random >> 58)) as f64,
            };
            let digits = 1 + (random >> 32) as usize % 18;
            if x.is_finite() {
                let of = |zeros| own(&|out| push_general(out, x, digits, zeros));
                assert_eq!(of(Zeros::CutWithPoint), printed(c"%.*g", digits, x), "{x:e}, {digits} digits");
                assert_eq!(of(Zeros::Kept), printed(c"%#.*g", digits, x), "{x:e}, {digits} digits");
                assert_eq!(own(&|out| push_scientific(out, x, digits - 1)), printed(c"%.*e", digits - 1, x));
            }
        }
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
