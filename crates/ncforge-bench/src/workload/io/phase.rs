//! What one rank does in one phase.

use super::buffer::Buffer;
use super::data::{POISON, Values, Verdict};
use super::fields::Piece;
use super::geometry::Geometry;
use super::ops::OpsLog;
use super::options::{AccessKind, CacheAsk};
use super::places::Places;
use super::prepare::{Case, is_periodic, reads_as};
use super::reading::order;
use super::result::{PhaseKind, RankPhase, Span};
use crate::clock::{self, Used};
use crate::driver::{BlockFile, inverse, transpose};
use crate::error::{Error, Result};
use crate::team::{Team, agree, exchange};

/// At most so many boxes of a decomposition lie in memory at once.
const MOST_BOXES: u64 = 1 << 16;
/// At most so many times of single calls are kept for each rank.
const CALLS_KEPT: usize = 2048;

/// What all phases of a run share on one rank.
pub(super) struct Bench<'a> {
    pub(super) team: &'a dyn Team,
    pub(super) geometry: &'a Geometry,
    /// How the array is read.
    pub(super) reading: &'a Geometry,
    /// Dimensions in the order in which what is read shall lie in memory, where that is not the file's.
    order: Option<Vec<usize>>,
    /// Seconds between two time steps that are written.
    pub(super) compute: Option<f64>,
    /// Of each variable.
    pub(super) values: Vec<Values>,
    /// Bytes of a value.
    size: usize,
    /// Bytes of values that may be held at once by this rank.
    pub(super) room: usize,
    pub(super) verify: bool,
    pub(super) periodic: bool,
    /// Whether all is written once more.
    pub(super) rewrites: bool,
    /// Seconds after which a phase ends.
    pub(super) seconds: Option<f64>,
    /// Calls of each rank that the file has, where not all were made.
    pub(super) reach: Option<u64>,
    /// The rank whose part this one reads.
    pub(super) reads_as: u64,
    pub(super) buffer: Buffer,
    pub(super) expected: Vec<u8>,
    /// The log of every operation, where one is wanted.
    pub(super) ops: Option<OpsLog>,
    /// Asked between stretches of calls whether to stop.
    pub(super) stop: Option<&'a dyn Fn() -> bool>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        team: &'a dyn Team,
        (geometry, reading): (&'a Geometry, &'a Geometry),
        values: &Values,
        options: &super::IoOptions,
        stop: Option<&'a dyn Fn() -> bool>,
    ) -> Self {
        let ranks = geometry.ranks();
        // A part of the last-level cache would be best, but calls must also be many between two barriers.
        let room = options.memory.unwrap_or(256 << 20) / ranks.max(1);
        Bench {
            team,
            geometry,
            reading,
            // It was looked at before.
            order: order(options, geometry).unwrap_or_default(),
            compute: options.compute,
            size: values.dtype.size(),
            values: (0..).zip(&geometry.fields).map(|(i, f)| values.of(i, f.of(&geometry.data))).collect(),
            room: room as usize,
            verify: options.verify,
            periodic: is_periodic(options),
            rewrites: options.rewrite,
            seconds: options.seconds,
            reach: None,
            reads_as: reads_as(options, team),
            buffer: Buffer::default(),
            expected: Vec::new(),
            ops: None,
            stop,
        }
    }

    /// Calls whose values fit the room: as many for every rank.
    fn calls_at_once(&self, geometry: &Geometry) -> u64 {
        let bytes = geometry.values_of_a_call().saturating_mul(self.size as u64);
        // Boxes of a decomposition may have a single value each, and each needs a list of numbers.
        let most = if geometry.scattered.is_some() { MOST_BOXES } else { u64::MAX };
        (self.room as u64 / bytes.max(1)).clamp(1, most)
    }

    /// What a rank moves in these calls. Where calls are collective, it takes part in those in which others alone move something.
    fn pieces(&self, case: &Case, geometry: &Geometry, rank: u64, calls: std::ops::Range<u64>) -> Vec<Piece> {
        let together = case.ask.access == AccessKind::Collective && self.team.size() > 1;
        let all = calls.flat_map(|call| geometry.pieces(rank, call, case.is_apart()));
        all.filter(|p| p.owned || together).collect()
    }

    /// Where these lie in the file of a rank.
    fn places(&self, case: &Case, geometry: &Geometry, rank: u64, pieces: &[Piece], reused: bool) -> Places {
        let origin = case.is_apart().then(|| geometry.origin(rank));
        Places::of(pieces, geometry, origin.as_deref(), self.size, reused)
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
        self.ops.iter_mut().for_each(OpsLog::phase);
        let access = case.access(self.team, &self.geometry.block);
        let mut meter = Meter::begin();
        let path = case.path(mine);
        let (mut file, span) = self.timed(case, || match (kind, &case.half) {
            (PhaseKind::Write, Some((_, half))) => case.driver.create(&path, half, &access),
            (PhaseKind::Write, None) => case.driver.create(&path, &case.spec, &access),
            _ => case.driver.update(&path, &case.spec, &access),
        })?;
        phase.open = span;
        phase.steps = file.steps().iter().map(|&(step, seconds)| (step.to_owned(), seconds)).collect();
        let half = case.half.as_ref().map(|(calls, _)| *calls);
        let (mut first, calls) = match (kind, half) {
            (PhaseKind::Write, Some(half)) => (0, half),
            (PhaseKind::Append, Some(half)) => (half, self.geometry.calls()),
            _ => (0, self.geometry.calls()),
        };
        let wrong = self.rewrites && kind != PhaseKind::Rewrite;
        let at_once = if self.periodic { calls } else { self.calls_at_once(self.geometry) };
        // Between two steps nothing is timed: a stretch ends with a step.
        let a_step = self.geometry.calls() / self.geometry.steps();
        let at_once = if self.compute.is_some() { at_once.min(a_step) } else { at_once };
        let mut pace = Pace::new(self.seconds, at_once);
        while first < calls && !pace.is_over() {
            let end = (first + pace.calls()).min(calls);
            meter.pause();
            let pieces = self.pieces(case, self.geometry, mine, first..end);
            let mut places = self.places(case, self.geometry, mine, &pieces, self.periodic);
            self.buffer.resize(places.room());
            // What all calls write is made once.
            let made = if self.periodic { 1 } else { pieces.len() };
            for (piece, place) in pieces.iter().filter(|p| p.owned).zip(places.owned()).take(made) {
                let out = &mut self.buffer[place.at..][..place.len];
                self.values[piece.field].fill(&piece.slab, mine, out);
                if wrong {
                    out.iter_mut().for_each(|b| *b = !*b);
                }
            }
            self.asked_to_stop()?;
            meter.go_on();
            self.team.barrier()?;
            let mut clock = Calls::begin(&mut phase, places.len() as u64, self.ops.is_some());
            let mut done = Ok(());
            for i in 0..places.len() {
                let (place, slab) = places.at(i);
                done = match place.owned {
                    true => file.write(place.field, slab, &self.buffer[place.at..][..place.len]),
                    false => file.absent(place.field, slab, true),
                };
                if done.is_err() {
                    break;
                }
                clock.lap();
            }
            let times = clock.end(&mut phase);
            self.after_calls(case, done)?;
            // Giving lists of blocks back is no work of the library's, either.
            meter.pause();
            self.log((kind, None), &times, &places)?;
            phase.bytes += places.bytes();
            drop((pieces, places));
            meter.go_on();
            first = end;
            pace.after(self.team, &phase)?;
            let between = first < calls && first.is_multiple_of(a_step);
            if let Some(seconds) = self.compute.filter(|_| between) {
                std::thread::sleep(std::time::Duration::from_secs_f64(seconds));
            }
        }
        self.reach = (first < calls).then_some(first);
        phase.close = self.close(case, file)?;
        meter.end(&mut phase);
        Ok(phase)
    }

    /// Reads the part of the rank that this one plays, and checks it.
    pub(super) fn read(&mut self, case: &Case, cache: CacheAsk) -> Result<(RankPhase, Option<Verdict>)> {
        let played = self.reads_as;
        let mut phase = RankPhase::default();
        self.ops.iter_mut().for_each(OpsLog::phase);
        let mut verdict = self.verify.then(Verdict::default);
        let access = case.access(self.team, &self.reading.block);
        let fetched = clock::storage_read();
        let mut meter = Meter::begin();
        let path = case.path(played);
        let (mut file, span) =
            self.timed(case, || case.driver.open_blocks(&path, case.read_spec(), &access))?;
        phase.open = span;
        phase.steps = file.steps().iter().map(|&(step, seconds)| (step.to_owned(), seconds)).collect();
        let calls = self.reach.unwrap_or(self.reading.calls());
        // Without a check nobody needs what was read before.
        let (at_once, reuse) =
            if self.verify { (self.calls_at_once(self.reading), false) } else { (calls, true) };
        let (mut first, mut aside) = (0, Vec::new());
        let mut pace = Pace::new(self.seconds, at_once);
        while first < calls && !pace.is_over() {
            let end = (first + pace.calls()).min(calls);
            meter.pause();
            let pieces = self.pieces(case, self.reading, played, first..end);
            let mut places = self.places(case, self.reading, played, &pieces, reuse);
            self.buffer.resize(places.room());
            self.buffer.fill(POISON);
            self.asked_to_stop()?;
            meter.go_on();
            self.team.barrier()?;
            let mut clock = Calls::begin(&mut phase, places.len() as u64, self.ops.is_some());
            let mut done = Ok(());
            for i in 0..places.len() {
                let (place, slab) = places.at(i);
                done = match place.owned {
                    true => {
                        let out = &mut self.buffer[place.at..][..place.len];
                        match &self.order {
                            None => file.read(place.field, slab, out),
                            Some(order) => {
                                file.read_turned(place.field, slab, order, self.size, &mut aside, out)
                            }
                        }
                    }
                    false => file.absent(place.field, slab, false),
                };
                if done.is_err() {
                    break;
                }
                clock.lap();
            }
            let times = clock.end(&mut phase);
            self.after_calls(case, done)?;
            meter.pause();
            self.log((PhaseKind::Read, Some(cache)), &times, &places)?;
            if let Some(verdict) = &mut verdict {
                let rounding = case.spec.vars[0].coding.rounding;
                for (piece, place) in pieces.iter().filter(|p| p.owned).zip(places.owned()) {
                    let got = &self.buffer[place.at..][..place.len];
                    let got = match &self.order {
                        None => got,
                        Some(order) => {
                            turn_back(got, &piece.slab.count, order, self.size, &mut aside);
                            &aside[..]
                        }
                    };
                    let room = &mut self.expected;
                    verdict.add(&self.values[piece.field].check(&piece.slab, played, rounding, got, room));
                }
            }
            phase.bytes += places.bytes();
            drop((pieces, places));
            meter.go_on();
            first = end;
            pace.after(self.team, &phase)?;
        }
        phase.close = self.close(case, file)?;
        meter.end(&mut phase);
        phase.from_storage =
            fetched.zip(clock::storage_read()).map(|(before, now)| now.saturating_sub(before));
        Ok((phase, verdict))
    }

    /// Keeps the times of calls, where a log is wanted. That one rank cannot write is told to all.
    fn log(
        &mut self,
        what: (PhaseKind, Option<CacheAsk>),
        times: &[(f64, f64)],
        places: &Places,
    ) -> Result<()> {
        let Some(ops) = &mut self.ops else { return Ok(()) };
        let geometry = self.geometry;
        let done = ops.add(what, times, places, &|field| geometry.named(field).0.to_owned());
        agree(self.team, done)
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

/// Values that were read in another order of their dimensions, in the file's.
fn turn_back(got: &[u8], counts: &[u64], order: &[usize], size: usize, out: &mut Vec<u8>) {
    let there: Vec<u64> = order.iter().map(|&d| counts[d]).collect();
    out.resize(got.len(), 0);
    transpose(got, &there, &inverse(order), size, out);
}

/// How many calls are made at once, and when a phase ends that has a time.
///
/// Ranks look at the clock together between two stretches of calls, so that all of them make the same number: none stops while others
/// write, and what collective calls need is kept. Stretches grow until one takes about a twentieth of the time.
struct Pace {
    seconds: Option<f64>,
    most: u64,
    next: u64,
    gone: f64,
    seen: usize,
}

impl Pace {
    fn new(seconds: Option<f64>, most: u64) -> Self {
        Pace { seconds, most, next: if seconds.is_some() { 1 } else { most }, gone: 0.0, seen: 0 }
    }

    fn calls(&self) -> u64 {
        self.next
    }

    fn is_over(&self) -> bool {
        self.seconds.is_some_and(|s| self.gone >= s)
    }

    /// A stretch has ended, on every rank.
    fn after(&mut self, team: &dyn Team, phase: &RankPhase) -> Result<()> {
        let Some(seconds) = self.seconds else { return Ok(()) };
        let mine: f64 = phase.io[self.seen..].iter().map(Span::seconds).sum();
        self.seen = phase.io.len();
        let slowest = exchange(team, &mine)?.into_iter().fold(0.0, f64::max);
        self.gone += slowest;
        if slowest < seconds / 20.0 {
            self.next = (self.next * 2).min(self.most);
        }
        Ok(())
    }
}

/// Times of the calls of one stretch. The clock is looked at around those that are kept only: a look takes about as long as a hundredth of a
/// call of some kilobytes.
struct Calls {
    begin: f64,
    last: f64,
    every: u64,
    /// Calls until the clock is looked at.
    left: u64,
    /// Whether the next look ends a call that is kept.
    timing: bool,
    kept: Vec<f32>,
    /// Of all calls, where a log is wanted: when they began, and when they ended.
    log: Option<Vec<(f64, f64)>>,
    /// So many single calls are kept.
    room: usize,
}

impl Calls {
    fn begin(phase: &mut RankPhase, calls: u64, log: bool) -> Self {
        let room = CALLS_KEPT.saturating_sub(phase.calls.len()).max(16);
        let kept = Vec::with_capacity(room.min(calls as usize) + 1);
        // For a log the clock is looked at around every call.
        let every = if log { 1 } else { calls.div_ceil(room as u64).max(1) };
        let log = log.then(|| Vec::with_capacity(calls as usize));
        let begin = clock::now();
        // The first call is always kept.
        Calls { begin, last: begin, every, left: 1, timing: true, kept, log, room: room + 1 }
    }

    /// A call has ended.
    #[inline]
    fn lap(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.look();
        }
    }

    fn look(&mut self) {
        let now = clock::now();
        if self.timing && self.kept.len() < self.room {
            self.kept.push((now - self.last) as f32);
        }
        if let Some(log) = &mut self.log {
            log.push((self.last, now));
        }
        // Every call is kept, or the one behind as many that are not.
        (self.timing, self.left) = match (self.timing, self.every) {
            (_, 1) => (true, 1),
            (true, every) => (false, every - 1),
            (false, _) => (true, 1),
        };
        self.last = now;
    }

    /// The last call has ended.
    fn end(self, phase: &mut RankPhase) -> Vec<(f64, f64)> {
        let end = if self.every == 1 { self.last } else { clock::now() };
        phase.io.push(Span { begin: self.begin, end });
        phase.calls.extend(self.kept);
        self.log.unwrap_or_default()
    }
}

