//! Base64 (RFC 4648, section 4), for bytes in JSON.

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the text of `bytes`.
pub(super) fn append(bytes: &[u8], out: &mut String) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let word = part.iter().fold(0u32, |w, &b| w << 8 | u32::from(b)) << (8 * (3 - part.len()));
        for i in 0..4 {
            let digit = DIGITS[(word >> (18 - 6 * i)) as usize & 63];
            out.push(if i <= part.len() { digit as char } else { '=' });
        }
    }
}

/// The text of `bytes`.
pub(super) fn text(bytes: &[u8]) -> String {
    let mut out = String::new();
    append(bytes, &mut out);
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_examples_of_the_rfc() {
        let pairs = [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
        ];
        for (bytes, text) in pairs {
            assert_eq!(super::text(bytes.as_bytes()), text);
        }
        assert_eq!(super::text(&[0xff, 0xfe, 0xfd]), "//79");
    }
}
