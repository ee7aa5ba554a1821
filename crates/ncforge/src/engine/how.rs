//! How a box is read: what all readers of a selection are given.

/// The way in which a box is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    /// The number of the read, for the cache.
    pub(super) number: u64,
    /// Whether other threads may help.
    pub(super) parallel: bool,
    pub(super) keep: Keep,
    /// Arrays of parts that led here.
    pub(super) depth: u32,
}

impl How {
    pub(super) fn new(number: u64, parallel: bool, keep: Keep) -> Self {
        Self { number, parallel, keep, depth: 0 }
    }
}

/// The fate of decoded chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// Chunks that are read in part are cached.
    Parts,
    /// No chunk is cached, and those that were found are dropped: nobody will come back to them.
    Nothing,
}