/// What the process uses, without what making and checking values takes.
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
        phase.cpu = self.used.user + self.used.system;
        phase.used = self.used;
        phase.peak_memory = clock::peak();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::team::Alone;

    #[test]
    fn calls_are_kept_evenly_and_the_first_one_always() {
        for (calls, kept) in [(0, 0), (1, 1), (2048, 2048), (2049, 1025), (5000, 1667), (10_000, 2000)] {
            let mut phase = RankPhase::default();
            let mut clock = Calls::begin(&mut phase, calls, false);
            (0..calls).for_each(|_| clock.lap());
            clock.end(&mut phase);
            assert_eq!(phase.calls.len(), kept, "{calls}");
            assert!(phase.io[0].end >= phase.io[0].begin && phase.calls.iter().all(|s| *s >= 0.0));
            // A later stretch has less room, but some.
            let mut clock = Calls::begin(&mut phase, 100, false);
            (0..100).for_each(|_| clock.lap());
            clock.end(&mut phase);
            assert!(phase.calls.len() > kept && phase.io.len() == 2);
        }
    }

    #[test]
    fn a_log_has_every_call_and_the_times_of_single_ones_stay_few() {
        let mut phase = RankPhase::default();
        let mut clock = Calls::begin(&mut phase, 10_000, true);
        (0..10_000).for_each(|_| clock.lap());
        let times = clock.end(&mut phase);
        assert!(times.len() == 10_000 && phase.calls.len() == CALLS_KEPT + 1);
        assert!(times.windows(2).all(|w| w[0].1 == w[1].0) && times.iter().all(|t| t.1 >= t.0));
    }

    #[test]
    fn stretches_grow_and_end_with_the_time() {
        let mut phase = RankPhase::default();
        let mut stretch = |pace: &mut Pace, seconds: f64| {
            phase.io.push(Span { begin: 5.0, end: 5.0 + seconds });
            pace.after(&Alone, &phase).unwrap();
            (pace.calls(), pace.is_over())
        };
        let mut pace = Pace::new(Some(1.0), 3);
        assert_eq!((pace.calls(), pace.is_over()), (1, false));
        assert_eq!(stretch(&mut pace, 0.01), (2, false));
        assert_eq!(stretch(&mut pace, 0.01), (3, false));
        assert_eq!(stretch(&mut pace, 0.5), (3, false));
        assert_eq!(stretch(&mut pace, 0.5), (3, true));
        let mut pace = Pace::new(None, 7);
        assert_eq!(stretch(&mut pace, 100.0), (7, false));
    }
}
