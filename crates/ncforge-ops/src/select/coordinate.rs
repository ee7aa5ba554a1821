//! The values along a dimension as they are meant: unpacked, and of times their units.

use std::cmp::Ordering;

use crate::calendar::units::{Fraction, TimeUnits};
use ncforge::model::{Atomic, Attribute, DType, Number, Schema, Values, VarId};
use ncforge::{Dataset, Hyperslab, Result};

/// Values that differ by this part of a step of packed ones are the same: only steps are stored.
const OF_STEP: f64 = 1e-3;

/// A value of a coordinate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Point {
    Whole(i128),
    Real(f64),
}

/// A value that a user gave.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Limit {
    Number(f64),
    Exact(Fraction),
}

impl Limit {
    /// As a double.
    pub(super) fn number(self) -> f64 {
        match self {
            Limit::Number(x) => x,
            Limit::Exact(f) => f.to_f64(),
        }
    }

    /// Whether it is less than another one.
    pub(super) fn is_below(self, other: Limit) -> bool {
        match (self, other) {
            (Limit::Exact(a), Limit::Exact(b)) if a.below == b.below => a.above < b.above,
            _ => self.number() < other.number(),
        }
    }
}

/// A coordinate variable.
#[derive(Debug)]
pub(crate) struct Coordinate {
    kind: Atomic,
    values: Vec<u8>,
    is_unsigned: bool,
    /// Scale and offset.
    packing: Option<(f64, f64)>,
    /// Values, as they are stored, of elements that are missing.
    missing: Vec<Vec<u8>>,
    units: String,
    calendar: String,
    name: String,
    standard_name: String,
}

impl Coordinate {
    /// Reads a variable of one dimension; the reason why it has no values that can be selected, otherwise.
    pub(crate) fn read(source: &Dataset, v: VarId) -> Result<std::result::Result<Self, String>> {
        let schema = source.schema();
        let DType::Atomic(kind) = schema.var(v).dtype else {
            return Ok(Err("it does not hold numbers".into()));
        };
        if kind == Atomic::Char {
            return Ok(Err("it does not hold numbers".into()));
        }
        let values = source.read(v, &Hyperslab::all(&schema.shape(v)))?;
        Ok(Self::of(schema, v, kind, &values))
    }

    /// The coordinate with these values, which may be more than those of one file.
    fn of(schema: &Schema, v: VarId, kind: Atomic, values: &Values) -> std::result::Result<Self, String> {
        let var = schema.var(v);
        let text = |name: &str| var.attr(name).and_then(Attribute::as_text).unwrap_or_default().to_owned();
        let number = |name: &str| {
            var.attr(name).map(|a| number_of(a).ok_or_else(|| format!("its `{name}` is no number")))
        };
        let (scale, offset) = (number("scale_factor").transpose()?, number("add_offset").transpose()?);
        let found = Coordinate {
            kind,
            values: values.bytes().unwrap_or_default().to_vec(),
            is_unsigned: text("_Unsigned").eq_ignore_ascii_case("true"),
            packing: (scale.is_some() || offset.is_some())
                .then(|| (scale.unwrap_or(1.0), offset.unwrap_or(0.0))),
            missing: schema.missing_elements(var),
            units: text("units"),
            calendar: text("calendar"),
            name: var.name.to_ascii_lowercase(),
            standard_name: text("standard_name"),
        };
        match found.packing {
            Some((scale, offset)) if scale == 0.0 || !scale.is_finite() || !offset.is_finite() => {
                Err("its `scale_factor` and `add_offset` make no numbers of it".into())
            }
            _ => Ok(found),
        }
    }

    pub(crate) fn len(&self) -> u64 {
        (self.values.len() / self.kind.size()) as u64
    }

    fn element(&self, i: u64) -> &[u8] {
        let size = self.kind.size();
        self.values.get(i as usize * size..(i as usize + 1) * size).unwrap_or_default()
    }

    pub(super) fn at(&self, i: u64) -> Point {
        let stored = match Number::read(self.kind, self.element(i)) {
            Some(Number::Integer(n)) if self.is_unsigned && n < 0 => {
                Point::Whole(n + (1 << (8 * self.kind.size())))
            }
            Some(Number::Integer(n)) => Point::Whole(n),
            Some(number) => Point::Real(number.to_f64()),
            None => Point::Real(f64::NAN),
        };
        match (self.packing, stored) {
            (None, stored) => stored,
            (Some((scale, offset)), Point::Whole(n)) => Point::Real(n as f64 * scale + offset),
            (Some((scale, offset)), Point::Real(x)) => Point::Real(x * scale + offset),
        }
    }

