//! Dates in names of files: `2000-01`, `20000101`, `2000-01-01-21600`, `2000-01-01_06:00:00`, `y2000m01`.

/// A date of a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp {
    /// Its digits from the year on: `200001`, `200001010600`.
    pub(super) digits: String,
}

/// A text that is read from its beginning.
struct Scan<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scan<'_> {
    /// The number of digits from here on.
    fn run(&self) -> usize {
        self.bytes[self.at..].iter().take_while(|b| b.is_ascii_digit()).count()
    }

    /// A run of exactly `len` digits that is at most `most`, behind one of the bytes `before`; nothing is taken otherwise.
    fn part(&mut self, before: &[u8], len: usize, least: u32, most: u32) -> Option<String> {
        let begin = self.at;
        let found = (|| {
            if !before.is_empty() {
                self.bytes.get(self.at).filter(|b| before.contains(b))?;
                self.at += 1;
            }
            (self.run() == len).then_some(())?;
            let text = std::str::from_utf8(&self.bytes[self.at..self.at + len]).ok()?;
            let number: u32 = text.parse().ok()?;
            self.at += len;
            (least..=most).contains(&number).then(|| text.to_owned())
        })();
        if found.is_none() {
            self.at = begin;
        }
        found
    }
}

impl Stamp {
    /// The date that begins at a place of a name, and where it ends. Digits behind a letter are none, but for those of `y2000m01d01`.
    pub(super) fn at(name: &str, at: usize) -> Option<(Stamp, usize)> {
        let bytes = name.as_bytes();
        let letter = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_alphabetic);
        if at > 0 && (letter(at - 1) || bytes[at - 1].is_ascii_digit()) {
            return None;
        }
        let mut scan = Scan { bytes, at };
        let is_lettered = matches!(bytes.get(at), Some(b'y' | b'Y'));
        scan.at += usize::from(is_lettered);
        let digits = match (is_lettered, scan.run()) {
            (true, 4) => lettered(&mut scan),
            (false, 4) => separated(&mut scan),
            (false, 6 | 8 | 10 | 12 | 14) => joined(&mut scan)?,
            _ => return None,
        };
        let ends = !letter(scan.at) || matches!(bytes[scan.at], b'Z' | b'z');
        ends.then_some((Stamp { digits }, scan.at))
    }

    /// Whether it is a year alone.
    pub(super) fn is_year(&self) -> bool {
        self.digits.len() == 4
    }
}

/// The year, which was found.
fn year(scan: &mut Scan<'_>) -> String {
    scan.part(&[], 4, 0, 9999).unwrap_or_default()
}

/// `2000`, `2000m01`, `2000m01d01`.
fn lettered(scan: &mut Scan<'_>) -> String {
    let mut digits = year(scan);
    if let Some(month) = scan.part(b"mM", 2, 1, 12) {
        digits += &month;
        digits.extend(scan.part(b"dD", 2, 1, 31));
    }
    digits
}

/// `2000`, `2000-01`, `2000-01-01`, and perhaps a time.
fn separated(scan: &mut Scan<'_>) -> String {
    let mut digits = year(scan);
    let Some(month) = scan.part(b"-_.", 2, 1, 12) else { return digits };
    digits += &month;
    let Some(day) = scan.part(b"-_.", 2, 1, 31) else { return digits };
    digits += &day;
    digits + &time(scan)
}

/// `200001`, `20000101`, `2000010106`, …, and perhaps a time behind a day.
fn joined(scan: &mut Scan<'_>) -> Option<String> {
    let len = scan.run();
    let text = std::str::from_utf8(&scan.bytes[scan.at..scan.at + len]).ok()?;
    let within = |from: usize, least: u32, most: u32| {
        let part = text.get(from..from + 2).and_then(|part| part.parse::<u32>().ok());
        part.is_none_or(|n| (least..=most).contains(&n))
    };
    let is_date =
        within(4, 1, 12) && within(6, 1, 31) && within(8, 0, 24) && within(10, 0, 60) && within(12, 0, 60);
    if !is_date {
        return None;
    }
    scan.at += len;
    let time = if len == 8 { time(scan) } else { String::new() };
    Some(text.to_owned() + &time)
}

/// A time behind a date, as hours, minutes and seconds: `-21600`, `_06:00:00`, `T0600`; nothing if there is none.
fn time(scan: &mut Scan<'_>) -> String {
    const BEFORE: &[u8] = b"-_T.";
    if let Some(seconds) = scan.part(BEFORE, 5, 0, 86_400) {
        let n: u32 = seconds.parse().unwrap_or_default();
        return format!("{:02}{:02}{:02}", n / 3600, n / 60 % 60, n % 60);
    }
    for (len, most) in [(6, 240_000), (4, 2400)] {
        if scan.bytes.get(scan.at) == Some(&b'T')
            && let Some(digits) = scan.part(BEFORE, len, 0, most)
        {
            return digits;
        }
    }
    let mut digits = String::new();
    let parts: [(&[u8], u32); 3] = [(b"-_T:", 24), (b"-_:", 59), (b"-_:", 60)];
    for (before, most) in parts {
        match scan.part(before, 2, 0, most) {
            Some(part) => digits += &part,
            None => break,
        }
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_names() {
        for (name, at, digits, rest) in [
            ("2000-01.nc", 0, "200001", ".nc"),
            ("h0.2000-01-15-43200.nc", 3, "20000115120000", ".nc"),
            ("20000101_20000131_grid", 0, "20000101", "_20000131_grid"),
            ("d01_2000-01-02_06:00:00", 4, "20000102060000", ""),
            ("d01_2000-01-02_06_00_00", 4, "20000102060000", ""),
            ("x_y2000m03d01.nc", 2, "20000301", ".nc"),
            ("x_y2000.nc", 2, "2000", ".nc"),
            ("2000.nc", 0, "2000", ".nc"),
            ("2000.02.nc", 0, "200002", ".nc"),
            ("20000102T1230Z.nc", 0, "200001021230", "Z.nc"),
            ("2000010212.nc", 0, "2000010212", ".nc"),
            ("200001-200012.nc", 0, "200001", "-200012.nc"),
            ("2000-13.nc", 0, "2000", "-13.nc"),
        ] {
            let (stamp, end) = Stamp::at(name, at).expect(name);
            assert_eq!((stamp.digits.as_str(), &name[end..]), (digits, rest), "{name}");
        }
        for (name, at) in
            [("h2000-01", 1), ("12000", 1), ("000123.nc", 0), ("2000m.nc", 0), ("012", 0), ("ORCA2000", 4)]
        {
            assert_eq!(Stamp::at(name, at), None, "{name}");
        }
    }
}
