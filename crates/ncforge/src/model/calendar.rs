//! Calendars of the CF conventions (section 4.4.1): their names, and dates in them as numbers of days.
//!
//! Several names mean one calendar, and times without a name have the `standard` one. Days are counted from 1970-01-01 in whole
//! numbers. Years are astronomical: there is a year 0.
//!
//! ```
//! use ncforge::model::calendar::Calendar;
//!
//! assert!(Calendar::same(Some("gregorian"), None) && Calendar::same(Some("noleap"), Some("365_day")));
//! assert!(!Calendar::same(Some("noleap"), None));
//! ```

/// Days of the year before each month, in a year that is no leap year.
const BEFORE: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];

/// A calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Calendar {
    /// Julian, and Gregorian from 1582-10-15 on.
    Mixed,
    /// Gregorian at all times.
    Gregorian,
    /// Every fourth year is a leap year.
    Julian,
    /// No year is a leap year.
    NoLeap,
    /// Every year is a leap year.
    AllLeap,
    /// Months of 30 days.
    Days360,
}

/// The names of calendars.
pub const CALENDARS: [(&str, Calendar); 11] = [
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

/// A day of a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Date {
    /// Astronomical: there is a year 0.
    pub year: i64,
    /// From 1.
    pub month: i64,
    /// From 1.
    pub day: i64,
}

/// The first day of the Gregorian calendar, by that and by the Julian one, in the mixed calendar.
const FIRST_GREGORIAN: Date = Date { year: 1582, month: 10, day: 15 };
const AS_JULIAN: Date = Date { day: 5, ..FIRST_GREGORIAN };

impl Calendar {
    /// The calendar of an attribute `calendar`, in letters of any case; without one, or with an empty one, CF's default.
    pub fn named(name: Option<&str>) -> Option<Calendar> {
        match name.unwrap_or_default().trim() {
            "" => Some(Calendar::Mixed),
            name => CALENDARS.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|c| c.1),
        }
    }

    /// Whether two attributes name the same calendar. One that is not known is the same as another of its name.
    pub fn same(a: Option<&str>, b: Option<&str>) -> bool {
        match (Calendar::named(a), Calendar::named(b)) {
            (None, None) => a.unwrap_or_default().trim().eq_ignore_ascii_case(b.unwrap_or_default().trim()),
            (a, b) => a == b,
        }
    }

    /// Whether a year has 366 days, of the calendars that have months of several lengths.
    pub fn is_leap(self, year: i64) -> bool {
        match self {
            Calendar::AllLeap => true,
            Calendar::Julian => year % 4 == 0,
            Calendar::Mixed if year < FIRST_GREGORIAN.year => year % 4 == 0,
            Calendar::Gregorian | Calendar::Mixed => year % 4 == 0 && (year % 100 != 0 || year % 400 == 0),
            Calendar::NoLeap | Calendar::Days360 => false,
        }
    }

    /// Days from 1970 to the beginning of a year; of the mixed calendar, as if it were Gregorian at all times.
    pub fn days(self, year: i64) -> i64 {
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

    /// Days of a year before a month of it.
    pub fn before(self, year: i64, month: i64) -> i64 {
        match self {
            Calendar::Days360 => 30 * (month - 1),
            _ => BEFORE[(month - 1).clamp(0, 11) as usize] + i64::from(month > 2 && self.is_leap(year)),
        }
    }

    fn month_days(self, year: i64, month: i64) -> i64 {
        match (self, month) {
            (Calendar::Days360, _) => 30,
            (_, 2) => 28 + i64::from(self.is_leap(year)),
            (_, 4 | 6 | 9 | 11) => 30,
            _ => 31,
        }
    }

    /// The number of a day; `None` if the calendar has no such day.
    pub fn day(self, date: Date) -> Option<i64> {
        let Date { year, month, day } = date;
        if !(1..=12).contains(&month) || day < 1 || day > self.month_days(year, month) {
            return None;
        }
        match self {
            Calendar::Mixed if date >= FIRST_GREGORIAN => Calendar::Gregorian.day(date),
            Calendar::Mixed if date >= AS_JULIAN => None,
            Calendar::Mixed => Some(Calendar::Julian.day(date)? + Self::julian_days_behind()),
            _ => Some(self.days(year) + self.before(year, month) + day - 1),
        }
    }

    /// The day of a number.
    pub fn date(self, day: i64) -> Date {
        if self == Calendar::Mixed {
            let first = Calendar::Gregorian.day(FIRST_GREGORIAN).unwrap_or_default();
            return match day < first {
                true => Calendar::Julian.date(day - Self::julian_days_behind()),
                false => Calendar::Gregorian.date(day),
            };
        }
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
        while month < 12 && left >= self.month_days(year, month) {
            left -= self.month_days(year, month);
            month += 1;
        }
        Date { year, month, day: left + 1 }
    }

    /// How much larger the number of a day is in the mixed calendar than in the Julian one.
    fn julian_days_behind() -> i64 {
        let day = |calendar: Calendar, date| calendar.day(date).unwrap_or_default();
        day(Calendar::Gregorian, FIRST_GREGORIAN) - day(Calendar::Julian, AS_JULIAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_dates_and_dates_are_days() {
        for (_, calendar) in CALENDARS {
            let mut before = calendar.date(-800_001);
            for day in (-800_000..800_000).step_by(7).chain(-141_500..-141_000) {
                let date = calendar.date(day);
                assert_eq!(calendar.day(date), Some(day), "{calendar:?} {date:?}");
                assert!(date > before || day == -141_500, "{calendar:?} {before:?} {date:?}");
                before = date;
            }
        }
    }

    #[test]
    fn days_that_a_calendar_lacks() {
        let is = |calendar: Calendar, year, month, day| calendar.day(Date { year, month, day }).is_some();
        assert!(!is(Calendar::Mixed, 1582, 10, 10) && is(Calendar::Gregorian, 1582, 10, 10));
        assert!(is(Calendar::Mixed, 1500, 2, 29) && !is(Calendar::Gregorian, 1500, 2, 29));
        assert!(is(Calendar::Days360, 2001, 2, 30) && !is(Calendar::Days360, 2001, 1, 31));
        assert!(!is(Calendar::NoLeap, 2000, 2, 29) && is(Calendar::AllLeap, 2001, 2, 29));
        assert!(!is(Calendar::Julian, 2001, 13, 1) && !is(Calendar::Julian, 2001, 1, 0));
        assert_eq!(Calendar::Gregorian.day(Date { year: 1970, month: 1, day: 1 }), Some(0));
        assert_eq!(Calendar::Mixed.day(Date { year: 1582, month: 10, day: 4 }), Some(-141_428));
    }
}
