//! Chooses the treatment of each plane of a chunk from samples.
//!
//! The level's own effort defines the size that can be reached; the plan is the fastest treatment of all planes
//! together whose size is at most slightly larger. This tolerance is relative to the *whole* chunk: where one plane is
//! random, the others may be treated faster than each alone could.

mod sampler;

use sampler::{Judged, Parse, SMALL, Sampler, repeats_of_three};

pub(super) use sampler::Treatment;

use super::access::Segments;
use super::block::Sequence;
use super::efforts::{like_zlib, patient, thorough, tolerance};
use super::matcher::{Effort, Matcher};
use super::symbols::{MAX_MATCH, WINDOW};

/// Planes up to this length are tried as a whole at level 1, where little is tried, as shorter ones are at every level: otherwise the bytes
/// before each sample would be searched several times.
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
/// Segments `k` times as long lose fewer matches in all by `k` to at most this power, as measured: their matches reach farther.
const FEWER: f64 = 0.7;
/// Planes with less than this part of the bits that a chunk loses are searched once.
const LITTLE_LOST: f64 = 1.0 / 16.0;
/// Bits that a segment takes in its chunk's table, that it takes there for each plane, and that a search needs to begin anew.
const SUM_BITS: f64 = 32.0;
const POINT_BITS: f64 = 11.0;
const RESTART_BITS: f64 = 12.0;
/// Chunks of fewer bits a byte are decoded about as fast as bytes are copied.
const LITTLE: f64 = 0.1;
/// The level's own effort is not tried on planes with less than this part of a chunk's bits.
const MINOR: f64 = 0.02;
/// Where it leaves less than this part of what a faster one leaves, more than this part of what a plane has on average, and at most these
/// bits a byte, zlib's search is tried, too.
const GAINS: f64 = 0.95;
const MAJOR: f64 = 0.5;
const REPEATS: f64 = 2.0;

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

impl Plan {
    /// The number of planes.
    pub(super) fn planes(&self) -> usize {
        self.treatments.len()
    }

    /// The treatment of a plane of `len` bytes.
    pub(super) fn treatment(&self, plane: usize, len: usize) -> Treatment {
        match plane < 64 && self.echoes >> plane & 1 == 1 {
            true => Treatment::Code(Effort::Echo { distance: len }),
            false => self.treatments[plane],
        }
    }

    /// Whether long runs are coded with a few more bits, which decode faster.
    pub(super) fn stretches_runs(&self) -> bool {
        self.stretch
    }

    /// The plan for short or very regular bytes in one plane.
    pub(super) fn patient(level: u32) -> Plan {
        Plan::new(vec![Treatment::Code(patient(level))])
    }

    /// The plan for bytes in one plane whose codes are worth more than their repeats.
    pub(super) fn runs() -> Plan {
        Plan::new(vec![Treatment::Code(Effort::Runs)])
    }

    fn new(treatments: Vec<Treatment>) -> Plan {
        Plan { treatments, parses: Vec::new(), stretch: false, echoes: 0, bits: 0.0 }
    }

