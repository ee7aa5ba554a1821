//! The attribute `C_format`: how the values of a variable are printed, as C's `printf` would.

use std::fmt::Write;

use super::number::{Zeros, push_general, push_scientific};
use ncforge::model::{Atomic, DType, Number, Variable};

/// Longer ones are not obeyed, as in `ncdump`.
const MOST: usize = 100;
/// The widest field and the finest precision that are obeyed.
const WIDEST: usize = 64;

/// A format with one conversion.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct CFormat {
    before: String,
    after: String,
    flags: String,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

impl CFormat {
    /// The format of a variable, if it has one that can be obeyed for its type.
    pub(super) fn of(var: &Variable) -> Option<CFormat> {
        let attr = var.attr("C_format").filter(|a| a.dtype == DType::Atomic(Atomic::Char))?;
        let format = CFormat::parse(attr.as_text().filter(|t| t.len() < MOST)?)?;
        let is_float = match var.dtype {
            DType::Atomic(Atomic::Float | Atomic::Double) => true,
            DType::Atomic(Atomic::Char) | DType::String | DType::User(_) => return None,
            DType::Atomic(_) => false,
        };
        (is_float == "fFeEgG".contains(format.conversion)).then_some(format)
    }

    fn parse(text: &str) -> Option<CFormat> {
        let at = text.find('%')?;
        let rest = &text[at + 1..];
        let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (flags, rest) = rest.split_at(rest.find(|c: char| !"-+ #0".contains(c))?);
        let (width, mut rest) = rest.split_at(digits(rest));
        let mut precision = None;
        if let Some(behind) = rest.strip_prefix('.') {
            let (number, behind) = behind.split_at(digits(behind));
            precision = Some(if number.is_empty() { 0 } else { number.parse().ok()? });
            rest = behind;
        }
        let rest = rest.trim_start_matches(['h', 'l', 'L', 'q']);
        let conversion = rest.chars().next().filter(|c| "diuxXofFeEgG".contains(*c))?;
        let after = &rest[1..];
        let width = if width.is_empty() { 0 } else { width.parse().ok()? };
        let fits = width <= WIDEST && precision.is_none_or(|p| p <= WIDEST) && !after.contains('%');
        fits.then(|| CFormat {
            before: text[..at].to_owned(),
            after: after.to_owned(),
            flags: flags.to_owned(),
            width,
            precision,
            conversion,
        })
    }

    /// A number in this format; `None` for what is no number.
    pub(super) fn text(&self, x: Number) -> Option<String> {
        let has = |flag: char| self.flags.contains(flag);
        let (negative, digits) = match x {
            Number::Integer(n) => (n < 0, self.integer(n.unsigned_abs())),
            other => {
                let x = other.to_f64();
                if !x.is_finite() {
                    return None;
                }
                (x.is_sign_negative(), self.float(x.abs()))
            }
        };
        let sign = match negative {
            true => "-",
            false if has('+') => "+",
            false if has(' ') => " ",
            false => "",
        };
        let missing = self.width.saturating_sub(sign.len() + digits.len());
        let zeros = has('0') && !has('-') && (self.precision.is_none() || !matches!(x, Number::Integer(_)));
        let (left, zero, right) = match (has('-'), zeros) {
            (true, _) => (0, 0, missing),
            (_, true) => (0, missing, 0),
            _ => (missing, 0, 0),
        };
        let mut out = self.before.clone();
        // Writing to a String cannot fail.
        let _ = write!(out, "{:left$}{sign}{}{digits}{:right$}", "", "0".repeat(zero), "");
        out.push_str(&self.after);
        Some(out)
    }

    fn integer(&self, n: u128) -> String {
        let digits = match self.conversion {
            'x' => format!("{n:x}"),
            'X' => format!("{n:X}"),
            'o' => format!("{n:o}"),
            _ => n.to_string(),
        };
        format!("{}{digits}", "0".repeat(self.precision.unwrap_or(1).saturating_sub(digits.len())))
    }

    fn float(&self, x: f64) -> String {
        let precision = self.precision.unwrap_or(6);
        let mut text = Vec::new();
        match (self.conversion.to_ascii_lowercase(), self.flags.contains('#')) {
            ('f', _) => text.extend_from_slice(format!("{x:.precision$}").as_bytes()),
            ('e', _) => push_scientific(&mut text, x, precision),
            (_, true) => push_general(&mut text, x, precision.max(1), Zeros::Kept),
            _ => push_general(&mut text, x, precision.max(1), Zeros::CutWithPoint),
        }
        let text = String::from_utf8_lossy(&text).into_owned();
        if self.conversion.is_ascii_uppercase() { text.to_uppercase() } else { text }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_as_from_printf() {
        let float = |format: &str, x: f64| CFormat::parse(format).and_then(|f| f.text(Number::Double(x)));
        for (format, x, text) in [
            ("%.2f", 2.71432, "2.71"),
            ("%8.3f", -2.5, "  -2.500"),
            ("%-8.1fm", 2.25, "2.2     m"),
            ("%+.3e", 12345.678, "+1.235e+04"),
            ("%g", 1e-7, "1e-07"),
            ("%08.2f", -1.5, "-0001.50"),
            ("%.0f", 0.5, "0"),
            ("%G", 1e30, "1E+30"),
        ] {
            assert_eq!(float(format, x).as_deref(), Some(text), "{format}");
        }
        let whole = |format: &str, n: i128| CFormat::parse(format).and_then(|f| f.text(Number::Integer(n)));
        assert_eq!(whole("%5d", -42).as_deref(), Some("  -42"));
        assert_eq!(whole("0x%04x", 255).as_deref(), Some("0x00ff"));
        assert_eq!(whole("%.3d", 7).as_deref(), Some("007"));
        for bad in ["%s", "%d%d", "%9999d", "%*d", "no", "%"] {
            assert_eq!(CFormat::parse(bad), None, "{bad}");
        }
    }
}
