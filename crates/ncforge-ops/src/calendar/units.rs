//! Times as numbers: `days since 2000-01-01` in a calendar, and the spans of time that texts such as `2000-02` mean.
//!
//! All is exact: moments are whole nanoseconds from 1970, a bound in the units of a coordinate is a fraction. Zones, years without a
//! year 0 and the lengths of months are those of cftime.

use super::{Calendar, Date};

/// Nanoseconds of a second.
const SECOND: i128 = 1_000_000_000;
/// … of a day.
const DAY: i128 = 86_400 * SECOND;

/// Nanoseconds from the beginning of 1970 in a calendar.
pub(crate) type Moment = i128;

/// The meaning of the numbers of a coordinate of times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TimeUnits {
    pub(super) calendar: Calendar,
    /// Nanoseconds of a unit.
    pub(super) unit: i128,
    pub(super) base: Moment,
    /// Whether there is a year 0.
    pub(super) has_zero: bool,
}

/// A number of units as it is, with its lowest terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fraction {
    pub(crate) above: i128,
    /// Above 0.
    pub(crate) below: i128,
}

impl Fraction {
    /// The nearest double, or one of its neighbours where numerator or denominator have more than 53 bits.
    pub(crate) fn to_f64(self) -> f64 {
        let whole = self.above.div_euclid(self.below);
        let rest = self.above.rem_euclid(self.below);
        match self.above.unsigned_abs() < 1 << 53 {
            true => self.above as f64 / self.below as f64,
            false => whole as f64 + rest as f64 / self.below as f64,
        }
    }
}

impl TimeUnits {
    /// Whether units are those of times.
    pub(crate) fn is_time(units: &str) -> bool {
        units.split_ascii_whitespace().nth(1).is_some_and(|word| word.eq_ignore_ascii_case("since"))
    }

    /// Reads `units` and `calendar`.
    ///
    /// # Errors
    /// The reason why numbers in these units are no moments that could be told.
    pub(crate) fn parse(units: &str, calendar: &str) -> Result<TimeUnits, String> {
        let none = || format!("`{units}` are no units of time that ncforge knows");
        let calendar = Calendar::named(Some(calendar))
            .ok_or_else(|| format!("there is no calendar `{}`", calendar.trim()))?;
        let (unit, rest) = units.trim().split_once(|c: char| c.is_ascii_whitespace()).ok_or_else(none)?;
        let rest = rest.trim_start();
        let since = rest.get(..5).filter(|word| word.eq_ignore_ascii_case("since")).ok_or_else(none)?;
        let base = Stamp::parse(rest[since.len()..].trim()).ok_or_else(none)?;
        let mut found = TimeUnits { calendar, unit: 1, base: 0, has_zero: true };
        found.unit = found.unit_of(unit)?;
        // As cftime has it: calendars that people lived by have no year 0, unless the units say so.
        let of_people = matches!(calendar, Calendar::Mixed | Calendar::Julian);
        found.has_zero = !of_people || base.year == 0;
        found.base = found.begin(&base).ok_or_else(none)? - i128::from(base.zone) * 60 * SECOND;
        Ok(found)
    }

    fn unit_of(&self, word: &str) -> Result<i128, String> {
        Ok(match word.to_ascii_lowercase().as_str() {
            "nanoseconds" | "nanosecond" | "nsecs" | "nsec" | "ns" => 1,
            "microseconds" | "microsecond" | "microsecs" | "microsec" | "us" => 1000,
            "milliseconds" | "millisecond" | "millisecs" | "millisec" | "msecs" | "msec" | "ms" => 1_000_000,
            "seconds" | "second" | "secs" | "sec" | "s" => SECOND,
            "minutes" | "minute" | "mins" | "min" => 60 * SECOND,
            "hours" | "hour" | "hrs" | "hr" | "h" => 3600 * SECOND,
            "days" | "day" | "d" => DAY,
            "weeks" | "week" => 7 * DAY,
            "months" | "month" if self.calendar == Calendar::Days360 => 30 * DAY,
            "common_years" | "common_year" if self.calendar == Calendar::NoLeap => 365 * DAY,
            word @ ("months" | "month" | "years" | "year") => {
                return Err(format!("the {word} of its units have no one length in its calendar"));
            }
            _ => return Err(format!("`{word}` is no unit of time that ncforge knows")),
        })
    }

