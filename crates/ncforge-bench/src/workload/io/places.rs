//! Where the blocks of a stretch lie, in the file and in the caller's memory.

use ncforge::Hyperslab;

use super::fields::Piece;
use super::geometry::Geometry;

/// One call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Position of the variable.
    pub(super) field: usize,
    /// Whether this rank moves something in it, or only takes part in what another one does.
    pub(super) owned: bool,
    /// First byte in memory.
    pub(super) at: usize,
    /// Bytes.
    pub(super) len: usize,
}

/// The calls of a stretch: starts and counts in one run of memory, as walking through thousands of lists would take time between calls.
pub(super) struct Places {
    all: Vec<Place>,
    /// Starts, then counts, then strides, of each.
    numbers: Vec<u64>,
    /// Where the numbers of each begin.
    first: Vec<usize>,
    /// The last one that was asked for, of each variable.
    current: Vec<Hyperslab>,
}

impl Places {
    /// Of pieces of values of so many bytes, which lie at `origin` of the array in the file. Where memory is `reused`, all of them have the same.
    pub(super) fn of(
        pieces: &[Piece],
        geometry: &Geometry,
        origin: Option<&[u64]>,
        size: usize,
        reused: bool,
    ) -> Self {
        let mut places = Places {
            all: Vec::with_capacity(pieces.len()),
            numbers: Vec::new(),
            first: Vec::with_capacity(pieces.len()),
            current: geometry.fields.iter().map(|f| Hyperslab::all(&f.of(&geometry.data))).collect(),
        };
        let mut end = 0;
        for piece in pieces {
            let len = if piece.owned { piece.slab.len() as usize * size } else { 0 };
            let at = if reused { 0 } else { end };
            end += len;
            places.all.push(Place { field: piece.field, owned: piece.owned, at, len });
            places.first.push(places.numbers.len());
            match origin {
                Some(origin) => {
                    let dims = &geometry.fields[piece.field].dims;
                    places.numbers.extend(piece.slab.start.iter().zip(dims).map(|(s, &d)| s - origin[d]));
                }
                None => places.numbers.extend_from_slice(&piece.slab.start),
            }
            places.numbers.extend_from_slice(&piece.slab.count);
            places.numbers.extend_from_slice(&piece.slab.stride);
        }
        places
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// The calls, in their order.
    pub(super) fn all(&self) -> &[Place] {
        &self.all
    }

    /// Bytes of memory that they need.
    pub(super) fn room(&self) -> usize {
        self.all.iter().map(|p| p.at + p.len).max().unwrap_or(0)
    }

    /// Bytes that are moved.
    pub(super) fn bytes(&self) -> u64 {
        self.all.iter().map(|p| p.len as u64).sum()
    }

    /// Those that this rank moves, in their order.
    pub(super) fn owned(&self) -> impl Iterator<Item = &Place> {
        self.all.iter().filter(|p| p.owned)
    }

    /// One of them, and where it lies in the file.
    #[inline]
    pub(super) fn at(&mut self, i: usize) -> (Place, &Hyperslab) {
        let place = self.all[i];
        let slab = &mut self.current[place.field];
        let rank = slab.start.len();
        let numbers = &self.numbers[self.first[i]..][..3 * rank];
        slab.start.copy_from_slice(&numbers[..rank]);
        slab.count.copy_from_slice(&numbers[rank..2 * rank]);
        slab.stride.copy_from_slice(&numbers[2 * rank..]);
        (place, slab)
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolving::GeometryRequest;
    use super::*;

    #[test]
    fn places_are_those_of_the_pieces() {
        let request = GeometryRequest {
            data: "t=2:y=4:x=6".parse().ok(),
            variables: "t:y:x,y,t:x".parse().ok(),
            split: "1:2:1".parse().ok(),
            ..GeometryRequest::default()
        };
        let g = Geometry::resolve(&request, 2, 1).unwrap();
        let pieces: Vec<Piece> = (0..2).flat_map(|call| g.pieces(1, call, false)).collect();
        let mut places = Places::of(&pieces, &g, None, 4, false);
        assert_eq!((places.len(), places.bytes(), places.room()), (5, 2 * 48 + 8, 104));
        let place = |field, owned, at, len| Place { field, owned, at, len };
        for (i, expected, start, count) in [
            (3, place(0, true, 56, 48), vec![1, 2, 0], vec![1, 2, 6]),
            (0, place(0, true, 0, 48), vec![0, 2, 0], vec![1, 2, 6]),
            (1, place(1, true, 48, 8), vec![2], vec![2]),
            // The other rank has it.
            (2, place(2, false, 56, 0), vec![0, 0], vec![1, 6]),
        ] {
            let (found, slab) = places.at(i);
            assert_eq!((found, &slab.start, &slab.count), (expected, &start, &count));
        }
        assert_eq!(places.owned().count(), 3);
        // In a file of the rank's own.
        let own: Vec<Piece> = g.pieces(1, 1, true);
        let mut places = Places::of(&own, &g, Some(&g.origin(1)), 4, true);
        assert_eq!((places.len(), places.room(), places.bytes()), (2, 48, 72));
        assert_eq!(places.at(0).1.start, [1, 0, 0]);
        assert_eq!(places.at(1).0, place(2, true, 0, 24));
    }
}
