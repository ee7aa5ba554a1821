//! Weather of stations, made from a seed: the same numbers in every run and on every machine that rounds alike.
//!
//! Values are rounded as instruments and observers round them, and instruments fail now and then, for hours or for
//! years. That is what makes records compress as real ones do.

use std::f64::consts::TAU;

use crate::stats::Positions;

/// The fill value of floats in netCDF.
pub(super) const MISSING: f32 = 9.969_21e36;

/// Random numbers.
pub(super) struct Chance(Positions);

impl Chance {
    pub(super) fn new(seed: u64) -> Self {
        Chance(Positions::new(seed))
    }

    /// A number from 0 to 1, without 1.
    pub(super) fn part(&mut self) -> f64 {
        self.0.below(1 << 53) as f64 / (1u64 << 53) as f64
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    /// Normally distributed, as nearly as a sum of six is; mean 0, deviation 1.
    fn normal(&mut self) -> f64 {
        ((0..6).map(|_| self.part()).sum::<f64>() - 3.0) * std::f64::consts::SQRT_2
    }

    fn is(&mut self, probability: f64) -> bool {
        self.part() < probability
    }
}

/// Something that forgets slowly: red noise of deviation 1.
struct Red {
    now: f64,
    memory: f64,
}

impl Red {
    fn new(memory: f64) -> Self {
        Red { now: 0.0, memory }
    }

