//! Sizes as people write them.

use std::fmt;
use std::str::FromStr;

/// A number of bytes. `K M G T` (and `KiB MiB GiB TiB`) are powers of 1024, `KB MB GB TB` powers of 1000.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(pub(crate) u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let split = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
        let (number, unit) = text.split_at(split);
        let unit = unit.trim().to_ascii_uppercase();
        let (prefix, base) = match unit.as_bytes() {
            [] | [b'B'] => (0, 1024u64),
            [p] | [p, b'I', b'B'] => (prefix(*p)?, 1024),
            [p, b'B'] => (prefix(*p)?, 1000),
            _ => return Err(format!("no unit of bytes is called `{unit}`; K, M, G, T, KiB, KB, … are")),
        };
        let scale = base.pow(prefix);
        let bad = || format!("`{text}` is not a size such as 500M or 1.5G");
        let bytes = if let Ok(whole) = number.parse::<u64>() {
            whole.checked_mul(scale).ok_or_else(bad)?
        } else {
            let x = number.parse::<f64>().map_err(|_| bad())? * scale as f64;
            if !(x >= 0.0 && x < u64::MAX as f64) {
                return Err(bad());
            }
            x as u64
        };
        Ok(Size(bytes))
    }
}

fn prefix(letter: u8) -> Result<u32, String> {
    match b"KMGT".iter().position(|&p| p == letter) {
        Some(i) => Ok(i as u32 + 1),
        None => Err(format!("no unit of bytes starts with `{}`; K, M, G and T do", letter as char)),
    }
}

impl fmt::Display for Size {
    /// As a person reads it: three digits and a binary unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&ncforge::ops::describe::human_bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [
            ("0", 0),
            ("12", 12),
            ("256M", 256 << 20),
            ("1.5G", 3 << 29),
            ("2GB", 2_000_000_000),
            ("4 kib", 4096),
            ("7B", 7),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "M", "-1", "1X", "1.2.3", "99999999999999999999", "30000000T", "1 MM"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_are_shown() {
        for (bytes, text) in [
            (0, "0 B"),
            (999, "999 B"),
            (1000, "0.98 KiB"),
            (1 << 20, "1.00 MiB"),
            (1234 << 20, "1.21 GiB"),
            (102_400, "100 KiB"),
        ] {
            assert_eq!(Size(bytes).to_string(), text);
        }
    }
}
