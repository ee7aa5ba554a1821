//! Times of one unit in another one of the same calendar, without a loss: `hours since 2001-02-01` as `days since 2000-01-01`.
//!
//! Both units are whole numbers of nanoseconds, and so is the time between both origins. A float or a double is as exact as the type
//! of the result can be, and an error where that is worse than it was; an integer is exact, or an error.

use super::units::TimeUnits;
use ncforge::model::{Atomic, Number};

/// Nanoseconds to which no clock of a model counts: a smaller change is none.
const NOTICED: f64 = 500.0;

/// The change of numbers from one unit of time to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rebase {
    /// Nanoseconds of the present unit, and of the one that is wanted.
    from: i128,
    to: i128,
    /// Nanoseconds from the wanted origin to the present one.
    shift: i128,
}

impl Rebase {
    /// The change from one pair of `units` and `calendar` to another; `None` unless both are times of one calendar that is known, in units
    /// of a fixed length.
    ///
    /// Calendars without a name are CF's `standard`.
    pub(crate) fn between(
        (units, calendar): (&str, Option<&str>),
        (wanted, other): (&str, Option<&str>),
    ) -> Option<Rebase> {
        let parse =
            |units, calendar: Option<&str>| TimeUnits::parse(units, calendar.unwrap_or_default()).ok();
        let (own, wanted) = (parse(units, calendar)?, parse(wanted, other)?);
        let is_one = own.calendar == wanted.calendar && own.has_zero == wanted.has_zero;
        is_one.then(|| Rebase { from: own.unit, to: wanted.unit, shift: own.base - wanted.base })
    }

    /// Whether both units count alike.
    pub(crate) fn is_identity(self) -> bool {
        self.from == self.to && self.shift == 0
    }

    /// A number in the wanted unit, about.
    pub(crate) fn about(self, x: f64) -> f64 {
        (x * self.from as f64 + self.shift as f64) / self.to as f64
    }

    /// The bytes of an element in the wanted unit; `None` where its type does not hold them as exactly.
    pub(crate) fn element(self, kind: Atomic, element: &[u8]) -> Option<Vec<u8>> {
        let number = Number::read(kind, element)?;
        if let Some(n) = number.integer() {
            let time = n.checked_mul(self.from)?.checked_add(self.shift)?;
            let whole = time % self.to == 0;
            return whole.then(|| Number::Integer(time / self.to).exactly(kind))?;
        }
        let x = number.to_f64();
        if !x.is_finite() {
            return Some(element.to_vec());
        }
        // Nanoseconds, the whole ones apart from the rest: doubles do not hold both.
        let time = |x: f64, unit: i128| {
            let whole = x.trunc();
            (whole.abs() < 1e18).then(|| (whole as i128 * unit, (x - whole) * unit as f64))
        };
        let (whole, rest) = time(x, self.from)?;
        let whole = whole + self.shift;
        let (quotient, remainder) = (whole / self.to, whole % self.to);
        let y = Number::nearest(kind, quotient as f64 + (remainder as f64 + rest) / self.to as f64);
        let (again, rest_again) = time(Number::read_f64(kind, &y), self.to)?;
        let error = ((again - whole) as f64 + (rest_again - rest)).abs();
        (error <= NOTICED.max(spacing(kind, x) * self.from as f64 / 2.0)).then_some(y)
    }
}

/// The distance of a number from the next one of its type.
fn spacing(kind: Atomic, x: f64) -> f64 {
    match kind {
        Atomic::Float => {
            let x = (x as f32).abs();
            f64::from(x.next_up() - x)
        }
        _ => x.abs().next_up() - x.abs(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn double(units: &str, wanted: &str, calendar: &str, x: f64) -> Option<f64> {
        let change = Rebase::between((units, Some(calendar)), (wanted, Some(calendar)))?;
        Some(Number::read_f64(Atomic::Double, &change.element(Atomic::Double, &x.to_ne_bytes())?))
    }

    #[test]
    fn times_move_between_units() {
        for (units, wanted, calendar, x, expected) in [
            ("hours since 2001-01-01", "days since 2000-01-01", "standard", 6.0, 366.25),
            ("hours since 2001-01-01", "days since 2000-01-01", "noleap", 6.0, 365.25),
            ("days since 2001-01-01", "days since 2000-01-01T00:00:00Z", "360_day", 1.0, 361.0),
            ("days since 1582-10-15", "days since 1582-10-04", "gregorian", 0.0, 1.0),
            ("days since 1582-10-15", "days since 1582-10-04", "proleptic_gregorian", 0.0, 11.0),
            ("days since 1500-03-01", "days since 1500-02-28", "standard", 0.0, 2.0),
            ("days since 2001-01-01 06:00 +01:00", "hours since 2001-01-01 0:0:0.0", "julian", 1.0, 29.0),
            ("milliseconds since 1970-01-01", "seconds since 1970-1-1", "standard", 1500.0, 1.5),
            ("days since 0001-01-01", "days since 2000-01-01", "proleptic_gregorian", 730_119.0, 0.0),
            ("seconds since 1-1-1", "seconds since -0001-01-01", "noleap", 0.0, 63_072_000.0),
        ] {
            assert_eq!(double(units, wanted, calendar, x), Some(expected), "{units} -> {wanted}");
        }
    }

    #[test]
    fn other_times_are_no_units_of_the_same_kind() {
        for (units, wanted) in [
            ("months since 2000-01-01", "months since 2001-01-01"),
            ("days since 2000-02-30", "days since 2000-01-01"),
            ("days since 2000-01-01 noon", "days since 2000-01-01"),
            ("days", "days since 2000-01-01"),
            ("K", "degC"),
            ("days since 1582-10-10", "days since 2000-01-01"),
            ("days since é", "days since 2000-01-01"),
        ] {
            assert_eq!(double(units, wanted, "standard", 1.0), None, "{units}");
        }
        let both = |a, b| Rebase::between(("days since 2000-01-01", a), ("days since 1999-01-01", b));
        assert!(both(None, Some("gregorian")).is_some() && both(Some("365_day"), Some("noleap")).is_some());
        assert!(both(None, Some("noleap")).is_none() && both(Some("mayan"), Some("mayan")).is_none());
    }

    #[test]
    fn what_the_type_does_not_hold_is_refused() {
        let days = |kind, bytes: &[u8], units| {
            Rebase::between((units, None), ("days since 2000-01-01", None)).unwrap().element(kind, bytes)
        };
        let hours = "hours since 2000-01-02";
        assert_eq!(days(Atomic::Int, &24i32.to_ne_bytes(), hours), Some(2i32.to_ne_bytes().to_vec()));
        assert_eq!(days(Atomic::Int, &25i32.to_ne_bytes(), hours), None);
        assert_eq!(days(Atomic::Byte, &24i8.to_ne_bytes(), "hours since 2010-01-01"), None);
        // A third of a day is rounded alike in both units; far away, a float holds no hours.
        assert!(days(Atomic::Double, &8f64.to_ne_bytes(), hours).is_some());
        assert!(days(Atomic::Float, &0.25f32.to_ne_bytes(), "days since 2000-01-03").is_some());
        assert_eq!(days(Atomic::Float, &1f32.to_ne_bytes(), "hours since 2900-01-01"), None);
        let nan = f64::NAN.to_ne_bytes();
        assert_eq!(days(Atomic::Double, &nan, hours), Some(nan.to_vec()));
        assert_eq!(days(Atomic::Double, &1e300f64.to_ne_bytes(), hours), None);
    }
}
