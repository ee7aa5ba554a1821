//! The cost of reading a file by requests, as from an object store: requests, rounds of them, and bytes, to open it and for
//! the reads that people make.
//!
//! The file is opened as a store with latency opens it, and its chunk indexes and tables of access points are read; values are not: their
//! requests follow from where the chunks lie, and their segments. Requests of one round are sent together. The same reads are counted of the copy that
//! `ncforge copy --storage object` would make: its chunks have the shapes that it would choose, and are as compressible as
//! those of the file.
//!
//! ```no_run
//! let report = ncforge_ops::traffic::requests("sst.nc".as_ref())?;
//! println!("{} requests to open {}", report.open.requests, report.file);
//! # Ok::<(), ncforge::Error>(())
//! ```

mod proposed;

use std::collections::HashMap;
use std::ops::{Add, Range};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use ncforge::model::shape;
use ncforge::raw::{self, PartialRequests, VarLayout, fetch};
use ncforge::store::remote::shown_path;
use ncforge::store::requests::Joining;
use ncforge::store::{self, FIRST_REQUEST, IoProfile, Origin, ReadStore};
use ncforge::{Dataset, Engine, Hyperslab, Result};
use serde::Serialize;

/// Variables that are listed: the largest ones.
const LISTED: usize = 10;
/// Byte ranges of one read that are counted; what has more is counted as one request for everything between.
const MOST_RANGES: usize = 1 << 20;

/// The cost of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Requests.
    pub requests: u64,
    /// Rounds: each is as many requests as are under way together, and takes one latency.
    pub rounds: u64,
    /// Bytes that they bring.
    pub bytes: u64,
}

impl Add for Cost {
    type Output = Cost;

    fn add(self, other: Cost) -> Cost {
        Cost {
            requests: self.requests + other.requests,
            rounds: self.rounds + other.rounds,
            bytes: self.bytes + other.bytes,
        }
    }
}

/// Reads of one variable.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VariableCost {
    /// Its path.
    pub name: String,
    /// Its shape.
    pub shape: Vec<u64>,
    /// Its chunks' shape, if it has chunks.
    pub chunks: Option<Vec<u64>>,
    /// To read where its chunks lie; paid once.
    pub index: Cost,
    /// Its reads.
    #[serde(flatten)]
    pub reads: Reads,
    /// The reads of the copy.
    pub after: Option<After>,
}

/// The usual reads of a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Reads {
    /// One index of all dimensions but the last two: a map. `None` with fewer than three dimensions.
    pub map: Option<Cost>,
    /// All of the first dimension, one index of the others: a series. `None` with fewer than two dimensions.
    pub series: Option<Cost>,
    /// Everything.
    pub all: Cost,
}

/// The usual reads of a variable of the copy.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct After {
    /// Its chunks' shape, if it has chunks.
    pub chunks: Option<Vec<u64>>,
    /// Its reads.
    #[serde(flatten)]
    pub reads: Reads,
}

/// The cost of a file.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Requests {
    /// The file.
    pub file: String,
    /// Its bytes.
    pub bytes: u64,
    /// To open it.
    pub open: Cost,
    /// To open the copy; `None` where the file cannot be copied.
    pub open_after: Option<Cost>,
    /// The largest variables.
    pub variables: Vec<VariableCost>,
    /// The number of further variables.
    pub others: usize,
    /// Variables of which nothing is known: their values lie in other files, or cannot be read.
    pub notes: Vec<String>,
}

/// A store that counts what it is asked for, and claims to be an object store.
#[derive(Debug)]
struct Counted {
    inner: Arc<dyn ReadStore>,
    /// Bytes that requests have brought: the first one, the beginning.
    brought: Mutex<Vec<Range<u64>>>,
    requests: AtomicU64,
    rounds: AtomicU64,
    bytes: AtomicU64,
}

impl Counted {
    /// A store of which the first request has been made.
    fn new(inner: Arc<dyn ReadStore>) -> Self {
        let front = FIRST_REQUEST.min(inner.len());
        let (requests, rounds, bytes) = (AtomicU64::new(1), AtomicU64::new(1), AtomicU64::new(front));
        let brought = Mutex::new(std::iter::once(0..front).collect());
        Counted { inner, brought, requests, rounds, bytes }
    }

