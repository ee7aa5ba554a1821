//! Names as files hold them: UTF-8 by rule, any bytes in practice.
//!
//! Old classic files hold Latin-1 and worse. A reader must not reject them, and a copy must give the same bytes
//! back. So a byte that is not valid UTF-8 becomes one character of the private-use range U+F780–U+F7FF, and
//! is turned back on writing (the idea of Python's `surrogateescape`, in code points that Rust's `str` allows).

const ESCAPE: u32 = 0xF700;

/// The text of a stored name; invalid bytes are escaped, so that [`encode_name`] gives them back.
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
