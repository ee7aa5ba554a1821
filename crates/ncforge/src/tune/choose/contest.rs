//! Choosing among shapes that are looked at more closely, where one coding does not stand for all of them.

use super::super::coding::Coding;
use super::super::cost::Grid;
use super::super::pattern::Pattern;
use super::super::search::nearest;
use super::{Choice, Problem, Request, SIZE_WEIGHT, Search};
use crate::error::{Error, Result};

/// Shapes that are looked at more closely, besides the best ones of single reads and those of whole rows; …
const CONTENDERS: usize = 12;
/// … so many times the best price they may have by the first look, …
const BEHIND: f64 = 2.5;
/// … and so unlike each other they must be.
const UNLIKE: f64 = 0.5;
/// Sizes of chunks of whole rows that are looked at more closely: encoders often do better with them than any first look tells.
const ROWS: [u64; 2] = [48 << 10, 192 << 10];
/// Shapes around the best one that are looked at next, and how unlike all others each must be.
pub(super) const NEAR: usize = 6;
pub(super) const UNLIKE_NEAR: f64 = 0.2;
/// So many times longer or shorter than the best one's are their lengths, and the product of all may stay the same.
const AROUND: [f64; 4] = [1.4, 1.0 / 1.4, 2.0, 0.5];

/// A shape that may be the best, and how chunks of just this shape are encoded.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Chunk lengths.
    pub chunks: Vec<u64>,
    /// Their coding, the same in every run.
    pub coding: Coding,
    /// The same with rates that were timed.
    pub timed: Coding,
}

/// A choice among shapes that are looked at more closely, one after the other, where `request.coding` is only roughly that
/// of all shapes.
///
/// First those of [`Contest::contenders`], then, as long as there are any, those of [`Contest::near`] it:
///
/// ```
/// use ncforge::tune::{Axis, Coding, Contender, Contest, Machine, Request, Role};
/// let axes = [Axis::new("time", 1560, Role::Time), Axis::new("lat", 128, Role::Y), Axis::new("lon", 256, Role::X)];
/// let machine = Machine::default();
/// let mut contest = Contest::new(Request::new(&axes, 4, Coding::deflate(1), &machine))?;
/// let mut shapes = contest.contenders();
/// for _ in 0..3 {
///     for chunks in shapes {
///         // Here a look at the data would say how chunks of this shape are coded.
///         contest.add(Contender { chunks, coding: Coding::deflate(1), timed: Coding::deflate(1) });
///     }
///     shapes = contest.near();
/// }
/// assert!(contest.choice()?.mean < 10.0);
/// # Ok::<(), ncforge::Error>(())
/// ```
pub struct Contest<'a> {
    request: Request<'a>,
    search: Search<'a>,
    known: Vec<Known>,
    /// The least cost of each read: by the first look, until the shape that was the best by it was looked at; and of the
    /// shapes that were.
    bests: Vec<(Option<f64>, f64)>,
    /// The least number of stored bytes.
    least: f64,
    /// How many were known when those near the best were last asked for.
    asked: Option<usize>,
}

/// A shape that was looked at.
struct Known {
    contender: Contender,
    /// By read.
    seconds: Vec<f64>,
    stored: f64,
}

impl<'a> Contest<'a> {
    /// Takes a first look.
    ///
    /// # Errors
    /// As [`choose()`](super::choose()).
    pub fn new(request: Request<'a>) -> Result<Self> {
        let search = Search::new(&request)?;
        let first = |(p, (alone, _)): (&Pattern, &(Vec<u64>, f64))| {
            let seconds = search.problem.grid(alone).read(p, request.machine).seconds;
            (Some(seconds), f64::INFINITY)
        };
        let bests = search.patterns.iter().zip(&search.alone).map(first).collect();
        Ok(Contest { request, search, known: Vec::new(), bests, least: f64::INFINITY, asked: None })
    }

    /// Shapes of which each may be the best: what [`choose()`](super::choose()) says first, then those that are best for one read alone,
    /// those of whole rows, and others that are not far behind, each unlike those before it. Between one and about
    /// thirty.
    pub fn contenders(&self) -> Vec<Vec<u64>> {
        let search = &self.search;
        let mut seen: Vec<&(Vec<u64>, f64)> = search.seen.iter().collect();
        seen.sort_by(|a, b| a.1.total_cmp(&b.1));
        let first = seen.first().map_or(f64::INFINITY, |s| s.1);
        let mut out = vec![search.chunks.clone()];
        for shape in search.alone.iter().map(|(c, _)| c.clone()).chain(search.problem.whole_rows()) {
            if !out.contains(&shape) {
                out.push(shape);
            }
        }
        let most = out.len() + CONTENDERS;
        for (chunks, price) in seen {
            if *price > first * BEHIND || out.len() == most {
                break;
            }
            if out.iter().all(|o| unlike(o, chunks) >= UNLIKE) {
                out.push(chunks.clone());
            }
        }
        out
    }