    /// The span of time that a text means: from its beginning up to, but not including, its end.
    ///
    /// # Errors
    /// The reason why it means none.
    pub(crate) fn span(&self, text: &str) -> Result<(Moment, Moment), String> {
        let stamp = Stamp::parse(text.trim()).filter(|stamp| stamp.year_digits >= 4);
        let stamp = stamp.ok_or_else(|| {
            format!("`{text}` is no date: write 2000, 2000-02, 2000-02-03 or 2000-02-03T12:30")
        })?;
        let missing = || format!("the calendar of the file has no date `{text}`");
        let begin = self.begin(&stamp).ok_or_else(missing)?;
        let zone = i128::from(stamp.zone) * 60 * SECOND;
        let end = match stamp {
            Stamp { fraction: Some((_, digits)), .. } => begin + 10i128.pow(9 - digits),
            Stamp { second: Some(_), .. } => begin + SECOND,
            Stamp { minute: Some(_), .. } => begin + 60 * SECOND,
            Stamp { hour: Some(_), .. } => begin + 3600 * SECOND,
            Stamp { day: Some(_), .. } => begin + DAY,
            Stamp { month: Some(month), year, .. } => {
                let next = if month == 12 { self.next(year) } else { year };
                self.begin(&Stamp { year: next, month: Some(month % 12 + 1), ..stamp }).ok_or_else(missing)?
            }
            Stamp { year, .. } => {
                self.begin(&Stamp { year: self.next(year), ..stamp }).ok_or_else(missing)?
            }
        };
        Ok((begin - zone, end - zone))
    }

    fn next(&self, year: i64) -> i64 {
        if year == -1 && !self.has_zero { 1 } else { year + 1 }
    }

    fn begin(&self, stamp: &Stamp) -> Option<Moment> {
        let year = match stamp.year {
            0 if !self.has_zero => return None,
            year if year < 0 && !self.has_zero => year + 1,
            year => year,
        };
        let date = Date { year, month: stamp.month.unwrap_or(1), day: stamp.day.unwrap_or(1) };
        let of = |part: Option<i64>| i128::from(part.unwrap_or(0));
        let seconds = of(stamp.hour) * 3600 + of(stamp.minute) * 60 + of(stamp.second);
        let rest = stamp.fraction.map_or(0, |f| i128::from(f.0));
        Some(i128::from(self.calendar.day(date)?) * DAY + seconds * SECOND + rest)
    }

    /// A moment in these units.
    pub(crate) fn number(&self, at: Moment) -> Fraction {
        let above = at - self.base;
        let common = gcd(above.unsigned_abs(), self.unit.unsigned_abs()).max(1) as i128;
        Fraction { above: above / common, below: self.unit / common }
    }

    /// The units in which dates that are text are counted: every calendar but that of 360 days has the days of this one that models
    /// write.
    pub(crate) fn of_stamps() -> TimeUnits {
        let first = Date { year: 1, month: 1, day: 1 };
        let base = Calendar::Gregorian.day(first).map_or(0, |day| i128::from(day) * DAY);
        TimeUnits { calendar: Calendar::Gregorian, unit: SECOND, base, has_zero: true }
    }

    /// A date that is text, `2000-01-01_12:30:00` as WRF writes it, or with `T` or a blank, in these units; `None` if it is none.
    pub(crate) fn stamp(&self, text: &str) -> Option<f64> {
        let text = text.trim_matches(['\0', ' ']).replacen('_', "T", 1);
        let stamp = Stamp::parse(&text).filter(|stamp| stamp.year_digits >= 4 && stamp.day.is_some())?;
        let at = self.begin(&stamp)? - i128::from(stamp.zone) * 60 * SECOND;
        Some(self.number(at).to_f64())
    }

    /// Seconds of a unit.
    pub(crate) fn seconds(&self) -> f64 {
        self.unit as f64 / SECOND as f64
    }

    /// A number in these units as a day, and the second of it; `None` for what no date is told of.
    pub(crate) fn date(&self, number: f64) -> Option<(Date, i64)> {
        let at = self.base.saturating_add((number * self.unit as f64).round() as i128);
        let seconds = at.saturating_add(SECOND / 2).div_euclid(SECOND);
        let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
        let day = i64::try_from(day).ok().filter(|d| d.abs() < 1 << 32 && number.is_finite())?;
        let mut date = self.calendar.date(day);
        if date.year <= 0 && !self.has_zero {
            date.year -= 1;
        }
        Some((date, second as i64))
    }

