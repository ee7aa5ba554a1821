//! Finds repeats: runs; those from one distance; by a table of the last two positions of four bytes, or of the last position of three; or
//! by chains of earlier positions.
//!
//! Each search has a file; `entries` says how all of them enter positions into their tables.

mod buckets;
mod bytes;
mod chains;
mod echo;
mod entries;
mod runs;
mod search;
mod short;

use buckets::Buckets;
use chains::Chains;
use echo::echo;
use entries::{Entries, table};
use runs::runs;
use search::push;
use short::Short;

use super::block::Sequence;
use super::symbols::WINDOW;

pub(super) use runs::stretch;
pub(super) use search::Range;

/// The search effort of a matcher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effort {
    /// Only repeats of the byte before: runs.
    Runs,
    /// Only runs, and repeats from one distance.
    Echo {
        /// Bytes.
        distance: usize,
    },
    /// The last two positions of the same four bytes are tried.
    Pairs {
        /// Whether the next position is tried before a match is taken.
        lazy: bool,
    },
    /// The last four positions of the same four bytes are tried.
    Fours,
    /// The last position of the same three bytes is tried.
    Short,
    /// Chains of earlier positions.
    Chains {
        /// Shortest match: 3 or 4 bytes.
        least: usize,
        /// Positions tried at most.
        depth: u32,
        /// A match of this length is taken at once.
        nice: usize,
        /// Whether the next position is tried before a match is taken.
        lazy: bool,
    },
}

/// The binary logarithm of the smallest number of table entries that are used.
const FEWEST_BITS: u32 = 10;

/// The state of a search through one buffer. Positions have 32 bits: buffers are chunks, below 4 GiB.
pub(super) struct Matcher {
    pairs: Box<Buckets<1>>,
    fours: Box<Buckets<2>>,
    short: Short,
    chains: Chains,
    entries: Entries,
    /// The smallest base of the next buffer.
    next: u64,
    /// Whether long runs, from `runs::STRETCH` bytes on, are coded as repeats from that distance: a few more bits for
    /// each 258 bytes, but faster to decode at the end of a stream.
    stretch: bool,
}

impl Matcher {
    pub(super) fn new() -> Self {
        let first = WINDOW as u32 + 1;
        Self {
            pairs: table(),
            fours: table(),
            short: Short::new(),
            chains: Chains::new(),
            entries: Entries { base: first, used: 0 },
            next: first.into(),
            stretch: false,
        }
    }

    /// Sets whether long runs are written for fast decoding rather than few bits.
    pub(super) fn stretch_runs(&mut self, stretch: bool) {
        self.stretch = stretch;
    }

    /// Begins a buffer of `len` bytes: all entries are discarded.
    pub(super) fn begin(&mut self, len: usize) {
        if self.next + len as u64 + WINDOW as u64 >= u64::from(u32::MAX) {
            self.pairs.fill([0]);
            self.fours.fill([0; 2]);
            self.short.clear();
            self.chains.clear();
            self.next = WINDOW as u64 + 1;
        }
        let used = usize::BITS - len.leading_zeros() + 1;
        self.entries = Entries { base: self.next as u32, used: used.max(FEWEST_BITS) };
        self.next += len as u64 + WINDOW as u64 + 1;
    }

    /// Enters the positions before `to` without a search for matches.
    pub(super) fn prime(&mut self, bytes: &[u8], effort: Effort, to: usize) {
        let entries = self.entries;
        let to = to.min(bytes.len().saturating_sub(3));
        // Entering a position of a run waits for the one before.
        let places = (0..to).filter(|at| !bytes::inside_run(bytes, *at));
        match effort {
            Effort::Runs | Effort::Echo { .. } => {}
            Effort::Pairs { .. } => places.for_each(|at| buckets::enter(&mut self.pairs, entries, bytes, at)),
            Effort::Fours => places.for_each(|at| buckets::enter(&mut self.fours, entries, bytes, at)),
            Effort::Short => places.for_each(|at| self.short.enter(entries, bytes, at)),
            Effort::Chains { least: 3, .. } => places.for_each(|at| {
                self.chains.enter::<3>(entries, bytes, at);
            }),
            Effort::Chains { .. } => places.for_each(|at| {
                self.chains.enter::<4>(entries, bytes, at);
            }),
        }
    }

    /// Describes the bytes of a range as sequences, added to `out`; matches may reach back before it. Returns where
    /// it ended: at `stop`, or after a match that reached further.
    pub(super) fn find(
        &mut self,
        bytes: &[u8],
        effort: Effort,
        range: Range,
        out: &mut Vec<Sequence>,
    ) -> usize {
        let (before, entries) = (out.len(), self.entries);
        let start = match effort {
            Effort::Runs => runs(bytes, range, out),
            Effort::Echo { distance } => echo(bytes, range, distance, out),
            Effort::Pairs { lazy: false } => {
                buckets::find::<1, false>(&mut self.pairs, entries, bytes, range, out)
            }
            Effort::Pairs { lazy: true } => {
                buckets::find::<1, true>(&mut self.pairs, entries, bytes, range, out)
            }
            Effort::Fours => buckets::find::<2, false>(&mut self.fours, entries, bytes, range, out),
            Effort::Short => self.short.find(entries, bytes, range, out),
            Effort::Chains { least: 3, depth, nice, lazy: false } => {
                self.chains.find::<3, false>(entries, bytes, range, out, depth, nice)
            }
            Effort::Chains { least: 3, depth, nice, lazy: true } => {
                self.chains.find::<3, true>(entries, bytes, range, out, depth, nice)
            }
            Effort::Chains { depth, nice, lazy: false, .. } => {
                self.chains.find::<4, false>(entries, bytes, range, out, depth, nice)
            }
            Effort::Chains { depth, nice, lazy: true, .. } => {
                self.chains.find::<4, true>(entries, bytes, range, out, depth, nice)
            }
        };
        if self.stretch {
            stretch(&bytes[..start], range.from, &mut out[before..]);
        }
        if start < range.stop {
            push(out, range.stop - start, 0, 0);
        }
        start.max(range.stop)
    }
}
