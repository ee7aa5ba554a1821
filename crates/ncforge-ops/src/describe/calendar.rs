//! Times after CF: `days since 2000-01-01` and its kind, in the calendars of CF, as dates.
//!
//! The rules are those of `ncdump -t` (cdtime): months and years are whole ones of the calendar, the mixed calendar changes from
//! Julian to Gregorian on 1582-10-15, a time of day is cut where the rest is zero.

mod rebase;

use std::io::Write;

use super::number::{Digits, push_plain_number};
use ncforge::model::{Atomic, Number};
pub(crate) use rebase::Rebase;

/// Days that are counted; further away nobody knows what a calendar is.
const MOST_DAYS: f64 = 2_147_483_647.0;
/// Days of the year before each month, in a year that is no leap year.
const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Calendar {
    /// Julian, and Gregorian from 1582-10-15 on.
    Mixed,
    /// Gregorian at all times.
    Gregorian,
    Julian,
    NoLeap,
    AllLeap,
    Days360,
}

/// The names of calendars; of several that begin alike, the first.
const CALENDARS: [(&str, Calendar); 11] = [
    ("gregorian", Calendar::Mixed),
    ("standard", Calendar::Mixed),
    ("proleptic_gregorian", Calendar::Gregorian),
    ("noleap", Calendar::NoLeap),
    ("no_leap", Calendar::NoLeap),
    ("365_day", Calendar::NoLeap),
    ("allleap", Calendar::AllLeap),
    ("all_leap", Calendar::AllLeap),
    ("366_day", Calendar::AllLeap),
    ("360_day", Calendar::Days360),
    ("julian", Calendar::Julian),
];

/// A unit: a number of hours, or of months.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Unit {
    Hours { per: f64, many: f64 },
    Months(f64),
}

/// A date and the hours of its day.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Moment {
    year: i64,
    month: i64,
    day: i64,
    hour: f64,
}

/// The meaning of the numbers of a variable of times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TimeUnits {
    calendar: Calendar,
    unit: Unit,
    base: Moment,
}

impl TimeUnits {
    /// Reads `units` and `calendar`; `None` if these are no units of time.
    pub(super) fn parse(units: &str, calendar: &str) -> Option<TimeUnits> {
        let (unit, rest) = units.trim_start().split_once(|c: char| c.is_ascii_whitespace())?;
        let since = rest.trim_start().strip_prefix("since")?.trim_start();
        let unit = unit_of(unit)?;
        let base = moment(since)?;
        let begins =
            |name: &str| name.get(..calendar.len()).is_some_and(|n| n.eq_ignore_ascii_case(calendar));
        let named = CALENDARS.iter().find(|(name, _)| !calendar.is_empty() && begins(name));
        Some(TimeUnits { calendar: named.map_or(Calendar::Mixed, |c| c.1), unit, base })
    }

    /// Appends the time that an element is, in quotes; the number where it is none.
    pub(super) fn push(
        &self,
        out: &mut Vec<u8>,
        digits: Digits,
        kind: Atomic,
        element: &[u8],
        separator: char,
    ) {
        let x = Number::read_f64(kind, element);
        match self.moment(x).and_then(|m| m.text(separator)) {
            Some(text) => {
                let _ = write!(out, "\"{text}\"");
            }
            // Without the suffix that a float would have.
            None if !x.is_finite() => push_plain_number(out, digits, Atomic::Double, &x.to_ne_bytes()),
            None => push_plain_number(out, digits, kind, element),
        }
    }

    fn moment(&self, x: f64) -> Option<Moment> {
        if !x.is_finite() {
            return None;
        }
        match (self.unit, self.calendar) {
            (Unit::Hours { per, many }, Calendar::Mixed) => add_mixed(self.base, x / per * many),
            (Unit::Hours { per, many }, calendar) => {
                calendar.moment(calendar.hours(self.base) + x / per * many)
            }
            (Unit::Months(each), calendar) => {
                let months = each * x;
                if x == 0.0 {
                    return Some(self.base);
                }
                if months.abs() > MOST_DAYS {
                    return None;
                }
                let calendar = if calendar == Calendar::Mixed { Calendar::Gregorian } else { calendar };
                let base = calendar.moment(calendar.hours(self.base))?;
                let all = (months + if x < 0.0 { -1e-10 } else { 1e-10 }) as i64 + base.month - 1;
                let first = Moment {
                    year: base.year + all.div_euclid(12),
                    month: all.rem_euclid(12) + 1,
                    day: 1,
                    hour: 0.0,
                };
                calendar.moment(calendar.hours(first))
            }
        }
    }
}

/// A unit by its name or the beginning of it.
fn unit_of(word: &str) -> Option<Unit> {
    let word = word.to_ascii_lowercase();
    let is = |begin: &str, short: &str| word.starts_with(begin) || word == short;
    let hours = |per, many| Some(Unit::Hours { per, many });
    match () {
        () if is("sec", "s") => hours(3600.0, 1.0),
        () if is("min", "mn") => hours(60.0, 1.0),
        () if is("hour", "hr") => hours(1.0, 1.0),
        () if is("day", "dy") => hours(1.0, 24.0),
        () if is("week", "wk") => hours(1.0, 168.0),
        () if is("month", "mo") => Some(Unit::Months(1.0)),
        () if is("season", "season") => Some(Unit::Months(3.0)),
        () if is("year", "yr") => Some(Unit::Months(12.0)),
        () => None,
    }
}

