//! The work of one rank in one phase.

use super::buffer::Buffer;
use super::data::{POISON, Values, Verdict};
use super::geometry::Geometry;
use super::options::AccessKind;
use super::places::Places;
use super::prepare::{Case, is_periodic, reads_as};
use super::result::{RankPhase, Span};
use crate::clock::{self, Used};
use crate::error::{Error, Result};
use crate::team::{Team, agree};

/// Bytes of values that all ranks hold at once.
pub(super) const HELD: u64 = 256 << 20;
/// Times of single calls that are saved for each rank at most.
const CALLS_SAVED: usize = 2048;

/// State that all phases of a run share on one rank.
pub(super) struct Bench<'a> {
    team: &'a dyn Team,
    geometry: &'a Geometry,
    values: Values,
    /// Bytes of values that may be held at once by this rank.
    most: usize,
    verify: bool,
    periodic: bool,
    /// The rank whose part this one reads.
    reads_as: u64,
    buffer: Buffer,
    expected: Vec<u8>,
    /// Asked between stretches of calls whether to stop.
    stop: Option<&'a dyn Fn() -> bool>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        team: &'a dyn Team,
        geometry: &'a Geometry,
        values: Values,
        options: &super::IoOptions,
        stop: Option<&'a dyn Fn() -> bool>,
    ) -> Self {
        Bench {
            team,
            geometry,
            // A part of the last-level cache would be best, but calls must also be many between two barriers.
            most: (HELD / geometry.ranks().max(1)) as usize,
            values,
            verify: options.verify,
            periodic: is_periodic(options),
            reads_as: reads_as(team),
            buffer: Buffer::default(),
            expected: Vec::new(),
            stop,
        }
    }

    /// Calls whose values fit into that: as many for every rank.
    fn calls_at_once(&self) -> u64 {
        let bytes = self.geometry.values_of_a_call().saturating_mul(self.values.dtype.size() as u64);
        (self.most as u64 / bytes.max(1)).max(1)
    }

    /// The places of these calls' blocks in the file of a rank.
    fn places(&self, case: &Case, rank: u64, calls: std::ops::Range<u64>, reused: bool) -> Places {
        Places::of(self.geometry, rank, calls, case.is_apart(), self.values.dtype.size(), reused)
    }

    fn asked_to_stop(&self) -> Result<()> {
        let stop = self.stop.is_some_and(|stop| stop());
        agree(self.team, if stop { Err(Error::Stopped) } else { Ok(()) })
    }

    /// A call that failed: where the others may be waiting for this rank inside a library, they must learn of it at once.
    fn failed<T>(&self, case: &Case, e: Error) -> Result<T> {
        if case.ask.access == AccessKind::Collective && !matches!(e, Error::Rank { .. }) {
            self.team.fail(&e);
        }
        Err(e)
    }

    fn timed<T>(&self, case: &Case, f: impl FnOnce() -> Result<T>) -> Result<(T, Span)> {
        self.team.barrier()?;
        let begin = clock::now();
        let done = f();
        let end = clock::now();
        Ok((agree(self.team, done.or_else(|e| self.failed(case, e)))?, Span { begin, end }))
    }

    /// Writes this rank's part into a new file.
    pub(super) fn write(&mut self, case: &Case) -> Result<RankPhase> {
        Ok(self.phase(case, true)?.0)
    }

    /// Reads the part of the rank that this one plays, and checks it.
    pub(super) fn read(&mut self, case: &Case) -> Result<(RankPhase, Option<Verdict>)> {
        self.phase(case, false)
    }

    fn phase(&mut self, case: &Case, write: bool) -> Result<(RankPhase, Option<Verdict>)> {
        let rank = if write { self.team.rank() as u64 } else { self.reads_as };
        let mut phase = RankPhase::default();
        let mut verdict = (!write && self.verify).then(Verdict::default);
        let access = case.access(self.team, &self.geometry.block);
        let fetched = clock::storage_read();
        let mut meter = Meter::begin();
        let path = case.path(rank);
        let (mut file, span) = self.timed(case, || match write {
            true => case.driver.create(&path, &case.spec, &access),
            false => case.driver.open_blocks(&path, &case.spec, &access),
        })?;
        phase.open = span;
        phase.steps = file.steps().iter().map(|&(step, seconds)| (step.to_owned(), seconds)).collect();
        let calls = self.geometry.calls();
        // One buffer serves all calls where they write the same, and where nobody needs what was read before.
        let reused = if write { self.periodic } else { !self.verify };
        let at_once = if reused { calls } else { self.calls_at_once() };
        let mut first = 0;
        while first < calls {
            let end = (first + at_once).min(calls);
            meter.pause();
            let mut places = self.places(case, rank, first..end, reused);
            self.buffer.resize(places.memory_needed());
            if write {
                for call in first..if reused { first + 1 } else { end } {
                    let out = &mut self.buffer[places.memory((call - first) as usize)];
                    self.values.fill(&self.geometry.slab(rank, call), rank, out);
                }
            } else {
                self.buffer.fill(POISON);
            }
            self.asked_to_stop()?;
            meter.go_on();
            self.team.barrier()?;
            let mut clock = Calls::begin(&phase, places.len() as u64);
            let mut done = Ok(());
            for i in 0..places.len() {
                let (memory, slab) = places.at(i);
                let memory = &mut self.buffer[memory];
                done = if write { file.write(slab, memory) } else { file.read(slab, memory) };
                if done.is_err() {
                    break;
                }
                clock.lap();
            }
            clock.end(&mut phase);
            agree(self.team, done.or_else(|e| self.failed(case, e)))?;
            meter.pause();
            if let Some(verdict) = &mut verdict {
                let rounding = case.spec.var.coding.rounding;
                for call in first..end {
                    let got = &self.buffer[places.memory((call - first) as usize)];
                    let slab = self.geometry.slab(rank, call);
                    verdict.add(&self.values.check(&slab, rank, rounding, got, &mut self.expected));
                }
            }
            phase.bytes += places.bytes();
            // Giving lists of blocks back is no work of the library's, either.
            drop(places);
            meter.go_on();
            first = end;
        }
        phase.close = self.timed(case, || file.close())?.1;
        meter.end(&mut phase);
        if !write {
            let now = clock::storage_read();
            phase.from_storage = fetched.zip(now).map(|(before, now)| now.saturating_sub(before));
        }
        Ok((phase, verdict))
    }
}

