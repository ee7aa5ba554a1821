//! The input of the choice of a chunk shape: the array, its reads, and the bounds.

use super::super::axes::Axis;
use super::super::coding::Coding;
use super::super::pattern::Access;
use crate::rates::Machine;
use ncforge::model::shape;

/// Smaller chunks pay for no read.
const LEAST: u64 = 16 << 10;

/// Bounds that have nothing to do with the reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Chunks are not smaller than this many bytes, where the array is larger: every chunk costs an index entry, a task of Dask and a
    /// request to an object store, and compresses worse when small. Where chunks must be decoded whole, a quarter of
    /// this holds.
    pub min_bytes: u64,
    /// Chunks are not larger than this. Other libraries cache chunks in caches of 1 MiB (HDF5 up to 1.14) to 64 MiB
    /// (netCDF-C).
    pub max_bytes: u64,
    /// The number of chunks of an array, at most, about; where `min_bytes` gives more, chunks become larger.
    pub most_chunks: u64,
    /// Memory of a program that appends one record at a time and holds every chunk of the row open.
    pub writer_memory: Option<u64>,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { min_bytes: 1 << 20, max_bytes: 4 << 20, most_chunks: 1 << 20, writer_memory: Some(1 << 30) }
    }
}

impl Limits {
    /// Limits for one program that reads by itself: chunks are as small as pays for the reads.
    pub fn for_one_reader() -> Self {
        Limits { min_bytes: LEAST, ..Limits::default() }
    }

    /// Limits for object stores, where every chunk is a request.
    pub fn for_objects() -> Self {
        Limits { min_bytes: 4 << 20, max_bytes: 16 << 20, ..Limits::default() }
    }

    /// The least bytes of a chunk of an array of `bytes` bytes.
    ///
    /// ```
    /// use ncforge_tune::{Coding, Limits};
    /// let limits = Limits::default();
    /// assert_eq!(limits.least(100 << 20, 4, &Coding::none()), 1 << 20);
    /// assert_eq!(limits.least(100 << 20, 4, &Coding::zstd()), 256 << 10);
    /// assert_eq!(limits.least(100 << 10, 4, &Coding::none()), 100 << 10);
    /// ```
    pub fn least(&self, bytes: u64, element: u64, coding: &Coding) -> u64 {
        let has_parts = !coding.filtered || coding.segment(self.min_bytes as f64, element as f64).is_some();
        let least =
            if has_parts { self.min_bytes } else { (self.min_bytes / 4).max(LEAST.min(self.min_bytes)) };
        least.max(bytes / self.most_chunks.max(1)).min(bytes)
    }

    /// Whether a program that appends records to an array has the memory for all chunks that a record lies in. Where even
    /// chunks of length 1 along the axis that grows are too many, nothing else is left.
    ///
    /// ```
    /// use ncforge_tune::{Axis, Limits, Role};
    /// let space = |len| Axis::new("lat", len, Role::Y);
    /// let axes = [Axis::new("time", 100_000, Role::Time).unlimited(), space(1000), space(2000)];
    /// let limits = Limits::default();
    /// assert!(limits.can_append(&axes, 4, &[100, 100, 100])); // 800 MB
    /// assert!(!limits.can_append(&axes, 4, &[1000, 10, 10])); // 8 GB
    /// ```
    pub fn can_append(&self, axes: &[Axis], element: u64, chunks: &[u64]) -> bool {
        let Some(memory) = self.writer_memory else { return true };
        let Some(t) = axes.iter().position(|a| a.unlimited) else { return true };
        let along = |(d, (a, &c)): (usize, (&Axis, &u64))| match c.max(1) {
            c if d == t => c,
            c => a.len.div_ceil(c).saturating_mul(c),
        };
        let row = shape::product(axes.iter().zip(chunks).enumerate().map(along));
        row.saturating_mul(element) <= memory || chunks[t] <= axes[t].given.unwrap_or(1)
    }
}

/// The input of a choice.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The array's axes.
    pub axes: &'a [Axis],
    /// Bytes of an element.
    pub element: u64,
    /// The future coding of chunks.
    pub coding: Coding,
    /// The coding with rates that were timed. Predicted times use it; the choice does not, so that it is equal in every run.
    pub timed: Option<Coding>,
    /// The reads of the array.
    pub accesses: Vec<Access>,
    /// The machine that reads.
    pub machine: &'a Machine,
    /// Bounds.
    pub limits: Limits,
    /// The present chunks and coding, for comparison: chunk lengths (`None`: one run).
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
