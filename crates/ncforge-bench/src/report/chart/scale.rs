//! From numbers to pixels, and the numbers along an axis.

use crate::report::{bytes, seconds};

/// The unit of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Seconds.
    Seconds,
    /// Bytes a second.
    Rate,
    /// Just numbers.
    Plain,
}

impl Unit {
    /// A number as people write it.
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Unit::Seconds => seconds(value),
            Unit::Rate => format!("{}/s", bytes(value.max(0.0) as u64)),
            Unit::Plain => format!("{value}"),
        }
    }

    /// A round number at an axis, without digits that say nothing.
    fn tick(self, value: f64) -> String {
        if value == 0.0 {
            return "0".to_owned();
        }
        let text = self.text(value);
        match text.split_once(' ') {
            Some((number, unit)) if number.contains('.') => {
                format!("{} {unit}", number.trim_end_matches('0').trim_end_matches('.'))
            }
            _ => text,
        }
    }
}

/// An axis.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    unit: Unit,
    log: bool,
    from: f64,
    to: f64,
    pixels: (i32, i32),
}

impl Scale {
    /// The scale from nothing to the largest number.
    pub(super) fn linear(unit: Unit, largest: f64, pixels: (i32, i32)) -> Self {
        let to = if largest > 0.0 { largest * 1.04 } else { 1.0 };
        Scale { unit, log: false, from: 0.0, to, pixels }
    }

    /// Equal steps for equal ratios, for numbers above 0.
    pub(super) fn log(unit: Unit, values: impl Iterator<Item = f64>, pixels: (i32, i32)) -> Self {
        let found = values.filter(|v| *v > 0.0 && v.is_finite());
        let (low, high) = found.fold((f64::INFINITY, 0.0f64), |(l, h), v| (l.min(v), h.max(v)));
        let (low, high) = if high > 0.0 { (low, high) } else { (1.0, 10.0) };
        Scale { unit, log: true, from: low / 1.25, to: high * 1.25, pixels }
    }

    /// The place of a number, within the axis.
    pub(super) fn at(&self, value: f64) -> i32 {
        let share = if self.log {
            (value.max(f64::MIN_POSITIVE) / self.from).ln() / (self.to / self.from).ln()
        } else {
            (value - self.from) / (self.to - self.from)
        };
        let (a, b) = (f64::from(self.pixels.0), f64::from(self.pixels.1));
        (a + share.clamp(0.0, 1.0) * (b - a)).round() as i32
    }

    /// Round numbers along the axis, a few, with their texts.
    pub(super) fn ticks(&self) -> Vec<(i32, String)> {
        let numbers: Vec<f64> = if self.log { self.decades() } else { self.steps() };
        numbers.into_iter().map(|v| (self.at(v), self.unit.tick(v))).collect()
    }

    fn steps(&self) -> Vec<f64> {
        let rough = (self.to - self.from) / 5.0;
        // Bytes are shown in KiB, MiB, GiB: round there are powers of two and their multiples.
        if self.unit == Unit::Rate {
            let step = rough.log2().ceil().exp2();
            return (0..=12).map(|i| f64::from(i) * step).take_while(|v| *v <= self.to).collect();
        }
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|f| f * power).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(rough);
        (0..=12).map(|i| f64::from(i) * step).take_while(|v| *v <= self.to).collect()
    }

    fn decades(&self) -> Vec<f64> {
        if self.unit == Unit::Rate {
            let (first, last) = (self.from.log2().floor() as i32, self.to.log2().ceil() as i32);
            let every = ((last - first) / 8 + 1).unsigned_abs() as usize;
            let powers = (first..=last).step_by(every).map(|p| f64::from(p).exp2());
            return powers.filter(|v| (self.from..=self.to).contains(v)).collect();
        }
        let (first, last) = (self.from.log10().floor() as i32, self.to.log10().ceil() as i32);
        let factors: &[f64] = match last - first {
            ..=2 => &[1.0, 2.0, 5.0],
            3 => &[1.0, 3.0],
            _ => &[1.0],
        };
        let every = ((last - first) / 8 + 1).unsigned_abs() as usize;
        (first..=last)
            .step_by(every)
            .flat_map(|p| factors.iter().map(move |f| f * 10f64.powi(p)))
            .filter(|v| (self.from..=self.to).contains(v))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_in_order_within_the_axis() {
        let s = Scale::linear(Unit::Rate, 1.9e9, (100, 500));
        assert_eq!((s.at(0.0), s.at(1e12)), (100, 500));
        let ticks = s.ticks();
        assert_eq!(ticks[1].1, "512 MiB/s");
        assert!(ticks.windows(2).all(|w| w[0].0 < w[1].0) && ticks.len() >= 4);
        let l = Scale::log(Unit::Seconds, [1e-6, 0.0, 2.0, f64::NAN].into_iter(), (400, 0));
        assert!(l.at(1e-6) < 400 && l.at(2.0) > 0 && l.at(1e-3) < l.at(1e-5));
        assert!(l.ticks().iter().any(|t| t.1 == "1 ms"), "{:?}", l.ticks());
        assert!(!Scale::log(Unit::Plain, std::iter::empty(), (0, 10)).ticks().is_empty());
        assert!(!Scale::linear(Unit::Plain, 0.0, (0, 10)).ticks().is_empty());
    }
}
