//! What one rank does in one phase.

use super::buffer::Buffer;
use super::data::{POISON, Values, Verdict};
use super::geometry::Geometry;
use super::options::AccessKind;
use super::prepare::{Case, is_periodic};
use super::result::{PhaseKind, RankPhase, Span};
use crate::clock;
use crate::driver::BlockFile;
use crate::error::{Error, Result};
use crate::team::{Team, agree};

use ncforge::Hyperslab;

/// At most so many times of single calls are kept for each rank.
const CALLS_KEPT: usize = 4096;

/// What all phases of a run share on one rank.
pub(super) struct Bench<'a> {
    pub(super) team: &'a dyn Team,
    pub(super) geometry: &'a Geometry,
    pub(super) values: Values,
    /// Bytes of values that may be held at once by this rank.
    pub(super) room: usize,
    pub(super) verify: bool,
    pub(super) periodic: bool,
    /// Whether all is written once more.
    pub(super) rewrites: bool,
    /// The rank whose part this one reads.
    pub(super) reads_as: u64,
    pub(super) buffer: Buffer,
    pub(super) expected: Vec<u8>,
    /// Asked between stretches of calls whether to stop.
    pub(super) stop: Option<&'a dyn Fn() -> bool>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        team: &'a dyn Team,
        geometry: &'a Geometry,
        values: Values,
        options: &super::IoOptions,
        stop: Option<&'a dyn Fn() -> bool>,
    ) -> Self {
        let ranks = geometry.ranks();
        let mine = team.rank() as u64;
        let shift = u64::from(options.shift && ranks > 1);
        // A part of the last-level cache would be best, but calls must also be many between two barriers.
        let room = options.memory.unwrap_or(256 << 20) / ranks.max(1);
        Bench {
            team,
            geometry,
            values,
            room: room as usize,
            verify: options.verify,
            periodic: is_periodic(options),
            rewrites: options.rewrite,
            reads_as: (mine + shift) % ranks,
            buffer: Buffer::default(),
            expected: Vec::new(),
            stop,
        }
    }

    fn block_bytes(&self) -> usize {
        self.geometry.block_len() as usize * self.values.dtype.size()
    }

    /// Calls whose values fit the room.
    fn calls_at_once(&self) -> u64 {
        (self.room / self.block_bytes().max(1)).max(1) as u64
    }

    /// Where a block of the whole array lies in a file of the case.
    fn in_file(&self, case: &Case, slab: &Hyperslab, rank: u64) -> Hyperslab {
        if case.ask.access != AccessKind::File {
            return slab.clone();
        }
        let origin = self.geometry.origin(rank);
        let start: Vec<u64> = slab.start.iter().zip(&origin).map(|(s, o)| s - o).collect();
        Hyperslab::new(&start, &slab.count)
    }

    fn asked_to_stop(&self) -> Result<()> {
        let stop = self.stop.is_some_and(|stop| stop());
        agree(self.team, if stop { Err(Error::Stopped) } else { Ok(()) })
    }

    /// A call that failed: where the others may be waiting for this rank inside a library, they must be told at once.
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
        let done = match done {
            Err(e) => self.failed(case, e),
            ok => ok,
        };
        Ok((agree(self.team, done)?, Span { begin, end }))
    }

    /// Writes this rank's part, or that half of it which belongs to this phase: into a new file, or into the one that is
    /// there. What will be written again is written with all bits wrong at first.
    pub(super) fn write(&mut self, case: &Case, kind: PhaseKind) -> Result<RankPhase> {
        let mine = self.team.rank() as u64;
        let mut phase = RankPhase::default();
        let access = case.access(self.team, &self.geometry.block);
        let mut cpu = Cpu::begin();
        let path = case.path(mine);
        let (mut file, span) = self.timed(case, || match (kind, &case.half) {
            (PhaseKind::Write, Some((_, half))) => case.driver.create(&path, half, &access),
            (PhaseKind::Write, None) => case.driver.create(&path, &case.spec, &access),
            _ => case.driver.update(&path, &case.spec, &access),
        })?;
        phase.open = span;
        let half = case.half.as_ref().map(|(calls, _)| *calls);
        let (mut first, calls) = match (kind, half) {
            (PhaseKind::Write, Some(half)) => (0, half),
            (PhaseKind::Append, Some(half)) => (half, self.geometry.calls()),
            _ => (0, self.geometry.calls()),
        };
        let wrong = self.rewrites && kind != PhaseKind::Rewrite;
        let block = self.block_bytes();
        let at_once = if self.periodic { calls } else { self.calls_at_once() };
        while first < calls {
            let end = (first + at_once).min(calls);
            cpu.pause();
            let slabs: Vec<Hyperslab> = (first..end).map(|c| self.geometry.slab(mine, c)).collect();
            let held = if self.periodic { 1 } else { slabs.len() };
            self.buffer.resize(held * block);
            for (slab, out) in slabs.iter().zip(self.buffer.chunks_mut(block)) {
                self.values.fill(slab, mine, out);
                if wrong {
                    out.iter_mut().for_each(|b| *b = !*b);
                }
            }
            let places: Vec<Hyperslab> = slabs.iter().map(|s| self.in_file(case, s, mine)).collect();
            self.asked_to_stop()?;
            cpu.go_on();
            self.team.barrier()?;
            let mut clock = Calls::begin(&mut phase, end - first);
            let mut done = Ok(());
            for (i, place) in places.iter().enumerate() {
                let at = (i % held) * block;
                done = file.write(0, place, &self.buffer[at..at + block]);
                if done.is_err() {
                    break;
                }
                clock.lap();
            }
            clock.end(&mut phase);
            self.after_calls(case, done)?;
            phase.bytes += (end - first) * block as u64;
            first = end;
        }
        phase.close = self.close(case, file)?;
        cpu.end(&mut phase);
        Ok(phase)
    }

    /// Reads the part of the rank that this one plays, and checks it.
    pub(super) fn read(&mut self, case: &Case) -> Result<(RankPhase, Option<Verdict>)> {
        let played = self.reads_as;
        let mut phase = RankPhase::default();
        let mut verdict = self.verify.then(Verdict::default);
        let access = case.access(self.team, &self.geometry.block);
        let fetched = clock::storage_read();
        let mut cpu = Cpu::begin();
        let path = case.path(played);
        let (mut file, span) = self.timed(case, || case.driver.open_blocks(&path, &case.spec, &access))?;
        phase.open = span;
        let calls = self.geometry.calls();
        let block = self.block_bytes();
        // Without a check nobody needs what was read before.
        let (at_once, reuse) = if self.verify { (self.calls_at_once(), false) } else { (calls, true) };
        let mut first = 0;
        while first < calls {
            let end = (first + at_once).min(calls);
            cpu.pause();
            let slabs: Vec<Hyperslab> = (first..end).map(|c| self.geometry.slab(played, c)).collect();
            let held = if reuse { 1 } else { slabs.len() };
            self.buffer.resize(held * block);
            self.buffer.fill(POISON);
            let places: Vec<Hyperslab> = slabs.iter().map(|s| self.in_file(case, s, played)).collect();
            self.asked_to_stop()?;
            cpu.go_on();
            self.team.barrier()?;
            let mut clock = Calls::begin(&mut phase, end - first);
            let mut done = Ok(());
            for (i, place) in places.iter().enumerate() {
                let at = (i % held) * block;
                done = file.read(0, place, &mut self.buffer[at..at + block]);
                if done.is_err() {
                    break;
                }
                clock.lap();
            }
            clock.end(&mut phase);
            self.after_calls(case, done)?;
            if let Some(verdict) = &mut verdict {
                cpu.pause();
                for (slab, got) in slabs.iter().zip(self.buffer.chunks(block)) {
                    verdict.add(&self.values.check(slab, played, got, &mut self.expected));
                }
                cpu.go_on();
            }
            phase.bytes += (end - first) * block as u64;
            first = end;
        }
        phase.close = self.close(case, file)?;
        cpu.end(&mut phase);
        phase.from_storage =
            fetched.zip(clock::storage_read()).map(|(before, now)| now.saturating_sub(before));
        Ok((phase, verdict))
    }

    fn after_calls(&self, case: &Case, done: Result<()>) -> Result<()> {
        let done = match done {
            Err(e) => self.failed(case, e),
            ok => ok,
        };
        agree(self.team, done)
    }

    fn close(&self, case: &Case, file: Box<dyn BlockFile + '_>) -> Result<Span> {
        Ok(self.timed(case, || file.close())?.1)
    }
}

