//! The calls of a stretch: where their blocks begin, in one run of memory, as walking through thousands of lists would take time
//! between calls.

use std::ops::Range;

use ncforge::Hyperslab;

use super::geometry::Geometry;

/// The blocks of some calls, which all have the same shape.
pub(super) struct Places {
    /// Starts of each, one after the other.
    starts: Vec<u64>,
    /// The last one that was asked for.
    current: Hyperslab,
    /// Bytes of a block.
    block: usize,
    /// Whether all of them have the same memory.
    reused: bool,
    calls: usize,
}

impl Places {
    /// The places of a rank's calls, with values of so many bytes; where the rank has a file of its own, blocks count from its share.
    pub(super) fn of(
        geometry: &Geometry,
        rank: u64,
        calls: Range<u64>,
        own: bool,
        size: usize,
        reused: bool,
    ) -> Self {
        let origin = geometry.origin(rank);
        let mut starts = Vec::with_capacity((calls.end - calls.start) as usize * origin.len());
        let many = (calls.end - calls.start) as usize;
        for call in calls {
            let slab = geometry.slab(rank, call);
            starts.extend(slab.start.iter().zip(&origin).map(|(s, o)| if own { s - o } else { *s }));
        }
        let current = Hyperslab::new(&vec![0; origin.len()], &geometry.block);
        let len = current.len() as usize * size;
        Places { starts, current, block: len, reused, calls: many }
    }

    /// The number of places.
    pub(super) fn len(&self) -> usize {
        self.calls
    }

    /// Bytes of memory that they need.
    pub(super) fn memory_needed(&self) -> usize {
        if self.reused { self.block } else { self.block * self.calls }
    }

    /// Bytes that are moved.
    pub(super) fn bytes(&self) -> u64 {
        self.block as u64 * self.calls as u64
    }

    /// The memory of one of them.
    #[inline]
    pub(super) fn memory(&self, i: usize) -> Range<usize> {
        let at = if self.reused { 0 } else { i * self.block };
        at..at + self.block
    }

    /// The memory of one of them, and where it lies in the file.
    #[inline]
    pub(super) fn at(&mut self, i: usize) -> (Range<usize>, &Hyperslab) {
        let rank = self.current.start.len();
        self.current.start.copy_from_slice(&self.starts[i * rank..][..rank]);
        (self.memory(i), &self.current)
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolving::GeometryRequest;
    use super::*;

    #[test]
    fn places_are_those_of_the_calls() {
        let request = GeometryRequest { data: "t=2:y=4:x=6".parse().ok(), ..GeometryRequest::default() };
        let g = Geometry::resolve(&request, 2, 2).unwrap();
        let mut places = Places::of(&g, 1, 0..2, false, 4, false);
        assert_eq!((places.len(), places.bytes(), places.memory_needed()), (2, 96, 96));
        let (memory, slab) = places.at(1);
        assert_eq!((memory, &slab.start, &slab.count), (48..96, &vec![1, 2, 0], &vec![1, 2, 6]));
        // In a file of the rank's own.
        let mut places = Places::of(&g, 1, 1..2, true, 4, true);
        assert_eq!((places.len(), places.memory_needed()), (1, 48));
        assert_eq!(places.at(0).1.start, [1, 0, 0]);
    }
}
