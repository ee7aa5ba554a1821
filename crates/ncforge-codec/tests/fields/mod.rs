//! Generated fields of the kinds that netCDF files hold: the same bytes on every run and every machine.

/// A kind of field: its name, the bytes of one element, and how `n` elements are made.
pub(crate) struct Field {
    /// Short name, as it is printed.
    pub(crate) name: &'static str,
    /// Bytes of one element.
    pub(crate) size: usize,
    /// Makes the little-endian bytes of this many elements.
    pub(crate) make: fn(usize) -> Vec<u8>,
}

/// Columns of the grid that the fields lie on.
const COLUMNS: usize = 720;
/// Rows of the grid.
const ROWS: usize = 361;

/// Numbers without pattern (splitmix64).
struct Random(u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to 1.
    fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal: mean 0, deviation 1.
    fn normal(&mut self) -> f64 {
        let b = self.bits();
        let sum: u64 = (0..4).map(|i| b >> (16 * i) & 0xFFFF).sum();
        (sum as f64 / 65536.0 - 2.0) * 1.732
    }
}

/// Step, row and column of an element.
fn place(i: usize) -> (usize, usize, usize) {
    (i / (ROWS * COLUMNS), i / COLUMNS % ROWS, i % COLUMNS)
}

/// A smooth field of waves around 0, about 1 high.
fn waves(i: usize) -> f64 {
    let (t, y, x) = place(i);
    let (t, y, x) = (t as f64, y as f64 / ROWS as f64, x as f64 / COLUMNS as f64);
    let turn = std::f64::consts::TAU;
    (turn * (3.0 * x + 0.02 * t)).sin() * 0.3
        + (turn * (2.0 * y + x)).cos() * 0.4
        + (turn * (7.0 * x - 4.0 * y + 0.05 * t)).sin() * 0.1
        + (turn * 0.5 * y).sin() * 0.5
}

fn f32s(n: usize, mut value: impl FnMut(usize) -> f64) -> Vec<u8> {
    (0..n).flat_map(|i| (value(i) as f32).to_le_bytes()).collect()
}

fn f64s(n: usize, value: impl FnMut(usize) -> f64) -> Vec<u8> {
    (0..n).map(value).flat_map(f64::to_le_bytes).collect()
}

fn i16s(n: usize, mut value: impl FnMut(usize) -> f64) -> Vec<u8> {
    (0..n).flat_map(|i| (value(i).round() as i16).to_le_bytes()).collect()
}

fn i32s(n: usize, value: impl FnMut(usize) -> i32) -> Vec<u8> {
    (0..n).map(value).flat_map(i32::to_le_bytes).collect()
}

/// Tenths of a kelvin, with the noise of instruments: hardly any four bytes of the low plane repeat, and many three.
fn tenths() -> impl FnMut(usize) -> f64 {
    let mut random = Random(21);
    move |i| 2800.0 + 200.0 * waves(i) + random.normal()
}

/// A smooth field with weather (red noise along rows) and the noise of instruments, in kelvin.
fn temperature() -> impl FnMut(usize) -> f64 {
    let (mut random, mut red) = (Random(1), 0.0);
    move |i| {
        red = red * 0.97 + random.normal() * 0.12;
        280.0 + 25.0 * waves(i) + red + random.normal() * 0.02
    }
}

/// Rain: nothing on four fifths of the grid, showers of rising and falling strength on the rest.
fn rain() -> impl FnMut(usize) -> f64 {
    let mut random = Random(2);
    move |i| {
        let wet = waves(i) + 0.25 * waves(i * 3) - 0.45;
        if wet > 0.0 { wet * wet * 40.0 * (0.2 + random.unit()) / 86400.0 } else { 0.0 }
    }
}

/// Whether an element lies on land: connected areas, a third of the grid.
fn land(i: usize) -> bool {
    let i = i % (ROWS * COLUMNS);
    waves(i * 2) + 0.3 * waves(i * 5) > 0.35
}

/// Keeps `keep` of the 23 bits of each mantissa (bit grooming: cleared).
fn groom(value: f64, keep: u32) -> f64 {
    f64::from(f32::from_bits((value as f32).to_bits() & (u32::MAX << (23 - keep))))
}

/// The same 4096 values again and again, of which one in fifty is another one.
fn cycle(n: usize) -> Vec<u8> {
    let mut random = Random(31);
    f32s(n, |i| match random.bits() % 50 {
        0 => random.normal(),
        _ => Random((i % 4096) as u64).normal(),
    })
}

