//! Chooses the treatment of each plane of a chunk from samples.
//!
//! The level's own effort defines the size that can be reached; the plan is the fastest treatment of all planes
//! together whose size is at most slightly larger. This tolerance is relative to the *whole* chunk: where one plane is
//! random, the others may be treated faster than each alone could.

use super::access::Segments;
use super::block::{Counts, Sequence};
use super::cost::Cost;
use super::efforts::{like_zlib, patient, thorough, tolerance};
use super::matcher::{Effort, Matcher, Range, stretch};
use super::symbols::{MAX_MATCH, WINDOW};

/// Samples of a plane.
const SAMPLES: usize = 4;
/// Samples are shifted by this part of their distance, so that they do not end at halves and quarters of the plane, where
/// chunks of few layers have rows that end, or elements beyond the extent of the array. The last sample is the plane's end.
const ASIDE: f64 = 0.05;
/// Bytes of one sample: this part of the plane, within bounds.
const PART: usize = 128;
const SHORTEST: usize = 1 << 10;
const LONGEST: usize = 4 << 10;
/// The largest number of bytes before a sample that are entered into the tables, unless the whole window matters.
const KNOWN: usize = 8 << 10;
/// The time for a sample is multiplied by this where more than its neighbourhood is in the tables.
const UNKNOWN: f64 = 0.95;
/// A short plane that takes at most this many bits a byte as runs is not searched further.
const REGULAR: f64 = 0.06;
/// A short plane is searched further at low levels if the last position of three bytes leaves less than this part of it.
const DEEPER: f64 = 0.9;
/// Bytes of a short plane in which strings of three are searched.
const SEARCHED: usize = 2 << 10;
/// An estimate from a part of a plane may be wrong by about this factor.
const PROMISE: f32 = 1.01;
/// Planes up to this length are tried as a whole, without samples; at level 1, where little is tried, up to the second
/// length: otherwise the bytes before each sample would be searched several times.
const SMALL: usize = 8 << 10;
const SMALL_AT_ONE: usize = 16 << 10;
/// Chunks with fewer bits a byte are treated as the level says: small errors of samples would be large.
const TINY: f64 = 0.6;
/// Long runs are coded for fast decoding if all planes together take more bits a byte than this: a plane of one
/// value then takes 0.012 more.
const STRETCH: f64 = 2.0;
/// This many equal bytes at the end of all planes are not sampled, if the rest is an eighth of them at least.
const PADDING: usize = 256;
/// Segments may make a chunk larger by this part.
const SEGMENTS: f64 = 0.0065;
/// Bytes of the shortest segments in a plane.
const SHORTEST_SEGMENT: usize = 2 << 10;
/// Segments of a plane at the least: fewer are hardly faster to read than all of it.
const FEWEST: usize = 8;
/// Bits that a segment takes in its chunk's table, that it takes there for each plane, and that a search needs to begin anew.
const SUM_BITS: f64 = 32.0;
const POINT_BITS: f64 = 11.0;
const RESTART_BITS: f64 = 12.0;
/// The level's own effort is not tried on planes with less than this part of a chunk's bits.
const MINOR: f64 = 0.02;

/// The treatment of a plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Treatment {
    /// Segments that are random are stored.
    Store,
    Code(Effort),
}

/// The sequences of a plane on which a treatment was tried as a whole, so that it need not be searched again.
pub(super) struct Parse {
    pub(super) sequences: Vec<Sequence>,
    pub(super) counts: Counts,
}

impl Parse {
    /// Codes long runs for fast decoding.
    fn stretch_runs(&mut self, plane: &[u8]) {
        if stretch(plane, 0, &mut self.sequences) {
            self.counts = Counts::of(plane, &self.sequences);
        }
    }

    /// An estimate of the bits that it takes as a block.
    fn bits(&self) -> f64 {
        f64::from(self.counts.bits() + self.counts.header_bits())
    }
}

/// The treatment of each plane.
pub(super) struct Plan {
    treatments: Vec<Treatment>,
    /// The result of the treatment of each plane, for short planes. Empty where samples were used.
    parses: Vec<Option<Parse>>,
    /// Whether the deflated chunk is large enough for runs that are coded for fast decoding.
    stretch: bool,
    /// Bit p: plane p repeats plane p - 1.
    echoes: u64,
    /// An estimate of the bits of the stream.
    bits: f64,
}

