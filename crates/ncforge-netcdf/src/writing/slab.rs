//! Selections of an array, and how their elements spread over chunks.

use super::hdf5::MAX_RANK;
use ncforge::model::shape;

/// A selection with a start, a stride and a count in each dimension.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slab {
    rank: usize,
    start: [u64; MAX_RANK],
    stride: [u64; MAX_RANK],
    count: [u64; MAX_RANK],
}

/// The part of a selection that one chunk has: in each dimension the first element of the selection, how many, and where in the
/// chunk the first one is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    from: [u64; MAX_RANK],
    pub(super) count: [u64; MAX_RANK],
    at: [u64; MAX_RANK],
}

impl Slab {
    /// The slab of HDF5's start, stride, count and block; `None` where blocks have gaps between them, or nothing is selected.
    pub(super) fn new(rank: usize, pattern: [[u64; MAX_RANK]; 4]) -> Option<Self> {
        let [start, mut stride, mut count, block] = pattern;
        for d in 0..rank {
            if count[d] == 0 || block[d] == 0 {
                return None;
            }
            if block[d] > 1 {
                if count[d] > 1 && stride[d] != block[d] {
                    return None;
                }
                count[d] = count[d].checked_mul(block[d])?;
                stride[d] = 1;
            } else if count[d] == 1 {
                stride[d] = 1;
            }
            if stride[d] == 0 {
                return None;
            }
            (count[d] - 1).checked_mul(stride[d])?.checked_add(start[d])?;
        }
        Some(Self { rank, start, stride, count })
    }

    /// Number of elements.
    pub(super) fn elements(&self) -> Option<u64> {
        shape::checked(&self.count[..self.rank], 1)
    }

    /// Calls `each` for every chunk that has a part, row-major, by the number of the chunk in each dimension. An error ends it.
    pub(super) fn for_each_chunk<E>(
        &self,
        chunk: &[u64],
        mut each: impl FnMut(&[u64], &Part) -> Result<(), E>,
    ) -> Result<(), E> {
        let rank = self.rank;
        let mut part = Part { from: [0; MAX_RANK], count: [0; MAX_RANK], at: [0; MAX_RANK] };
        let mut number = [0; MAX_RANK];
        for d in 0..rank {
            self.meet(&mut part, d, self.start[d] / chunk[d], chunk[d]);
            number[d] = self.start[d] / chunk[d];
        }
        loop {
            each(&number[..rank], &part)?;
            let mut d = rank;
            loop {
                if d == 0 {
                    return Ok(());
                }
                d -= 1;
                let next = part.from[d] + part.count[d];
                if next < self.count[d] {
                    // Strides may pass over chunks.
                    number[d] = (self.start[d] + next * self.stride[d]) / chunk[d];
                    self.meet(&mut part, d, number[d], chunk[d]);
                    break;
                }
                number[d] = self.start[d] / chunk[d];
                self.meet(&mut part, d, number[d], chunk[d]);
            }
        }
    }

    /// The part in one dimension of the chunk of this number, which has one.
    fn meet(&self, part: &mut Part, d: usize, number: u64, len: u64) {
        let first = number * len;
        let from = first.saturating_sub(self.start[d]).div_ceil(self.stride[d]);
        let at = self.start[d] + from * self.stride[d] - first;
        part.from[d] = from;
        part.at[d] = at;
        part.count[d] = (1 + (len - 1 - at) / self.stride[d]).min(self.count[d] - from);
    }

    /// Whether a part is all elements of the first `lens` of a chunk.
    pub(super) fn is_all(&self, part: &Part, lens: &[u64]) -> bool {
        (0..self.rank).all(|d| part.count[d] == lens[d] && part.at[d] == 0)
    }