/// Times of the calls of one stretch. The clock is read around those that are saved only: reading it takes about as long as a hundredth of a
/// call of some kilobytes.
struct Calls {
    begin: f64,
    last: f64,
    every: u64,
    /// Calls until the clock is read.
    left: u64,
    /// Whether the next reading ends a call that is saved.
    timing: bool,
    saved: Vec<f32>,
    /// The number of single calls that are saved.
    most: usize,
}

impl Calls {
    fn begin(phase: &RankPhase, calls: u64) -> Self {
        let most = CALLS_SAVED.saturating_sub(phase.calls.len()).max(16);
        let saved = Vec::with_capacity(most.min(calls as usize) + 1);
        let every = calls.div_ceil(most as u64).max(1);
        let begin = clock::now();
        // The first call is always saved.
        Calls { begin, last: begin, every, left: 1, timing: true, saved, most: most + 1 }
    }

    /// A call has ended.
    #[inline]
    fn lap(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.read_clock();
        }
    }

    fn read_clock(&mut self) {
        let now = clock::now();
        if self.timing && self.saved.len() < self.most {
            self.saved.push((now - self.last) as f32);
        }
        // Every call is saved, or the one behind as many that are not.
        (self.timing, self.left) = match (self.timing, self.every) {
            (_, 1) => (true, 1),
            (true, every) => (false, every - 1),
            (false, _) => (true, 1),
        };
        self.last = now;
    }

    /// The last call has ended.
    fn end(self, phase: &mut RankPhase) {
        let end = if self.every == 1 { self.last } else { clock::now() };
        phase.io.push(Span { begin: self.begin, end });
        phase.calls.extend(self.saved);
    }
}

/// The resources that the process uses, without those of making and checking values.
struct Meter {
    begun: Used,
    used: Used,
}

impl Meter {
    fn begin() -> Self {
        clock::forget_peak();
        Meter { begun: Used::now(), used: Used::default() }
    }

    fn pause(&mut self) {
        self.used.add(&self.begun, &Used::now());
    }

    fn go_on(&mut self) {
        self.begun = Used::now();
    }

    fn end(mut self, phase: &mut RankPhase) {
        self.pause();
        phase.used = self.used;
        phase.peak_memory = clock::peak();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_saved_evenly_and_the_first_one_always() {
        for (calls, saved) in [(0, 0), (1, 1), (2048, 2048), (2049, 1025), (5000, 1667), (10_000, 2000)] {
            let mut phase = RankPhase::default();
            let mut clock = Calls::begin(&phase, calls);
            (0..calls).for_each(|_| clock.lap());
            clock.end(&mut phase);
            assert_eq!(phase.calls.len(), saved, "{calls}");
            assert!(phase.io[0].end >= phase.io[0].begin && phase.calls.iter().all(|s| *s >= 0.0));
            // A later stretch has less space, but some.
            let mut clock = Calls::begin(&phase, 100);
            (0..100).for_each(|_| clock.lap());
            clock.end(&mut phase);
            assert!(phase.calls.len() > saved && phase.io.len() == 2);
        }
    }
}
