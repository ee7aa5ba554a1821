//! Names and strings as CDL shows them: which bytes are escaped, and how.
//!
//! The rules differ between names, text of attributes and text inside compounds; they are those of `ncdump`
//! 4.9 (CDL's grammar: `ncgen(1)`). Output is bytes: text in a file need not be UTF-8, and comes out as it is.

use std::io::Write;

use ncforge::model::encode_name;

/// Appends a name; what CDL would take for something else is escaped by `\`, control characters by `\%xx`.
pub(super) fn push_name(out: &mut Vec<u8>, name: &str) {
    let bytes = encode_name(name);
    if bytes.first().is_some_and(u8::is_ascii_digit) {
        out.push(b'\\');
    }
    for b in bytes {
        if b.is_ascii_control() {
            let _ = write!(out, "\\%{b:02x}");
        } else {
            if b" !\"#$&'()*,:;<=>?[]\\^`{|}~".contains(&b) {
                out.push(b'\\');
            }
            out.push(b);
        }
    }
}

/// Appends text of an attribute in quotes, without the NULs at its end. `breaks`: a new quoted piece, on a new
/// line, begins after each newline (as for all formats but netCDF-4, where it would be a list of strings).
pub(super) fn push_attribute_text(out: &mut Vec<u8>, text: &[u8], breaks: bool) {
    out.push(b'"');
    for &b in without_trailing_nuls(text) {
        match b {
            b'\n' if breaks => out.extend_from_slice(b"\\n\",\n\t\t\t\""),
            _ => push_escaped(out, b, b"\\v"),
        }
    }
    out.push(b'"');
}

/// Appends a string inside a compound or a row, in quotes; `None` is a null pointer.
pub(super) fn push_nested_string(out: &mut Vec<u8>, text: Option<&[u8]>) {
    let Some(text) = text else {
        out.extend_from_slice(b"NIL");
        return;
    };
    out.push(b'"');
    for &b in up_to_nul(text) {
        // A vertical tab is shown as `\n` here by ncdump.
        push_escaped(out, b, b"\\n");
    }
    out.push(b'"');
}

/// Appends the characters of a compound's field in quotes.
pub(super) fn push_nested_chars(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for &b in without_trailing_nuls(text) {
        match b {
            8 | 12 | b'\n' | b'\r' | b'\t' | 11 | b'\\' | b'\'' | b'"' => out.extend_from_slice(&[b'\\', b]),
            b' '..=b'~' => out.push(b),
            _ => {
                let _ = write!(out, "\\{b:03o}");
            }
        }
    }
    out.push(b'"');
}

/// Appends a row of a variable's characters in quotes, without the NULs at its end. A new quoted piece begins after each newline.
pub(super) fn push_char_text(out: &mut Vec<u8>, text: &[u8]) {
    out.push(b'"');
    for &b in without_trailing_nuls(text) {
        match b {
            b'\n' => out.extend_from_slice(b"\\n\",\n    \""),
            128.. => {
                let _ = write!(out, "\\{b:03o}");
            }
            _ => push_escaped(out, b, b"\\v"),
        }
    }
    out.push(b'"');
}

/// The bytes of a C string: up to the first NUL.
pub(super) fn up_to_nul(text: &[u8]) -> &[u8] {
    &text[..text.iter().position(|&b| b == 0).unwrap_or(text.len())]
}

fn without_trailing_nuls(text: &[u8]) -> &[u8] {
    &text[..text.iter().rposition(|&b| b != 0).map_or(0, |i| i + 1)]
}

fn push_escaped(out: &mut Vec<u8>, b: u8, vertical_tab: &[u8]) {
    match b {
        8 => out.extend_from_slice(b"\\b"),
        12 => out.extend_from_slice(b"\\f"),
        b'\n' => out.extend_from_slice(b"\\n"),
        b'\r' => out.extend_from_slice(b"\\r"),
        b'\t' => out.extend_from_slice(b"\\t"),
        11 => out.extend_from_slice(vertical_tab),
        b'\\' | b'\'' | b'"' => out.extend_from_slice(&[b'\\', b]),
        _ if b.is_ascii_control() => {
            let _ = write!(out, "\\{b:03o}");
        }
        _ => out.push(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::decode_name;

    fn name(s: &str) -> String {
        let mut out = Vec::new();
        push_name(&mut out, s);
        String::from_utf8(out).expect("ASCII in, ASCII out")
    }

    #[test]
    fn names_are_escaped() {
        assert_eq!(name("T2m_avg.a-b+c@d/e%"), "T2m_avg.a-b+c@d/e%");
        assert_eq!(name("2t"), r"\2t");
        assert_eq!(name("sea level (m)"), r"sea\ level\ \(m\)");
        assert_eq!(name("a\tb"), r"a\%09b");
        let mut out = Vec::new();
        push_name(&mut out, &decode_name(&[b'T', 0xE9]));
        assert_eq!(out, [b'T', 0xE9]);
    }

    #[test]
    fn text_is_escaped_and_broken() {
        let mut out = Vec::new();
        push_attribute_text(&mut out, b"a\nb'\x01\x00c\x00\x00", true);
        assert_eq!(out, b"\"a\\n\",\n\t\t\t\"b\\'\\001\\000c\"");
        out.clear();
        push_attribute_text(&mut out, b"a\nb", false);
        assert_eq!(out, br#""a\nb""#);
        out.clear();
        push_attribute_text(&mut out, b"\0\0", false);
        assert_eq!(out, br#""""#);
    }
}
