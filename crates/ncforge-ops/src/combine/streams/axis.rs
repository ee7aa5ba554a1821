//! The dates along the dimension of a stream: what names of outputs say, and where years begin.
//!
//! A step is known by the middle of its bounds, where it has some: many models give a mean over a month the date at its end, which is a
//! day of the next month.

use std::ops::Range;

use crate::calendar::Date;
use crate::calendar::units::TimeUnits;
use crate::series::{is_coordinate, may_be_stamps};
use ncforge::model::{Atomic, Attribute, DType, Number, Schema, VarId, Variable};
use ncforge::{Dataset, Hyperslab, Result};

const DAY: f64 = 86_400.0;
/// The least step, in days, whose dates are told as years, as months, and as days. A month of 28 days, and a year of 360, are one.
const LEAST: [(f64, usize); 3] = [(350.0, 4), (27.5, 6), (0.99, 8)];
/// Digits of a date to the minute.
const MINUTES: usize = 12;

/// The dates of all steps.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Axis {
    steps: Vec<(Date, i64)>,
    /// Digits of the dates in names: 4 (years) to 12 (minutes).
    digits: usize,
}

impl Axis {
    /// The dates along a dimension; `None` where none are told. `usual` digits tell the date of a single step.
    pub(super) fn of(source: &Dataset, dim: &str, usual: Option<usize>) -> Result<Option<Axis>> {
        let Some((v, units)) = clock(source.schema(), dim) else { return Ok(None) };
        let numbers = match source.schema().var(v).dtype {
            DType::Atomic(Atomic::Char) => stamps(source, v, &units)?,
            _ => numbers(source, v)?,
        };
        let bounds =
            bounds_of(source.schema(), v).map(|b| numbers_of_bounds(source, b)).transpose()?.flatten();
        let bounds = bounds.filter(|b| b.len() == 2 * numbers.len());
        let middle = |i: usize| bounds.as_ref().map_or(numbers[i], |b| (b[2 * i] + b[2 * i + 1]) / 2.0);
        let middles: Vec<f64> = (0..numbers.len()).map(middle).collect();
        let Some(steps) = middles.iter().map(|x| units.date(*x)).collect::<Option<Vec<_>>>() else {
            return Ok(None);
        };
        let days = units.seconds() / DAY;
        let between = middles.windows(2).map(|w| (w[1] - w[0]).abs());
        let wide = bounds.iter().flat_map(|b| b.chunks_exact(2).map(|b| (b[1] - b[0]).abs()));
        let least = |all: &mut dyn Iterator<Item = f64>| all.filter(|x| *x > 0.0).reduce(f64::min);
        let step = least(&mut { between }).or_else(|| least(&mut { wide })).map(|x| x * days);
        let digits = match step {
            Some(step) => {
                LEAST.iter().find(|(least, _)| step >= *least).map_or(MINUTES, |(_, digits)| *digits)
            }
            None => usual.unwrap_or(8).min(MINUTES),
        };
        Ok(Some(Axis { steps, digits }))
    }

    /// The number of steps.
    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    /// The moment of a step, by which steps are compared.
    pub(super) fn at(&self, step: usize) -> Option<(Date, i64)> {
        self.steps.get(step).copied()
    }

    /// A step's date as names have it.
    pub(super) fn text(&self, step: usize) -> String {
        let Some((Date { year, month, day }, second)) = self.at(step) else { return String::new() };
        let (hour, minute) = (second / 3600, second / 60 % 60);
        let sign = if year < 0 { "-" } else { "" };
        let all = format!("{:04}{month:02}{day:02}{hour:02}{minute:02}", year.abs());
        // A year may have more digits.
        format!("{sign}{}", &all[..all.len() - (MINUTES - self.digits)])
    }

    /// The block of `years` calendar years in which a step lies: those of a decade begin with years that end with 0.
    pub(super) fn block(&self, step: usize, years: u32) -> Option<i64> {
        self.at(step).map(|(date, _)| date.year.div_euclid(i64::from(years.max(1))))
    }

    /// The steps in parts of `years` calendar years; all of them without.
    pub(super) fn cuts(&self, years: Option<u32>) -> Vec<Range<u64>> {
        let all: Vec<usize> = (0..self.len()).collect();
        let same = |a: &usize, b: &usize| years.is_none_or(|n| self.block(*a, n) == self.block(*b, n));
        let range = |part: &[usize]| Some(*part.first()? as u64..*part.last()? as u64 + 1);
        all.chunk_by(same).filter_map(range).collect()
    }
}

