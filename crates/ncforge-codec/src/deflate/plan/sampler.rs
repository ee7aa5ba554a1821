//! Estimates of what the treatments of a plane give, from samples of it.

use crate::deflate::block::{Counts, Sequence, entropy};
use crate::deflate::cost::Cost;
use crate::deflate::efforts::{like_zlib, thorough, tolerance};
use crate::deflate::matcher::{Effort, Matcher, Range, stretch};
use crate::deflate::symbols::WINDOW;

/// Samples of a plane; one fewer in planes up to the second length, and two fewer where the whole window before each matters: entering
/// these bytes takes as long as coding a part of the plane.
const SAMPLES: usize = 4;
const MEDIUM: usize = 64 << 10;
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
/// A plane that takes more bits a byte has few repeats.
const FEW: f64 = 7.0;
/// A short plane that takes at most this many bits a byte as runs is not searched further.
const REGULAR: f64 = 0.06;
/// A plane that takes at most this many bits a byte as runs is one value, or nearly.
const CONSTANT: f64 = 0.02;
/// A short plane is searched further at low levels if the last position of three bytes leaves less than this part of it.
const DEEPER: f64 = 0.9;
/// Bytes of a short plane in which strings of three are searched.
const SEARCHED: usize = 2 << 10;
/// As many bytes of a longer plane, of which three may also repeat by chance.
const COUNTED: usize = 4 << 10;
/// Repeats of three bytes are not tried if those of four leave less than this part of a plane.
const SUFFICES: f64 = 0.65;
/// A loss from few segments that is up to this many times too much is estimated from twice as many.
const HARDLY: f64 = 1.5;
/// An estimate from a part of a plane may be wrong by about this factor.
const PROMISE: f32 = 1.01;

/// Planes up to this length are tried as a whole, without samples.
pub(super) const SMALL: usize = 8 << 10;

/// The treatment of a plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::deflate) enum Treatment {
    /// Segments that are random are stored.
    Store,
    Code(Effort),
}

/// The sequences of a plane on which a treatment was tried as a whole, so that it need not be searched again.
pub(in crate::deflate) struct Parse {
    pub(in crate::deflate) effort: Effort,
    pub(in crate::deflate) sequences: Vec<Sequence>,
    pub(in crate::deflate) counts: Counts,
}

impl Parse {
    /// Codes long runs for fast decoding.
    pub(super) fn stretch_runs(&mut self, plane: &[u8]) {
        if stretch(plane, 0, &mut self.sequences) {
            self.counts = Counts::of(plane, &self.sequences);
        }
    }

    /// What it costs, of a plane of `len` bytes.
    fn choice(&self, len: usize, level: u32) -> Choice {
        let literals = self.sequences.iter().map(|s| s.literals as usize).sum::<usize>();
        let cost =
            Cost::of(self.effort, self.sequences.len() as f64 / len as f64, literals as f64 / len as f64);
        Choice {
            treatment: Treatment::Code(self.effort),
            bits: self.bits() / len as f64,
            time: cost.total(level),
        }
    }

    /// An estimate of the bits that it takes as a block.
    pub(super) fn bits(&self) -> f64 {
        f64::from(self.counts.bits() + self.counts.header_bits())
    }
}

/// The predicted result of a treatment of a plane.
#[derive(Clone, Copy)]
pub(super) struct Choice {
    pub(super) treatment: Treatment,
    /// Bits a byte.
    pub(super) bits: f64,
    /// Nanoseconds a byte, as [`Cost::total`] weighs them.
    pub(super) time: f64,
}

/// A plane and its possible treatments.
pub(super) struct Judged {
    pub(super) options: Vec<Choice>,
    /// The number of bytes before a sample in which its repeats may be.
    pub(super) known: usize,
    /// Whether a deeper search gains nothing.
    pub(super) settled: bool,
    /// What the last option gives, where it was tried on the whole plane.
    pub(super) last: Option<Parse>,
}

impl Judged {
    /// The fewest bits a byte.
    pub(super) fn best(&self) -> f64 {
        self.options.iter().fold(f64::MAX, |best, o| best.min(o.bits))
    }

    /// Whether the plane is one value, or nearly.
    pub(super) fn is_constant(&self) -> bool {
        self.options.len() == 1 && self.best() <= CONSTANT
    }
}

