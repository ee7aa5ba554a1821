//! Chunk lengths where none are given.

use crate::error::Result;
use crate::model::{Filter, Schema, Variable, shape};

/// Chooses chunk lengths for a variable that is about to be defined with these filters; `None` for what can have no chunks:
/// a dimension has length 0.
pub type ChunkChooser = fn(&Schema, &Variable, &[Filter]) -> Result<Option<Vec<u64>>>;

/// Most bytes of a chunk.
const MOST_BYTES: u64 = 1 << 20;
/// Bytes that a chunk should have at least, where an unlimited dimension can give them.
const FEW_BYTES: u64 = 64 << 10;

/// Lengths by a rule that asks for nothing but the shape: of unlimited dimensions one element, of others all, halved along
/// the longest until a chunk has at most 1 MiB. Where that is less than 64 KiB, more elements of the unlimited dimensions,
/// of each as many.
///
/// A caller that knows how the values will be read, and on which machine, can choose better lengths.
///
/// ```
/// use ncforge::default_chunks;
/// use ncforge::model::{Atomic, DimId, Dimension, Format, Schema, Variable};
/// let mut schema = Schema::new(Format::Netcdf4);
/// for (name, len) in [("time", 0), ("lat", 720), ("lon", 1440)] {
///     schema.dims.push(Dimension::new(name, len, len == 0));
/// }
/// let map = Variable::new("t", Atomic::Float, vec![DimId(0), DimId(1), DimId(2)]);
/// assert_eq!(default_chunks(&schema, &map, &[])?, Some(vec![1, 360, 720]));
/// let series = Variable::new("time", Atomic::Double, vec![DimId(0)]);
/// assert_eq!(default_chunks(&schema, &series, &[])?, Some(vec![8192]));
/// schema.dims.push(Dimension::new("station", 0, true));
/// let both = Variable::new("obs", Atomic::Float, vec![DimId(0), DimId(3)]);
/// assert_eq!(default_chunks(&schema, &both, &[])?, Some(vec![128, 128]));
/// # Ok::<(), ncforge::Error>(())
/// ```
pub fn default_chunks(schema: &Schema, var: &Variable, _filters: &[Filter]) -> Result<Option<Vec<u64>>> {
    let element = schema.fixed_size(var.dtype).unwrap_or_else(|| schema.memory_size(var.dtype)) as u64;
    let dims = || var.dims.iter().map(|&d| schema.dim(d));
    if dims().any(|d| !d.unlimited && d.len == 0) {
        return Ok(None);
    }
    let mut chunk: Vec<u64> = dims().map(|d| if d.unlimited { 1 } else { d.len }).collect();
    let bytes = |chunk: &[u64]| shape::bytes(chunk, element.max(1));
    while bytes(&chunk) > MOST_BYTES {
        // Of equally long dimensions the slowest one.
        match chunk.iter_mut().rev().max().filter(|longest| **longest > 1) {
            Some(longest) => *longest = longest.div_ceil(2),
            // One element is as large as that.
            None => break,
        }
    }
    // Nobody knows which of several will be long.
    let mut left = dims().filter(|d| d.unlimited).count() as i32;
    for at in (0..chunk.len()).filter(|&at| schema.dim(var.dims[at]).unlimited) {
        let missing = FEW_BYTES / bytes(&chunk);
        chunk[at] = ((missing as f64).powf(1.0 / f64::from(left)).round() as u64).max(1);
        left -= 1;
    }
    Ok(Some(chunk))
}