/// The predicted result of a treatment of a plane.
#[derive(Clone, Copy)]
struct Choice {
    treatment: Treatment,
    /// Bits a byte.
    bits: f64,
    /// Nanoseconds a byte, as [`Cost::total`] weighs them.
    time: f64,
}

/// A plane and its possible treatments.
struct Judged {
    options: Vec<Choice>,
    /// The number of bytes before a sample in which its repeats may be.
    known: usize,
    /// Whether a deeper search gains nothing.
    settled: bool,
}

impl Judged {
    fn best(&self) -> f64 {
        self.options.iter().fold(f64::MAX, |best, o| best.min(o.bits))
    }
}

impl Plan {
    /// The treatment of each plane, in order.
    pub(super) fn treatments(&self) -> &[Treatment] {
        &self.treatments
    }

    /// Whether long runs are coded with a few more bits, which decode faster.
    pub(super) fn stretches_runs(&self) -> bool {
        self.stretch
    }

    /// The plan for short or very regular bytes in one plane.
    pub(super) fn patient(level: u32) -> Plan {
        Plan::new(vec![Treatment::Code(patient(level))])
    }

    fn new(treatments: Vec<Treatment>) -> Plan {
        Plan { treatments, parses: Vec::new(), stretch: false, echoes: 0, bits: 0.0 }
    }

    /// The result of a plane's treatment, if it is known; it can be taken once.
    pub(super) fn take_parse(&mut self, plane: usize) -> Option<Parse> {
        self.parses.get_mut(plane)?.take()
    }

    /// Whether a plane repeats the one before, whose positions must then be in the tables.
    pub(super) fn is_echo(&self, plane: usize) -> bool {
        plane < 64 && self.echoes >> plane & 1 == 1
    }

    /// The plan for bytes that are not in planes, if zlib's search is worth its time; else `None`.
    pub(super) fn short(
        bytes: &[u8],
        level: u32,
        matcher: &mut Matcher,
        sequences: &mut Vec<Sequence>,
    ) -> Option<Plan> {
        if bytes.len() < SMALL || bytes.len() > u32::MAX as usize / 2 || repeats_of_three(bytes) < 0.002 {
            return None;
        }
        let mut sampler = Sampler { matcher, sequences };
        let fours = sampler.bits(bytes, Effort::Chains { least: 4, depth: 6, nice: 16, lazy: false }, WINDOW);
        if fours < 5.0 {
            return None;
        }
        let threes = sampler.bits(bytes, like_zlib(level), WINDOW);
        let bits = threes * bytes.len() as f64;
        let plan = || Plan { bits, ..Plan::new(vec![Treatment::Code(like_zlib(level))]) };
        (threes < fours * 0.995).then(plan)
    }

    /// Plans the planes of a chunk.
    pub(super) fn of(
        bytes: &[u8],
        planes: usize,
        level: u32,
        matcher: &mut Matcher,
        sequences: &mut Vec<Sequence>,
    ) -> Plan {
        let n = bytes.len() / planes;
        let plane = |p: usize| &bytes[p * n..(p + 1) * n];
        // The padding of an edge chunk does not represent its values.
        let padding = (0..planes).map(|p| last_run(plane(p))).min().unwrap_or(0);
        let padding = if padding >= PADDING && padding <= n - n / 8 { padding } else { 0 };
        let values = |p: usize| &plane(p)[..n - padding];
        let sampler = Sampler { matcher, sequences };
        let mut plan = Plan::independent(n - padding, planes, values, level, sampler);
        if padding > 0 || !bytes.len().is_multiple_of(planes) {
            // The tried bytes are only a part of the coded ones.
            plan.parses.clear();
        }
        if n + MAX_MATCH < WINDOW {
            for p in 1..planes.min(64) {
                if repeats(plane(p - 1), plane(p)) {
                    plan.echoes |= 1 << p;
                    plan.treatments[p] = Treatment::Code(ECHO);
                    plan.take_parse(p);
                }
            }
        }
        plan
    }