    /// The result of a plane's treatment, if it is known; it can be taken once.
    pub(super) fn take_parse(&mut self, plane: usize) -> Option<Parse> {
        self.parses.get_mut(plane)?.take()
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
                plan.echoes |= u64::from(repeats(plane(p - 1), plane(p))) << p;
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
            let constant = |j: &Judged| j.is_constant();
            let treatment = |j| Treatment::Code(if constant(j) { Effort::Runs } else { patient(level) });
            return Plan { bits, ..Plan::new(judged.iter().map(treatment).collect()) };
        }
        if level > 1 {
            for (p, j) in judged.iter_mut().enumerate() {
                // Planes with few bits are not worth the time.
                if !j.settled && j.best() > total * MINOR {
                    let before = j.best();
                    j.options.push(sampler.choice(plane(p), thorough(level), j.known, level));
                    let is_major = j.best() * planes as f64 > total * MAJOR;
                    if is_major && j.best() < (GAINS * before).min(REPEATS) {
                        j.options.push(sampler.choice(plane(p), like_zlib(level), j.known, level));
                    }
                }
            }
        }
        let chosen = choose(&judged, level);
        let treatments = chosen.iter().zip(&judged).map(|(&o, j)| j.options[o].treatment).collect();
        let bits = chosen.iter().zip(&judged).map(|(&o, j)| j.options[o].bits).sum::<f64>() * n as f64;
        let stretch = total > STRETCH * planes as f64;
        let last = |(p, (j, o)): (usize, (Judged, usize))| {
            let mut parse = j.last.filter(|_| o + 1 == j.options.len())?;
            if stretch {
                parse.stretch_runs(plane(p));
            }
            Some(parse)
        };
        let parses = judged.into_iter().zip(chosen).enumerate().map(last).collect();
        Plan { parses, stretch, bits, ..Plan::new(treatments) }
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
        let has_planes = bytes.len().is_multiple_of(planes) && self.echoes == 0;
        let is_copied = self.bits < LITTLE * bytes.len() as f64;
        if !has_planes || is_copied || !Segments::Auto.may_cut(bytes.len()) {
            return None;
        }
        let mut sampler = Sampler { matcher, sequences };
        let most = self.bits * SEGMENTS;
        let coded = self.treatments.iter().filter(|t| **t != Treatment::Store).count() as f64;
        let each = SUM_BITS + POINT_BITS * planes as f64 + RESTART_BITS * coded;
        // Planes with matches, and the bits that each loses.
        let mut losses: Vec<(&[u8], Effort, f64)> = (self.treatments.iter().enumerate())
            .filter_map(|(p, treatment)| match treatment {
                Treatment::Code(Effort::Runs) | Treatment::Store => None,
                Treatment::Code(effort) => Some((&bytes[p * n..(p + 1) * n], *effort, f64::MAX)),
            })
            .collect();
        let mut little = 0.0;
        // A table of more segments takes longer to read, and longer segments to decode.
        let mut segment = (2 * n.isqrt()).next_power_of_two().max(SHORTEST_SEGMENT);
        while n.div_ceil(segment) >= FEWEST {
            // Even the fewest segments would lose too much.
            let too_much = most * (n as f64 / (segment * FEWEST) as f64).powf(FEWER);
            // Planes that lose little are not searched again: longer segments lose no more.
            let mut lost = losses.iter().map(|(.., lost)| *lost).filter(|lost| *lost <= little).sum::<f64>();
            for (plane, effort, lost_here) in losses.iter_mut().filter(|(.., lost)| *lost > little) {
                let per_byte = [most, too_much].map(|bits| bits / n as f64);
                *lost_here = sampler.lost(plane, *effort, segment, per_byte) * n as f64;
                lost += *lost_here;
                if lost > too_much {
                    return None;
                }
            }
            little = lost * LITTLE_LOST;
            // Matches that are lost are hardly more in longer segments; what each segment takes is known.
            let enough = (each * n as f64 / (most - lost).max(1.0)) as usize;
            if lost < most && n.div_ceil(enough.max(segment)) >= FEWEST {
                return Some(enough.max(segment).next_power_of_two());
            }
            segment *= ((lost / most) as usize).clamp(2, 32).next_power_of_two();
            if Sampler::lost_costs(n, segment) > n / 3 {
                return None;
            }
        }
        None
    }

    /// Makes it a plan for segments: nothing that was found reaches over their begins.
    pub(super) fn for_segments(&mut self) {
        self.parses.clear();
        self.echoes = 0;
    }
}

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

/// The number of equal bytes at the end of a plane.
fn last_run(plane: &[u8]) -> usize {
    let Some(last) = plane.last() else { return 0 };
    let is_same = |block: &&[u8]| block.iter().fold(0, |other, b| other | b ^ last) == 0;
    let blocks: usize = plane.rchunks(64).take_while(is_same).map(<[u8]>::len).sum();
    blocks + plane[..plane.len() - blocks].iter().rev().take_while(|b| *b == last).count()
}
