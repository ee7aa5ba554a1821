//! Arrays of many kinds, made from a fixed seed, to judge choices by.
//!
//! | name | array | what it stands for |
//! |---|---|---|
//! | `precip` | 1560 × 128 × 256 float | a monthly field of a climate model: the array of the AR-5 studies |
//! | `ocean` | 1 × 75 × 1207 × 1442 float | one time of an ocean model, land is fill |
//! | `ocean-series` | 60 × 40 × 330 × 360 float | five years of a coarser one |
//! | `maps` | 365 × 1800 × 3600 short | a year of packed daily maps |
//! | `stations` | 25,000 × 31 float | a month at many stations |
//! | `swath` | 24 × 3000 × 512 float, two unlimited dimensions | orbits of a satellite |
//! | `ensemble` | 10 × 60 × 8 × 90 × 120 float | members of a forecast |
//!
//! An array larger than the caller wants is made smaller in proportion: every side longer than eight elements by
//! the same factor. Its true shape is shown.

use std::path::{Path, PathBuf};

use ncforge::model::{Atomic, Attribute, DimId, Dimension, GroupId, Variable};
use ncforge::{CreateOptions, DatasetMut, Format, Hyperslab, Schema};
use ncforge_tune::vocabulary::did_you_mean;

use crate::error::{Error, Result};
use crate::stats::Positions;

/// One kind of array.
#[derive(Clone, Copy, Debug)]
pub struct Array {
    /// Its name.
    pub name: &'static str,
    /// Dimensions: name, length, whether it grows.
    dims: &'static [(&'static str, u64, bool)],
    /// Whether its values are packed shorts; else floats.
    packed: bool,
    field: Field,
}

/// The kind of values.
#[derive(Clone, Copy, Debug)]
enum Field {
    /// Patches of rain on about a quarter of the area.
    Rain,
    /// A smooth field with noise in its lower digits.
    Smooth,
    /// A smooth field with land.
    Sea,
}

const fn array(
    name: &'static str,
    dims: &'static [(&'static str, u64, bool)],
    packed: bool,
    field: Field,
) -> Array {
    Array { name, dims, packed, field }
}

/// All kinds.
pub const ARRAYS: [Array; 7] = [
    array("precip", &[("time", 1560, true), ("lat", 128, false), ("lon", 256, false)], false, Field::Rain),
    array(
        "ocean",
        &[("time", 1, true), ("depth", 75, false), ("y", 1207, false), ("x", 1442, false)],
        false,
        Field::Sea,
    ),
    array(
        "ocean-series",
        &[("time", 60, true), ("depth", 40, false), ("y", 330, false), ("x", 360, false)],
        false,
        Field::Sea,
    ),
    array("maps", &[("time", 365, true), ("lat", 1800, false), ("lon", 3600, false)], true, Field::Smooth),
    array("stations", &[("station", 25_000, false), ("time", 31, false)], false, Field::Smooth),
    array("swath", &[("orbit", 24, true), ("scan", 3000, true), ("pixel", 512, false)], false, Field::Smooth),
    array(
        "ensemble",
        &[
            ("member", 10, false),
            ("time", 60, true),
            ("level", 8, false),
            ("lat", 90, false),
            ("lon", 120, false),
        ],
        false,
        Field::Smooth,
    ),
];

/// Sides up to this length are left alone when an array is made smaller.
const SHORT: u64 = 8;
const FILL: f32 = 9.969_21e36;

impl Array {
    /// The array of this name.
    ///
    /// # Errors
    /// [`Error::Invalid`] when there is none.
    pub fn named(name: &str) -> Result<Array> {
        ARRAYS.into_iter().find(|a| a.name == name).ok_or_else(|| {
            let names: Vec<&str> = ARRAYS.iter().map(|a| a.name).collect();
            let meant = did_you_mean(name, &names);
            Error::bad_option(
                "arrays",
                format!("there is no array `{name}`{meant}: {} are known", names.join(", ")),
            )
        })
    }

    /// Its shape as it is in the world.
    pub fn shape(&self) -> Vec<u64> {
        self.dims.iter().map(|d| d.1).collect()
    }

    fn element(&self) -> u64 {
        if self.packed { 2 } else { 4 }
    }

    /// The shape of at most about `most` bytes.
    ///
    /// ```
    /// use ncforge_bench::workload::chunks::proof::Array;
    /// let maps = Array::named("maps")?;
    /// assert_eq!(maps.shape_within(1 << 40), maps.shape());
    /// assert_eq!(maps.shape_within(128 << 20), [111, 549, 1098]);
    /// # Ok::<(), ncforge_bench::Error>(())
    /// ```
    pub fn shape_within(&self, most: u64) -> Vec<u64> {
        let shape = self.shape();
        let bytes: f64 = shape.iter().map(|&n| n as f64).product::<f64>() * self.element() as f64;
        let long = shape.iter().filter(|&&n| n > SHORT).count().max(1);
        let factor = (most as f64 / bytes).min(1.0).powf(1.0 / long as f64);
        let shorter = |n: u64| if n > SHORT { ((n as f64 * factor) as u64).max(SHORT) } else { n };
        shape.into_iter().map(shorter).collect()
    }

