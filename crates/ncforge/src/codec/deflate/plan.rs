//! What is done with each plane of a chunk, judged on samples.
//!
//! The level's own effort sets the size that may be reached; the plan is the fastest treatment of all planes
//! together whose size is at most a little larger. That little is of the *whole* chunk: where one plane is
//! random, the others may be treated faster than each alone could.

use super::block::{Counts, Sequence};
use super::matcher::{Effort, Matcher, Range};
use super::symbols::{MAX_MATCH, WINDOW};

/// Samples of a plane.
const SAMPLES: usize = 4;
/// Bytes of one sample: this part of the plane, within bounds.
const PART: usize = 128;
const SHORTEST: usize = 1 << 10;
const LONGEST: usize = 4 << 10;
/// So many bytes before a sample are known, at most, unless the whole window matters.
const KNOWN: usize = 8 << 10;
/// Planes up to this length are tried as a whole, without samples.
const SMALL: usize = 8 << 10;
/// Chunks below so many bits a byte are treated as the level says: small errors of samples would be large.
const TINY: f64 = 0.6;
/// The level's own effort is not tried on planes with less than this part of a chunk's bits.
const MINOR: f64 = 0.02;

/// What is done with a plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Treatment {
    /// Segments that are random are stored.
    Store,
    Code(Effort),
}

impl Treatment {
    /// About so many nanoseconds a byte.
    fn cost(self) -> f64 {
        match self {
            Treatment::Store => 0.2,
            Treatment::Code(Effort::Runs) => 1.5,
            Treatment::Code(Effort::Pairs { lazy: false }) => 5.5,
            Treatment::Code(Effort::Pairs { lazy: true }) => 8.0,
            Treatment::Code(Effort::Fours) => 7.0,
            Treatment::Code(Effort::Short) => 8.0,
            Treatment::Code(Effort::Chains { depth, .. }) => 8.0 + f64::from(depth) * 0.7,
        }
    }
}

/// The treatment of each plane.
pub(super) struct Plan {
    treatments: Vec<Treatment>,
    /// Bit p: plane p repeats plane p - 1.
    echoes: u64,
}

/// The most that a level spends on a plane.
fn thorough(level: u32) -> Effort {
    match level {
        1 => Effort::Pairs { lazy: false },
        2 => Effort::Chains { least: 4, depth: 4, nice: 16, lazy: false },
        3 => Effort::Chains { least: 4, depth: 6, nice: 32, lazy: false },
        4 => Effort::Chains { least: 4, depth: 8, nice: 32, lazy: true },
        5 => Effort::Chains { least: 4, depth: 16, nice: 64, lazy: true },
        6 => Effort::Chains { least: 4, depth: 40, nice: 128, lazy: true },
        7 => Effort::Chains { least: 4, depth: 128, nice: 128, lazy: true },
        8 => Effort::Chains { least: 4, depth: 512, nice: 258, lazy: true },
        _ => Effort::Chains { least: 4, depth: 4096, nice: 258, lazy: true },
    }
}

/// What a level spends on planes that are nearly all repeats: most of the time is spent elsewhere, and a search
/// that gives up early would miss the long ones.
fn patient(level: u32) -> Effort {
    match level {
        1..=3 => Effort::Chains { least: 3, depth: 24, nice: 32, lazy: false },
        4 => Effort::Chains { least: 3, depth: 24, nice: 64, lazy: true },
        5 => Effort::Chains { least: 3, depth: 40, nice: 128, lazy: true },
        6 => Effort::Chains { least: 3, depth: 128, nice: 128, lazy: true },
        _ => Effort::Chains { least: 3, depth: 1024, nice: 258, lazy: true },
    }
}

/// Searches as zlib does at a level: in chains of three bytes, its depth and its patience.
fn like_zlib(level: u32) -> Effort {
    match level {
        1 => Effort::Chains { least: 3, depth: 8, nice: 8, lazy: false },
        2 => Effort::Chains { least: 3, depth: 16, nice: 16, lazy: false },
        3 => Effort::Chains { least: 3, depth: 32, nice: 32, lazy: false },
        4 => Effort::Chains { least: 3, depth: 16, nice: 16, lazy: true },
        5 => Effort::Chains { least: 3, depth: 32, nice: 32, lazy: true },
        6 => Effort::Chains { least: 3, depth: 128, nice: 128, lazy: true },
        7 => Effort::Chains { least: 3, depth: 256, nice: 128, lazy: true },
        8 => Effort::Chains { least: 3, depth: 1024, nice: 258, lazy: true },
        _ => Effort::Chains { least: 3, depth: 4096, nice: 258, lazy: true },
    }
}

/// So much larger than the level's own effort the whole may become.
fn tolerance(level: u32) -> f64 {
    match level {
        1..=4 => 0.010,
        5 | 6 => 0.005,
        _ => 0.002,
    }
}

