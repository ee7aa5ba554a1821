//! The search efforts for zlib's levels.

use super::matcher::Effort;

/// The depth of a search: the number of positions that are tried, and the match length that is taken at once.
type Depth = (u32, usize);

/// The efforts of a level.
struct Level {
    /// The largest effort for a plane, in chains of four bytes.
    own: Depth,
    /// zlib's search, in chains of three bytes, with the depth that gives the same size.
    zlib: Depth,
    /// The depth for planes that are nearly all repeats: they take little of the time, and a search that stops early would miss the long
    /// repeats.
    patient: Depth,
    /// The growth of a chunk over the level's own effort that is allowed.
    tolerance: f64,
}

const LEVELS: [Level; 9] = [
    Level { own: (2, 16), zlib: (8, 8), patient: (24, 32), tolerance: 0.010 },
    Level { own: (4, 16), zlib: (16, 16), patient: (24, 32), tolerance: 0.010 },
    Level { own: (16, 32), zlib: (32, 32), patient: (48, 64), tolerance: 0.010 },
    Level { own: (8, 32), zlib: (16, 16), patient: (24, 64), tolerance: 0.010 },
    Level { own: (16, 64), zlib: (32, 32), patient: (40, 128), tolerance: 0.005 },
    Level { own: (40, 128), zlib: (128, 128), patient: (128, 128), tolerance: 0.005 },
    Level { own: (128, 128), zlib: (256, 128), patient: (1024, 258), tolerance: 0.002 },
    Level { own: (512, 258), zlib: (1024, 258), patient: (1024, 258), tolerance: 0.002 },
    Level { own: (4096, 258), zlib: (4096, 258), patient: (4096, 258), tolerance: 0.002 },
];

/// Levels from here on try the next position before a match is taken, as zlib's do.
const LAZY: u32 = 4;

fn of(level: u32) -> &'static Level {
    &LEVELS[level.clamp(1, 9) as usize - 1]
}

fn chains(level: u32, least: usize, (depth, nice): Depth) -> Effort {
    Effort::Chains { least, depth, nice, lazy: level >= LAZY }
}

/// The largest effort of a level for a plane.
pub(super) fn thorough(level: u32) -> Effort {
    chains(level, 4, of(level).own)
}

/// Searches as zlib does at a level.
pub(super) fn like_zlib(level: u32) -> Effort {
    chains(level, 3, of(level).zlib)
}

/// The effort of a level for planes that are nearly all repeats.
pub(super) fn patient(level: u32) -> Effort {
    chains(level, 3, of(level).patient)
}

/// The growth of a chunk over the level's own effort that is allowed.
pub(super) fn tolerance(level: u32) -> f64 {
    of(level).tolerance
}