    /// A number in these units as a date, for messages: to the second.
    pub(crate) fn text(&self, number: f64) -> String {
        let Some((Date { year, month, day }, second)) = self.date(number) else { return format!("{number}") };
        let sign = if year < 0 { "-" } else { "" };
        let date = format!("{sign}{:04}-{month:02}-{day:02}", year.abs());
        match (second / 3600, second / 60 % 60, second % 60) {
            (0, 0, 0) => date,
            (h, m, 0) => format!("{date}T{h:02}:{m:02}"),
            (h, m, s) => format!("{date}T{h:02}:{m:02}:{s:02}"),
        }
    }
}

fn gcd(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// A date and a time of day, as far as a text gives them.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    year: i64,
    year_digits: usize,
    month: Option<i64>,
    day: Option<i64>,
    hour: Option<i64>,
    minute: Option<i64>,
    second: Option<i64>,
    /// Nanoseconds, and the number of digits that gave them.
    fraction: Option<(i64, u32)>,
    /// Minutes that its zone is ahead.
    zone: i64,
}

impl Stamp {
    /// Reads `2000-01-01 12:30:00.5 +01:00`, with `T` or blanks between date and time; all behind the year may be missing.
    fn parse(text: &str) -> Option<Stamp> {
        let mut rest = Scan(text);
        let is_negative = rest.take("-");
        if !is_negative {
            rest.take("+");
        }
        let (year, year_digits) = rest.digits(7)?;
        let mut found = Stamp {
            year: if is_negative { -year } else { year },
            year_digits,
            month: None,
            day: None,
            hour: None,
            minute: None,
            second: None,
            fraction: None,
            zone: 0,
        };
        if rest.take("-") {
            found.month = Some(rest.digits(2)?.0);
            if rest.take("-") {
                found.day = Some(rest.digits(2)?.0);
                let has_separator = rest.take("T") || rest.blanks();
                if has_separator && rest.has_digit() {
                    found.time(&mut rest)?;
                }
                rest.blanks();
                found.zone = rest.zone()?;
            }
        }
        let within = |part: Option<i64>, most: i64| part.is_none_or(|n| n <= most);
        let is_time = within(found.hour, 23) && within(found.minute, 59) && within(found.second, 59);
        (rest.0.is_empty() && is_time).then_some(found)
    }

    fn time(&mut self, rest: &mut Scan<'_>) -> Option<()> {
        self.hour = Some(rest.digits(2)?.0);
        if rest.take(":") {
            self.minute = Some(rest.digits(2)?.0);
            if rest.take(":") {
                self.second = Some(rest.digits(2)?.0);
                if rest.take(".") {
                    let (number, digits) = rest.digits(9)?;
                    while rest.has_digit() {
                        rest.digits(9)?;
                    }
                    self.fraction = Some((number * 10i64.pow(9 - digits as u32), digits as u32));
                }
            }
        }
        Some(())
    }
}

/// A text that is read from its beginning.
struct Scan<'a>(&'a str);

