//! Names that a writer may give. Readers take any (see [`super::header`]).

use crate::model::encode_name;

/// netCDF's `NC_MAX_NAME`.
const MAX_NAME: usize = 256;

/// What is wrong with a name, if anything: the rules of the NetCDF Classic format specification.
///
/// Bytes that were no UTF-8 in the file they come from are let through, so that copies are faithful.
pub(super) fn problem(name: &str) -> Option<&'static str> {
    let bytes = encode_name(name);
    let first = bytes.first()?;
    if bytes.len() > MAX_NAME {
        Some("is longer than 256 bytes")
    } else if !(first.is_ascii_alphanumeric() || *first == b'_' || *first >= 0x80) {
        Some("does not begin with a letter, a digit or an underscore")
    } else if bytes.contains(&b'/') {
        Some("has a slash in it")
    } else if bytes.iter().any(u8::is_ascii_control) {
        Some("has a control character in it")
    } else if bytes.ends_with(b" ") {
        Some("ends with a space")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::problem;

    #[test]
    fn the_rules() {
        for good in ["a", "_x", "1st", "Température", "a b", "a-b.c(d)", "\u{F7E9}t", "x@y+z"] {
            assert_eq!(problem(good), None, "{good}");
        }
        let long = "x".repeat(257);
        for bad in ["-a", " a", "a/b", "a\n", "a ", "\u{7f}", long.as_str()] {
            assert!(problem(bad).is_some(), "{bad}");
        }
    }
}