    /// Counts requests for these ranges. Bytes that the first one brought are present.
    fn count(&self, ranges: &[Range<u64>]) {
        let mut brought = self.brought.lock().unwrap_or_else(PoisonError::into_inner);
        let front = brought[0].end;
        let absent: Vec<Range<u64>> =
            ranges.iter().filter(|r| r.end > front).map(|r| r.start.max(front)..r.end).collect();
        self.add(absent.len() as u64, absent.iter().map(|r| r.end.saturating_sub(r.start)).sum());
        brought.extend(absent);
    }

    /// Bytes that need not be requested: those that requests have brought, and those behind the end. In the order of the file.
    fn there(&self) -> Vec<Range<u64>> {
        let mut there = self.brought.lock().unwrap_or_else(PoisonError::into_inner).clone();
        there.push(self.inner.len()..u64::MAX);
        there.sort_by_key(|r| r.start);
        there.dedup_by(|next, before| {
            let meets = next.start <= before.end;
            before.end = if meets { before.end.max(next.end) } else { before.end };
            meets
        });
        there
    }

    fn add(&self, requests: u64, bytes: u64) {
        let rounds = requests.div_ceil(IoProfile::OBJECT.in_flight as u64);
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.rounds.fetch_add(rounds, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// The counts since the last call.
    fn take(&self) -> Cost {
        Cost {
            requests: self.requests.swap(0, Ordering::Relaxed),
            rounds: self.rounds.swap(0, Ordering::Relaxed),
            bytes: self.bytes.swap(0, Ordering::Relaxed),
        }
    }
}

impl ReadStore for Counted {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.count(std::slice::from_ref(&span(offset, buf.len() as u64)));
        self.inner.read_at(buf, offset)
    }

    fn io_profile(&self) -> IoProfile {
        IoProfile::OBJECT
    }

    fn origin(&self) -> Origin<'_> {
        self.inner.origin()
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.count(ranges);
        self.inner.read_ranges(ranges)
    }
}

/// Counts the requests of a file or a URL.
///
/// # Errors
/// Those of opening it, and of reading its chunk indexes.
pub fn requests(path: &Path) -> Result<Requests> {
    let counted = Arc::new(Counted::new(store::open(path)?));
    let dataset = Dataset::from_store(counted.clone(), &Engine::global())?;
    let open = counted.take();
    let schema = dataset.schema();
    let (mut vars, mut notes) = (Vec::new(), Vec::new());
    for v in schema.var_ids() {
        match elsewhere(&*dataset.container().layout(v)?) {
            Some(why) => notes.push(format!("`{}` is not counted: {why}", schema.var_path(v))),
            None => vars.push((shape::elements(&schema.shape(v)), v)),
        }
    }
    vars.sort_by_key(|&(n, v)| (std::cmp::Reverse(n), v));
    let mut stored = HashMap::new();
    for &(_, var) in vars.iter().take(LISTED) {
        let of_file = Stored::of(&*dataset.container().layout(var)?)?;
        stored.insert(var, (of_file, counted.take()));
    }
    let there = counted.there();
    let mut copy = proposed::of(&dataset, |var| stored.get(&var).map(|(of_file, _)| of_file));
    // The requests for the plan of the copy do not count.
    counted.take();
    let variables = vars.iter().take(LISTED).map(|&(_, var)| {
        let ((of_file, index), shape) = (&stored[&var], schema.shape(var));
        let after = copy.as_mut().and_then(|copy| {
            let (shape, stored) = copy.variables.remove(&var)?;
            let there = std::slice::from_ref(&copy.front);
            let whole = |_: &Hyperslab| None;
            Some(After { reads: Reads::of(&stored, &shape, there, whole), chunks: stored.chunk })
        });
        let engine = Engine::global();
        let in_part =
            |slab: &Hyperslab| engine.partial_requests(dataset.container(), var, slab).ok().flatten();
        VariableCost {
            name: schema.var_path(var),
            chunks: of_file.chunk.clone(),
            index: *index,
            reads: Reads::of(of_file, &shape, &there, in_part),
            after,
            shape,
        }
    });
    let variables: Vec<VariableCost> = variables.collect();
    Ok(Requests {
        file: shown_path(path),
        bytes: counted.len(),
        open,
        open_after: copy.map(|copy| Cost { requests: 1, rounds: 1, bytes: copy.front.end }),
        others: vars.len() - variables.len(),
        variables,
        notes,
    })
}