/// A plane and the bits a byte that each treatment takes.
struct Judged {
    options: Vec<(Treatment, f64)>,
    /// How many bytes before a sample its repeats may lie in.
    known: usize,
    /// Whether a deeper search cannot gain anything.
    settled: bool,
}

impl Judged {
    fn best(&self) -> f64 {
        self.options.iter().fold(f64::MAX, |best, o| best.min(o.1))
    }
}

impl Plan {
    /// What is done with each plane, in order.
    pub(super) fn treatments(&self) -> &[Treatment] {
        &self.treatments
    }

    /// The plan for short or very regular bytes in one plane.
    pub(super) fn patient(level: u32) -> Plan {
        Plan::new(vec![Treatment::Code(patient(level))])
    }

    fn new(treatments: Vec<Treatment>) -> Plan {
        Plan { treatments, echoes: 0 }
    }

    /// Whether a plane repeats the one before, whose places must then be known.
    pub(super) fn is_echo(&self, plane: usize) -> bool {
        plane < 64 && self.echoes >> plane & 1 == 1
    }

    /// The plan for bytes that are not in planes, where zlib's search is worth its time; else `None`.
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
        (threes < fours * 0.995).then(|| Plan::new(vec![Treatment::Code(like_zlib(level))]))
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
        let mut plan = Plan::new(Plan::apart(n, planes, plane, level, Sampler { matcher, sequences }));
        if n + MAX_MATCH < WINDOW {
            for p in 1..planes.min(64) {
                if repeats(plane(p - 1), plane(p)) {
                    plan.echoes |= 1 << p;
                    plan.treatments[p] = Treatment::Code(ECHO);
                }
            }
        }
        plan
    }

    /// The treatments of planes that have nothing to do with each other.
    fn apart<'a>(
        n: usize,
        planes: usize,
        plane: impl Fn(usize) -> &'a [u8],
        level: u32,
        mut sampler: Sampler,
    ) -> Vec<Treatment> {
        let own = Treatment::Code(thorough(level));
        if n <= SMALL {
            return (0..planes).map(|p| sampler.small(plane(p), level)).collect();
        }
        let mut judged: Vec<Judged> = (0..planes).map(|p| sampler.quick(plane(p), level)).collect();
        let total = judged.iter().map(Judged::best).sum::<f64>();
        if total < TINY * planes as f64 {
            return vec![Treatment::Code(patient(level)); planes];
        }
        if level > 1 {
            for (p, j) in judged.iter_mut().enumerate() {
                // Planes that hardly count are not worth the time.
                if !j.settled && j.best() > total * MINOR {
                    j.options.push((own, sampler.bits(plane(p), thorough(level), j.known)));
                }
            }
        }
        let plan = choose(&judged, level);
        plan.iter().zip(&judged).map(|(&o, j)| j.options[o].0).collect()
    }
}

/// For a plane that repeats the one before: deep enough to come as far back.
const ECHO: Effort = Effort::Chains { least: 4, depth: 64, nice: 258, lazy: true };

/// Whether one plane repeats another nearly everywhere, as the sign's planes of integers do.
fn repeats(one: &[u8], other: &[u8]) -> bool {
    let blocks = one.chunks(64).zip(other.chunks(64));
    let equal = blocks.step_by(7).map(|(a, b)| if a == b { 1 } else { -7i32 }).sum::<i32>();
    equal > 0
}

/// The option of each plane, such that all together are fast and within the budget, or the smallest.
fn choose(judged: &[Judged], level: u32) -> Vec<usize> {
    let mut plan: Vec<usize> = judged
        .iter()
        .map(|j| (0..j.options.len()).min_by(|&a, &b| j.options[a].1.total_cmp(&j.options[b].1)).unwrap_or(0))
        .collect();
    let mut room = judged.iter().map(Judged::best).sum::<f64>() * tolerance(level);
    loop {
        // The step that saves most time for its bits.
        let mut step: Option<(f64, usize, usize)> = None;
        for (p, j) in judged.iter().enumerate() {
            let (treatment, bits) = j.options[plan[p]];
            for (o, option) in j.options.iter().enumerate() {
                let (saved, more) = (treatment.cost() - option.0.cost(), option.1 - bits);
                if saved > 0.0 && more <= room.max(0.0) {
                    let worth = saved / more.max(1e-6);
                    if step.is_none_or(|s| s.0 < worth) {
                        step = Some((worth, p, o));
                    }
                }
            }
        }
        let Some((_, p, o)) = step else { return plan };
        room -= judged[p].options[o].1 - judged[p].options[plan[p]].1;
        plan[p] = o;
    }
}

struct Sampler<'a> {
    matcher: &'a mut Matcher,
    sequences: &'a mut Vec<Sequence>,
}

