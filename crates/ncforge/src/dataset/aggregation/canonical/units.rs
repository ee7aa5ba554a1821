//! Units of fragments that are not those of their aggregation variable: products of powers of well-known units, which differ by a factor
//! (`g m-2`, `kg/m2`) or, of temperatures, by a summand. Others have to be equal to the letter.

use std::collections::BTreeMap;
use std::f64::consts::PI;

use crate::model::Variable;
use crate::model::calendar::Calendar;

/// The units of a variable, and the calendar of times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Units {
    text: Option<String>,
    calendar: Option<String>,
}

impl Units {
    pub(super) fn of(var: &Variable) -> Self {
        let text = |name: &str| var.attr(name).and_then(|a| a.as_text()).map(|t| t.trim().to_owned());
        Self { text: text("units"), calendar: text("calendar") }
    }

    /// The factor and the summand that make numbers of other units of these; `None`: they are the same.
    pub(super) fn to(&self, other: &Self) -> Result<Option<(f64, f64)>, String> {
        let none = || Units { text: Some("1".into()), calendar: None };
        let Some(from) = self.text.as_deref() else { return Ok(None) };
        let is_time = from.contains(" since ");
        let is_one = || Calendar::same(self.calendar.as_deref(), other.calendar.as_deref());
        if Some(from) == other.text.as_deref() && (!is_time || is_one()) {
            return Ok(None);
        }
        let to = other.text.clone().or(none().text).unwrap_or_default();
        let refused = || {
            let target = match &other.text {
                Some(to) => format!("to `{to}`"),
                None => "for an aggregation variable without units".to_owned(),
            };
            Err(format!("converting the units `{from}` of a fragment {target}"))
        };
        if is_time || to.contains(" since ") {
            return refused();
        }
        let (Some(a), Some(b)) = (Unit::parse(from), Unit::parse(&to)) else { return refused() };
        if a.powers != b.powers {
            return refused();
        }
        let (factor, summand) = (a.factor / b.factor, (a.zero - b.zero) / b.factor);
        Ok(Some((factor, summand)).filter(|same| *same != (1.0, 0.0)))
    }
}

/// A unit: `x` of it are `x * factor + zero` of the base units.
#[derive(Clone, Debug, PartialEq)]
struct Unit {
    factor: f64,
    zero: f64,
    powers: BTreeMap<String, i32>,
}

/// Names of units, with their factor, zero, and powers of base units.
type Known = (&'static [&'static str], f64, f64, Powers);

/// Powers of base units.
type Powers = &'static [(&'static str, i32)];

/// A factor, a zero and powers of base units, and the text behind them.
type Base<'a> = (f64, f64, Vec<(&'a str, i32)>, &'a str);

const PASCAL: Powers = &[("kg", 1), ("m", -1), ("s", -2)];

/// Units whose symbols take prefixes.
const SYMBOLS: [Known; 13] = [
    (&["m", "metre", "metres", "meter", "meters"], 1.0, 0.0, &[("m", 1)]),
    (&["g", "gram", "grams", "gramme"], 1e-3, 0.0, &[("kg", 1)]),
    (&["s", "sec", "second", "seconds"], 1.0, 0.0, &[("s", 1)]),
    (&["K", "kelvin", "Kelvin"], 1.0, 0.0, &[("K", 1)]),
    (&["mol", "mole", "moles"], 1.0, 0.0, &[("mol", 1)]),
    (&["Pa", "pascal", "pascals"], 1.0, 0.0, PASCAL),
    (&["bar", "bars"], 1e5, 0.0, PASCAL),
    (&["N", "newton", "newtons"], 1.0, 0.0, &[("kg", 1), ("m", 1), ("s", -2)]),
    (&["J", "joule", "joules"], 1.0, 0.0, &[("kg", 1), ("m", 2), ("s", -2)]),
    (&["W", "watt", "watts"], 1.0, 0.0, &[("kg", 1), ("m", 2), ("s", -3)]),
    (&["Hz", "hertz"], 1.0, 0.0, &[("s", -1)]),
    (&["L", "l", "litre", "liter", "litres", "liters"], 1e-3, 0.0, &[("m", 3)]),
    (&["rad", "radian", "radians"], 1.0, 0.0, &[("rad", 1)]),
];

