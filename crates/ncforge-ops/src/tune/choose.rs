//! From the description of an array and its reads to a chunk shape, with the reasons.

mod contest;
mod prices;

use serde::Serialize;

use super::axes::{Axis, Role};
use super::coding::Coding;
use super::cost::{Cost, Grid};
use super::geometric::Geometric;
use super::keep::CacheAdvice;
use super::pattern::{Access, Kind, Pattern};
use super::search::{candidates, descend, nearest};
use crate::rates::Machine;
use crate::words::{self, many};
use ncforge::{Error, Result};

use self::prices::{Priced, Prices};
pub use contest::{Contender, Contest, Depth};

/// Bounds that have nothing to do with the reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Chunks are not smaller than this many bytes, where the array is larger: every chunk costs an index entry,
    /// and compresses worse when small.
    pub min_bytes: u64,
    /// Chunks are not larger than this. Other libraries cache chunks in caches of 1 MiB (HDF5 up to 1.14) to 64 MiB
    /// (netCDF-C).
    pub max_bytes: u64,
    /// An array has about so many chunks at most; where `min_bytes` gives more, chunks become larger.
    pub most_chunks: u64,
    /// Memory of a program that appends one record at a time and holds every chunk of the row open.
    pub writer_memory: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { min_bytes: 16 << 10, max_bytes: 4 << 20, most_chunks: 1 << 20, writer_memory: Some(1 << 30) }
    }
}

impl Limits {
    /// Whether a program that appends records to an array has the memory for all chunks that a record lies in. Where even
    /// chunks of length 1 along the axis that grows are too many, nothing else is left.
    ///
    /// ```
    /// use ncforge_ops::tune::{Axis, Limits, Role};
    /// let space = |len| Axis::new("lat", len, Role::Y);
    /// let axes = [Axis::new("time", 100_000, Role::Time).unlimited(), space(1000), space(2000)];
    /// let limits = Limits::default();
    /// assert!(limits.can_append(&axes, 4, &[100, 100, 100])); // 800 MB
    /// assert!(!limits.can_append(&axes, 4, &[1000, 10, 10])); // 8 GB
    /// ```
    pub fn can_append(&self, axes: &[Axis], element: u64, chunks: &[u64]) -> bool {
        let Some(memory) = self.writer_memory else { return true };
        let Some(t) = axes.iter().position(|a| a.unlimited) else { return true };
        let row = axes.iter().zip(chunks).enumerate().fold(element, |bytes, (d, (a, &c))| {
            let c = c.max(1);
            bytes.saturating_mul(if d == t { c } else { a.len.div_ceil(c).saturating_mul(c) })
        });
        row <= memory || chunks[t] <= axes[t].given.unwrap_or(1)
    }
}

/// HDF5 stores the size of a chunk in 32 bits.
const FORMAT_LIMIT: u64 = (1 << 32) - 1;
/// A chunk along a dimension that grows has this many bytes at least, even when it is still short.
const MIN_RECORDS: u64 = 8 << 10;
/// How much a stored byte more than needed counts against a read that takes longer by the same share.
const SIZE_WEIGHT: f64 = 0.5;
/// Weight of a small box where nobody asked for one: it decides between shapes that serve all else equally.
const BOX_WEIGHT: f64 = 0.03;

/// Where there are so few shapes, all of them are sampled.
const FEW: usize = 4096;
/// A search that may price fewer shapes than this looks at so many, evenly spread, and no others but those around the best.
const THOROUGH: usize = 8192;
/// From so many shapes on half of them are reserved for those around the best: the way down looks at some hundreds.
const DESCENT: usize = 1024;
/// So many times more, and less, one read weighs in the mixes whose best shapes are sampled, too.
const LEANING: [f64; 2] = [5.0, 0.2];
/// The continuous problem knows one rate for all sizes of chunks: that of this size.
const NOMINAL: f64 = 131072.0;

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The array's axes.
    pub axes: &'a [Axis],
    /// Bytes of an element.
    pub element: u64,
    /// How chunks will be encoded.
    pub coding: Coding,
    /// The same with rates that were timed. Predicted times use it; the choice does not, so that it is the
    /// same in every run.
    pub timed: Option<Coding>,
    /// How the array will be read.
    pub accesses: Vec<Access>,
    /// The machine that reads.
    pub machine: &'a Machine,
    /// Bounds.
    pub limits: Limits,
    /// How the array is cut and encoded now, for comparison: chunk lengths (`None`: one run).
    pub before: Option<(Option<Vec<u64>>, Coding)>,
    /// Shapes that may be priced, about: pricing one takes a microsecond. From 8192 on as many as it takes.
    pub shapes: usize,
}

impl<'a> Request<'a> {
    /// A request with the usual accesses and limits.
    pub fn new(axes: &'a [Axis], element: u64, coding: Coding, machine: &'a Machine) -> Self {
        Request {
            axes,
            element,
            coding,
            timed: None,
            accesses: Access::usual(),
            machine,
            limits: Limits::default(),
            before: None,
            shapes: usize::MAX,
        }
    }
}