/// Reads `2000-01-01 12:30:00`, with `T` or a blank between, as far as it goes.
fn moment(text: &str) -> Option<Moment> {
    let mut words = text.split_ascii_whitespace();
    let first = words.next()?;
    let (date, time) = match first.split_once('T') {
        Some((date, "")) => (date, words.next()),
        Some((date, time)) => (date, Some(time)),
        None => (first, words.next()),
    };
    let mut found = Moment { year: 0, month: 1, day: 1, hour: 0.0 };
    let mut rest = Scan(date);
    let Some(year) = rest.int() else { return Some(found) };
    found.year = year;
    let Some(month) = rest.literal('-').and_then(|()| rest.int()) else { return Some(found) };
    found.month = month;
    let Some(day) = rest.literal('-').and_then(|()| rest.int()) else { return Some(found) };
    found.day = day;
    let mut rest = if rest.0.is_empty() { Scan(time.unwrap_or_default()) } else { rest };
    let Some(hour) = rest.int().filter(|h| (0..=23).contains(h)) else { return Some(found) };
    found.hour = hour as f64;
    let Some(minute) = rest.literal(':').and_then(|()| rest.int()).filter(|m| (0..=59).contains(m)) else {
        return Some(found);
    };
    found.hour += minute as f64 / 60.0;
    if let Some(second) = rest.literal(':').and_then(|()| rest.float()).filter(|s| (0.0..=60.0).contains(s)) {
        found.hour += second / 3600.0;
    }
    Some(found)
}

/// A text that is read from its beginning, as `sscanf` does.
struct Scan<'a>(&'a str);

impl Scan<'_> {
    fn int(&mut self) -> Option<i64> {
        let from = usize::from(self.0.starts_with(['-', '+']));
        let digits = self.0[from..].find(|c: char| !c.is_ascii_digit()).unwrap_or(self.0.len() - from);
        let (number, rest) = self.0.split_at(from + digits);
        self.0 = rest;
        number.parse().ok().filter(|n: &i64| n.abs() < 10_000_000)
    }

    fn float(&mut self) -> Option<f64> {
        let end = self.0.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(self.0.len());
        let (number, rest) = self.0.split_at(end);
        self.0 = rest;
        number.parse().ok()
    }

    fn literal(&mut self, c: char) -> Option<()> {
        self.0 = self.0.strip_prefix(c)?;
        Some(())
    }
}

impl Calendar {
    fn is_leap(self, year: i64) -> bool {
        match self {
            Calendar::AllLeap => true,
            Calendar::Julian => year % 4 == 0,
            Calendar::Gregorian | Calendar::Mixed => year % 4 == 0 && (year % 100 != 0 || year % 400 == 0),
            Calendar::NoLeap | Calendar::Days360 => false,
        }
    }

    /// Days from 1970 to the beginning of a year.
    fn days(self, year: i64) -> i64 {
        let leaps = |year: i64| match self {
            Calendar::Julian => (year - 1).div_euclid(4),
            Calendar::Gregorian | Calendar::Mixed => {
                (year - 1).div_euclid(4) - (year - 1).div_euclid(100) + (year - 1).div_euclid(400)
            }
            Calendar::NoLeap | Calendar::AllLeap | Calendar::Days360 => 0,
        };
        let each = match self {
            Calendar::AllLeap => 366,
            Calendar::Days360 => 360,
            _ => 365,
        };
        each * (year - 1970) + leaps(year) - leaps(1970)
    }

    /// Hours from 1970 to a moment.
    fn hours(self, at: Moment) -> f64 {
        let month = if (1..=12).contains(&at.month) { at.month } else { 1 };
        let before = match self {
            Calendar::Days360 => 30 * (month - 1),
            _ => BEFORE[month as usize - 1] + i64::from(month > 2 && self.is_leap(at.year)),
        };
        (self.days(at.year) + before + at.day - 1) as f64 * 24.0 + at.hour
    }

    /// The moment `hours` hours after the beginning of 1970.
    fn moment(self, hours: f64) -> Option<Moment> {
        let mut day = (hours / 24.0).floor();
        let mut hour = hours - day * 24.0;
        if hour >= 24.0 {
            day += 1.0;
            hour -= 24.0;
        }
        if day.abs() > MOST_DAYS {
            return None;
        }
        let day = day as i64;
        let mut year = 1970 + day.div_euclid(366);
        while self.days(year + 1) <= day {
            // At least as many years as there are days left for, at 366 each.
            year += ((day - self.days(year)) / 366).max(1);
        }
        while self.days(year) > day {
            year -= 1;
        }
        let mut left = day - self.days(year);
        let mut month = 1;
        while month < 12 {
            let len = match (self, month) {
                (Calendar::Days360, _) => 30,
                (_, 2) => 28 + i64::from(self.is_leap(year)),
                (_, 4 | 6 | 9 | 11) => 30,
                _ => 31,
            };
            if left < len {
                break;
            }
            left -= len;
            month += 1;
        }
        Some(Moment { year, month, day: left + 1, hour })
    }
}

