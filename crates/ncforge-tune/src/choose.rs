//! From the description of an array and its reads to a chunk shape, with the reasons.

mod contest;
mod prices;
mod problem;
mod request;

use serde::Serialize;

use super::coding::Coding;
use super::cost::{Cost, Grid};
use super::keep::CacheAdvice;
use super::pattern::{Access, Kind, Pattern};
use crate::words::{self, many};
use ncforge::Result;

use self::prices::Prices;
use self::problem::Problem;
pub use contest::{Contender, Contest, Depth};
pub use request::{Limits, Request};

/// Weight of a small box where nobody asked for one: it decides between shapes that serve all else equally.
const BOX_WEIGHT: f64 = 0.03;

/// Shapes all over the array that are priced, at most.
const THOROUGH: usize = 8192;
/// A search that may price this many shapes goes down from the best of them, too, which prices some hundreds.
const DESCENT: usize = 1024;

/// The predicted cost of one kind of read.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Prediction {
    /// The read.
    pub pattern: Pattern,
    /// Its cost with the chosen chunks.
    pub chosen: Cost,
    /// Its cost with the best chunks for it alone …
    pub best: Cost,
    /// … which are these.
    pub best_chunks: Vec<u64>,
    /// Its cost as the array is stored now.
    pub before: Option<Cost>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Choice {
    /// Chunk lengths, one an axis, at least 1.
    pub chunks: Vec<u64>,
    /// Bytes of a chunk.
    pub bytes: u64,
    /// The predicted cost of every read.
    #[serde(rename = "told")]
    pub predictions: Vec<Prediction>,
    /// Weighted mean of the reads' costs, each divided by its own best.
    pub mean: f64,
    /// The cache that a reader needs for loops of these reads, so that no chunk is decoded twice. ncforge sees to that by itself.
    /// `None` where everything is read at once.
    pub cache: Option<CacheAdvice>,
    /// The choice in words, one sentence a line.
    pub reasons: Vec<String>,
}

/// Chooses the chunk lengths of an array.
///
/// # Errors
/// [`Error::Invalid`](ncforge::Error::Invalid) when the bounds cannot be met: an element larger than a chunk may be, or given lengths that
/// make one.
pub fn choose(request: &Request<'_>) -> Result<Choice> {
    let search = Search::new(request)?;
    let coding = request.timed.unwrap_or(request.coding);
    let shapes: Vec<(&[u64], Coding)> =
        search.alone.iter().map(|(c, _)| &c[..]).chain([&search.chunks[..]]).map(|c| (c, coding)).collect();
    Ok(search.tell(request, &shapes, shapes.len() - 1))
}

/// The result of the search.
struct Search<'a> {
    problem: Problem<'a>,
    /// The reads that were asked for, then those that decide between equals.
    patterns: Vec<Pattern>,
    asked: usize,
    /// The best lengths for each read alone, and their price.
    alone: Vec<(Vec<u64>, f64)>,
    /// The best lengths for all together.
    chunks: Vec<u64>,
    /// Lengths that were priced, and their prices for all together.
    seen: Vec<(Vec<u64>, f64)>,
}

impl<'a> Search<'a> {
    fn new(request: &Request<'a>) -> Result<Self> {
        let problem = Problem::new(request)?;
        let mut patterns = Pattern::bind(&request.accesses, &problem.axes);
        let asked = patterns.len();
        let corner =
            Access { kind: Kind::Box, weight: BOX_WEIGHT * patterns.iter().map(|p| p.weight).sum::<f64>() };
        let corners = Pattern::bind(&[corner], &problem.axes);
        let new = |b: &Pattern| patterns.iter().all(|p| p.counts != b.counts);
        let corners: Vec<Pattern> = corners.into_iter().filter(new).collect();
        patterns.extend(corners);
        let lattice = problem.lattice(request.shapes.min(THOROUGH));
        let goes_down = request.shapes >= DESCENT || lattice.is_empty();
        let mut prices = Prices::new(&problem, &patterns);
        let mut best = |mix: &[f64], starts: &[&[u64]]| prices.best(mix, &lattice, starts, goes_down);
        let one =
            |i: usize| -> Vec<f64> { (0..patterns.len()).map(|j| f64::from(u8::from(i == j))).collect() };
        let alone: Vec<(Vec<u64>, f64)> = (0..patterns.len()).map(|i| best(&one(i), &[])).collect();
        let mix = mixed(&patterns, alone.iter().map(|a| a.1));
        let starts: Vec<&[u64]> = alone.iter().map(|(c, _)| &c[..]).collect();
        let (chunks, _) = best(&mix, &starts);
        let seen = prices.known(&mix);
        Ok(Search { problem, patterns, asked, alone, chunks, seen })
    }