/// What one kind of read will cost.
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
    /// What every read will cost.
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
/// [`Error::Invalid`] when the bounds cannot be met: an element larger than a chunk may be, or given lengths that
/// make one.
pub fn choose(request: &Request<'_>) -> Result<Choice> {
    let search = Search::new(request)?;
    let coding = request.timed.unwrap_or(request.coding);
    let shapes: Vec<(&[u64], Coding)> =
        search.alone.iter().map(|(c, _)| &c[..]).chain([&search.chunks[..]]).map(|c| (c, coding)).collect();
    Ok(search.tell(request, &shapes, shapes.len() - 1))
}

/// What the search found.
struct Search<'a> {
    problem: Problem<'a>,
    /// The reads that were asked for, then those that decide between equals.
    patterns: Vec<Pattern>,
    asked: usize,
    /// For each read the best lengths for it alone, and their price.
    alone: Vec<(Vec<u64>, f64)>,
    /// The best lengths for all together.
    chunks: Vec<u64>,
    /// Lengths that were sampled for all together, and their prices.
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
        if request.shapes < THOROUGH {
            let lattice = problem.lattice(&patterns, request.shapes);
            if !lattice.is_empty() {
                return Ok(Search::quick(problem, patterns, asked, &lattice, request.shapes >= DESCENT));
            }
        }
        let mut seen = Vec::new();
        let mut prices = Prices::new(&problem, &patterns);
        let one =
            |i: usize| -> Vec<f64> { (0..patterns.len()).map(|j| f64::from(u8::from(i == j))).collect() };
        let alone: Vec<(Vec<u64>, f64)> =
            (0..patterns.len()).map(|i| prices.best(&one(i), &[], None)).collect();
        let mix = mixed(&patterns, alone.iter().map(|a| a.1));
        let starts: Vec<&[u64]> = alone.iter().map(|(c, _)| &c[..]).collect();
        // The way down ends in a hollow, not always the deepest. The hollows of mixes in which one read weighs more or
        // less are other ones, and so a read that gains weight does not lose time to a hollow that was missed.
        let leaning: Vec<Vec<u64>> = (0..asked)
            .flat_map(|i| LEANING.map(|factor| (i, factor)))
            .filter(|_| asked > 1)
            .map(|(i, factor)| {
                let mut other = mix.clone();
                other[i] *= factor;
                prices.best(&other, &starts, None).0
            })
            .collect();
        let starts: Vec<&[u64]> = starts.into_iter().chain(leaning.iter().map(|c| &c[..])).collect();
        let (chunks, _) = prices.best(&mix, &starts, Some(&mut seen));
        Ok(Search { problem, patterns, asked, alone, chunks, seen })
    }

    /// The same among the shapes of a lattice, and with `around` those around the best of them.
    fn quick(
        problem: Problem<'a>,
        patterns: Vec<Pattern>,
        asked: usize,
        lattice: &[(Vec<u64>, Priced)],
        around: bool,
    ) -> Self {
        let best = |price: &dyn Fn(&Priced) -> f64| {
            let prices = lattice.iter().map(|(chunks, priced)| (chunks, price(priced)));
            let best = prices.min_by(|a, b| a.1.total_cmp(&b.1)).expect("the lattice has a shape");
            (best.0.clone(), best.1)
        };
        let alone: Vec<(Vec<u64>, f64)> =
            (0..patterns.len()).map(|i| best(&|p: &Priced| p.seconds[i] * p.factor)).collect();
        let mix = mixed(&patterns, alone.iter().map(|a| a.1));
        let mut chunks = best(&|p: &Priced| p.of(&mix)).0;
        if around {
            let start = problem.places(chunks.iter().map(|&c| c as f64));
            let mut prices = Prices::new(&problem, &patterns);
            let (at, _) = descend(&problem.lists, &start, &mut |c| prices.at(c, &mix));
            chunks = at.iter().zip(&problem.lists).map(|(&i, l)| l[i]).collect();
        }
        let total: f64 = mix.iter().sum();
        let seen = lattice.iter().map(|(c, p)| (c.clone(), p.of(&mix) / total)).collect();
        Search { problem, patterns, asked, alone, chunks, seen }
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

/// The request with its bounds worked out.
struct Problem<'a> {
    axes: Vec<Axis>,
    lens: Vec<u64>,
    element: u64,
    coding: Coding,
    machine: &'a Machine,
    bytes: (u64, u64),
    limits: Limits,
    lists: Vec<Vec<u64>>,
}