/// Units that take none.
const WORDS: [Known; 9] = [
    (&["min", "minute", "minutes"], 60.0, 0.0, &[("s", 1)]),
    (&["h", "hr", "hour", "hours"], 3600.0, 0.0, &[("s", 1)]),
    (&["d", "day", "days"], 86400.0, 0.0, &[("s", 1)]),
    (
        &[
            "degC",
            "deg_C",
            "degreeC",
            "degree_C",
            "degrees_C",
            "celsius",
            "Celsius",
            "degree_Celsius",
            "degrees_Celsius",
        ],
        1.0,
        273.15,
        &[("K", 1)],
    ),
    (&["degK", "deg_K", "degree_K", "degrees_K"], 1.0, 0.0, &[("K", 1)]),
    (
        &["degree", "degrees", "degrees_north", "degree_north", "degrees_east", "degree_east"],
        PI / 180.0,
        0.0,
        &[("rad", 1)],
    ),
    (&["%", "percent"], 1e-2, 0.0, &[]),
    (&["ppm"], 1e-6, 0.0, &[]),
    (&["ppb"], 1e-9, 0.0, &[]),
];

/// Prefixes, as symbols and as words.
const PREFIXES: [(&str, &str, f64); 12] = [
    ("T", "tera", 1e12),
    ("G", "giga", 1e9),
    ("M", "mega", 1e6),
    ("k", "kilo", 1e3),
    ("h", "hecto", 1e2),
    ("d", "deci", 1e-1),
    ("c", "centi", 1e-2),
    ("m", "milli", 1e-3),
    ("u", "micro", 1e-6),
    ("µ", "micro", 1e-6),
    ("n", "nano", 1e-9),
    ("p", "pico", 1e-12),
];