    /// Writes it as a netCDF-4 file into a folder, and gives the path. A file that is there already is left alone.
    ///
    /// # Errors
    /// As creating and writing.
    pub fn write(&self, folder: &Path, most: u64) -> Result<PathBuf> {
        let shape = self.shape_within(most);
        let text: Vec<String> = shape.iter().map(u64::to_string).collect();
        let path = folder.join(format!("{}-{}.nc", self.name, text.join("x")));
        if path.exists() {
            return Ok(path);
        }
        let mut schema = Schema::new(Format::Netcdf4);
        for ((name, _, unlimited), len) in self.dims.iter().zip(&shape) {
            schema.dims.push(Dimension {
                name: (*name).into(),
                group: GroupId(0),
                len: *len,
                unlimited: *unlimited,
            });
        }
        let dtype = if self.packed { Atomic::Short } else { Atomic::Float };
        let mut var = Variable::new("v", dtype, (0..shape.len()).map(DimId).collect());
        var.attrs.push(Attribute::text("long_name", self.name));
        // One step of the first axis a chunk: written as it is made.
        let mut chunks = shape.clone();
        chunks[0] = 1.max(shape[0] / 1000);
        var.storage = ncforge::model::Storage::Chunked { chunks, filters: Vec::new() };
        schema.vars.push(var);
        let mut file =
            DatasetMut::create(&path, schema, CreateOptions { overwrite: true, ..CreateOptions::default() })?;
        let step: u64 = shape[1..].iter().product();
        let steps = (4 << 20) / (step * self.element()).max(1);
        let mut t = 0;
        let mut random = Positions::new(20_260_101);
        while t < shape[0] {
            let count = steps.clamp(1, shape[0] - t);
            let mut bytes = Vec::with_capacity((count * step * self.element()) as usize);
            for i in t..t + count {
                self.values(i, &shape, &mut random, &mut bytes);
            }
            let mut slab = Hyperslab::all(&shape);
            slab.start[0] = t;
            slab.count[0] = count;
            file.write_bytes(ncforge::model::VarId(0), &slab, &bytes)?;
            t += count;
        }
        file.close()?;
        Ok(path)
    }

    /// Appends the values of one step of the first axis.
    fn values(&self, t: u64, shape: &[u64], random: &mut Positions, out: &mut Vec<u8>) {
        let rest = &shape[1..];
        let nx = rest.last().copied().unwrap_or(1);
        let rows = rest.iter().product::<u64>() / nx.max(1);
        let ny = if rest.len() > 1 { rest[rest.len() - 2] } else { 1 };
        for row in 0..rows {
            let (z, y) = (row / ny, row % ny);
            // Waves along x by two rotating numbers: no sine for every value.
            let (turn, begin) = (6.0 * std::f32::consts::TAU / nx as f32, t as f32 / 58.0 + z as f32 / 9.0);
            let (sin, cos) = turn.sin_cos();
            let (mut a, mut b) = begin.sin_cos();
            let north = 15.0 * (3.0 * y as f32 / ny as f32 - 1.5).cos() - 0.4 * z as f32;
            for x in 0..nx {
                (a, b) = (a * cos + b * sin, b * cos - a * sin);
                let noise = random.below(1 << 16) as f32 / 65536.0;
                let smooth = 280.0 + north + 8.0 * a + 0.3 * (noise - 0.5);
                let v = match self.field {
                    Field::Smooth => smooth,
                    Field::Rain if wet(t, y / 8, x / 8) => noise * 1e-4,
                    Field::Rain => 0.0,
                    Field::Sea if land(z, y * 64 / ny.max(1), x * 64 / nx.max(1)) => FILL,
                    Field::Sea => smooth,
                };
                match self.packed {
                    true => out.extend_from_slice(&(((v - 273.15) * 100.0) as i16).to_ne_bytes()),
                    false => out.extend_from_slice(&v.to_ne_bytes()),
                }
            }
        }
    }
}

/// True where it rains.
fn wet(t: u64, y: u64, x: u64) -> bool {
    Positions::new((t << 40) ^ (y << 20) ^ x).below(10) < 3
}

/// Continents: a third of the surface, more further down.
fn land(z: u64, y: u64, x: u64) -> bool {
    let wave = (y as f32 / 7.0).sin() + (x as f32 / 9.0).cos() + ((x + 2 * y) as f32 / 11.0).sin();
    wave > 0.7 - z as f32 / 60.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_made_the_same_every_time() {
        for array in ARRAYS {
            let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
            let (p, q) = (array.write(a.path(), 60_000).unwrap(), array.write(b.path(), 60_000).unwrap());
            assert_eq!(p.file_name(), q.file_name());
            assert!(std::fs::read(&p).unwrap() == std::fs::read(&q).unwrap(), "{}", array.name);
            let dataset = ncforge::Dataset::open(&p).unwrap();
            let shape = dataset.schema().shape(dataset.var("v").unwrap());
            assert_eq!(shape, array.shape_within(60_000));
        }
        assert!(Array::named("nothing").is_err());
    }
}
