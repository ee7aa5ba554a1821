//! Which part of a box of the whole each tile has.

use super::{DimKind, From, Mosaic};
use ncforge::Hyperslab;
use ncforge::model::VarId;
use ncforge::raw::Region;

/// A part of a box that one tile has.
pub(super) struct Piece {
    pub(super) tile: usize,
    /// The region in the box.
    pub(super) region: Region,
    /// The part of the tile.
    pub(super) local: Hyperslab,
}

impl Mosaic {
    /// The parts of a box, disjoint. An element in none is a hole.
    pub(super) fn pieces(&self, v: VarId, slab: &Hyperslab) -> Vec<Piece> {
        self.tiles_of(v, slab).into_iter().filter_map(|tile| self.piece(v, slab, tile)).collect()
    }

    /// The tiles that may have a part of a box.
    pub(super) fn tiles_of(&self, v: VarId, slab: &Hyperslab) -> Vec<usize> {
        match self.from[v.0] {
            From::Tile(tile) => vec![tile],
            From::Pattern(p) => {
                let (mut start, mut count) = (Vec::new(), Vec::new());
                for (axis, (_, kind)) in self.kinds(v).enumerate() {
                    if kind != DimKind::Whole {
                        start.push(slab.start[axis]);
                        count.push(slab.count[axis]);
                    }
                }
                let wanted = Region { start, count };
                self.patterns[p].touching(&wanted).map(|(tile, _)| tile).collect()
            }
        }
    }

    /// A tile's part of a box.
    fn piece(&self, v: VarId, slab: &Hyperslab, tile: usize) -> Option<Piece> {
        self.facts[tile].var(v)?;
        let n = slab.rank();
        let (mut start, mut local, mut count) =
            (Vec::with_capacity(n), Vec::with_capacity(n), Vec::with_capacity(n));
        for (axis, d) in self.schema.var(v).dims.iter().enumerate() {
            let span = self.facts[tile].spans[d.0];
            let first = slab.start[axis];
            // The indices of the box that lie below a place.
            let below = |place: u64| place.saturating_sub(first).min(slab.count[axis]);
            let (from, to) = (below(span.first), below(span.first + span.count));
            if from >= to {
                return None;
            }
            start.push(from);
            local.push(first + from - span.first + span.skip);
            count.push(to - from);
        }
        Some(Piece { tile, local: Hyperslab::new(&local, &count), region: Region { start, count } })
    }
}