    /// The first index with no value.
    pub(super) fn first_missing(&self) -> Option<u64> {
        let is_missing = |i: &u64| {
            let element = self.element(*i);
            self.missing.iter().any(|m| m == element) || matches!(self.at(*i), Point::Real(x) if x.is_nan())
        };
        (0..self.len()).find(is_missing)
    }

    /// Whether values rise (or all are the same), or fall; `Err`: neither, and the index at which that shows.
    pub(super) fn rises(&self) -> std::result::Result<bool, u64> {
        let mut direction = None;
        for i in 1..self.len() {
            let order = order(self.at(i - 1), self.at(i));
            match (direction, order) {
                (_, Ordering::Equal) => {}
                (None, order) => direction = Some(order),
                (Some(known), order) if known != order => return Err(i),
                _ => {}
            }
        }
        Ok(direction != Some(Ordering::Greater))
    }

    /// How a value compares with a limit, which is rounded to what the coordinate can hold.
    pub(super) fn compare(&self, i: u64, limit: Limit) -> Ordering {
        let point = self.at(i);
        let limit = match (point, limit) {
            (Point::Whole(n), Limit::Exact(f)) => return (n * f.below).cmp(&f.above),
            (Point::Whole(n), Limit::Number(b)) => {
                let floor = b.floor().clamp(-1e37, 1e37) as i128;
                return n.cmp(&floor).then(if b > b.floor() { Ordering::Less } else { Ordering::Equal });
            }
            (Point::Real(_), Limit::Exact(f)) => f.to_f64(),
            (Point::Real(_), Limit::Number(b)) => b,
        };
        let Point::Real(x) = point else { return Ordering::Equal };
        let (limit, near) = match (self.packing, self.kind) {
            (Some(_), _) => (limit, self.precision(x)),
            (None, Atomic::Float) => (f64::from(limit as f32), 0.0),
            (None, _) => (limit, 0.0),
        };
        match (x - limit).abs() <= near {
            true => Ordering::Equal,
            false => x.partial_cmp(&limit).unwrap_or(Ordering::Equal),
        }
    }

    /// The difference of numbers of a size that are one number, but for how they are stored.
    pub(super) fn precision(&self, size: f64) -> f64 {
        match (self.packing, self.kind) {
            (Some((scale, _)), _) => OF_STEP * scale.abs(),
            (None, Atomic::Float) => f64::from(f32::EPSILON) * size,
            (None, _) => f64::EPSILON * size,
        }
    }

    /// The units of times; `None` if it is none, the reason if they are not understood.
    pub(super) fn time(&self) -> Option<std::result::Result<TimeUnits, String>> {
        TimeUnits::is_time(&self.units).then(|| TimeUnits::parse(&self.units, &self.calendar))
    }

    /// Whether it counts degrees around the globe.
    pub(super) fn is_longitude(&self) -> bool {
        const EAST: [&str; 6] =
            ["degrees_east", "degree_east", "degrees_E", "degree_E", "degreesE", "degreeE"];
        EAST.contains(&self.units.trim())
            || self.standard_name == "longitude"
            || (["lon", "longitude"].contains(&self.name.as_str())
                && ["", "degrees", "degree"].contains(&self.units.trim()))
    }

    /// A value as a double.
    pub(super) fn value(&self, i: u64) -> f64 {
        match self.at(i) {
            Point::Whole(n) => n as f64,
            Point::Real(x) => x,
        }
    }

    /// A value for messages.
    pub(super) fn text(&self, i: u64) -> String {
        match (self.time(), self.at(i)) {
            (Some(Ok(units)), _) => units.text(self.value(i)),
            (_, Point::Whole(n)) => n.to_string(),
            (_, Point::Real(x)) if self.kind == Atomic::Float && self.packing.is_none() => {
                (x as f32).to_string()
            }
            (_, Point::Real(x)) => x.to_string(),
        }
    }
}

fn order(a: Point, b: Point) -> Ordering {
    match (a, b) {
        (Point::Whole(a), Point::Whole(b)) => a.cmp(&b),
        (Point::Real(a), Point::Real(b)) => a.partial_cmp(&b).unwrap_or(Ordering::Equal),
        _ => Ordering::Equal,
    }
}

/// The number of an attribute that holds one.
fn number_of(attr: &Attribute) -> Option<f64> {
    let DType::Atomic(kind) = attr.dtype else { return None };
    Number::read(kind, attr.values.bytes()?).map(Number::to_f64)
}
