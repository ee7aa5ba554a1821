//! Options of the workload.

use ncforge::model::shape;
use std::path::PathBuf;

use super::tool::Tool;
use crate::error::{Error, Result};
use crate::workload::io::free_space;

/// The set of those figures.
pub(super) const USUAL: [u64; 4] = [4, 32, 1440, 1440];
/// A global ocean at a quarter of a degree: 730 MB, as the case of NOCSCOMBINE's table (731 MB, deflated 221 MB).
const ORCA025: [u64; 4] = [2, 62, 1021, 1442];

/// Options of the measurement.
#[derive(Clone, Debug)]
pub struct Options {
    /// Lengths of time, depth, y and x.
    pub shape: [u64; 4],
    /// Columns and rows of tiles.
    pub tiles: (u64, u64),
    /// Part of the points that is land at the surface, …
    pub land: f64,
    /// … and at the deepest level; between them it grows with the square of the depth.
    pub floor: f64,
    /// Values are multiples of this; `None`: all bits of a float count, as in what models write.
    pub step: Option<f64>,
    /// Values at the surface differ by about this from a smooth field, …
    pub noise: f64,
    /// … and by half of it this many levels below; `None`: by as much everywhere.
    pub calm: Option<f64>,
    /// Chunk lengths along y and x of re-encoded output.
    pub chunks: (u64, u64),
    /// The repetitions of each.
    pub repetitions: usize,
    /// The other programs.
    pub tools: Vec<Tool>,
    /// Threads of ncforge; `None`: as it takes them.
    pub threads: Option<usize>,
    /// Bytes of memory of ncforge.
    pub memory: Option<u64>,
    /// Folder for the files; `None`: where temporary files are.
    pub folder: Option<PathBuf>,
}

impl Default for Options {
    /// 1.06 GB in 4 x 4 tiles.
    fn default() -> Self {
        Options {
            shape: USUAL,
            tiles: (4, 4),
            land: 0.25,
            floor: 0.25,
            // Deflate at level 1 with shuffle leaves three tenths then.
            step: Some(1.0 / 4096.0),
            noise: 0.05,
            calm: None,
            chunks: (480, 480),
            repetitions: 3,
            tools: Vec::new(),
            threads: None,
            memory: None,
            folder: None,
        }
    }
}

impl Options {
    /// One variable of the ORCA025 grid in 16 x 14 tiles, at full precision, over a sea floor: half of all points are land.
    pub fn orca025() -> Self {
        Options {
            shape: ORCA025,
            tiles: (16, 14),
            land: 0.34,
            floor: 0.85,
            step: None,
            // zlib leaves of it what it left of the published case's values.
            noise: 0.01,
            calm: Some(8.0),
            chunks: (341, 361),
            ..Options::default()
        }
    }
}

/// An error for options that contradict each other.
pub(super) fn check(options: &Options) -> Result<()> {
    let [t, z, y, x] = options.shape;
    let (nx, ny) = options.tiles;
    if t == 0 || z == 0 || nx == 0 || ny == 0 || nx > x || ny > y {
        return Err(Error::bad_option(
            "tiles",
            format!("{nx} x {ny} tiles of {:?} points are impossible", options.shape),
        ));
    }
    let part = |land: f64| (0.0..1.0).contains(&land);
    if options.repetitions == 0 || !part(options.land) || !part(options.floor) {
        return Err(Error::bad_option(
            "repetitions",
            "at least one repetition, and a part of land from 0 to below 1",
        ));
    }
    if !(0.0..1e3).contains(&options.noise) || options.calm.is_some_and(|c| !c.is_finite() || c <= 0.0) {
        return Err(Error::bad_option(
            "noise",
            "noise is at least 0, and becomes half of it some levels below",
        ));
    }
    if options.step.is_some_and(|s| !s.is_finite() || s <= 0.0) {
        return Err(Error::bad_option("step", "values are multiples of a step above 0"));
    }
    if options.chunks.0 == 0 || options.chunks.1 == 0 {
        return Err(Error::bad_option("chunks", "chunks have at least one point"));
    }
    let bytes = shape::bytes(&options.shape, 4u64);
    let folder = options.folder.clone().unwrap_or_else(std::env::temp_dir);
    match free_space(&folder.join("tiles")) {
        Some(free) if bytes > free => Err(Error::TooLarge(format!(
            "tiles of {} are written, and {} are free in `{}`; name another folder, or a smaller shape",
            crate::report::bytes(bytes),
            crate::report::bytes(free),
            folder.display()
        ))),
        _ => Ok(()),
    }
}