    /// Shapes around the best one of those that are known, which differ from it less than contenders do from each other; the
    /// most promising first, a few at most. None where those around it have been asked for before.
    pub fn near(&mut self) -> Vec<Vec<u64>> {
        let Some(best) = self.best().filter(|&best| self.asked.is_none_or(|known| best >= known)) else {
            return Vec::new();
        };
        self.asked = Some(self.known.len());
        let best = &self.known[best].contender;
        // As if they were coded as the best one is.
        let like = |chunks| self.price(&self.look(Contender { chunks, ..best.clone() }));
        let around = self.search.problem.around(&best.chunks);
        let mut around: Vec<(f64, Vec<u64>)> = around.into_iter().map(|c| (like(c.clone()), c)).collect();
        around.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut out: Vec<Vec<u64>> = Vec::new();
        for (_, chunks) in around {
            let mut others = self.known.iter().map(|k| &k.contender.chunks).chain(&out);
            if out.len() < NEAR && others.all(|o| unlike(o, &chunks) >= UNLIKE_NEAR) {
                out.push(chunks);
            }
        }
        out
    }

    /// Whether nothing was added yet.
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }

    /// What a look at one of the shapes said.
    pub fn add(&mut self, contender: Contender) {
        let known = self.look(contender);
        for ((seconds, (alone, _)), best) in known.seconds.iter().zip(&self.search.alone).zip(&mut self.bests)
        {
            best.0 = best.0.filter(|_| *alone != known.contender.chunks);
            best.1 = best.1.min(*seconds);
        }
        self.least = self.least.min(known.stored);
        self.known.push(known);
    }

    /// The best of those that were added, each priced with its own coding.
    ///
    /// # Errors
    /// [`Error::Invalid`] where there are none.
    pub fn choice(&self) -> Result<Choice> {
        let best =
            self.best().ok_or_else(|| Error::Invalid("there is no chunk shape to choose from".into()))?;
        let shapes: Vec<(&[u64], Coding)> =
            self.known.iter().map(|k| (&k.contender.chunks[..], k.contender.timed)).collect();
        Ok(self.search.tell(&self.request, &shapes, best))
    }

    fn best(&self) -> Option<usize> {
        let prices: Vec<f64> = self.known.iter().map(|k| self.price(k)).collect();
        (0..prices.len()).min_by(|&a, &b| prices[a].total_cmp(&prices[b]))
    }

    fn look(&self, contender: Contender) -> Known {
        let problem = &self.search.problem;
        let grid = Grid { coding: contender.coding, ..problem.grid(&contender.chunks) };
        let seconds =
            self.search.patterns.iter().map(|p| grid.read(p, self.request.machine).seconds).collect();
        let stored = problem.stored(&contender.chunks, &contender.coding);
        Known { contender, seconds, stored }
    }

    /// The weighted costs of the reads, each divided by its own best, with what stored bytes and small chunks count besides.
    fn price(&self, known: &Known) -> f64 {
        let patterns = self.search.patterns.iter().zip(&known.seconds).zip(&self.bests);
        let reads: f64 = patterns
            .map(|((p, seconds), best)| p.weight * seconds / best.0.map_or(best.1, |b| b.min(best.1)))
            .sum();
        let excess = known.stored / self.least.max(1.0) - 1.0;
        reads
            * (1.0 + SIZE_WEIGHT * excess.min(10.0) + self.search.problem.smallness(&known.contender.chunks))
    }
}

/// By what factor one shape must be stretched and squeezed to be the other, as a logarithm.
pub(super) fn unlike(a: &[u64], b: &[u64]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| (a as f64 / b as f64).ln().abs()).sum()
}

impl Problem<'_> {
    /// Shapes of whole rows of the fastest axes, of the sizes in [`ROWS`].
    fn whole_rows(&self) -> Vec<Vec<u64>> {
        let mut out = Vec::new();
        for bytes in ROWS {
            let mut shape = self.lens.clone();
            for (d, list) in self.lists.iter().enumerate() {
                let row = shape[d + 1..].iter().fold(self.element, |b, &n| b.saturating_mul(n));
                shape[d] = list[nearest(list, (bytes as f64 / row as f64).max(1.0))];
                if shape[d] > 1 {
                    break;
                }
            }
            if self.allowed(&shape) && self.volume(&shape) >= self.bytes.0 && !out.contains(&shape) {
                out.push(shape);
            }
        }
        out
    }

    /// Shapes that are longer or shorter along one axis, or longer along one and shorter along another.
    fn around(&self, chunks: &[u64]) -> Vec<Vec<u64>> {
        let mut out = Vec::new();
        let moved = |d: usize, factor: f64| {
            let list = &self.lists[d];
            list[nearest(list, (chunks[d] as f64 * factor).max(1.0))]
        };
        for factor in AROUND {
            for d in 0..chunks.len() {
                let mut one = chunks.to_vec();
                one[d] = moved(d, factor);
                for e in (0..chunks.len()).filter(|&e| e != d) {
                    let mut two = one.clone();
                    two[e] = moved(e, 1.0 / factor);
                    out.push(two);
                }
                out.push(one);
            }
        }
        out.sort_unstable();
        out.dedup();
        out.retain(|c| c != chunks && self.allowed(c) && self.volume(c) >= self.bytes.0);
        out
    }
}