/// Why reads of a variable are no requests to the file.
fn elsewhere(layout: &VarLayout) -> Option<String> {
    match (layout.place.unsupported(), layout.place.parts()) {
        (Some(what), _) => Some(format!("{what} is not supported")),
        (None, Some(_)) => Some("its values lie in other variables, most of them in other files".into()),
        (None, None) => None,
    }
}

impl Reads {
    /// The usual reads of an array of this shape; what is `there` costs nothing. `in_part` says which of them read parts of chunks.
    fn of(
        stored: &Stored,
        shape: &[u64],
        there: &[Range<u64>],
        in_part: impl Fn(&Hyperslab) -> Option<PartialRequests>,
    ) -> Self {
        let rank = shape.len();
        let cost = |whole: Range<usize>| {
            let count: Vec<u64> =
                (0..rank).map(|d| if whole.contains(&d) { shape[d] } else { shape[d].min(1) }).collect();
            // In the middle: what lies at the beginning came with the first request.
            let start: Vec<u64> =
                (0..rank).map(|d| if whole.contains(&d) { 0 } else { shape[d] / 2 }).collect();
            match in_part(&Hyperslab::new(&start, &count)) {
                Some(PartialRequests { ends, segments, whole }) => {
                    let rounds = [&ends, &segments].map(|round| cost_of_round(round, there, u64::MAX));
                    rounds[0] + rounds[1] + cost_of(&whole, there)
                }
                None => cost_of(&stored.ranges(shape, &start, &count), there),
            }
        };
        Reads {
            map: (rank > 2).then(|| cost(rank - 2..rank)),
            series: (rank > 1).then(|| cost(0..1)),
            all: cost(0..rank),
        }
    }
}

/// Stored chunks: where each begins in the array, and its bytes in the file.
type Chunks = Vec<(Vec<u64>, Range<u64>)>;

/// The place of a variable in a file.
#[derive(Clone, Debug)]
struct Stored {
    /// Bytes of an element.
    size: u64,
    /// The chunks' shape, if it has chunks, and the chunks.
    chunk: Option<Vec<u64>>,
    chunks: Chunks,
    /// The beginning if it is another one, and the step of its first dimension if it has one of its own.
    begin: Option<(u64, Option<u64>)>,
}

impl Stored {
    fn of(layout: &VarLayout) -> Result<Self> {
        let (mut chunks, mut chunk) = (Vec::new(), None);
        if let Some(raw::Chunks { chunk: shape, index, .. }) = layout.place.chunks() {
            index.visit(&mut |at, record| {
                let first = at.iter().zip(shape).map(|(a, c)| a.saturating_mul(*c)).collect();
                chunks.push((first, span(record.offset, record.len)));
            })?;
            chunk = Some(shape.to_vec());
        }
        let begin = layout.runs().map(|runs| (runs.begin, runs.stride));
        Ok(Stored { size: layout.element.size as u64, chunk, chunks, begin })
    }

    /// The bytes that a box of elements needs, in the order of the file.
    fn ranges(&self, shape: &[u64], start: &[u64], count: &[u64]) -> Vec<Range<u64>> {
        let meets = |begin: &[u64], chunk: &[u64]| {
            (0..begin.len())
                .all(|d| begin[d] < start[d] + count[d] && begin[d].saturating_add(chunk[d]) > start[d])
        };
        let mut out = match (&self.chunk, self.begin) {
            (Some(chunk), _) => {
                let met = self.chunks.iter().filter(|(begin, _)| meets(begin, chunk));
                met.map(|(_, bytes)| bytes.clone()).collect()
            }
            (None, Some((begin, stride))) => runs(begin, stride, self.size, shape, start, count),
            (None, None) => Vec::new(),
        };
        out.sort_by_key(|r| r.start);
        out
    }
}

