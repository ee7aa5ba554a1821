//! Formatting of numbers and names for messages, the same everywhere in ncforge.

/// A number of bytes: three digits and a binary unit.
///
/// ```
/// use ncforge_tune::words::bytes;
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
/// use ncforge_tune::words::seconds;
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

/// A count with separated thousands.
///
/// ```
/// assert_eq!(ncforge_tune::words::count(32_768), "32,768");
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

/// A factor: `3.4×`, `32,768×`.
///
/// ```
/// assert_eq!(ncforge_tune::words::times(3.42), "3.4×");
/// assert_eq!(ncforge_tune::words::times(32768.0), "32,768×");
/// ```
pub fn times(x: f64) -> String {
    if x < 9.95 { format!("{x:.1}×") } else { format!("{}×", count(x.round() as u64)) }
}

/// A number of things: `1 chunk`, `1,560 chunks`.
///
/// ```
/// assert_eq!(ncforge_tune::words::many(1, "chunk"), "1 chunk");
/// assert_eq!(ncforge_tune::words::many(1560, "chunk"), "1,560 chunks");
/// ```
pub fn many(n: u64, what: &str) -> String {
    format!("{} {what}{}", count(n), if n == 1 { "" } else { "s" })
}

/// A shape: `1560 x 128 x 256`.
pub fn shape(lens: &[u64]) -> String {
    lens.iter().map(u64::to_string).collect::<Vec<_>>().join(" x ")
}

/// A word quoted for a POSIX shell.
///
/// ```
/// use ncforge_tune::words::quoted;
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

/// Seconds since 1970 as `YYYY-MM-DDTHH:MM:SSZ`.
///
/// ```
/// assert_eq!(ncforge_tune::words::iso_date(951_782_400), "2000-02-29T00:00:00Z");
/// ```
pub fn iso_date(seconds: u64) -> String {
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Days to civil date, with years beginning in March, so that the leap day is the last of its year.
    let z = days + 719_468;
    let era = z / 146_097;
    let day_of_era = z % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (h, m, s) = (rest / 3600, rest / 60 % 60, rest % 60);
    format!("{year:04}-{month:02}-{day:02}T{h:02}:{m:02}:{s:02}Z")
}

#[cfg(test)]
mod tests {
    use super::iso_date;

    #[test]
    fn dates() {
        assert_eq!(iso_date(0), "1970-01-01T00:00:00Z");
        assert_eq!(iso_date(1_735_689_599), "2024-12-31T23:59:59Z");
    }
}