    /// The treatments of planes that are independent of one another.
    fn independent<'a>(
        n: usize,
        planes: usize,
        plane: impl Fn(usize) -> &'a [u8],
        level: u32,
        mut sampler: Sampler,
    ) -> Plan {
        if n <= if level == 1 { SMALL_AT_ONE } else { SMALL } {
            let (treatments, mut parses): (Vec<_>, Vec<_>) =
                (0..planes).map(|p| sampler.small(plane(p), level)).unzip();
            let bits = |parse: &Option<Parse>| parse.as_ref().map_or(8.0 * n as f64, Parse::bits);
            let stretch = parses.iter().map(bits).sum::<f64>() > STRETCH * (planes * n) as f64;
            if stretch {
                parses
                    .iter_mut()
                    .enumerate()
                    .for_each(|(p, t)| t.iter_mut().for_each(|t| t.stretch_runs(plane(p))));
            }
            let bits = parses.iter().map(bits).sum();
            return Plan { parses, stretch, bits, ..Plan::new(treatments) };
        }
        let mut judged: Vec<Judged> = (0..planes).map(|p| sampler.quick(plane(p), level)).collect();
        let total = judged.iter().map(Judged::best).sum::<f64>();
        if total < TINY * planes as f64 {
            let bits = total * n as f64;
            return Plan { bits, ..Plan::new(vec![Treatment::Code(patient(level)); planes]) };
        }
        if level > 1 {
            for (p, j) in judged.iter_mut().enumerate() {
                // Planes with few bits are not worth the time.
                if !j.settled && j.best() > total * MINOR {
                    j.options.push(sampler.choice(plane(p), thorough(level), j.known, level));
                }
            }
        }
        let chosen = choose(&judged, level);
        let treatments = chosen.iter().zip(&judged).map(|(&o, j)| j.options[o].treatment).collect();
        let bits = chosen.iter().zip(&judged).map(|(&o, j)| j.options[o].bits).sum::<f64>() * n as f64;
        Plan { stretch: total > STRETCH * planes as f64, bits, ..Plan::new(treatments) }
    }

    /// The bytes of a plane in the shortest segments that hardly make the chunk larger; `None` if there are none. The plan is then one for
    /// segments, as if they were asked for.
    pub(super) fn cut(
        &mut self,
        bytes: &[u8],
        matcher: &mut Matcher,
        sequences: &mut Vec<Sequence>,
    ) -> Option<usize> {
        let planes = self.treatments.len();
        let n = bytes.len() / planes;
        if !Segments::Auto.may_cut(bytes.len()) || !bytes.len().is_multiple_of(planes) || self.echoes != 0 {
            return None;
        }
        let mut sampler = Sampler { matcher, sequences };
        // A table of more segments takes longer to read, and longer segments to decode.
        let first = (2 * n.isqrt()).next_power_of_two().max(SHORTEST_SEGMENT);
        let most = self.bits * SEGMENTS;
        let coded = self.treatments.iter().filter(|t| **t != Treatment::Store).count() as f64;
        let each = SUM_BITS + POINT_BITS * planes as f64 + RESTART_BITS * coded;
        let mut segment = first;
        while n.div_ceil(segment) >= FEWEST {
            let mut lost = each * n.div_ceil(segment) as f64;
            for (p, treatment) in self.treatments.iter().enumerate() {
                match treatment {
                    Treatment::Code(effort) if *effort != Effort::Runs => {
                        lost += sampler.lost(&bytes[p * n..(p + 1) * n], *effort, segment) * n as f64;
                    }
                    _ => {}
                }
            }
            if lost <= most {
                return Some(segment);
            }
            // The number of segments decides what is lost.
            segment *= ((lost / most) as usize).clamp(2, n).next_power_of_two();
        }
        None
    }

    /// Makes it a plan for segments: nothing that was found reaches over their begins.
    pub(super) fn for_segments(&mut self) {
        self.parses.clear();
        self.echoes = 0;
    }
}

/// The effort for a plane that repeats the one before: deep enough to reach back that far.
const ECHO: Effort = Effort::Chains { least: 4, depth: 64, nice: 258, lazy: true };