/// A field taken from a coarser grid, the nearest point to each: of five rows, two are the same.
fn nearest(i: usize) -> f64 {
    let (row, column) = (i / 288 * 4 / 5, i % 288);
    8.0 * Random((row * 288 + column) as u64).normal()
}

fn walk(seed: u64, step: f64) -> impl FnMut(usize) -> f64 {
    let (mut random, mut at) = (Random(seed), 0.0);
    move |_| {
        at += random.normal() * step;
        at
    }
}

fn text(n: usize) -> Vec<u8> {
    const WORDS: [&str; 12] = [
        "station", "north", "of", "the", "Atlantic", "buoy", "mooring", "2019-07", "depth", "m", "K", "qc=1",
    ];
    let mut random = Random(9);
    let mut out = Vec::with_capacity(n + 64);
    while out.len() < n {
        // Strings of 40 characters, padded with zeros, as character arrays hold them.
        let start = out.len();
        for _ in 0..3 + random.bits() % 3 {
            out.extend(WORDS[(random.bits() % 12) as usize].bytes());
            out.push(b' ');
        }
        out.extend(format!("{:05}", random.bits() % 100_000).bytes());
        out.resize(start + 40, 0);
    }
    out.truncate(n);
    out
}

/// All kinds.
pub(crate) const FIELDS: &[Field] = &[
    Field { name: "t2m.f32", size: 4, make: |n| f32s(n, temperature()) },
    Field { name: "pr.f32", size: 4, make: |n| f32s(n, rain()) },
    Field {
        name: "t2m.i16",
        size: 2,
        make: |n| {
            let mut t = temperature();
            i16s(n, |i| (t(i) - 280.0) / 0.0018)
        },
    },
    Field { name: "smooth.f32", size: 4, make: |n| f32s(n, |i| 280.0 + 25.0 * waves(i)) },
    Field {
        name: "noisy.f32",
        size: 4,
        make: |n| {
            let mut random = Random(3);
            f32s(n, |i| waves(i) + 0.3 * random.normal())
        },
    },
    Field {
        name: "land.f32",
        size: 4,
        make: |n| {
            let mut t = temperature();
            f32s(n, |i| if land(i) { 1e20 } else { t(i) })
        },
    },
    Field {
        name: "groomed7.f32",
        size: 4,
        make: |n| {
            let mut t = temperature();
            f32s(n, |i| groom(t(i), 7))
        },
    },
    Field {
        name: "groomed12.f32",
        size: 4,
        make: |n| {
            let mut t = temperature();
            f32s(n, |i| groom(t(i), 12))
        },
    },
    Field {
        name: "hundredths.f32",
        size: 4,
        make: |n| {
            let mut t = temperature();
            f32s(n, |i| (t(i) * 100.0).round() / 100.0)
        },
    },
    Field {
        name: "tenths.land.f32",
        size: 4,
        make: |n| {
            let mut t = temperature();
            f32s(n, |i| if land(i) { -9999.0 } else { (t(i) * 10.0).round() / 10.0 })
        },
    },
    Field {
        name: "repeated.f32",
        size: 4,
        make: |n| {
            let record = f32s(5000, temperature());
            record.into_iter().cycle().take(n * 4).collect()
        },
    },
    Field {
        name: "nearly.f32",
        size: 4,
        make: |n| {
            let mut record: Vec<f64> = (0..3600).map(temperature()).collect();
            let mut random = Random(4);
            f32s(n, |i| {
                let v = &mut record[i % 3600];
                if random.bits().is_multiple_of(20) {
                    *v += random.normal();
                }
                *v
            })
        },
    },
    Field { name: "nearest.f32", size: 4, make: |n| f32s(n, nearest) },
    Field { name: "constant.f32", size: 4, make: |n| f32s(n, |_| 9.96921e36) },
    Field { name: "ramp.f32", size: 4, make: |n| f32s(n, |i| -180.0 + i as f64 * 0.0625) },
    Field { name: "grid.f32", size: 4, make: |n| f32s(n, |i| place(i).1 as f64 * 0.5 - 90.0) },
    Field { name: "walk.f32", size: 4, make: |n| f32s(n, walk(5, 0.01)) },
    Field {
        name: "uniform.f32",
        size: 4,
        make: |n| {
            let mut random = Random(6);
            f32s(n, |_| random.unit())
        },
    },
    Field {
        name: "fill.i16",
        size: 2,
        make: |n| {
            let mut t = temperature();
            i16s(n, |i| if land(i) { -32767.0 } else { (t(i) - 280.0) / 0.01 })
        },
    },
    Field { name: "smooth.i16", size: 2, make: |n| i16s(n, |i| waves(i) * 20000.0) },
    Field { name: "tenths.i16", size: 2, make: |n| i16s(n, tenths()) },
    // Nothing but land in the middle of each step.
    Field {
        name: "tenths.land.i16",
        size: 2,
        make: |n| {
            let mut v = tenths();
            i16s(n, move |i| match (place(i).1 as f64 / ROWS as f64 - 0.5).abs() {
                ..0.3 => -32768.0,
                _ => v(i),
            })
        },
    },
    // A yearly cycle of rounded values, with few changes from year to year.
    Field { name: "cycle.f32", size: 4, make: cycle },
    Field {
        name: "tenths.i32",
        size: 4,
        make: |n| {
            let mut v = tenths();
            i32s(n, move |i| v(i).round() as i32)
        },
    },
    Field { name: "walk.i16", size: 2, make: |n| i16s(n, walk(7, 8.0)) },
    Field {
        name: "rain.i16",
        size: 2,
        make: |n| {
            let mut r = rain();
            i16s(n, |i| r(i) * 86400.0 * 100.0)
        },
    },
    Field {
        name: "classes.i32",
        size: 4,
        make: |n| {
            let mut random = Random(8);
            i32s(n, |_| [1, 2, 3, 10, -1][(random.bits() % 5) as usize])
        },
    },
    Field {
        name: "zones.i32",
        size: 4,
        make: |n| {
            let mut random = Random(11);
            i32s(n, |i| (waves(i) * 4.0 + 0.2 * random.normal()) as i32)
        },
    },
    // A latitude of two dimensions in a chunk of several steps, and a field in steps.
    Field { name: "rows.f32", size: 4, make: |n| f32s(n, |i| -90.0 + (i / 75 % 75) as f64 * 0.602) },
    Field { name: "rows.f64", size: 8, make: |n| f64s(n, |i| -90.0 + (i / 100 % 60) as f64 * 0.602) },
    Field { name: "steps.f32", size: 4, make: |n| f32s(n, |i| (waves(i) * 20.0).floor() / 20.0) },
    Field { name: "steps.f64", size: 8, make: |n| f64s(n, |i| (waves(i) * 20.0).floor() / 20.0) },
    Field { name: "counter.i32", size: 4, make: |n| i32s(n, |i| i as i32 * 6) },
    Field {
        name: "index.i32",
        size: 4,
        make: |n| {
            let (mut random, mut at) = (Random(12), 0);
            i32s(n, |_| {
                at += 1 + (random.bits() % 40) as i32;
                at
            })
        },
    },
    Field { name: "t2m.f64", size: 8, make: |n| f64s(n, temperature()) },
    Field {
        name: "widened.f64",
        size: 8,
        make: |n| {
            let mut t = temperature();
            f64s(n, |i| f64::from(t(i) as f32))
        },
    },
    Field { name: "tide.f64", size: 8, make: |n| f64s(n, |i| (i as f64 * 0.001_405).sin() * 1.5) },
    Field { name: "period.f64", size: 8, make: |n| f64s(n, |i| ((i % 2190) as f64 * 0.002_869).sin()) },
    Field { name: "time.f64", size: 8, make: |n| f64s(n, |i| 700_000.0 + i as f64 * 0.25) },
    Field { name: "walk.f64", size: 8, make: |n| f64s(n, walk(13, 0.5)) },
    Field { name: "mask.i8", size: 1, make: |n| (0..n).map(|i| u8::from(land(i))).collect() },
    Field {
        name: "flags.i8",
        size: 1,
        make: |n| {
            let mut random = Random(14);
            (0..n).map(|i| if land(i) { 9 } else { (random.bits() % 11 / 8) as u8 }).collect()
        },
    },
    // Bytes that change with latitude.
    Field {
        name: "bands.i8",
        size: 1,
        make: |n| {
            let mut random = Random(15);
            (0..n)
                .map(|i| (((i / 360) as f64 * 0.0167 - 1.5).sin() * 50.0 + random.normal()) as i8 as u8)
                .collect()
        },
    },
    Field { name: "text", size: 1, make: text },
];
