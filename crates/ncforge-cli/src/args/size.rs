//! Sizes as people write them.

use std::fmt;
use std::str::FromStr;

/// A number of bytes; suffixes are powers of 1024, as [`ncforge::engine::parse_size`] reads them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Size(pub(crate) u64);

impl FromStr for Size {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        ncforge::engine::parse_size(text).map(Size).map_err(|e| e.to_string())
    }
}

impl fmt::Display for Size {
    /// As a person reads it: three digits and a binary unit.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&ncforge_ops::words::bytes(self.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, bytes) in [("0", 0), ("12", 12), ("256M", 256 << 20), ("1.5G", 3 << 29), ("4 kib", 4096)] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
        for text in ["", "M", "-1", "1X", "1.2.3", "30000000T", "1 MM"] {
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