/// Whether one plane repeats another nearly everywhere, as the sign planes of integers do. Where both are runs, such as
/// the zeros of precipitation, every search finds them.
fn repeats(one: &[u8], other: &[u8]) -> bool {
    let blocks = one.chunks(64).zip(other.chunks(64));
    let vote = |(a, b): (&[u8], &[u8])| match a == b {
        true if a.iter().all(|x| *x == a[0]) => 0,
        true => 1,
        false => -7i32,
    };
    blocks.step_by(7).map(vote).sum::<i32>() > 0
}

/// The option of each plane, such that all together are fast and within the budget, or the smallest.
fn choose(judged: &[Judged], level: u32) -> Vec<usize> {
    let smallest = |j: &Judged| {
        (0..j.options.len()).min_by(|&a, &b| j.options[a].bits.total_cmp(&j.options[b].bits)).unwrap_or(0)
    };
    let mut plan: Vec<usize> = judged.iter().map(smallest).collect();
    let mut budget = judged.iter().map(Judged::best).sum::<f64>() * tolerance(level);
    loop {
        // The step that saves most time for each bit.
        let mut step: Option<(f64, usize, usize)> = None;
        for (p, j) in judged.iter().enumerate() {
            let now = j.options[plan[p]];
            for (o, option) in j.options.iter().enumerate() {
                let (saved, more) = (now.time - option.time, option.bits - now.bits);
                if saved > 0.0 && more <= budget.max(0.0) {
                    let worth = saved / more.max(1e-6);
                    if step.is_none_or(|s| s.0 < worth) {
                        step = Some((worth, p, o));
                    }
                }
            }
        }
        let Some((_, p, o)) = step else { return plan };
        budget -= judged[p].options[o].bits - judged[p].options[plan[p]].bits;
        plan[p] = o;
    }
}

struct Sampler<'a> {
    matcher: &'a mut Matcher,
    sequences: &'a mut Vec<Sequence>,
}

