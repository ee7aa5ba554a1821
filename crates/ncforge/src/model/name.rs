//! Stored names: UTF-8 by specification, arbitrary bytes in practice.
//!
//! Old classic files contain Latin-1 and other encodings. A reader must not reject them, and a copy must have the same
//! bytes. So a byte that is not valid UTF-8 becomes one character of the private-use range U+F780–U+F7FF, and
//! is converted back on writing (as in Python's `surrogateescape`, with code points that Rust's `str` allows).

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization;

use crate::error::{Error, NameFault, Result};

const ESCAPE: u32 = 0xF700;

/// The text of a stored name; invalid bytes are escaped, so that [`encode_name`] restores them.
///
/// ```
/// use ncforge::model::{decode_name, encode_name};
/// assert_eq!(decode_name(b"temp"), "temp");
/// let odd = [b'T', 0xE9, b'a'];
/// assert_eq!(encode_name(&decode_name(&odd)), odd);
/// ```
pub fn decode_name(bytes: &[u8]) -> String {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        out.push_str(chunk.valid());
        for &b in chunk.invalid() {
            out.push(char::from_u32(ESCAPE + u32::from(b)).expect("U+F780..U+F7FF are characters"));
        }
    }
    out
}

/// The stored bytes of a name; the inverse of [`decode_name`].
pub fn encode_name(name: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(name.len());
    for c in name.chars() {
        let code = c as u32;
        if (ESCAPE + 0x80..=ESCAPE + 0xFF).contains(&code) {
            out.push((code - ESCAPE) as u8);
        } else {
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }
    out
}

/// A name as netCDF stores it: in Unicode's normalization form C (NetCDF Classic Format Specification, "name"). NetCDF-C looks
/// for names in this form alone, and finds no object that has another.
///
/// ```
/// use ncforge::model::normalized_name;
/// assert_eq!(normalized_name("e\u{301}t\u{e9}"), "\u{e9}t\u{e9}");
/// assert_eq!(normalized_name("temp"), "temp");
/// ```
pub fn normalized_name(name: &str) -> Cow<'_, str> {
    if name.is_ascii() { Cow::Borrowed(name) } else { Cow::Owned(name.nfc().collect()) }
}

/// netCDF's `NC_MAX_NAME`.
const MAX_NAME: usize = 256;

/// An error unless netCDF allows this name for a new object of `kind` ("dimension", "attribute", …).
///
/// The rules are those of the NetCDF Classic Format Specification and of netCDF-C's `NC_check_name`, for all
/// formats: 1 to 256 bytes; a letter, a digit, an underscore or a character beyond ASCII first; no slash, no
/// control character, no space at the end. They hold for new names only: existing objects are read, preserved
/// and copied, whatever their names are.
///
/// ```
/// use ncforge::model::check_name;
/// assert!(check_name("variable", "sea surface-temperature (2 m)").is_ok());
/// let error = check_name("attribute", "a/b").unwrap_err();
/// assert_eq!(error.to_string(), "`a/b` cannot be the name of the attribute: it has a slash in it");
/// ```
pub fn check_name(kind: &str, name: &str) -> Result<()> {
    match problem(name) {
        None => Ok(()),
        Some(why) => Err(Error::BadName { kind: kind.to_owned(), name: name.to_owned(), why }),
    }
}

/// The error of a name, if there is one.
fn problem(name: &str) -> Option<NameFault> {
    let bytes = encode_name(name);
    let Some(first) = bytes.first() else { return Some(NameFault::Empty) };
    if bytes.len() > MAX_NAME {
        Some(NameFault::TooLong)
    } else if bytes.contains(&b'/') {
        Some(NameFault::Slash)
    } else if bytes.iter().any(u8::is_ascii_control) {
        Some(NameFault::Control)
    } else if !(first.is_ascii_alphanumeric() || *first == b'_' || *first >= 0x80) {
        Some(NameFault::Beginning)
    } else if bytes.ends_with(b" ") {
        Some(NameFault::Space)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::check_name;

    #[test]
    fn the_rules_of_new_names() {
        for good in ["a", "_x", "1st", "Température", "a b", "a-b.c(d)", "\u{F7E9}t", "x@y+z"] {
            assert!(check_name("variable", good).is_ok(), "{good}");
        }
        let long = "x".repeat(257);
        for bad in ["", "-a", " a", "a/b", "a\n", "a ", "\u{7f}", "a\0", long.as_str()] {
            let said = check_name("variable", bad).unwrap_err().to_string();
            assert!(said.contains("cannot be the name of the variable: it "), "{said}");
        }
    }
}
