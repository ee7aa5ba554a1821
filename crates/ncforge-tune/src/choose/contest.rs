//! Choosing among shapes that are sampled more closely, where one coding does not stand for all of them.

use std::collections::VecDeque;

use super::super::coding::Coding;
use super::super::cost::Grid;
use super::super::pattern::Pattern;
use super::super::search::{nearest, unlike};
use super::problem::{Problem, SIZE_WEIGHT};
use super::request::Request;
use super::{Choice, Search};
use ncforge::model::shape;
use ncforge::{Error, Result};

/// Shapes that are sampled roughly first, besides the best ones of single reads and those of whole rows; …
const CONTENDERS: usize = 12;
/// … this many times the best price they may have by the first sample, …
const BEHIND: f64 = 2.5;
/// … and so unlike each other they must be.
const UNLIKE: f64 = 0.5;
/// Sizes of chunks of whole rows that are sampled, by the least size: encoders often do better with them than any first sample shows.
const ROWS: [f64; 2] = [1.5, 3.0];
/// Shapes around the best one that are sampled next, and how unlike all others each must be.
pub(super) const NEAR: usize = 6;
pub(super) const UNLIKE_NEAR: f64 = 0.2;
/// Factors of the lengths of shapes around the best one; the product of all lengths may stay the same.
const AROUND: [f64; 4] = [1.4, 1.0 / 1.4, 2.0, 0.5];
/// The number of times that shapes around the best one are sampled.
const ROUNDS_AROUND: usize = 2;
/// The number of shapes that are sampled closely, at most.
const CLOSELY: usize = 10;

/// The amount of data in a sample of a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Depth {
    /// A few small parts: enough to leave out what is far from the best.
    Rough,
    /// Several times as much: enough to distinguish the best from its neighbours.
    Close,
}

/// A shape that may be the best, and how chunks of just this shape are encoded.
#[derive(Clone, Debug)]
pub struct Contender {
    /// Chunk lengths.
    pub chunks: Vec<u64>,
    /// Their coding, the same in every run.
    pub coding: Coding,
    /// The coding with rates that were timed.
    pub timed: Coding,
}

/// A choice among shapes that are sampled more closely, one after the other, where `request.coding` is only roughly that
/// of all shapes.
///
/// [`Contest::next_sample`] says what to sample next. First come shapes all over the lattice, roughly. Then the best of
/// them is sampled closely, as often as another one becomes the best by that: the one that seems best after rough samples
/// is often just the luckiest. Shapes around it follow in the same way.
///
/// ```
/// use ncforge::codec::filters::{deflate, shuffle};
/// use ncforge_tune::{Axis, Coding, Contender, Contest, Machine, Request, Role};
/// let axes = [Axis::new("time", 1560, Role::Time), Axis::new("lat", 128, Role::Y), Axis::new("lon", 256, Role::X)];
/// let machine = Machine::default();
/// let coding = Coding::written(&[shuffle(4), deflate(1)]);
/// let mut contest = Contest::new(Request::new(&axes, 4, coding, &machine))?;
/// while let Some((chunks, _depth)) = contest.next_sample() {
///     // Here a sample of the data would say how chunks of this shape are coded.
///     contest.add(Contender { chunks, coding, timed: coding });
/// }
/// assert!(contest.choice()?.mean < 10.0);
/// # Ok::<(), ncforge::Error>(())
/// ```
pub struct Contest<'a> {
    request: Request<'a>,
    search: Search<'a>,
    known: Vec<Known>,
    /// The cost of each read with the shape that is the best for it alone, by the first sample.
    first: Vec<f64>,
    /// Shapes that come next, for a rough sample.
    queue: VecDeque<Vec<u64>>,
    /// Shapes that were named for a close sample (which may have said nothing).
    close: Vec<Vec<u64>>,
    /// The shapes around which others were named.
    centres: Vec<Vec<u64>>,
}

/// A shape that was sampled.
struct Known {
    contender: Contender,
    /// Seconds of each read.
    seconds: Vec<f64>,
    stored: f64,
    /// Whether that was a close sample.
    close: bool,
}

/// The least cost of each read, and the least number of stored bytes.
struct Least {
    seconds: Vec<f64>,
    stored: f64,
}

impl<'a> Contest<'a> {
    /// Takes a first sample.
    ///
    /// # Errors
    /// As [`choose()`](super::choose()).
    pub fn new(request: Request<'a>) -> Result<Self> {
        let search = Search::new(&request)?;
        let first = |(p, (alone, _)): (&Pattern, &(Vec<u64>, f64))| {
            search.problem.grid(alone).read(p, request.machine).seconds
        };
        let first = search.patterns.iter().zip(&search.alone).map(first).collect();
        let queue = contenders(&search).into();
        Ok(Contest {
            request,
            search,
            known: Vec::new(),
            first,
            queue,
            close: Vec::new(),
            centres: Vec::new(),
        })
    }