impl Sampler<'_> {
    /// A plane with the fast treatments.
    fn quick(&mut self, plane: &[u8], level: u32) -> Judged {
        let pairs = Effort::Pairs { lazy: false };
        let len = sample_len(plane);
        let runs = self.choice(plane, Effort::Runs, 0, level);
        // The number of strings of three bytes that would repeat in random bytes with the same frequencies.
        let by_chance = |bits: f64| 1.0 - (-2048.0 / (bits * 3.0).exp2()).exp();
        let often = |bits: f64| repeats_of_three(plane) > 0.002 + 1.5 * by_chance(bits);
        let store = Choice { treatment: Treatment::Store, bits: 8.003, time: Cost::STORED.total(level) };
        if runs.bits > 7.97 && !often(runs.bits) && !far_repeats(plane) {
            return Judged { options: vec![store], known: 0, settled: true };
        }
        let mut known = (4 * len).min(KNOWN);
        let mut found = self.choice(plane, pairs, known, level);
        let mut options = vec![store, runs];
        let least = runs.bits.min(found.bits);
        let mut threes = (level <= 3 || found.bits < 7.0) && often(least);
        if least > 7.0 {
            // Here few repeats matter, and they may be anywhere in the window.
            known = WINDOW;
            found = self.choice(plane, pairs, known, level);
        } else if threes {
            // Repeats of four bytes may suffice.
            threes = found.bits > 0.8 * runs.bits;
        }
        options.push(found);
        if threes {
            // From level 4 on, zlib tries more than one position, and samples underestimate what it finds.
            let mut short = f64::MAX;
            if level <= 3 {
                let choice = self.choice(plane, Effort::Short, known, level);
                short = choice.bits;
                options.push(choice);
            }
            if level > 3 || short < found.bits {
                options.push(self.choice(plane, like_zlib(level), known, level));
            }
        }
        if found.bits < runs.bits {
            options.push(self.choice(plane, Effort::Fours, known, level));
        }
        // If most bytes are literals and two positions find almost nothing, more positions do not find more.
        let settled = !threes && runs.bits > 2.5 && runs.bits < 7.0 && found.bits > 0.985 * runs.bits;
        Judged { options, known, settled }
    }

    /// The treatment of a short plane, each tried on all of it: the smallest, or a faster one that is nearly as small.
    fn small(&mut self, plane: &[u8], level: u32) -> (Treatment, Option<Parse>) {
        let n = plane.len() as f64;
        // A deeper search may also find repeats of earlier planes, which were not in the tables when this one was tried.
        let hasty = level == 1 && plane.len() >= SHORTEST;
        let complete = |effort| hasty || effort == Effort::Runs;
        let chosen = |(effort, parse)| (Treatment::Code(effort), complete(effort).then_some(parse));
        let runs = (Effort::Runs, self.whole(plane, Effort::Runs));
        let bits = runs.1.bits();
        if bits < REGULAR * n {
            return chosen(runs);
        }
        // Random bytes without repeats: a search finds nothing.
        let searched = if hasty { SEARCHED / 2 } else { SEARCHED };
        if bits > 7.97 * n && repeats_within(plane, searched) < 0.002 && !far_repeats(plane) {
            return (Treatment::Store, None);
        }
        if hasty {
            if !self.promises(plane) {
                return chosen(runs);
            }
            let found = (Effort::Short, self.whole(plane, Effort::Short));
            return chosen(if found.1.bits() < bits { found } else { runs });
        }
        let threes = repeats_of_three(plane) > 0.002;
        let quick = match level {
            ..4 if threes => Effort::Short,
            ..4 => Effort::Pairs { lazy: false },
            _ => thorough(level),
        };
        let found = (quick, self.whole(plane, quick));
        let some = found.1.bits();
        let mut best = if some < bits { Some(found) } else { None };
        let mut least = bits.min(some);
        // Repeats of three bytes are for planes that repeat in many short pieces; at the low levels, more positions than the
        // last are tried only if that one makes a difference.
        if threes && (level >= 4 || some < DEEPER * bits) {
            let like = (like_zlib(level), self.whole(plane, like_zlib(level)));
            if like.1.bits() < least * (1.0 - tolerance(level)) {
                least = like.1.bits();
                best = Some(like);
            }
        }
        chosen(best.filter(|_| bits >= least * (1.0 + tolerance(level))).unwrap_or(runs))
    }

    /// Whether repeats of three bytes make an eighth of a short plane about as small as runs do, or smaller, if half of
    /// the plane is in the tables. If not, searching all of it would be useless.
    fn promises(&mut self, plane: &[u8]) -> bool {
        let half = plane.len() / 2;
        let mut bits = |effort| self.counts(&plane[..half + half / 4], effort, half).bits();
        bits(Effort::Short) < bits(Effort::Runs) * PROMISE
    }

    /// The sequences of a whole plane with this effort.
    fn whole(&mut self, plane: &[u8], effort: Effort) -> Parse {
        let counts = self.counts(plane, effort, 0);
        Parse { sequences: self.sequences.clone(), counts }
    }

    /// The symbols for `bytes` from `from` on; the bytes before are entered into the tables.
    fn counts(&mut self, bytes: &[u8], effort: Effort, from: usize) -> Counts {
        if effort != Effort::Runs {
            self.matcher.begin(bytes.len());
            self.matcher.prime(bytes, effort, 0, from);
        }
        self.sequences.clear();
        let range = Range { from, stop: bytes.len(), end: bytes.len() };
        self.matcher.find(bytes, effort, range, self.sequences);
        Counts::of(&bytes[from..], self.sequences)
    }

    /// Bits per byte of samples of a plane with this effort; `known` bytes before each are entered into the tables.
    fn bits(&mut self, plane: &[u8], effort: Effort, known: usize) -> f64 {
        self.sample(plane, effort, known).0
    }

    /// As [`Sampler::bits`], with the time.
    fn choice(&mut self, plane: &[u8], effort: Effort, known: usize, level: u32) -> Choice {
        let (bits, cost) = self.sample(plane, effort, known);
        // Matches are fewer and longer if the whole window is in the tables.
        let rest = if effort == Effort::Runs || known == WINDOW { 1.0 } else { UNKNOWN };
        Choice { treatment: Treatment::Code(effort), bits, time: cost.total(level) * rest }
    }

    /// Bits a byte that a plane takes more if no match reaches out of its segment: some segments alone, and with what is before them.
    fn lost(&mut self, plane: &[u8], effort: Effort, segment: usize) -> f64 {
        let known = WINDOW.min(plane.len() / 4);
        // To enter a position in the tables takes a quarter of the time of a search.
        let samples = (plane.len() / 8 / (known / 4 + 2 * segment)).clamp(1, SAMPLES);
        let (mut alone, mut after) = (Counts::none(), Counts::none());
        for i in 1..=samples {
            let from = i * (plane.len() - segment) / (samples + 1) / segment * segment;
            let (first, to) = (from - known.min(from), from + segment);
            after.add(&self.counts(&plane[first..to], effort, from - first));
            alone.add(&self.counts(&plane[from..to], effort, 0));
        }
        // Small samples differ by chance, in both directions.
        f64::from(alone.bits() - after.bits()) / (samples * segment) as f64
    }

    fn sample(&mut self, plane: &[u8], effort: Effort, known: usize) -> (f64, Cost) {
        let len = sample_len(plane);
        let samples = if known < WINDOW { SAMPLES } else { SAMPLES / 2 };
        let last = plane.len() - len;
        let mut counts = Counts::none();
        let (mut matches, mut literals) = (0, 0);
        for i in 1..=samples {
            let aside = if i < samples { ASIDE } else { 0.0 };
            let from = ((i as f64 - aside) * last as f64 / samples as f64) as usize;
            let first = from.saturating_sub(known);
            let part = &plane[first..from + len];
            counts.add(&self.counts(part, effort, from - first));
            matches += self.sequences.len();
            literals += self.sequences.iter().map(|s| s.literals as usize).sum::<usize>();
        }
        let bytes = (samples * len) as f64;
        let bits = f64::from(counts.bits() + counts.bias()) / bytes;
        (bits, Cost::of(effort, matches as f64 / bytes, literals as f64 / bytes))
    }
}