/// The variable that tells the dates of a dimension: its coordinate, dates that are text, or a time along it alone (WRF's `XTIME`).
fn clock(schema: &Schema, dim: &str) -> Option<(VarId, TimeUnits)> {
    let text = |v: VarId, name: &str| {
        schema.var(v).attr(name).and_then(Attribute::as_text).unwrap_or_default().trim().to_owned()
    };
    let time = |v: VarId| {
        let units = text(v, "units");
        let found = TimeUnits::is_time(&units).then(|| TimeUnits::parse(&units, &text(v, "calendar")).ok());
        found.flatten().map(|units| (v, units))
    };
    let find = |is: fn(&Schema, VarId, &str) -> bool| schema.var_ids().filter(move |v| is(schema, *v, dim));
    let stamps = || find(may_be_stamps).next().map(|v| (v, TimeUnits::of_stamps()));
    find(is_coordinate).find_map(time).or_else(stamps).or_else(|| find(is_along_alone).find_map(time))
}

/// Whether a variable holds numbers along the dimension alone.
pub(super) fn is_along_alone(schema: &Schema, v: VarId, dim: &str) -> bool {
    let var = schema.var(v);
    matches!(var.dims[..], [d] if schema.dim(d).name == dim)
        && matches!(var.dtype, DType::Atomic(kind) if kind != Atomic::Char)
}

/// The bounds of a variable, if they are numbers, two for each of its own.
fn bounds_of(schema: &Schema, v: VarId) -> Option<VarId> {
    let var = schema.var(v);
    let is_pair = |b: &VarId| {
        let bounds = schema.var(*b);
        let units = |of: &Variable| {
            of.attr("units")
                .and_then(Attribute::as_text)
                .map(|text| text.trim().to_owned())
                .unwrap_or_default()
        };
        matches!(bounds.dims[..], [d, two] if var.dims == [d] && schema.dim(two).len == 2)
            && (units(bounds).is_empty() || units(bounds) == units(var))
    };
    schema.bounds_of(v).find(is_pair)
}

/// All values of a variable of numbers.
fn numbers(source: &Dataset, v: VarId) -> Result<Vec<f64>> {
    Ok(numbers_of_bounds(source, v)?.unwrap_or_default())
}

/// All values of a variable, if they are numbers.
fn numbers_of_bounds(source: &Dataset, v: VarId) -> Result<Option<Vec<f64>>> {
    let schema = source.schema();
    let DType::Atomic(kind) = schema.var(v).dtype else { return Ok(None) };
    let values = source.read(v, &Hyperslab::all(&schema.shape(v)))?;
    let bytes = values.bytes().unwrap_or_default();
    Ok(Some(bytes.chunks_exact(kind.size()).map(|element| Number::read_f64(kind, element)).collect()))
}

/// The numbers of dates that are text; those of what is none are NaN.
fn stamps(source: &Dataset, v: VarId, units: &TimeUnits) -> Result<Vec<f64>> {
    let shape = source.schema().shape(v);
    let width = shape.iter().skip(1).product::<u64>().max(1) as usize;
    let values = source.read(v, &Hyperslab::all(&shape))?;
    let number = |text: &[u8]| std::str::from_utf8(text).ok().and_then(|text| units.stamp(text));
    Ok(values
        .bytes()
        .unwrap_or_default()
        .chunks_exact(width)
        .map(|t| number(t).unwrap_or(f64::NAN))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(days: &[i64], digits: usize) -> Axis {
        let calendar = crate::calendar::Calendar::NoLeap;
        Axis { steps: days.iter().map(|day| (calendar.date(*day), 45_000)).collect(), digits }
    }

    #[test]
    fn dates_have_the_digits_of_their_steps() {
        for (digits, text) in [(4, "1971"), (6, "197102"), (8, "19710203"), (12, "197102031230")] {
            assert_eq!(axis(&[365 + 31 + 2], digits).text(0), text);
        }
    }

    #[test]
    fn years_are_cut_where_the_calendar_says() {
        let months: Vec<i64> = (0..36).map(|month| month * 365 / 12 + 15).collect();
        let axis = axis(&months, 6);
        let all = std::iter::once(0..36).collect::<Vec<_>>();
        assert_eq!(axis.cuts(None), all);
        assert_eq!(axis.cuts(Some(1)), [0..12, 12..24, 24..36]);
        assert_eq!(axis.cuts(Some(2)), [0..24, 24..36], "1970 and 1971, then 1972");
        assert_eq!(axis.cuts(Some(5)), all);
    }
}