impl Sampler<'_> {
    /// A plane under the fast treatments.
    fn quick(&mut self, plane: &[u8], level: u32) -> Judged {
        let pairs = Effort::Pairs { lazy: false };
        let len = sample_len(plane);
        let runs = self.bits(plane, Effort::Runs, 0);
        // So many strings of three bytes would come again in bytes as frequent but without order.
        let by_chance = |bits: f64| 1.0 - (-2048.0 / (bits * 3.0).exp2()).exp();
        let often = |bits: f64| repeats_of_three(plane) > 0.002 + 1.5 * by_chance(bits);
        let store = (Treatment::Store, 8.003);
        if runs > 7.97 && !often(runs) && !far_repeats(plane) {
            return Judged { options: vec![store], known: 0, settled: true };
        }
        let mut known = (4 * len).min(KNOWN);
        let mut found = self.bits(plane, pairs, known);
        let mut options = vec![store];
        let mut threes = (level <= 3 || found < 7.0) && often(runs.min(found));
        if runs.min(found) > 7.0 {
            // Here few repeats matter, and they may lie anywhere in the window.
            known = WINDOW;
            found = self.bits(plane, pairs, known);
        } else if threes {
            // Repeats of four bytes may do as well.
            threes = found > 0.8 * runs;
        }
        if threes {
            for effort in [Effort::Short, like_zlib(level)] {
                options.push((Treatment::Code(effort), self.bits(plane, effort, known)));
            }
        }
        options.push((Treatment::Code(Effort::Runs), runs));
        options.push((Treatment::Code(pairs), found));
        if level > 1 && found < runs {
            options.push((Treatment::Code(Effort::Fours), self.bits(plane, Effort::Fours, known)));
        }
        // Where literals make up most and two places find next to nothing, more places do not find more.
        let settled = !threes && runs > 2.5 && runs < 7.0 && found > 0.985 * runs;
        Judged { options, known, settled }
    }

    /// The smallest treatment of a short plane, each tried on all of it.
    fn small(&mut self, plane: &[u8], level: u32) -> Treatment {
        let mut best = (Effort::Runs, f32::MAX);
        for effort in [Effort::Runs, thorough(level.max(4)), like_zlib(level)] {
            self.matcher.begin(plane.len());
            self.sequences.clear();
            let range = Range { from: 0, stop: plane.len(), end: plane.len() };
            self.matcher.find(plane, effort, range, self.sequences);
            let counts = Counts::of(plane, self.sequences);
            let bits = counts.bits() + counts.header_bits();
            if bits < best.1 {
                best = (effort, bits);
            }
        }
        Treatment::Code(best.0)
    }

    /// Bits a byte that samples of a plane take after this effort; so many bytes before each are known.
    fn bits(&mut self, plane: &[u8], effort: Effort, known: usize) -> f64 {
        let len = sample_len(plane);
        let samples = if known < WINDOW { SAMPLES } else { SAMPLES / 2 };
        let step = (plane.len() - len) / samples;
        let mut counts = Counts::none();
        for i in 1..=samples {
            let from = i * step;
            let first = from.saturating_sub(known);
            let part = &plane[first..from + len];
            let from = from - first;
            if effort != Effort::Runs {
                self.matcher.begin(part.len());
                self.matcher.prime(part, effort, 0, from);
            }
            self.sequences.clear();
            let range = Range { from, stop: part.len(), end: part.len() };
            self.matcher.find(part, effort, range, self.sequences);
            counts.add(&Counts::of(&part[from..], self.sequences));
        }
        f64::from(counts.bits() + counts.bias()) / (samples * len) as f64
    }
}

fn sample_len(plane: &[u8]) -> usize {
    (plane.len() / PART).clamp(SHORTEST, LONGEST)
}

/// Whether strings of eight bytes come again within the window, anywhere in a plane: looked at wherever one
/// byte value stands, which finds both places of every repeat that holds it.
fn far_repeats(plane: &[u8]) -> bool {
    let anchor = plane[plane.len() / 2];
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

/// The part of the strings of three bytes that come again within a sample, runs not counted.
fn repeats_of_three(plane: &[u8]) -> f64 {
    let mut places = [0u16; 1 << 12];
    let from = plane.len() / 2 - plane.len().min(4096) / 2;
    let sample = &plane[from..][..plane.len().min(4096)];
    let mut repeats = 0;
    for (i, w) in sample.windows(3).enumerate() {
        let three = u32::from_le_bytes([0, w[0], w[1], w[2]]);
        let place = &mut places[(three.wrapping_mul(0x9E37_79B1) >> 20) as usize];
        let before = *place as usize;
        let again = before > 0 && before < i && sample[before - 1..before + 2] == *w;
        repeats += usize::from(again);
        *place = i as u16 + 1;
    }
    repeats as f64 / sample.len().max(1) as f64
}