impl Unit {
    fn known(name: &str) -> Option<(f64, f64, Powers)> {
        let find = |list: &'static [Known], name: &str| {
            list.iter().find(|k| k.0.contains(&name)).map(|k| (k.1, k.2, k.3))
        };
        find(&WORDS, name).or_else(|| find(&SYMBOLS, name)).or_else(|| {
            PREFIXES.iter().find_map(|(symbol, word, factor)| {
                let rest = name.strip_prefix(word).or_else(|| name.strip_prefix(symbol))?;
                find(&SYMBOLS, rest).map(|(f, zero, powers)| (f * factor, zero, powers))
            })
        })
    }

    /// A unit from its text; `None` for what is not understood.
    fn parse(text: &str) -> Option<Self> {
        let mut all = Self { factor: 1.0, zero: 0.0, powers: BTreeMap::new() };
        let (mut rest, mut sign, mut zeros, mut factors) = (text, 1, 0.0, 0);
        loop {
            rest = rest.trim_start_matches([' ', '.', '*', '·']);
            if let Some(below) = rest.strip_prefix('/') {
                (rest, sign) = (below.trim_start(), -1);
            }
            if rest.is_empty() {
                break;
            }
            let (factor, zero, powers, behind) = Self::base(rest)?;
            let (power, behind) = Self::power(behind)?;
            let power = power.checked_mul(sign)?;
            all.factor *= factor.powi(power);
            zeros += zero;
            factors += if power == 1 { 1 } else { 2 };
            for (name, p) in powers {
                *all.powers.entry(name.to_owned()).or_insert(0) += p.checked_mul(power)?;
            }
            (rest, sign) = (behind, 1);
        }
        // Of a product, temperatures are differences.
        all.zero = if factors == 1 { zeros } else { 0.0 };
        all.powers.retain(|_, p| *p != 0);
        Some(all)
    }

    /// The first number or name of a text: its factor, zero, powers, and what is behind.
    fn base(text: &str) -> Option<Base<'_>> {
        if text.starts_with(|c: char| c.is_ascii_digit()) {
            let mut end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
            let exponent = text[end..].strip_prefix(['e', 'E']);
            let digits = exponent
                .map(|e| e.trim_start_matches(['+', '-']))
                .filter(|e| e.starts_with(|c: char| c.is_ascii_digit()));
            if let Some(digits) = digits {
                let behind = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
                end = text.len() - digits.len() + behind;
            }
            return Some((text[..end].trim_end_matches('.').parse().ok()?, 0.0, Vec::new(), &text[end..]));
        }
        let is_letter = |c: char| c.is_alphabetic() || "_%°".contains(c);
        let end = text.find(|c: char| !is_letter(c)).unwrap_or(text.len());
        let (name, behind) = text.split_at(end);
        match Self::known(name) {
            _ if name.is_empty() => None,
            Some((factor, zero, powers)) => Some((factor, zero, powers.to_vec(), behind)),
            // A unit of its own.
            None => Some((1.0, 0.0, vec![(name, 1)], behind)),
        }
    }

    /// The power that a text begins with, and what is behind it.
    fn power(text: &str) -> Option<(i32, &str)> {
        let (rest, is_marked) = match text.strip_prefix("**").or_else(|| text.strip_prefix('^')) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let digits = rest.trim_start_matches(['+', '-']);
        let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
        if end == 0 {
            return if is_marked { None } else { Some((1, text)) };
        }
        let whole = &rest[..rest.len() - digits.len() + end];
        Some((whole.parse().ok()?, &digits[end..]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Atomic, Attribute};

    fn units(text: &str, calendar: Option<&str>) -> Units {
        let mut var = Variable::new("v", Atomic::Float, vec![]);
        var.attrs = vec![Attribute::text("units", text)];
        var.attrs.extend(calendar.map(|c| Attribute::text("calendar", c)));
        Units::of(&var)
    }

    #[test]
    fn units_differ_by_a_factor_or_a_summand() {
        for (from, to, factor, summand) in [
            ("g m-2", "kg m-2", 1e-3, 0.0),
            ("hPa", "Pa", 100.0, 0.0),
            ("millibar", "hPa", 1.0, 0.0),
            ("degC", "K", 1.0, 273.15),
            ("K", "celsius", 1.0, -273.15),
            ("0.1 mm/day", "m s-1", 1e-4 / 86400.0, 0.0),
            ("1e-3 kg", "g", 1.0, 0.0),
            ("10^3 m", "km", 1.0, 0.0),
            ("degC m-1", "K/km", 1000.0, 0.0),
            ("%", "1", 0.01, 0.0),
            ("psu", "psu", 1.0, 0.0),
            ("W m**-2", "W/m2", 1.0, 0.0),
        ] {
            let (f, s) = units(from, None).to(&units(to, None)).unwrap().unwrap_or((1.0, 0.0));
            assert!(
                (f / factor - 1.0).abs() < 1e-12 && (s - summand).abs() < 1e-9,
                "{from} to {to}: {f} {s}"
            );
        }
        for (from, to) in [
            ("K", "m"),
            ("psu", "1"),
            ("m s-1", "m"),
            ("days since 2000-1-1", "days since 2001-1-1"),
            ("m^", "m"),
        ] {
            assert!(units(from, None).to(&units(to, None)).is_err(), "{from} to {to}");
        }
        let days = |calendar| units("days since 2000-01-01", calendar);
        assert_eq!(days(Some("gregorian")).to(&days(None)), Ok(None));
        assert!(days(Some("noleap")).to(&days(None)).is_err());
        let none = Units { text: None, calendar: None };
        assert_eq!((none.to(&units("K", None)), units("1", None).to(&none)), (Ok(None), Ok(None)));
        assert!(units("K", None).to(&none).is_err());
    }
}