    /// The choice of one of `shapes` in words and numbers, with the best of them for each read.
    fn tell(&self, request: &Request<'_>, shapes: &[(&[u64], Coding)], chosen: usize) -> Choice {
        let problem = &self.problem;
        let chunks = shapes[chosen].0;
        let bytes = problem.volume(chunks);
        let cost = |(chunks, coding): (&[u64], Coding), read: &Pattern| {
            Grid { coding, ..problem.grid(chunks) }.read(read, request.machine)
        };
        let predictions: Vec<Prediction> = self.patterns[..self.asked]
            .iter()
            .map(|pattern| {
                // The search for a read alone minds stored sizes, too: among all shapes that were found, another may be
                // quicker still.
                let costs = shapes.iter().map(|&s| (s.0, cost(s, pattern)));
                let (best_chunks, best) = costs
                    .min_by(|a, b| a.1.seconds.total_cmp(&b.1.seconds))
                    .expect("the chosen shape is one of them");
                Prediction {
                    chosen: cost(shapes[chosen], pattern),
                    best,
                    before: request.before.as_ref().map(|(chunk, coding)| {
                        Grid {
                            lens: &problem.lens,
                            chunk: chunk.as_deref(),
                            element: problem.element,
                            coding: *coding,
                        }
                        .read(pattern, request.machine)
                    }),
                    best_chunks: best_chunks.to_vec(),
                    pattern: pattern.clone(),
                }
            })
            .collect();
        let weights: f64 = predictions.iter().map(|t| t.pattern.weight).sum();
        let mean =
            predictions.iter().map(|t| t.pattern.weight * t.chosen.seconds / t.best.seconds).sum::<f64>()
                / weights;
        let reads = predictions.iter().map(|t| &t.pattern);
        let cache = CacheAdvice::for_reads(reads, &problem.lens, chunks, problem.element);
        let mut reasons = reasons(problem, chunks, bytes, &predictions);
        if let Some(cache) = cache.as_ref().filter(|_| request.machine.hdf5) {
            reasons.push(format!("so that loops of {} decode no chunk twice: {}", cache.read, cache.call()));
        }
        Choice { chunks: chunks.to_vec(), bytes, predictions, mean, cache, reasons }
    }
}

/// The weights of the reads, each divided by its own best price.
fn mixed(patterns: &[Pattern], best: impl Iterator<Item = f64>) -> Vec<f64> {
    patterns.iter().zip(best).map(|(p, best)| p.weight / best).collect()
}

fn reasons(problem: &Problem<'_>, chunks: &[u64], bytes: u64, predictions: &[Prediction]) -> Vec<String> {
    let mut out = Vec::new();
    let lens: Vec<String> = problem
        .axes
        .iter()
        .zip(chunks)
        .map(|(a, c)| match a.given {
            Some(_) => format!("{}={c} (given)", a.name),
            // A dimension that can grow may get longer chunks than it is.
            None if *c > a.len => format!("{}={c} ({} so far)", a.name, a.len),
            None => format!("{}={c} of {}", a.name, a.len),
        })
        .collect();
    out.push(format!("chunks of {}: {}", words::bytes(bytes), lens.join(", ")));
    for t in predictions {
        let c = &t.chosen;
        let mut line = format!(
            "{}: {} of {} to deliver {}, about {}",
            t.pattern.name,
            number(c.chunks, "chunk"),
            words::bytes(if c.decoded > 0.0 { c.decoded } else { c.fetched } as u64),
            words::bytes(c.delivered as u64),
            words::seconds(c.seconds),
        );
        line += &format!(" ({:.1} times the best for it alone", c.seconds / t.best.seconds);
        if let Some(before) = &t.before {
            let (ratio, word) = match c.seconds <= before.seconds {
                true => (before.seconds / c.seconds, "faster"),
                false => (c.seconds / before.seconds, "slower"),
            };
            line += &format!("; {ratio:.1} times {word} than now");
        }
        out.push(line + ")");
    }
    out
}

/// A mean number of things: one digit behind the point where it is small.
fn number(n: f64, what: &str) -> String {
    if n < 9.95 {
        let n = (n * 10.0).round() / 10.0;
        return format!("{n} {what}{}", if n == 1.0 { "" } else { "s" });
    }
    many(n.round() as u64, what)
}

#[cfg(test)]
#[path = "choose/tests.rs"]
mod tests;