/// Times of the calls of one stretch.
struct Calls {
    begin: f64,
    last: f64,
    every: u64,
    count: u64,
    kept: Vec<f32>,
}

impl Calls {
    fn begin(phase: &mut RankPhase, calls: u64) -> Self {
        let room = CALLS_KEPT.saturating_sub(phase.calls.len()).max(16);
        let kept = Vec::with_capacity(room.min(calls as usize) + 1);
        let begin = clock::now();
        Calls { begin, last: begin, every: calls.div_ceil(room as u64).max(1), count: 0, kept }
    }

    /// A call has ended.
    fn lap(&mut self) {
        let now = clock::now();
        if self.count.is_multiple_of(self.every) {
            self.kept.push((now - self.last) as f32);
        }
        self.count += 1;
        self.last = now;
    }

    fn end(self, phase: &mut RankPhase) {
        phase.io.push(Span { begin: self.begin, end: self.last });
        phase.calls.extend(self.kept);
    }
}

/// Processor time of the process, without that of making and checking values.
struct Cpu {
    begun: f64,
    used: f64,
}

impl Cpu {
    fn begin() -> Self {
        Cpu { begun: clock::usage().0, used: 0.0 }
    }

    fn pause(&mut self) {
        self.used += clock::usage().0 - self.begun;
    }

    fn go_on(&mut self) {
        self.begun = clock::usage().0;
    }

    fn end(mut self, phase: &mut RankPhase) {
        self.pause();
        phase.cpu = self.used;
        phase.peak_memory = clock::usage().1;
    }
}