    /// Calls `run` for each run of adjacent elements: the first one's number in the selection and in the chunk, and how many.
    pub(super) fn for_each_run(&self, part: &Part, chunk: &[u64], mut run: impl FnMut(usize, usize, usize)) {
        let rank = self.rank;
        // Dimensions from `outer` on make up one run.
        let (mut outer, mut len) = (rank, 1u64);
        while outer > 0 {
            let d = outer - 1;
            if self.stride[d] != 1 && part.count[d] > 1 {
                break;
            }
            len *= part.count[d];
            outer = d;
            if part.count[d] != chunk[d] || part.count[d] != self.count[d] {
                break;
            }
        }
        let (mut of_selection, mut of_chunk) = ([0u64; MAX_RANK], [0u64; MAX_RANK]);
        let (mut a, mut b) = (1, 1);
        let (mut source, mut target) = (0, 0);
        for d in (0..rank).rev() {
            of_selection[d] = a;
            of_chunk[d] = b * self.stride[d];
            source += part.from[d] * a;
            target += part.at[d] * b;
            a *= self.count[d];
            b *= chunk[d];
        }
        let mut index = [0u64; MAX_RANK];
        loop {
            run(source as usize, target as usize, len as usize);
            let mut d = outer;
            loop {
                if d == 0 {
                    return;
                }
                d -= 1;
                index[d] += 1;
                source += of_selection[d];
                target += of_chunk[d];
                if index[d] < part.count[d] {
                    break;
                }
                source -= of_selection[d] * part.count[d];
                target -= of_chunk[d] * part.count[d];
                index[d] = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slab(start: &[u64], stride: &[u64], count: &[u64]) -> Slab {
        let wide = |v: &[u64]| {
            let mut all = [1; MAX_RANK];
            all[..v.len()].copy_from_slice(v);
            all
        };
        Slab::new(start.len(), [wide(start), wide(stride), wide(count), wide(&[])]).unwrap()
    }

    /// Scatters a selection into chunks and compares with an array written element by element.
    fn check(shape: [u64; 3], chunk: [u64; 3], start: [u64; 3], stride: [u64; 3], count: [u64; 3]) {
        let s = slab(&start, &stride, &count);
        let mut want = std::collections::BTreeMap::new();
        let mut n = 0usize;
        for i in 0..count[0] {
            for j in 0..count[1] {
                for k in 0..count[2] {
                    let at = [start[0] + i * stride[0], start[1] + j * stride[1], start[2] + k * stride[2]];
                    assert!((0..3).all(|d| at[d] < shape[d]));
                    want.insert(at, n);
                    n += 1;
                }
            }
        }
        let mut got = std::collections::BTreeMap::new();
        let mut numbers = Vec::new();
        s.for_each_chunk(&chunk, |number, part| {
            numbers.push(number.to_vec());
            s.for_each_run(part, &chunk, |from, to, len| {
                for e in 0..len {
                    let to = (to + e) as u64;
                    let inside = [to / (chunk[1] * chunk[2]), to / chunk[2] % chunk[1], to % chunk[2]];
                    let at: [u64; 3] = std::array::from_fn(|d| number[d] * chunk[d] + inside[d]);
                    assert_eq!(got.insert(at, from + e), None);
                }
            });
            Ok::<(), ()>(())
        })
        .unwrap();
        assert_eq!(got, want, "{shape:?} {chunk:?} {start:?} {stride:?} {count:?}");
        assert!(numbers.is_sorted());
        assert_eq!(s.elements(), Some(n as u64));
    }

    #[test]
    fn every_element_comes_to_its_place_once() {
        let mut state = 12345u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) % below
        };
        for _ in 0..2000 {
            let shape: [u64; 3] = std::array::from_fn(|_| 1 + random(12));
            let chunk: [u64; 3] = std::array::from_fn(|d| 1 + random(shape[d]));
            let start: [u64; 3] = std::array::from_fn(|d| random(shape[d]));
            let stride: [u64; 3] = std::array::from_fn(|_| if random(2) == 0 { 1 } else { 1 + random(5) });
            let count = std::array::from_fn(|d| 1 + random(1 + (shape[d] - 1 - start[d]) / stride[d]));
            check(shape, chunk, start, stride, count);
        }
        check([4, 6, 8], [2, 3, 8], [0, 0, 0], [1, 1, 1], [4, 6, 8]);
    }

    #[test]
    fn blocks_without_gaps_are_counts() {
        let all = |n| [n; MAX_RANK];
        let s = Slab::new(1, [all(2), all(3), all(4), all(3)]).unwrap();
        assert_eq!((s.elements(), s.start[0], s.stride[0]), (Some(12), 2, 1));
        assert!(Slab::new(1, [all(2), all(4), all(4), all(3)]).is_none());
        assert!(Slab::new(1, [all(2), all(1), all(0), all(1)]).is_none());
        assert!(Slab::new(1, [all(u64::MAX), all(1), all(2), all(1)]).is_none());
    }
}
