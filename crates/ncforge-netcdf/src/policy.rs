//! Which reads ncforge serves, and which are left to netCDF-C: the thresholds.
//!
//! NetCDF-C is quick where a read of a classic file is small: 45 ns for a value that is in its buffer, where ncforge takes 1.5 µs. It
//! is slow where chunks must be decoded, where a read meets many chunks or runs, and where the cache does not hold what a loop
//! comes back to; and a value of an HDF5 file takes it 4 µs, wherever it is, and ncforge 1 µs. Work is counted in bytes that
//! netCDF-C would move or decode. (Measured with `benches/netcdf_program.c` on two virtual processors, netCDF-C 4.9.0.)

use crate::variables::Variable;
use ncforge::model::shape;

/// Chunks of compressed variables below this are encoded by HDF5: handing them to a thread costs as much as encoding them.
pub(crate) const LEAST_CHUNK: u64 = 4 << 10;
/// Bytes of whole chunks that wait for being encoded, or are.
pub(crate) const QUEUE: u64 = 32 << 20;
/// Bytes of memory of chunks that is kept for the next ones.
pub(crate) const SPARE: usize = 32 << 20;
/// A variable that was read more often between writes, while chunks of it were being gathered, is left to HDF5, whose cache
/// serves both.
pub(crate) const READS_BETWEEN: u32 = 4;

/// A variable is left to HDF5 when chunks that were handed on for space have come back more often: each time one is decoded and encoded again.
pub(crate) const RETURNS: u32 = 4;

/// Bytes of chunks that are being gathered at most, of the engine's memory, besides what HDF5's caches would hold: these stay empty, as
/// HDF5 gets whole chunks.
pub(crate) fn write_memory(engine: u64) -> u64 {
    (engine / 16).min(1 << 30)
}

/// Classic files: from this many bytes on ncforge is quicker.
const PLAIN_BYTES: u64 = 32 << 10;
/// Classic files: runs of a read; netCDF-C reads each by itself.
const PLAIN_RUNS: u64 = 16;
/// The cost of one run for netCDF-C, in bytes: two system calls and a block of its buffer, or a call of HDF5.
const RUN_BYTES: u64 = 4 << 10;
/// Opening a file in ncforge pays from this much work on, …
const OPEN_BYTES: u64 = 256 << 10;
/// … and this much for each variable.
const OPEN_BYTES_PER_VARIABLE: u64 = 8 << 10;

/// The cost of a read for netCDF-C.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Work {
    /// Bytes moved or decoded.
    pub(crate) bytes: u64,
    /// Whether ncforge does it quicker once it has opened the file.
    pub(crate) for_us: bool,
}

/// The work of a selection inside the variable.
pub(crate) fn work(
    variable: &Variable,
    start: &[usize],
    count: &[usize],
    stride: Option<&[isize]>,
    classic: bool,
) -> Work {
    let size = variable.stored.map_or(1, |s| s.size() as u64);
    let elements = shape::product(count.iter().map(|&c| c as u64)).saturating_mul(size);
    let step = |d: usize| stride.map_or(1, |s| s[d].unsigned_abs() as u64);
    if let Some(chunk) = &variable.chunk {
        let mut bytes = shape::bytes(chunk, size);
        for d in 0..chunk.len() {
            let (first, n) = (start[d] as u64, count[d] as u64);
            let last = first.saturating_add(n.saturating_sub(1).saturating_mul(step(d)));
            let met = (last / chunk[d] - first / chunk[d]).saturating_add(1).min(n);
            bytes = bytes.saturating_mul(met);
        }
        if !variable.filtered {
            // Chunks that are stored as they are need not be read whole.
            bytes = bytes.min(elements.saturating_mul(8));
        }
        return Work { bytes: bytes.max(RUN_BYTES), for_us: true };
    }
    let runs = runs(&variable.shape, count, stride);
    let bytes = elements.saturating_add(runs.saturating_mul(RUN_BYTES));
    Work { bytes, for_us: !classic || elements >= PLAIN_BYTES || runs >= PLAIN_RUNS }
}

/// Runs of adjacent elements of a selection of a contiguous array.
fn runs(shape: &[u64], count: &[usize], stride: Option<&[isize]>) -> u64 {
    let mut d = count.len();
    // Dimensions that are taken whole, from the fastest one on, continue the run of the one in front of them.
    while d > 0 {
        d -= 1;
        let dense = stride.is_none_or(|s| s[d] == 1 || count[d] == 1);
        if !dense {
            d += 1;
            break;
        }
        if count[d] as u64 != shape[d] {
            break;
        }
    }
    shape::product(count[..d].iter().map(|&c| c as u64))
}

/// Whether ncforge should open a file now, after this much work was left to netCDF-C.
pub(crate) fn opening_pays(work: u64, variables: u64) -> bool {
    work >= OPEN_BYTES + variables * OPEN_BYTES_PER_VARIABLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_contiguous_arrays() {
        let shape = [10, 20, 30];
        assert_eq!(runs(&shape, &[10, 20, 30], None), 1);
        assert_eq!(runs(&shape, &[1, 20, 30], None), 1);
        assert_eq!(runs(&shape, &[5, 20, 30], None), 1);
        assert_eq!(runs(&shape, &[5, 3, 30], None), 5);
        assert_eq!(runs(&shape, &[10, 1, 1], None), 10);
        assert_eq!(runs(&shape, &[2, 3, 4], None), 6);
        assert_eq!(runs(&shape, &[2, 3, 4], Some(&[1, 1, 2])), 24);
        assert_eq!(runs(&[], &[], None), 1);
    }
}