/// What segments of a plane lose, of which none looks into another, from a few of them.
struct Alone {
    begins: Vec<usize>,
    /// What the plane has for each of these segments.
    share: f64,
    /// Bits a byte of the plane.
    lost: f64,
}

/// Tries treatments on samples of planes, or on planes.
pub(super) struct Sampler<'a> {
    pub(super) matcher: &'a mut Matcher,
    pub(super) sequences: &'a mut Vec<Sequence>,
}

impl Sampler<'_> {
    /// A plane with the fast treatments.
    pub(super) fn quick(&mut self, plane: &[u8], level: u32) -> Judged {
        let pairs = Effort::Pairs { lazy: false };
        let len = sample_len(plane);
        let runs = self.choice(plane, Effort::Runs, 0, level);
        // Samples miss where a plane changes.
        if runs.bits <= CONSTANT
            && f64::from(self.counts(plane, Effort::Runs, 0).bits()) <= CONSTANT * plane.len() as f64
        {
            return Judged { options: vec![runs], known: 0, settled: true, last: None };
        }
        let mut threes = repeat_often(plane);
        let store = Choice { treatment: Treatment::Store, bits: 8.003, time: Cost::STORED.total(level) };
        if runs.bits > 7.97 && !threes && !far_repeats(plane) {
            return Judged { options: vec![store], known: 0, settled: true, last: None };
        }
        // Few bytes repeat, anywhere in the window: to enter it for samples takes as long as a search of all.
        if level == 1 && runs.bits > FEW && plane.len() <= MEDIUM && !far_repeats(plane) {
            let mut options = vec![store, runs];
            let last = self.promises(plane).then(|| self.whole(plane, Effort::Short));
            options.extend(last.as_ref().map(|parse| parse.choice(plane.len(), level)));
            return Judged { options, known: WINDOW, settled: true, last };
        }
        let mut known = (4 * len).min(KNOWN);
        let mut found = self.choice(plane, pairs, known, level);
        let mut options = vec![store, runs];
        // Where few bytes repeat, they may be anywhere in the window; where most do and would be random without, the longest repeat may be.
        let few = runs.bits.min(found.bits) > FEW;
        let mostly = || runs.bits > FEW / 2.0 && found.bits < runs.bits / 2.0 && far_repeats(plane);
        if few || level > 3 && mostly() {
            known = WINDOW;
            found = self.choice(plane, pairs, known, level);
        }
        // Repeats of four bytes may suffice.
        threes &= found.bits > FEW.min(SUFFICES * runs.bits);
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
        if level > 1 && found.bits < runs.bits {
            options.push(self.choice(plane, Effort::Fours, known, level));
        }
        // If most bytes are literals and two positions find almost nothing, more positions do not find more.
        let settled = !threes && runs.bits > 2.5 && runs.bits < FEW && found.bits > 0.985 * runs.bits;
        Judged { options, known, settled, last: None }
    }

    /// The treatment of a short plane, each tried on all of it: the smallest, or a faster one that is nearly as small.
    pub(super) fn small(&mut self, plane: &[u8], level: u32) -> (Treatment, Option<Parse>) {
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
        if bits > 7.97 * n && repeats_within(varied(plane, searched)) < 0.002 && !far_repeats(plane) {
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
            ..3 => Effort::Pairs { lazy: false },
            _ => thorough(level),
        };
        let found = (quick, self.whole(plane, quick));
        let some = found.1.bits();
        let mut best = if some < bits { Some(found) } else { None };
        let mut least = bits.min(some);
        // Repeats of three bytes are for planes that repeat in many short pieces; at the low levels, more positions than the
        // last are tried only if that one makes a difference.
        if threes && (level >= 3 || some < DEEPER * bits) {
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
        Parse { effort, sequences: self.sequences.clone(), counts }
    }

    /// The symbols for `bytes` from `from` on; the bytes before are entered into the tables.
    fn counts(&mut self, bytes: &[u8], effort: Effort, from: usize) -> Counts {
        if effort != Effort::Runs {
            self.matcher.begin(bytes.len());
            self.matcher.prime(bytes, effort, from);
        }
        self.sequences.clear();
        let range = Range { from, stop: bytes.len(), end: bytes.len() };
        self.matcher.find(bytes, effort, range, self.sequences);
        Counts::of(&bytes[from..], self.sequences)
    }

    /// Bits per byte of samples of a plane with this effort; `known` bytes before each are entered into the tables.
    pub(super) fn bits(&mut self, plane: &[u8], effort: Effort, known: usize) -> f64 {
        self.sample(plane, effort, known).0
    }

    /// As [`Sampler::bits`], with the time.
    pub(super) fn choice(&mut self, plane: &[u8], effort: Effort, known: usize, level: u32) -> Choice {
        let (bits, cost) = self.sample(plane, effort, known);
        // Matches are fewer and longer if the whole window is in the tables.
        let rest = if effort == Effort::Runs || known == WINDOW { 1.0 } else { UNKNOWN };
        Choice { treatment: Treatment::Code(effort), bits, time: cost.total(level) * rest }
    }

    /// Bytes of a plane whose search takes as long as one sample of [`Self::lost`]: to enter a position in the tables takes a quarter of
    /// the time of a search.
    pub(super) fn lost_costs(plane: usize, segment: usize) -> usize {
        Self::lost_known(plane) / 4 + 2 * segment
    }

    fn lost_known(plane: usize) -> usize {
        WINDOW.min(plane / 4)
    }

    /// Bits a byte that a plane takes more if no match reaches out of its segment: some segments alone, and with what is before them;
    /// and the long repeats, which few segments may lose, that are lost more often in the whole plane than in these, unless these alone lose
    /// more than `most`. A loss that is hardly `too_much` is looked at again.
    pub(super) fn lost(
        &mut self,
        plane: &[u8],
        effort: Effort,
        segment: usize,
        [most, too_much]: [f64; 2],
    ) -> f64 {
        let samples = (plane.len() / 8 / Self::lost_costs(plane.len(), segment)).clamp(1, SAMPLES);
        let mut alone = self.alone(plane, effort, segment, samples);
        if alone.lost > too_much && alone.lost < HARDLY * too_much && samples < SAMPLES {
            // A few may be the wrong ones.
            alone = self.alone(plane, effort, segment, 2 * samples);
        }
        let Alone { begins, share, lost } = alone;
        if lost > most {
            return lost;
        }
        // One of 64 pairs, and none in a run.
        let anchors = |one: u8, two: u8| one != two && (one ^ two << 2) & 63 == 0;
        let (mut all, mut among) = (0.0, 0.0);
        let repeats = Repeats::of(plane, anchors, |at, before| {
            let begin = at / segment * segment;
            if before < begin {
                all += 1.0;
                among += f64::from(u8::from(begins.contains(&begin)));
            }
        });
        // More than what few segments may have fewer of by chance.
        let missed = all - (among + f64::sqrt(among)) * share;
        let missed = if missed > 0.0 { missed / repeats.seen as f64 } else { return lost };
        lost + missed * self.bits(plane, Effort::Runs, 0)
    }

    /// Some segments alone, and with what is before them.
    fn alone(&mut self, plane: &[u8], effort: Effort, segment: usize, samples: usize) -> Alone {
        let known = Self::lost_known(plane.len());
        // Runs lose nothing: only segments count that have values.
        let varied: Vec<usize> = plane.chunks_exact(segment).map(differing).collect();
        let some = varied.iter().sum::<usize>() / varied.len().max(1) / 4;
        let valued: Vec<usize> = (0..varied.len()).filter(|at| varied[*at] > some).collect();
        let mut begins: Vec<usize> = (1..=samples)
            .filter_map(|i| valued.get(i * valued.len().saturating_sub(1) / (samples + 1)))
            .map(|at| at * segment)
            .collect();
        begins.dedup();
        let share = valued.len() as f64 / begins.len().max(1) as f64;
        let (mut alone, mut after) = (Counts::none(), Counts::none());
        for &from in &begins {
            let (first, to) = (from - known.min(from), from + segment);
            after.add(&self.counts(&plane[first..to], effort, from - first));
            alone.add(&self.counts(&plane[from..to], effort, 0));
        }
        // Segments that take less alone do so by chance.
        let more = f64::from((alone.bits() - after.bits()).max(0.0));
        Alone { begins, share, lost: more * share / plane.len() as f64 }
    }

    fn sample(&mut self, plane: &[u8], effort: Effort, known: usize) -> (f64, Cost) {
        let len = sample_len(plane);
        let fewer = if known >= WINDOW { 2 } else { usize::from(plane.len() <= MEDIUM) };
        let samples = SAMPLES - fewer;
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

fn sample_len(plane: &[u8]) -> usize {
    (plane.len() / PART).clamp(SHORTEST, LONGEST)
}

/// Whether strings of eight bytes repeat within the window, anywhere in a plane.
fn far_repeats(plane: &[u8]) -> bool {
    let Some(&anchor) = plane.get(plane.len() / 2) else { return false };
    // One string of 256 in random bytes; four in a short plane, where these would be too few to tell.
    let compared = if plane.len() <= SMALL { 63 } else { 255 };
    let repeats = Repeats::of(plane, |byte, _| (byte ^ anchor) & compared == 0, |_, _| ());
    repeats.again * 64 > repeats.seen
}

/// Strings of eight bytes, some from all of a plane.
#[derive(Default)]
struct Repeats {
    seen: usize,
    /// Those that were seen before, in the window.
    again: usize,
}

impl Repeats {
    /// Looks at the strings whose first two bytes are `anchors`, so that both positions of a repeat are seen, and tells `repeated` these:
    /// the later one first.
    fn of(plane: &[u8], anchors: impl Fn(u8, u8) -> bool, mut repeated: impl FnMut(usize, usize)) -> Repeats {
        let mut repeats = Repeats::default();
        let mut places = [0u32; 1 << 10];
        for (b, (block, next)) in plane.chunks(32).zip(plane[1..].chunks(32)).enumerate() {
            let pairs = || block.iter().zip(next).map(|(&one, &two)| anchors(one, two));
            if pairs().map(u8::from).sum::<u8>() == 0 {
                continue;
            }
            for (i, _) in pairs().enumerate().filter(|(_, is_anchor)| *is_anchor) {
                let at = b * 32 + i;
                let Some(&eight) = plane[at..].first_chunk::<8>() else { break };
                let eight = u64::from_le_bytes(eight);
                let place = &mut places[(eight.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 54) as usize];
                repeats.seen += 1;
                if let Some(before) = (*place as usize).checked_sub(1)
                    && at - before <= WINDOW
                    && plane[before..before + 8] == eight.to_le_bytes()
                {
                    repeats.again += 1;
                    repeated(at, before);
                }
                *place = at as u32 + 1;
            }
        }
        repeats
    }
}

/// Whether strings of three bytes repeat more often than in random bytes of the same frequencies.
fn repeat_often(plane: &[u8]) -> bool {
    let sample = varied(plane, COUNTED);
    let mut counts = [0; 256];
    sample.iter().for_each(|b| counts[usize::from(*b)] += 1);
    let n = sample.len().max(1) as f64;
    let bits = f64::from(entropy(&counts)) / n;
    let by_chance = 1.0 - (-n / 2.0 / (bits * 3.0).exp2()).exp();
    repeats_within(sample) > 0.002 + 1.5 * by_chance
}

/// The part of the strings of three bytes that repeat within a sample, except for runs.
pub(super) fn repeats_of_three(plane: &[u8]) -> f64 {
    repeats_within(varied(plane, if plane.len() <= SMALL { SEARCHED } else { COUNTED }))
}

/// The part of at most `len` bytes, of some, in which fewest bytes are equal to the next: where a field has no values, there is nothing to
/// learn of the others.
fn varied(plane: &[u8], len: usize) -> &[u8] {
    let len = len.min(plane.len()).min(COUNTED);
    let between = (plane.len() - len) / 8;
    // Parts that hardly overlap; the middle is taken if others are equal to it.
    let parts: &[usize] = if between < len { &[7, 1, 4] } else { &[5, 3, 6, 2, 7, 1, 4] };
    let parts = parts.iter().map(|eighth| &plane[between * eighth..][..len]);
    parts.max_by_key(|part| differing(part)).unwrap_or(plane)
}

/// The number of bytes that differ from the next.
fn differing(bytes: &[u8]) -> usize {
    let Some(next) = bytes.get(1..) else { return 0 };
    // Sums of bytes, many in one instruction.
    let some = |(ones, nexts): (&[u8], &[u8])| {
        ones.iter().zip(nexts).fold(0u8, |sum, (one, next)| sum + u8::from(one != next))
    };
    bytes.chunks(128).zip(next.chunks(128)).map(some).map(usize::from).sum()
}

/// The part of the strings of three bytes of a sample, up to 4096, that repeat in it, except for runs.
fn repeats_within(sample: &[u8]) -> f64 {
    let mut places = [0u16; 1 << 12];
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
