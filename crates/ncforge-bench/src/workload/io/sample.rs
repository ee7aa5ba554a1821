//! A sample of a real file, repeated over an array.

use std::path::Path;

use ncforge::model::{DType, shape};
use ncforge::raw::coordinates;
use ncforge::{Atomic, Dataset, Hyperslab};

use crate::error::{Error, Result};

/// Bytes that are taken of a variable at most; of larger ones the first along its outer dimensions.
const MOST: u64 = 64 << 20;

/// Values of a variable.
#[derive(Debug)]
pub(crate) struct Sample {
    shape: Vec<u64>,
    size: usize,
    bytes: Vec<u8>,
}

/// The type of a variable's values, which a benchmark that repeats them has, too.
///
/// # Errors
/// When the file cannot be read, and [`Error::NoValues`] when the variable holds no numbers.
pub fn sample_type(path: &Path, variable: &str) -> Result<Atomic> {
    let dataset = Dataset::open(path)?;
    let id = dataset.var(variable)?;
    match dataset.schema().var(id).dtype {
        DType::Atomic(t) if t != Atomic::Char => Ok(t),
        _ => Err(no_values(path, variable, "holds no numbers")),
    }
}

fn no_values(path: &Path, variable: &str, what: &'static str) -> Error {
    Error::NoValues { variable: variable.to_owned(), path: path.display().to_string(), what }
}

impl Sample {
    /// Reads the values, which must be of this type.
    pub(super) fn load(path: &Path, variable: &str, dtype: Atomic) -> Result<Sample> {
        let found = sample_type(path, variable)?;
        if found != dtype {
            return Err(Error::bad_option(
                "dtype",
                format!(
                    "`{variable}` in `{}` is of type {}, the benchmark of type {}; leave out --dtype",
                    path.display(),
                    found.cdl_name(),
                    dtype.cdl_name()
                ),
            ));
        }
        let dataset = Dataset::open(path)?;
        let id = dataset.var(variable)?;
        let mut shape = dataset.schema().shape(id);
        if shape.is_empty() {
            shape.push(1);
        }
        if shape.contains(&0) {
            return Err(no_values(path, variable, "has no values"));
        }
        let size = dtype.size();
        // Whole steps of the outer dimensions, so that neighbours stay neighbours.
        for d in 0..shape.len() {
            let inner = shape::bytes(&shape[d + 1..], size as u64);
            shape[d] = (MOST / inner).clamp(1, shape[d]);
        }
        let slab = match dataset.schema().shape(id).len() {
            0 => Hyperslab::all(&[]),
            _ => Hyperslab::new(&vec![0; shape.len()], &shape),
        };
        let mut bytes = vec![0; shape.iter().product::<u64>() as usize * size];
        dataset.read_bytes(id, &slab, &mut bytes)?;
        Ok(Sample { shape, size, bytes })
    }

    /// Fills `out` with the values of a block of an array. Where the sample has as many dimensions as the array, it is
    /// repeated along each of them; otherwise its values follow one another as the array's do.
    pub(super) fn fill(&self, array: &[u64], slab: &Hyperslab, out: &mut [u8]) {
        let last = array.len() - 1;
        let width = slab.count[last] as usize * self.size;
        let outer: Vec<_> = (0..last).map(|d| slab.start[d]..slab.end(d)).collect();
        let along = self.shape.len() == array.len();
        for (row, at) in out.chunks_mut(width.max(1)).zip(coordinates(&outer)) {
            let (first, period, phase) = if along {
                let row = (0..last).fold(0, |i, d| i * self.shape[d] + at[d] % self.shape[d]);
                (row * self.shape[last], self.shape[last], slab.start[last] % self.shape[last])
            } else {
                let index = (0..last).fold(0u64, |i, d| i.wrapping_mul(array[d]).wrapping_add(at[d]));
                let index = index.wrapping_mul(array[last]).wrapping_add(slab.start[last]);
                let whole = (self.bytes.len() / self.size) as u64;
                (0, whole, index % whole)
            };
            let turn = &self.bytes[first as usize * self.size..(first + period) as usize * self.size];
            let (mut done, mut from) = (0, phase as usize * self.size);
            while done < row.len() {
                let n = (turn.len() - from).min(row.len() - done);
                row[done..done + n].copy_from_slice(&turn[from..from + n]);
                (done, from) = (done + n, 0);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(sample: &Sample, array: &[u64], at: &[u64]) -> u8 {
        let mut out = [0];
        sample.fill(array, &Hyperslab::new(at, &vec![1; at.len()]), &mut out);
        out[0]
    }

    #[test]
    fn a_sample_is_repeated_along_each_dimension_or_in_a_row() {
        let sample = Sample { shape: vec![2, 3], size: 1, bytes: (0..6).collect() };
        let array = [5, 7];
        let mut out = vec![0; 35];
        sample.fill(&array, &Hyperslab::all(&array), &mut out);
        for y in 0..5u64 {
            for x in 0..7u64 {
                let expected = (y % 2 * 3 + x % 3) as u8;
                assert_eq!(out[(y * 7 + x) as usize], expected);
                assert_eq!(cell(&sample, &array, &[y, x]), expected);
            }
        }
        let array = [2, 2, 5];
        let mut out = vec![0; 20];
        sample.fill(&array, &Hyperslab::all(&array), &mut out);
        assert_eq!(out, (0..20).map(|i| i % 6).collect::<Vec<u8>>());
        assert_eq!(cell(&sample, &array, &[1, 0, 3]), 13 % 6);
    }
}