impl Scan<'_> {
    /// A number of 1 to `most` digits, and how many they are.
    fn digits(&mut self, most: usize) -> Option<(i64, usize)> {
        let len = self.0.bytes().take(most).take_while(u8::is_ascii_digit).count();
        let (number, rest) = self.0.split_at(len);
        self.0 = rest;
        Some((number.parse().ok()?, len))
    }

    fn has_digit(&self) -> bool {
        self.0.starts_with(|c: char| c.is_ascii_digit())
    }

    /// A word in letters of any case.
    fn take(&mut self, word: &str) -> bool {
        let is_next = self.0.get(..word.len()).is_some_and(|next| next.eq_ignore_ascii_case(word));
        if is_next {
            self.0 = &self.0[word.len()..];
        }
        is_next
    }

    fn blanks(&mut self) -> bool {
        let rest = self.0.trim_start();
        let any = rest.len() < self.0.len();
        self.0 = rest;
        any
    }

    /// Minutes that a zone is ahead: `Z`, `UTC`, `+01:00`, `-0130`, `+1`.
    fn zone(&mut self) -> Option<i64> {
        if self.0.is_empty() || self.take("UTC") || self.take("GMT") || self.take("Z") {
            return Some(0);
        }
        let sign = if self.take("-") { -1 } else { self.take("+").then_some(1)? };
        let (hours, len) = self.digits(4)?;
        let (hours, minutes) = match len {
            3 | 4 => (hours / 100, hours % 100),
            _ if self.take(":") => (hours, self.digits(2)?.0),
            _ => (hours, 0),
        };
        Some(sign * (hours * 60 + minutes))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn units(units: &str, calendar: &str) -> TimeUnits {
        TimeUnits::parse(units, calendar).unwrap()
    }

    #[test]
    fn spans_of_dates_in_units() {
        for (of, calendar, text, begin, end) in [
            ("days since 2000-01-01", "", "2000-02", 31.0, 60.0),
            ("days since 2000-01-01", "noleap", "2000-02", 31.0, 59.0),
            ("days since 2000-01-01", "360_day", "2001", 360.0, 720.0),
            ("hours since 2000-1-1 12:00", "standard", "2000-01-02", 12.0, 36.0),
            ("days since 1582-10-04", "gregorian", "1582-10", -3.0, 18.0),
            ("days since 1582-10-04", "proleptic_gregorian", "1582-10", -3.0, 28.0),
            ("seconds since 1970-01-01T00:00:00Z", "", "1970-01-01T00:01", 60.0, 120.0),
            ("minutes since 1970-01-01 01:00 +01:00", "", "1970-01-01T00", 0.0, 60.0),
            ("days since 0001-01-01", "julian", "-0001", -366.0, 0.0),
            ("days since 0000-01-01", "noleap", "0000-12", 334.0, 365.0),
            ("months since 2000-01-01", "360_day", "2000-03", 2.0, 3.0),
        ] {
            let units = units(of, calendar);
            let (from, to) = units.span(text).unwrap();
            assert_eq!((units.number(from).to_f64(), units.number(to).to_f64()), (begin, end), "{of} {text}");
        }
    }

    #[test]
    fn numbers_are_exact() {
        let units = units("nanoseconds since 1970-01-01", "");
        let (from, to) = units.span("2262-04-11T23:47:16.854775807").unwrap();
        assert_eq!((units.number(from).above, to - from), (i128::from(i64::MAX), 1));
        let units = self::units("days since 1850-01-01", "");
        let (from, _) = units.span("2000-01-01T01").unwrap();
        assert_eq!(units.number(from).to_f64(), (54786.0 * 24.0 + 1.0) / 24.0);
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (of, calendar, why) in [
            ("months since 2000-01-01", "", "length"),
            ("days since 2000-01-01", "lunar", "calendar"),
            ("days since 2001-02-29", "", "units"),
            ("fortnights since 2000-01-01", "", "unit"),
            ("day as %Y%m%d.%f", "", "units"),
            ("days", "", "units"),
        ] {
            let found = TimeUnits::parse(of, calendar).unwrap_err();
            assert!(found.contains(why), "{found}");
        }
        let units = units("days since 2000-01-01", "");
        for text in ["", "20", "2000-13", "2000-02-30", "2000-01-01T24", "2000-01-01x", "1582-10-10", "0000"]
        {
            assert!(units.span(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_as_text() {
        assert_eq!(units("days since 2000-01-01", "").text(59.5), "2000-02-29T12:00");
        assert_eq!(units("days since 1-1-1", "julian").text(-1.0), "-0001-12-31");
        assert_eq!(units("days since 2000-01-01", "").text(f64::INFINITY), "inf");
    }

    proptest! {
        #[test]
        fn no_text_is_too_odd(text in "\\PC{0,30}", of in "\\PC{0,20}") {
            let _ = units("days since 2000-01-01", "").span(&text);
            let _ = TimeUnits::parse(&format!("days since {text}"), &of);
            let _ = TimeUnits::parse(&of, &text);
        }

        #[test]
        fn odd_dates(text in "[+-]?[0-9]{1,8}(-[0-9]{1,3}(-[0-9]{1,3}([ T][0-9:.+Z-]{0,20})?)?)?") {
            let _ = units("days since 2000-01-01", "360_day").span(&text);
            let _ = TimeUnits::parse(&format!("days since {text}"), "");
        }
    }

    #[test]
    fn dates_that_are_text_are_numbers() {
        let units = TimeUnits::of_stamps();
        let text = |stamp: &str| units.stamp(stamp).map(|x| units.text(x));
        assert_eq!(text("2000-02-29_06:00:00").as_deref(), Some("2000-02-29T06:00"));
        assert_eq!(text("2000-02-29_06:30:15\0\0").as_deref(), Some("2000-02-29T06:30:15"));
        assert_eq!(text("0001-01-01").as_deref(), Some("0001-01-01"));
        for none in ["", "2000", "2000-02", "2001-02-29_00:00:00", "abc", "2000-01-01_25:00:00"] {
            assert_eq!(text(none), None, "{none}");
        }
        assert_eq!(units.date(f64::NAN), None);
    }
}
