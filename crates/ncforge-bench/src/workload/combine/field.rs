//! An ocean-like field: smooth in the large, noisy in the small, with land that widens with depth; the same in every run.

use std::path::Path;

use ncforge::{Dataset, Engine, Hyperslab};

use super::options::Options;
use crate::error::Result;
use crate::stats::{GOLDEN, Positions};

/// Its name in files.
pub(super) const VARIABLE: &str = "votemper";
/// The value on land.
pub(super) const LAND: f32 = 1e20;
#[derive(Clone, Debug)]
pub(super) struct Field {
    pub(super) shape: [u64; 4],
    /// The smooth part of the surface.
    base: Vec<f64>,
    /// How high each point stands above the floor, …
    height: Vec<f64>,
    /// … and by level from which height on there is land.
    coasts: Vec<f64>,
    /// Values are multiples of this; `None`: all bits of a float count.
    step: Option<f64>,
    /// The noise of each level: values differ by about this from a smooth field.
    noise: Vec<f64>,
}

impl Field {
    pub(super) fn new(options: &Options) -> Field {
        let (shape, land) = (options.shape, (options.land, options.floor));
        let (ny, nx) = (shape[2] as usize, shape[3] as usize);
        let turn = std::f64::consts::TAU;
        let mut base = Vec::with_capacity(ny * nx);
        let mut height = Vec::with_capacity(ny * nx);
        for j in 0..ny {
            let y = j as f64 / ny as f64;
            for i in 0..nx {
                let x = i as f64 / nx as f64;
                base.push(
                    15.0 + 10.0 * (y * turn / 2.0).cos() + 3.0 * (x * turn * 2.0 + y * turn * 3.6).sin(),
                );
                // Continents: a few large ones, with islands before their coasts.
                height.push(
                    (x * turn * 2.0 + 1.0).sin() * (y * turn * 0.8 + 0.4).cos()
                        + 0.1 * (x * turn * 23.0).sin() * (y * turn * 19.0).cos(),
                );
            }
        }
        let mut sorted = height.clone();
        sorted.sort_by(f64::total_cmp);
        let deepest = shape[1].saturating_sub(1).max(1) as f64;
        let coasts = (0..shape[1])
            .map(|z| {
                // Shelves are narrow: most of the floor lies deep.
                let part = land.0 + (land.1 - land.0) * (z as f64 / deepest).powi(2);
                let at = ((1.0 - part) * sorted.len() as f64) as usize;
                sorted.get(at).copied().unwrap_or(f64::INFINITY)
            })
            .collect();
        let noise = (0..shape[1])
            .map(|z| options.noise / (1.0 + options.calm.map_or(0.0, |calm| z as f64 / calm)))
            .collect();
        Field { shape, base, height, coasts, step: options.step, noise }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.shape.iter().product::<u64>() * 4
    }

    /// One level at one time.
    pub(super) fn level(&self, t: u64, z: u64) -> Vec<f32> {
        let scale = 1.0 / (1.0 + z as f64 / 40.0);
        let offset = t as f64 * 0.25;
        let mut random = Positions::new((t * 1009 + z + 1).wrapping_mul(GOLDEN));
        let (coast, noise) = (self.coasts[z as usize], self.noise[z as usize]);
        self.base
            .iter()
            .zip(&self.height)
            .map(|(&b, &height)| {
                // Two halves of a number make something like a bell.
                let h = random.draw();
                let bell = (f64::from(h as u32) + f64::from((h >> 32) as u32)) / f64::from(u32::MAX) - 1.0;
                let value = b * scale + offset + bell * 2.45 * noise;
                match self.step {
                    _ if height >= coast => LAND,
                    Some(step) => ((value / step).round() * step) as f32,
                    None => value as f32,
                }
            })
            .collect()
    }

    /// Whether a file has the field as its variable.
    pub(super) fn is_in(&self, path: &Path, engine: &Engine) -> Result<bool> {
        let data = Dataset::open_with(path, engine)?;
        let Ok(var) = data.var(VARIABLE) else { return Ok(false) };
        if data.schema().shape(var) != self.shape {
            return Ok(false);
        }
        let [nt, nz, ny, nx] = self.shape;
        let mut bytes = vec![0; (ny * nx * 4) as usize];
        for t in 0..nt {
            for z in 0..nz {
                data.read_bytes(var, &Hyperslab::new(&[t, z, 0, 0], &[1, 1, ny, nx]), &mut bytes)?;
                let level = self.level(t, z);
                let same = bytes.chunks_exact(4).zip(&level).all(|(b, v)| b == v.to_ne_bytes());
                if !same {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