/// A moment `hours` hours after another in the mixed calendar. Hours are those of the same operations as cdtime's, so that they
/// are rounded alike.
fn add_mixed(at: Moment, hours: f64) -> Option<Moment> {
    let (julian, gregorian) = (Calendar::Julian, Calendar::Gregorian);
    // The day after the last of the Julian calendar, by its count and by the Gregorian one.
    let last = Moment { year: 1582, month: 10, day: 5, hour: 0.0 };
    let first = Moment { day: 15, ..last };
    let epoch = Moment { year: 1979, month: 1, day: 1, hour: 0.0 };
    let of = |calendar: Calendar, at: Moment| calendar.hours(at) - calendar.hours(epoch);
    let add = |calendar: Calendar, at: Moment, hours: f64| {
        calendar.moment(calendar.hours(epoch) + (of(calendar, at) + hours))
    };
    let is_julian = (at.year, at.month, at.day) < (first.year, first.month, first.day);
    if is_julian {
        let left = of(julian, last) - of(julian, at);
        match hours <= left {
            true => add(julian, at, hours),
            false => add(gregorian, first, hours - left),
        }
    } else {
        let left = of(gregorian, first) - of(gregorian, at);
        match hours > left {
            true => add(gregorian, at, hours),
            false => add(julian, last, hours - left),
        }
    }
}

impl Moment {
    fn text(&self, separator: char) -> Option<String> {
        // Half a microsecond, in seconds, minutes and hours.
        const SECOND: f64 = 0.5e-6;
        const MINUTE: f64 = SECOND / 60.0;
        const HOUR: f64 = MINUTE / 60.0;
        let valid = (1..=12).contains(&self.month) && (1..=31).contains(&self.day);
        if !valid || !(0.0..=24.0).contains(&self.hour) {
            return None;
        }
        let hour = (self.hour + HOUR) as i64;
        let rest = 60.0 * (self.hour - hour as f64);
        let minute = (rest + MINUTE) as i64;
        let second = 60.0 * (rest - minute as f64);
        let whole = (second + SECOND) as i64;
        let sign = if self.year < 0 { "-" } else { "" };
        let date = format!("{sign}{:04}-{:02}-{:02}", self.year.abs(), self.month, self.day);
        Some(match (second - (whole as f64) < SECOND, whole, minute, hour) {
            (false, ..) => format!("{date}{separator}{hour:02}:{minute:02}:{second:.6}"),
            (true, 0, 0, 0) => date,
            (true, 0, 0, _) => format!("{date}{separator}{hour:02}"),
            (true, 0, ..) => format!("{date}{separator}{hour:02}:{minute:02}"),
            (true, ..) => format!("{date}{separator}{hour:02}:{minute:02}:{whole:02}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_their_calendars() {
        let text = |units: &str, calendar: &str, x: f64| {
            let units = TimeUnits::parse(units, calendar).expect("units of time");
            let mut out = Vec::new();
            units.push(&mut out, Digits::default(), Atomic::Double, &x.to_ne_bytes(), ' ');
            String::from_utf8(out).expect("ASCII")
        };
        for (units, calendar, x, expected) in [
            ("days since 2000-01-01", "", 59.5, "\"2000-02-29 12\""),
            ("days since 2000-01-01T06:00:00Z", "noleap", 59.25, "\"2000-03-01 12\""),
            ("hours since 1900-1-1 00:00:0.0", "standard", 25.5, "\"1900-01-02 01:30\""),
            ("seconds since 1970-01-01", "proleptic_gregorian", 86_399.0, "\"1970-01-01 23:59:59\""),
            ("seconds since 1970-01-01", "", 0.25, "\"1970-01-01 00:00:0.250000\""),
            ("days since 1582-10-04", "", 1.0, "\"1582-10-05\""),
            ("days since 1582-10-15", "gregorian", -1.0, "\"1582-10-04\""),
            ("days since 1-1-1", "julian", 365.0, "\"0002-01-01\""),
            ("months since 2000-01-31", "360_day", 13.0, "\"2001-03-01\""),
            ("years since 1999-12-31", "", -1.0, "\"1998-12-01\""),
            ("days since 2001-02-28", "366_day", 1.0, "\"2001-02-29\""),
            ("days since 2000-01-01", "", f64::NAN, "NaN"),
            ("days since 2000-01-01", "", 1e30, "1e+30"),
        ] {
            assert_eq!(text(units, calendar, x), expected, "{units} {calendar} {x}");
        }
        for none in ["K", "days", "days after 2000-01-01", "milliseconds since 2000-01-01", "days since"] {
            assert_eq!(TimeUnits::parse(none, ""), None, "{none}");
        }
    }
}
