//! Numbers and names as people read them: one way for the whole of ncforge.

/// A number of bytes: three digits and a binary unit.
///
/// ```
/// use ncforge::words::bytes;
/// assert_eq!(bytes(999), "999 B");
/// assert_eq!(bytes(1 << 20), "1.00 MiB");
/// assert_eq!(bytes(102_400), "100 KiB");
/// ```
pub fn bytes(n: u64) -> String {
    let mut x = n as f64;
    let mut unit = "B";
    for next in ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"] {
        if x < 999.5 {
            break;
        }
        x /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{x:.0} B") } else { format!("{} {unit}", digits(x)) }
}

/// A time: three digits and a unit from nanoseconds to seconds.
///
/// ```
/// use ncforge::words::seconds;
/// assert_eq!(seconds(0.0123), "12.3 ms");
/// assert_eq!(seconds(0.9999), "1.00 s");
/// assert_eq!(seconds(75.0), "75.0 s");
/// ```
pub fn seconds(s: f64) -> String {
    let mut x = s * 1e9;
    let mut unit = "ns";
    for next in ["µs", "ms", "s"] {
        if x.abs() < 999.5 {
            break;
        }
        x /= 1000.0;
        unit = next;
    }
    format!("{} {unit}", digits(x))
}

/// A count, thousands apart.
///
/// ```
/// assert_eq!(ncforge::words::count(32_768), "32,768");
/// ```
pub fn count(n: u64) -> String {
    let digits = n.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out
}

/// How many times: `3.4×`, `32,768×`.
///
/// ```
/// assert_eq!(ncforge::words::times(3.42), "3.4×");
/// assert_eq!(ncforge::words::times(32768.0), "32,768×");
/// ```
pub fn times(x: f64) -> String {
    if x < 9.95 { format!("{x:.1}×") } else { format!("{}×", count(x.round() as u64)) }
}

/// A number of things: `1 chunk`, `1,560 chunks`.
///
/// ```
/// assert_eq!(ncforge::words::many(1, "chunk"), "1 chunk");
/// assert_eq!(ncforge::words::many(1560, "chunk"), "1,560 chunks");
/// ```
pub fn many(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A shape: `1560 x 128 x 256`.
pub fn shape(lens: &[u64]) -> String {
    lens.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
}

/// A word as a POSIX shell reads it back.
///
/// ```
/// use ncforge::words::quoted;
/// assert_eq!(quoted("time/365"), "time/365");
/// assert_eq!(quoted("64-bit offset"), "'64-bit offset'");
/// assert_eq!(quoted("it's"), r"'it'\''s'");
/// assert_eq!(quoted(""), "''");
/// ```
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "-_./,:=+@%^".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn digits(x: f64) -> String {
    match x.abs() {
        a if a >= 99.95 => format!("{x:.0}"),
        a if a >= 9.995 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}