/// The runs of bytes of a box in a row-major array, whose first dimension has steps of its own in classic files.
fn runs(
    begin: u64,
    stride: Option<u64>,
    size: u64,
    shape: &[u64],
    start: &[u64],
    count: &[u64],
) -> Vec<Range<u64>> {
    let mut steps = vec![size; shape.len()];
    for d in (1..shape.len()).rev() {
        steps[d - 1] = steps[d].saturating_mul(shape[d]);
    }
    if let (Some(stride), Some(first)) = (stride, steps.first_mut()) {
        *first = stride;
    }
    // Whole inner dimensions are one run with the one before them.
    let mut out = Vec::from([span(begin, size)]);
    for d in (0..shape.len()).rev() {
        let adjacent = out.len() == 1 && out[0].end - out[0].start == steps[d];
        let first = start[d].saturating_mul(steps[d]);
        if adjacent {
            let from = out[0].start.saturating_add(first);
            out = Vec::from([span(from, count[d].saturating_mul(steps[d]))]);
        } else if out.len() as u64 * count[d] > MOST_RANGES as u64 {
            let last = first.saturating_add(count[d].saturating_sub(1).saturating_mul(steps[d]));
            let (from, to) = (out[0].start, out[out.len() - 1].end);
            out.clear();
            out.push(from.saturating_add(first)..to.saturating_add(last));
        } else {
            out = (0..count[d])
                .flat_map(|i| {
                    let by = first.saturating_add(i.saturating_mul(steps[d]));
                    out.iter().map(move |r| r.start.saturating_add(by)..r.end.saturating_add(by))
                })
                .collect();
        }
    }
    out.retain(|r| !r.is_empty());
    out
}

/// `len` bytes from an offset on.
fn span(from: u64, len: u64) -> Range<u64> {
    from..from.saturating_add(len)
}

/// The cost of reading these ranges, where some bytes are present.
fn cost_of(ranges: &[Range<u64>], there: &[Range<u64>]) -> Cost {
    let total = ranges.iter().fold(0, |n: u64, r| n.saturating_add(r.end - r.start));
    let joining = Joining::apart(&IoProfile::OBJECT, Engine::global().fetch_memory(), total);
    let mut requests = Vec::new();
    fetch::join(ranges.len(), |i| ranges[i].clone(), joining, |_| false, |r| requests.push(r.bytes));
    // One range may be larger than a request.
    cost_of_round(&requests, there, joining.most)
}

/// The cost of a round of requests, each of at most `most` bytes, where some bytes are present.
fn cost_of_round(requests: &[Range<u64>], there: &[Range<u64>], most: u64) -> Cost {
    let mut cost = Cost::default();
    let mut absent = |from: u64, to: u64| {
        cost.requests += to.saturating_sub(from).div_ceil(most);
        cost.bytes += to.saturating_sub(from);
    };
    for &Range { start, end } in requests {
        let mut at = start;
        for r in there.iter().skip(there.partition_point(|r| r.end <= at)).take_while(|r| r.start < end) {
            absent(at, r.start);
            at = at.max(r.end);
        }
        absent(at, end);
    }
    cost.rounds = cost.requests.div_ceil(IoProfile::OBJECT.in_flight as u64);
    cost
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_boxes() {
        let of = |start: &[u64], count: &[u64]| runs(100, None, 4, &[3, 5], start, count);
        assert_eq!(of(&[0, 0], &[3, 5]), [span(100, 60)]);
        assert_eq!(of(&[1, 0], &[1, 5]), [span(120, 20)]);
        assert_eq!(of(&[0, 2], &[3, 1]), [108..112, 128..132, 148..152]);
        assert_eq!(runs(0, Some(50), 4, &[3, 5], &[0, 0], &[2, 5]), [0..20, 50..70]);
        assert_eq!(runs(8, None, 4, &[], &[], &[]), [span(8, 4)]);
        assert!(of(&[0, 0], &[0, 5]).is_empty());
    }

    #[test]
    fn requests_are_joined_and_cut() {
        let far = 1 << 30;
        let ranges = [0..10, 20..30, far..far + (40 << 20)];
        // Equal parts of 40 MiB for 32 requests.
        assert_eq!(cost_of(&ranges, &[]), Cost { requests: 33, rounds: 2, bytes: 30 + (40 << 20) });
        // Bytes that are present, or behind the end, are not requested.
        let there = [0..25, far + (1 << 20)..far + (3 << 20), far + (39 << 20)..u64::MAX];
        assert_eq!(cost_of(&ranges, &there), Cost { requests: 31, rounds: 1, bytes: 5 + (37 << 20) });
        assert_eq!(cost_of(&[3..20, 21..24], &there), Cost::default());
    }
}