impl<'a> Problem<'a> {
    fn new(request: &Request<'a>) -> Result<Self> {
        let element = request.element.max(1);
        let limits = &request.limits;
        let most = limits.max_bytes.clamp(1, FORMAT_LIMIT).max(element);
        if element > FORMAT_LIMIT {
            return Err(Error::Invalid(format!(
                "an element of {element} bytes is larger than a chunk may be ({FORMAT_LIMIT} bytes)"
            )));
        }
        let mut axes = request.axes.to_vec();
        for a in &mut axes {
            a.len = a.len.max(1);
        }
        let total = |axes: &[Axis]| axes.iter().fold(element, |b, a| b.saturating_mul(a.len));
        // A dimension that has just begun to grow: enough of it for a chunk worth its name.
        let row = total(&axes);
        if let Some(a) = axes.iter_mut().find(|a| a.unlimited && a.given.is_none()) {
            a.len = a.len.max(MIN_RECORDS / (row / a.len).max(1));
        }
        let given = axes.iter().filter_map(|a| a.given).fold(element, |b, c| b.saturating_mul(c.max(1)));
        if given > FORMAT_LIMIT {
            return Err(Error::Invalid(format!(
                "the given chunk lengths alone make {given} bytes, the format's limit is {FORMAT_LIMIT}"
            )));
        }
        let most = most.max(given);
        let least = limits.min_bytes.max(total(&axes) / limits.most_chunks.max(1));
        // Space between the bounds, so that shapes stay free.
        let least = least.min(total(&axes)).min((most / 4).max(element));
        let lists = axes
            .iter()
            .map(|a| match a.given {
                Some(c) => vec![if a.unlimited { c.max(1) } else { c.clamp(1, a.len) }],
                None if a.role == Role::Corner => vec![a.len],
                None => candidates(a.len, false, (most / element).max(1)),
            })
            .collect();
        let lens = axes.iter().map(|a| a.len).collect();
        Ok(Problem {
            lens,
            axes,
            element,
            coding: request.coding,
            machine: request.machine,
            bytes: (least, most),
            limits: *limits,
            lists,
        })
    }

    fn grid<'b>(&'b self, chunks: &'b [u64]) -> Grid<'b> {
        Grid { lens: &self.lens, chunk: Some(chunks), element: self.element, coding: self.coding }
    }

    fn places(&self, lens: impl Iterator<Item = f64>) -> Vec<usize> {
        lens.zip(&self.lists).map(|(c, list)| nearest(list, c.max(1.0))).collect()
    }

    /// Shortens the longest chunk length until it is within the bounds, so that the way down begins inside.
    fn legal(&self, mut at: Vec<usize>) -> Vec<usize> {
        loop {
            let lens: Vec<u64> = at.iter().zip(&self.lists).map(|(&i, l)| l[i]).collect();
            if self.allowed(&lens) {
                return at;
            }
            let Some(d) = (0..at.len()).filter(|&d| at[d] > 0).max_by_key(|&d| lens[d]) else { return at };
            at[d] -= 1;
        }
    }

    fn volume(&self, chunks: &[u64]) -> u64 {
        chunks.iter().fold(self.element, |b, &c| b.saturating_mul(c))
    }

    fn allowed(&self, chunks: &[u64]) -> bool {
        self.volume(chunks) <= self.bytes.1 && self.limits.can_append(&self.axes, self.element, chunks)
    }

    /// What a shape costs.
    fn priced(&self, chunks: &[u64], patterns: &[Pattern]) -> Priced {
        let grid = self.grid(chunks);
        // Stored bytes beyond those of the array in the largest chunks.
        let needed = self.lens.iter().map(|&l| l as f64).product::<f64>() * self.element as f64;
        let stored = self.stored(chunks, &self.coding);
        let excess = (stored / self.coding.stored(needed).max(1.0) - 1.0).max(0.0);
        Priced {
            seconds: patterns.iter().map(|p| grid.read(p, self.machine).seconds).collect(),
            factor: 1.0 + SIZE_WEIGHT * excess.min(10.0) + self.smallness(chunks),
        }
    }

    /// Stored bytes of the array.
    fn stored(&self, chunks: &[u64], coding: &Coding) -> f64 {
        let count: f64 = self.lens.iter().zip(chunks).map(|(l, c)| l.div_ceil(*c) as f64).product();
        count * coding.stored(self.volume(chunks) as f64)
    }

    /// Chunks below the least size are allowed where nothing else is, and are dear.
    fn smallness(&self, chunks: &[u64]) -> f64 {
        4.0 * (self.bytes.0 as f64 / self.volume(chunks) as f64 - 1.0).max(0.0)
    }

    fn continuous(&self, patterns: &[Pattern], mix: &[f64]) -> Vec<f64> {
        let lens: Vec<f64> = self.lens.iter().map(|&l| l as f64).collect();
        let bounds: Vec<(f64, f64)> = self
            .lists
            .iter()
            .map(|l| (l[0] as f64, *l.last().expect("lists are never empty") as f64))
            .collect();
        let mixed = patterns.iter().zip(mix).filter(|(_, w)| **w > 0.0);
        let patterns: Vec<Pattern> = mixed.map(|(p, w)| Pattern { weight: *w, ..p.clone() }).collect();
        let m = self.machine;
        let stored = if self.coding.filtered { self.coding.fraction } else { 1.0 };
        Geometric {
            lens: &lens,
            bounds: &bounds,
            patterns: &patterns,
            element: self.element as f64,
            latency: m.chunk + m.request / m.in_flight,
            rate: 1.0
                / (self.coding.seconds(NOMINAL) / NOMINAL / m.decoder + 1.0 / m.keep + stored / m.bandwidth),
            index: m.index,
            bytes: (self.bytes.0 as f64, self.bytes.1 as f64),
        }
        .minimum()
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
