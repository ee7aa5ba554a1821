//! What zlib's levels mean here.

use super::matcher::Effort;

/// How deep a search goes: so many places are tried, and a match of the second length is taken at once.
type Depth = (u32, usize);

/// What a level stands for.
struct Level {
    /// The most that is spent on a plane, in chains of four bytes.
    own: Depth,
    /// zlib's search, in chains of three bytes, as deep as it takes to get as small.
    zlib: Depth,
    /// For planes that are nearly all repeats: most of the time is spent elsewhere, and a search that gives up early
    /// would miss the long ones.
    patient: Depth,
    /// So much larger than with the level's own effort a chunk may become.
    tolerance: f64,
}

const LEVELS: [Level; 9] = [
    Level { own: (2, 16), zlib: (8, 8), patient: (24, 32), tolerance: 0.010 },
    Level { own: (4, 16), zlib: (16, 16), patient: (24, 32), tolerance: 0.010 },
    Level { own: (6, 32), zlib: (32, 32), patient: (24, 32), tolerance: 0.010 },
    Level { own: (8, 32), zlib: (16, 16), patient: (24, 64), tolerance: 0.010 },
    Level { own: (16, 64), zlib: (32, 32), patient: (40, 128), tolerance: 0.005 },
    Level { own: (40, 128), zlib: (128, 128), patient: (128, 128), tolerance: 0.005 },
    Level { own: (128, 128), zlib: (256, 128), patient: (1024, 258), tolerance: 0.002 },
    Level { own: (512, 258), zlib: (1024, 258), patient: (1024, 258), tolerance: 0.002 },
    Level { own: (4096, 258), zlib: (4096, 258), patient: (1024, 258), tolerance: 0.002 },
];

/// Levels from here on try the next place before a match is taken, as zlib's do.
const LAZY: u32 = 4;

fn of(level: u32) -> &'static Level {
    &LEVELS[level.clamp(1, 9) as usize - 1]
}

fn chains(level: u32, least: usize, (depth, nice): Depth) -> Effort {
    Effort::Chains { least, depth, nice, lazy: level >= LAZY }
}

/// The most that a level spends on a plane.
pub(super) fn thorough(level: u32) -> Effort {
    chains(level, 4, of(level).own)
}

/// Searches as zlib does at a level.
pub(super) fn like_zlib(level: u32) -> Effort {
    chains(level, 3, of(level).zlib)
}

/// What a level spends on planes that are nearly all repeats.
pub(super) fn patient(level: u32) -> Effort {
    chains(level, 3, of(level).patient)
}

/// So much larger than with the level's own effort a chunk may become.
pub(super) fn tolerance(level: u32) -> f64 {
    of(level).tolerance
}