/// The number of equal bytes at the end of a plane.
fn last_run(plane: &[u8]) -> usize {
    let Some(last) = plane.last() else { return 0 };
    plane.iter().rev().take_while(|b| *b == last).count()
}

fn sample_len(plane: &[u8]) -> usize {
    (plane.len() / PART).clamp(SHORTEST, LONGEST)
}

/// Whether strings of eight bytes repeat within the window, anywhere in a plane: checked at every position of one
/// byte value, which finds both positions of every repeat that contains it.
fn far_repeats(plane: &[u8]) -> bool {
    let Some(&anchor) = plane.get(plane.len() / 2) else { return false };
    let mut places = [0u32; 1 << 10];
    let (mut seen, mut again) = (0, 0);
    for (b, block) in plane.chunks(32).enumerate() {
        if block.iter().map(|&x| u8::from(x == anchor)).sum::<u8>() == 0 {
            continue;
        }
        for (i, _) in block.iter().enumerate().filter(|(_, x)| **x == anchor) {
            let at = b * 32 + i;
            let Some(&eight) = plane[at..].first_chunk::<8>() else { break };
            let eight = u64::from_le_bytes(eight);
            let place = &mut places[(eight.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize];
            let before = *place as usize;
            seen += 1;
            again += usize::from(
                before > 0
                    && at + 1 - before <= WINDOW
                    && plane[before - 1..before + 7] == eight.to_le_bytes(),
            );
            *place = at as u32 + 1;
        }
    }
    again * 64 > seen
}

/// The part of the strings of three bytes that repeat within a sample, except for runs.
fn repeats_of_three(plane: &[u8]) -> f64 {
    repeats_within(plane, if plane.len() <= SMALL { SEARCHED } else { 4096 })
}

/// As [`repeats_of_three`], within a sample of at most `most` bytes, up to 4096.
fn repeats_within(plane: &[u8], most: usize) -> f64 {
    let mut places = [0u16; 1 << 12];
    let len = plane.len().min(most);
    let sample = &plane[(plane.len() - len) / 2..][..len];
    let mut repeats = 0;
    // Four bytes are one load; the last of them does not count.
    let three = |at: usize| sample[at..].first_chunk::<4>().map_or(0, |w| u32::from_le_bytes(*w) << 8);
    for i in 0..sample.len().saturating_sub(3) {
        let here = three(i);
        let place = &mut places[(here.wrapping_mul(0x9E37_79B1) >> 20) as usize];
        let before = *place as usize;
        repeats += usize::from((before > 0) & (before < i) & (three(before.saturating_sub(1)) == here));
        *place = i as u16 + 1;
    }
    repeats as f64 / sample.len().max(1) as f64
}