    /// The shape to sample next, and how closely. None where the choice is made.
    ///
    /// First what [`choose()`](super::choose()) says, those that are best for one read alone, those of whole rows, and others
    /// that are not far behind, each unlike those before it: between one and about thirty. Results of samples are given to
    /// [`Contest::add`]; where there is none, the next shape can be asked for all the same.
    pub fn next_sample(&mut self) -> Option<(Vec<u64>, Depth)> {
        loop {
            if let Some(chunks) = self.queue.pop_front() {
                return Some((chunks, Depth::Rough));
            }
            let best = self.known[self.best()?].contender.clone();
            if !self.close.contains(&best.chunks) {
                if self.close.len() == CLOSELY {
                    return None;
                }
                self.close.push(best.chunks.clone());
                return Some((best.chunks, Depth::Close));
            }
            if self.centres.len() == ROUNDS_AROUND || self.centres.contains(&best.chunks) {
                return None;
            }
            self.queue = self.near(&best).into();
            self.centres.push(best.chunks);
        }
    }

    /// Shapes around one, which differ from it less than contenders do from each other; the most promising first, a few at
    /// most.
    fn near(&self, best: &Contender) -> Vec<Vec<u64>> {
        let least = self.least();
        // As if they were coded as the best one is.
        let like = |chunks| self.price(&self.priced(Contender { chunks, ..best.clone() }), &least);
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

    /// Whether this shape was added.
    pub fn knows(&self, chunks: &[u64]) -> bool {
        self.known.iter().any(|k| k.contender.chunks == chunks)
    }

    /// Adds a sample of a shape, in place of an earlier one.
    pub fn add(&mut self, contender: Contender) {
        let close = self.close.contains(&contender.chunks);
        let known = Known { close, ..self.priced(contender) };
        match self.known.iter_mut().find(|k| k.contender.chunks == known.contender.chunks) {
            Some(before) => *before = known,
            None => self.known.push(known),
        }
    }

    /// The best of those that were added, each priced with its own coding; of those that were sampled closely, where there
    /// are any.
    ///
    /// # Errors
    /// [`Error::Invalid`] where there are none.
    pub fn choice(&self) -> Result<Choice> {
        let best = self.best_of(|k| k.close).or_else(|| self.best());
        let best = best.ok_or_else(|| Error::Invalid("there is no chunk shape to choose from".into()))?;
        let shapes: Vec<(&[u64], Coding)> =
            self.known.iter().map(|k| (&k.contender.chunks[..], k.contender.timed)).collect();
        Ok(self.search.tell(&self.request, &shapes, best))
    }

    fn best(&self) -> Option<usize> {
        self.best_of(|_| true)
    }

    fn best_of(&self, counts: impl Fn(&Known) -> bool) -> Option<usize> {
        let least = self.least();
        let prices: Vec<f64> = self.known.iter().map(|k| self.price(k, &least)).collect();
        let those = (0..prices.len()).filter(|&i| counts(&self.known[i]));
        those.min_by(|&a, &b| prices[a].total_cmp(&prices[b]))
    }

    /// The least prices of the known shapes; of the first sample, as long as the shape that is the best by it is not known.
    fn least(&self) -> Least {
        let seconds =
            self.first.iter().zip(&self.search.alone).enumerate().map(|(i, (&first, (alone, _)))| {
                let known = self.known.iter().map(|k| k.seconds[i]).fold(f64::INFINITY, f64::min);
                match self.known.iter().any(|k| k.contender.chunks == *alone) {
                    true => known,
                    false => known.min(first),
                }
            });
        // The fewest bytes after a rough sample are often those of the parts that compress by chance.
        let any_close = self.known.iter().any(|k| k.close);
        let stored = self.known.iter().filter(|k| k.close || !any_close).map(|k| k.stored);
        Least { seconds: seconds.collect(), stored: stored.fold(f64::INFINITY, f64::min) }
    }

    fn priced(&self, contender: Contender) -> Known {
        let problem = &self.search.problem;
        let grid = Grid { coding: contender.coding, ..problem.grid(&contender.chunks) };
        let seconds =
            self.search.patterns.iter().map(|p| grid.read(p, self.request.machine).seconds).collect();
        let stored = problem.stored(&contender.chunks, &contender.coding);
        Known { contender, seconds, stored, close: false }
    }

    /// The weighted costs of the reads, each divided by its own best, with what stored bytes and small chunks count besides.
    fn price(&self, known: &Known, least: &Least) -> f64 {
        let patterns = self.search.patterns.iter().zip(&known.seconds).zip(&least.seconds);
        let reads: f64 = patterns.map(|((p, seconds), least)| p.weight * seconds / least).sum();
        let excess = (known.stored / least.stored.max(1.0) - 1.0).max(0.0);
        reads
            * (1.0 + SIZE_WEIGHT * excess.min(10.0) + self.search.problem.smallness(&known.contender.chunks))
    }
}

/// Shapes of which each may be the best: what the search found first.
fn contenders(search: &Search<'_>) -> Vec<Vec<u64>> {
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

impl Problem<'_> {
    /// Shapes of whole rows of the fastest axes, of the sizes in [`ROWS`].
    fn whole_rows(&self) -> Vec<Vec<u64>> {
        let mut out = Vec::new();
        for bytes in ROWS.map(|n| n * self.bytes.0 as f64) {
            let mut shape = self.lens.clone();
            for (d, list) in self.lists.iter().enumerate() {
                let row = shape::bytes(&shape[d + 1..], self.element);
                shape[d] = list[nearest(list, (bytes / row as f64).max(1.0))];
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
