//! What it takes to read a file by requests, as from an object store: requests, rounds of them, and bytes, to open it and for
//! the reads that people make.
//!
//! The file is opened as a store with latency opens it, and its chunk indexes are read; values are not: their requests follow
//! from where the chunks lie. Requests of one round are sent together.
//!
//! ```no_run
//! let report = ncforge_ops::traffic::requests("sst.nc".as_ref())?;
//! println!("{} requests to open {}", report.open.requests, report.file);
//! # Ok::<(), ncforge::Error>(())
//! ```

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use ncforge::model::VarId;
use ncforge::raw::{Place, VarLayout, fetch};
use ncforge::store::requests::Joining;
use ncforge::store::{self, IoProfile, ReadStore};
use ncforge::{Dataset, Engine, Result};
use serde::Serialize;

/// Variables that are listed: the largest ones.
const LISTED: usize = 10;
/// Byte ranges of one read that are counted; what has more is counted as one request for everything between.
const MOST_RANGES: usize = 1 << 20;

/// What something takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Cost {
    /// Requests.
    pub requests: u64,
    /// Rounds: each is as many requests as are under way together, and takes one latency.
    pub rounds: u64,
    /// Bytes that they bring.
    pub bytes: u64,
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
    /// One index of all dimensions but the last two: a map. `None` with fewer than three dimensions.
    pub map: Option<Cost>,
    /// All of the first dimension, one index of the others: a series. `None` with fewer than two dimensions.
    pub series: Option<Cost>,
    /// Everything.
    pub all: Cost,
}

/// What a file takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Requests {
    /// The file.
    pub file: String,
    /// Its bytes.
    pub bytes: u64,
    /// To open it.
    pub open: Cost,
    /// The largest variables.
    pub variables: Vec<VariableCost>,
    /// How many more there are.
    pub others: usize,
}

/// A store that counts what it is asked for, and claims to be an object store.
#[derive(Debug)]
struct Counted {
    inner: Arc<dyn ReadStore>,
    /// Bytes that the first request brings.
    front: u64,
    requests: AtomicU64,
    rounds: AtomicU64,
    bytes: AtomicU64,
}

impl Counted {
    /// A store of which the first request has been made.
    fn new(inner: Arc<dyn ReadStore>) -> Self {
        let front = IoProfile::OBJECT.first_request().min(inner.len());
        let (requests, rounds, bytes) = (AtomicU64::new(1), AtomicU64::new(1), AtomicU64::new(front));
        Counted { inner, front, requests, rounds, bytes }
    }

    fn add(&self, requests: u64, bytes: u64) {
        let rounds = requests.div_ceil(IoProfile::OBJECT.in_flight as u64);
        self.requests.fetch_add(requests, Ordering::Relaxed);
        self.rounds.fetch_add(rounds, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// What was counted since the last call.
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
        if offset.saturating_add(buf.len() as u64) > self.front {
            self.add(1, buf.len() as u64);
        }
        self.inner.read_at(buf, offset)
    }

    fn io_profile(&self) -> IoProfile {
        IoProfile::OBJECT
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let absent = ranges.iter().filter(|r| r.end > self.front);
        self.add(absent.clone().count() as u64, absent.map(|r| r.end.saturating_sub(r.start)).sum());
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
    let mut vars: Vec<(u64, VarId)> = schema
        .var_ids()
        .map(|v| (schema.shape(v).iter().fold(1, |n: u64, &d| n.saturating_mul(d)), v))
        .collect();
    vars.sort_by_key(|&(n, v)| (std::cmp::Reverse(n), v));
    let mut variables = Vec::new();
    for &(_, var) in vars.iter().take(LISTED) {
        let layout = dataset.container().layout(var)?;
        let shape = schema.shape(var);
        let chunks = chunks_of(&layout)?;
        let index = counted.take();
        let cost = |start: &[u64], count: &[u64]| {
            let mut needed = ranges(&layout, &chunks, &shape, start, count);
            needed.retain(|r| r.end > counted.front);
            cost_of(&needed)
        };
        let rank = shape.len();
        let zeros = vec![0; rank];
        let ones_but = |whole: Range<usize>| -> Vec<u64> {
            (0..rank).map(|d| if whole.contains(&d) { shape[d] } else { shape[d].min(1) }).collect()
        };
        variables.push(VariableCost {
            name: schema.var_path(var),
            chunks: match &layout.place {
                Place::Chunked { chunk, .. } => Some(chunk.clone()),
                _ => None,
            },
            index,
            map: (rank > 2).then(|| cost(&zeros, &ones_but(rank.saturating_sub(2)..rank))),
            series: (rank > 1).then(|| cost(&zeros, &ones_but(0..1))),
            all: cost(&zeros, &shape),
            shape,
        });
    }
    Ok(Requests {
        file: path.display().to_string(),
        bytes: counted.len(),
        open,
        others: vars.len() - variables.len(),
        variables,
    })
}

/// Stored chunks: where each begins in the array, and its bytes in the file.
type Chunks = Vec<(Vec<u64>, Range<u64>)>;

fn chunks_of(layout: &VarLayout) -> Result<Chunks> {
    let Place::Chunked { chunk, index, .. } = &layout.place else { return Ok(Vec::new()) };
    let mut out = Vec::new();
    index.visit(&mut |at, record| {
        let begin = at.iter().zip(chunk).map(|(a, c)| a.saturating_mul(*c)).collect();
        out.push((begin, record.offset..record.offset.saturating_add(record.len)));
    })?;
    Ok(out)
}

/// The bytes that a box of elements needs, in the order of the file.
fn ranges(
    layout: &VarLayout,
    chunks: &Chunks,
    shape: &[u64],
    start: &[u64],
    count: &[u64],
) -> Vec<Range<u64>> {
    let size = layout.element.size as u64;
    let mut out = match &layout.place {
        Place::Chunked { chunk, .. } => chunks
            .iter()
            .filter(|(begin, _)| {
                (0..begin.len())
                    .all(|d| begin[d] < start[d] + count[d] && begin[d].saturating_add(chunk[d]) > start[d])
            })
            .map(|(_, bytes)| bytes.clone())
            .collect(),
        Place::Contiguous { offset } => runs(*offset, None, size, shape, start, count),
        Place::Records { begin, stride } => runs(*begin, Some(*stride), size, shape, start, count),
        _ => Vec::new(),
    };
    out.sort_by_key(|r| r.start);
    out
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

/// So many bytes from an offset on.
fn span(from: u64, len: u64) -> Range<u64> {
    from..from.saturating_add(len)
}

fn cost_of(ranges: &[Range<u64>]) -> Cost {
    let profile = IoProfile::OBJECT;
    let mut cost = Cost::default();
    fetch::join(
        ranges.len(),
        |i| ranges[i].clone(),
        Joining::of(&profile),
        |_| false,
        |request| {
            // One range may be larger than a request.
            cost.requests += request.len().div_ceil(profile.largest_request);
            cost.bytes += request.len();
        },
    );
    cost.rounds = cost.requests.div_ceil(profile.in_flight as u64);
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
        assert_eq!(cost_of(&ranges), Cost { requests: 4, rounds: 1, bytes: 30 + (40 << 20) });
    }
}