    fn next(&mut self, chance: &mut Chance) -> f64 {
        self.now = self.now * self.memory + chance.normal() * (1.0 - self.memory * self.memory).sqrt();
        self.now
    }
}

fn rounded(value: f64, step: f64) -> f32 {
    ((value / step).round() * step) as f32
}

/// The hourly measurements of a station.
pub(super) const INSTRUMENTS: [(&str, &str); 31] = [
    ("temperature", "degC"),
    ("dew_point", "degC"),
    ("humidity", "%"),
    ("wet_bulb", "degC"),
    ("pressure", "hPa"),
    ("sea_level_pressure", "hPa"),
    ("pressure_tendency", "hPa"),
    ("wind_speed", "m s-1"),
    ("wind_direction", "degree"),
    ("wind_gust", "m s-1"),
    ("precipitation", "mm"),
    ("precipitation_minutes", "min"),
    ("snow_depth", "cm"),
    ("solar_radiation", "W m-2"),
    ("longwave_radiation", "W m-2"),
    ("net_radiation", "W m-2"),
    ("sunshine", "min"),
    ("cloud_cover", "1/8"),
    ("cloud_base", "m"),
    ("visibility", "m"),
    ("present_weather", "1"),
    ("soil_temperature_5cm", "degC"),
    ("soil_temperature_10cm", "degC"),
    ("soil_temperature_20cm", "degC"),
    ("soil_temperature_50cm", "degC"),
    ("soil_moisture_10cm", "m3 m-3"),
    ("soil_moisture_50cm", "m3 m-3"),
    ("leaf_wetness", "min"),
    ("evaporation", "mm"),
    ("battery", "V"),
    ("quality", "1"),
];

/// `hours` hours of every instrument, one vector each.
pub(super) fn hourly(seed: u64, hours: usize) -> Vec<Vec<f32>> {
    let mut chance = Chance::new(seed);
    let mut out: Vec<Vec<f32>> = INSTRUMENTS.iter().map(|_| Vec::with_capacity(hours)).collect();
    let [mut air, mut wet, mut air_mass, mut wind, mut turn, mut cloud] =
        [0.97, 0.95, 0.985, 0.93, 0.9, 0.92].map(Red::new);
    let mut soil = [10.0f64; 4];
    let (mut moisture, mut snow, mut last_pressure) = ([0.25f64, 0.3], 0.0f64, 1013.0);
    let mut silent = vec![0u64; INSTRUMENTS.len()];
    for hour in 0..hours {
        let (day, year) = (hour as f64 / 24.0, hour as f64 / 24.0 / 365.25);
        let season = -(TAU * year).cos();
        let sun = (season * 0.5 + 0.9 - (TAU * day).cos() * 1.1).max(0.0) / 2.5;
        let sky = (4.0 + 3.0 * cloud.next(&mut chance)).clamp(0.0, 8.0).round();
        let t = 9.0
            + 12.0 * season
            + 4.5 * (TAU * (day - 0.12)).sin() * (1.0 - sky / 12.0)
            + 4.0 * air.next(&mut chance);
        let spread = (5.0 + 3.5 * wet.next(&mut chance) - sky / 3.0).max(0.0);
        let p = 992.0 + 9.0 * air_mass.next(&mut chance);
        let v = (3.5 + 2.5 * wind.next(&mut chance)).max(0.0);
        let rains = sky > 6.0 && spread < 2.5 && chance.is(0.6);
        let rain = if rains { -chance.part().ln() * 0.9 } else { 0.0 };
        snow = if t < 0.5 { snow + rain } else { (snow - 0.15 * t).max(0.0) };
        let solar = 900.0 * sun * (1.0 - 0.09 * sky) * (1.0 + 0.05 * chance.normal());
        for (depth, s) in soil.iter_mut().enumerate() {
            *s += (t - *s) / [8.0, 20.0, 70.0, 400.0][depth];
        }
        moisture[0] = (moisture[0] + rain * 0.004 - 0.000_05 * solar / 100.0).clamp(0.08, 0.45);
        moisture[1] += (moisture[0] - moisture[1]) / 300.0;
        let calm = v < 0.3;
        let direction = (200.0 + 90.0 * turn.next(&mut chance)).rem_euclid(360.0);
        let values = [
            rounded(t, 0.1),
            rounded(t - spread, 0.1),
            rounded((100.0 - 4.5 * spread).clamp(8.0, 100.0), 1.0),
            rounded(t - spread / 3.0, 0.1),
            rounded(p, 0.1),
            rounded(p + 21.3, 0.1),
            rounded(p - last_pressure, 0.1),
            rounded(v, 0.1),
            if calm { 0.0 } else { rounded(direction, 10.0) },
            rounded(v * (1.3 + 0.3 * chance.part()), 0.1),
            rounded(rain, 0.1),
            if rains { rounded(60.0 * chance.part(), 1.0) } else { 0.0 },
            rounded(snow, 1.0),
            rounded(solar.max(0.0), 1.0),
            rounded(250.0 + 4.5 * t + 7.0 * sky, 1.0),
            rounded(solar * 0.7 - 60.0 + 6.0 * sky, 1.0),
            if solar > 120.0 { rounded(60.0 * (1.0 - sky / 8.0), 1.0) } else { 0.0 },
            sky as f32,
            if sky < 1.0 { MISSING } else { rounded(2000.0 - 180.0 * sky + 400.0 * chance.part(), 30.0) },
            if spread < 0.4 { rounded(800.0 * chance.part(), 50.0) } else { 10_000.0 },
            if rains { 60.0 + f32::from(u8::from(t < 0.5)) * 10.0 } else { 0.0 },
            rounded(soil[0], 0.1),
            rounded(soil[1], 0.1),
            rounded(soil[2], 0.1),
            rounded(soil[3], 0.1),
            rounded(moisture[0], 0.001),
            rounded(moisture[1], 0.001),
            if rains || spread < 0.8 { 60.0 } else { 0.0 },
            rounded((solar / 1500.0 * spread / 5.0).max(0.0), 0.1),
            rounded(12.6 + 0.8 * sun + 0.05 * chance.normal(), 0.1),
            0.0,
        ];
        last_pressure = p;
        for (i, column) in out.iter_mut().enumerate() {
            if silent[i] == 0 && chance.is(0.000_2) {
                silent[i] = 1 + chance.below(72);
            }
            silent[i] = silent[i].saturating_sub(1);
            column.push(if silent[i] > 0 { MISSING } else { values[i] });
        }
    }
    out
}

/// The daily notes of an observer of the climate network, in the units of the network.
pub(super) const DAILY: [(&str, &str); 6] = [
    ("TMAX", "degF"),
    ("TMIN", "degF"),
    ("TOBS", "degF"),
    ("PRCP", "inches"),
    ("SNOW", "inches"),
    ("SNWD", "inches"),
];

/// `days` days of one station of the network. Stations open and close: most have observed for a part of the time
/// only, some measure nothing but rain, and all miss days.
pub(super) fn daily(seed: u64, station: usize, days: usize) -> Vec<Vec<f32>> {
    let mut chance = Chance::new(seed ^ (station as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut out: Vec<Vec<f32>> = DAILY.iter().map(|_| Vec::with_capacity(days)).collect();
    // A third observed all the time, the others for a while.
    let all = chance.is(0.33);
    let begin = if all { 0 } else { chance.below(days as u64 * 7 / 10 + 1) as usize };
    let end = if all { days } else { (begin + days / 8 + chance.below(days as u64) as usize).min(days) };
    let only_rain = chance.is(0.25);
    let (mean, span, wet) =
        (45.0 + 8.0 * chance.part(), 24.0 + 4.0 * chance.part(), 0.3 + 0.12 * chance.part());
    let [mut weather, mut range] = [0.68, 0.4].map(Red::new);
    let (mut snow_depth, mut was_wet, mut gap) = (0.0f64, false, 0u64);
    for day in 0..days {
        let season = -(TAU * (day as f64 - 20.0) / 365.25).cos();
        let middle = mean + span * season + 8.0 * weather.next(&mut chance) * (1.15 - 0.3 * season);
        let half = (10.5 + 3.0 * range.next(&mut chance) + 1.5 * season).max(1.0);
        let (high, low) = (middle + half, middle - half);
        was_wet = chance.is(if was_wet { (wet + 0.22).min(0.9) } else { wet * 0.72 });
        let water = if was_wet { -chance.part().ln() * 0.27 } else { 0.0 };
        let freezes = middle < 32.0;
        let snow = if freezes { water * 10.0 } else { 0.0 };
        snow_depth =
            if freezes { snow_depth * 0.97 + snow } else { (snow_depth - (middle - 32.0) * 0.4).max(0.0) };
        let values = [
            rounded(high, 1.0),
            rounded(low, 1.0),
            // Observed in the morning, near the minimum.
            rounded(low + 4.0 * chance.part(), 1.0),
            rounded(water, 0.01),
            rounded(snow, 0.1),
            rounded(snow_depth, 1.0),
        ];
        if gap == 0 && chance.is(0.003) {
            // A day forgotten, or a month's sheet lost.
            gap = if chance.is(0.8) { 1 + chance.below(3) } else { 28 + chance.below(4) };
        }
        let there = (begin..end).contains(&day) && gap == 0;
        gap = gap.saturating_sub(1);
        for (i, column) in out.iter_mut().enumerate() {
            column.push(if there && !(only_rain && i < 3) { values[i] } else { MISSING });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weather_is_plausible_and_repeats() {
        let a = hourly(1, 24 * 365);
        assert_eq!(a, hourly(1, 24 * 365));
        assert_ne!(a[0], hourly(2, 24 * 365)[0]);
        let there: Vec<f32> = a[0].iter().copied().filter(|&v| v < 1e30).collect();
        assert!(there.len() > 24 * 350 && there.iter().all(|&v| (-45.0..50.0).contains(&v)));
        assert!(a[0].iter().zip(&a[1]).all(|(t, d)| *t > 1e30 || *d > 1e30 || d <= t));
        let b = daily(1, 7, 365 * 20);
        assert!(b[0].iter().zip(&b[1]).all(|(high, low)| *high > 1e30 || low < high));
        let stations: Vec<usize> =
            (0..50).map(|s| daily(1, s, 3650)[3].iter().filter(|&&v| v < 1e30).count()).collect();
        assert!(stations.iter().any(|&n| n > 3300) && stations.iter().any(|&n| n < 2500));
    }
}
