//! A tile of which only the positions of its values are in memory.
//!
//! An open file holds its whole description, attributes and all, and what it has read of its metadata. Of a thousand
//! tiles that is too much, and opening them again for every variable takes longer than moving their bytes. Where the
//! values lie is all that is needed once the headers have been looked at. Common parts of tiles (names, types,
//! filters, shapes: most of all) are stored once for all of them, and a tile's own part is a number a variable and 16 bytes
//! a chunk.

use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

use ncforge::model::agreement::same_objects;
use ncforge::model::{Schema, Value, VarId, Variable, shape};
use ncforge::raw::{ChunkIndex, ChunkRecord, Container, Place, VarLayout};
use ncforge::store::ReadStore;
use ncforge::{Dataset, Engine, Result};

/// A variable of a tile that may have more chunks than this has its own index, which is read when it is asked.
const MOST_LISTED: u64 = 1 << 16;
/// So does one of which only one chunk in this many was written: memory is in proportion to what the file holds.
const MOST_PER_WRITTEN: u64 = 16;
/// Grids of this many chunks are listed however few of them were written.
const ALWAYS_LISTED: u64 = 64;
/// Descriptions that later tiles are compared with, at most. Tiles of a lattice have at most 36 different ones: the
/// lengths differ by one, and halos are cut at edges.
const MOST_SHARED: usize = 64;

/// Bytes of a tile of which nothing is its own but the open file.
const OPEN_TILE_BYTES: u64 = 512;

/// The places of a tile's values.
#[derive(Debug)]
pub(super) struct CompactLayout {
    common: Arc<SharedLayout>,
    own: Arc<Own>,
    store: Arc<dyn ReadStore>,
    engine: Engine,
    bytes: u64,
}

/// The parts of a layout that many tiles have in common.
#[derive(Debug)]
struct SharedLayout {
    /// The schema without attributes.
    schema: Schema,
    /// The layouts with the places of the first tile that has them.
    layouts: Vec<Arc<VarLayout>>,
    /// Chunks along each dimension.
    counts: Vec<Arc<[u64]>>,
}

/// The parts of a layout that one tile has for itself.
#[derive(Debug)]
struct Own {
    positions: Box<[ValuePosition]>,
    chunks: Box<[CompactRecord]>,
}

/// The place of a variable, as far as it is the tile's own.
#[derive(Debug)]
enum ValuePosition {
    /// All is said in common: nothing is stored, or it lies where the first tile has it, as in most classic tiles.
    SharedLayout,
    /// Bytes from here on.
    At(u64),
    /// The bytes themselves.
    Inline(Arc<[u8]>),
    /// Chunks, row-major, from this number of the tile's chunks on.
    Listed(usize),
    /// Chunks, by the file's own index.
    Index(Arc<dyn ChunkIndex>),
}

/// A [`ChunkRecord`] in 16 bytes.
#[derive(Clone, Copy, Debug)]
struct CompactRecord {
    offset: u64,
    len: u32,
    mask: u32,
}

/// The record of a chunk that was never written.
const UNWRITTEN: CompactRecord = CompactRecord { offset: u64::MAX, len: 0, mask: 0 };

/// The descriptions that tiles share.
#[derive(Debug, Default)]
pub(super) struct SharedLayouts(Mutex<Vec<Arc<SharedLayout>>>);

impl CompactLayout {
    /// The layout of an open tile.
    pub(super) fn of(tile: &Dataset, shared_layouts: &SharedLayouts) -> Result<CompactLayout> {
        let container = tile.container();
        let full = container.schema();
        let n = full.vars.len();
        let (mut layouts, mut counts) = (Vec::with_capacity(n), Vec::with_capacity(n));
        let (mut positions, mut chunks) = (Vec::with_capacity(n), Vec::new());
        for v in full.var_ids() {
            let layout = container.layout(v)?;
            let (place, position, grid) = taken_apart(&layout, &mut chunks);
            layouts.push(Arc::new(VarLayout {
                name: layout.name.clone(),
                shape: layout.shape.clone(),
                element: layout.element.clone(),
                absent: layout.absent.clone(),
                place,
            }));
            positions.push(position);
            counts.push(grid);
        }
        let (common, new) = shared_layouts.shared(full, layouts, counts);
        for (position, layout) in positions.iter_mut().zip(&common.layouts) {
            if position.is_place_of(layout) {
                *position = ValuePosition::SharedLayout;
            }
        }
        let own = Own { positions: positions.into(), chunks: chunks.into() };
        let bytes = own.bytes() + if new { common.bytes() } else { 0 };
        Ok(CompactLayout {
            common,
            own: Arc::new(own),
            store: Arc::clone(container.store()),
            engine: tile.engine().clone(),
            bytes,
        })
    }

    /// The layout of a tile whose values lie in the same places of another file.
    pub(super) fn elsewhere(&self, store: Arc<dyn ReadStore>) -> CompactLayout {
        CompactLayout {
            common: Arc::clone(&self.common),
            own: Arc::clone(&self.own),
            store,
            engine: self.engine.clone(),
            bytes: OPEN_TILE_BYTES,
        }
    }

    /// About what it takes in memory, besides what it shares with an earlier one.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl ValuePosition {
    /// Whether a layout says the same.
    fn is_place_of(&self, layout: &VarLayout) -> bool {
        match (self, &layout.place) {
            (ValuePosition::At(own), Place::Contiguous { offset: at } | Place::Records { begin: at, .. }) => {
                own == at
            }
            _ => false,
        }
    }
}

/// A layout's place without what is the tile's own, that, and the counts of its chunks.
fn taken_apart(layout: &VarLayout, chunks: &mut Vec<CompactRecord>) -> (Place, ValuePosition, Arc<[u64]>) {
    let none = || Arc::from([]);
    match &layout.place {
        Place::Nowhere => (Place::Nowhere, ValuePosition::SharedLayout, none()),
        Place::Unsupported(_) | Place::NotFollowed(_) | Place::Parts(_) => {
            (layout.place.clone(), ValuePosition::SharedLayout, none())
        }
        Place::Contiguous { offset: at } | Place::Records { begin: at, .. } => {
            (layout.place.clone(), ValuePosition::At(*at), none())
        }
        Place::Inline(bytes) => {
            (Place::Inline(Arc::from([])), ValuePosition::Inline(Arc::clone(bytes)), none())
        }
        Place::Chunked { chunk, codecs, index } => {
            let counts: Arc<[u64]> =
                layout.shape.iter().zip(chunk).map(|(&n, &c)| n.div_ceil(c.max(1))).collect();
            let position =
                listed(&**index, &counts, chunks).unwrap_or_else(|| ValuePosition::Index(Arc::clone(index)));
            let place =
                Place::Chunked { chunk: chunk.clone(), codecs: codecs.clone(), index: Arc::new(Nothing) };
            (place, position, counts)
        }
    }
}

/// Appends a variable's chunks; `None` where its own index serves better: there are very many, or most were never
/// written, or it is damaged (which concerns those who read the variable).
fn listed(index: &dyn ChunkIndex, counts: &[u64], chunks: &mut Vec<CompactRecord>) -> Option<ValuePosition> {
    let cells = shape::checked(counts, 1).filter(|&n| n <= MOST_LISTED)?;
    let list = index.list().ok()?;
    if list.is_empty() {
        // The common place has no chunks either.
        return Some(ValuePosition::SharedLayout);
    }
    if cells > ALWAYS_LISTED.max(list.len() as u64 * MOST_PER_WRITTEN) {
        return None;
    }
    let first = chunks.len();
    chunks.resize(first + cells as usize, UNWRITTEN);
    for (at, record) in list {
        let cell = cell(&at, counts);
        let len = u32::try_from(record.len).ok().filter(|_| record.offset != u64::MAX);
        let (Some(cell), Some(len)) = (cell, len) else {
            chunks.truncate(first);
            return None;
        };
        chunks[first + cell] = CompactRecord { offset: record.offset, len, mask: record.mask };
    }
    Some(ValuePosition::Listed(first))
}

/// The row-major number of a chunk.
fn cell(at: &[u64], counts: &[u64]) -> Option<usize> {
    if at.len() != counts.len() || at.iter().zip(counts).any(|(i, n)| i >= n) {
        return None;
    }
    Some(at.iter().zip(counts).fold(0u64, |a, (&i, &n)| a * n + i) as usize)
}

impl SharedLayouts {
    /// The description that an earlier tile had, if it is the same, and whether it is new.
    fn shared(
        &self,
        full: &Schema,
        layouts: Vec<Arc<VarLayout>>,
        counts: Vec<Arc<[u64]>>,
    ) -> (Arc<SharedLayout>, bool) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |c: &&Arc<SharedLayout>| {
            is_same(&c.schema, full)
                && c.layouts.len() == layouts.len()
                && c.layouts.iter().zip(&layouts).all(|(a, b)| is_alike(a, b))
        };
        if let Some(common) = known.iter().find(same) {
            return (Arc::clone(common), false);
        }
        let mut schema = full.clone();
        schema.groups.iter_mut().for_each(|g| g.attrs = Vec::new());
        schema.vars.iter_mut().for_each(|v| v.attrs = Vec::new());
        schema.skipped = Vec::new();
        schema.provenance = None;
        let common = Arc::new(SharedLayout { schema, layouts, counts });
        if known.len() < MOST_SHARED {
            known.push(Arc::clone(&common));
        }
        (common, true)
    }
}

/// Whether two descriptions are the same but for attributes.
fn is_same(a: &Schema, b: &Schema) -> bool {
    let stored =
        |x: &Variable, y: &Variable| (&x.storage, x.endian, &x.fill) == (&y.storage, y.endian, &y.fill);
    same_objects(a, b) && a.dims == b.dims && a.vars.iter().zip(&b.vars).all(|(x, y)| stored(x, y))
}

/// Whether two layouts are the same but for where the bytes lie.
fn is_alike(a: &VarLayout, b: &VarLayout) -> bool {
    let places = match (&a.place, &b.place) {
        (Place::Nowhere, Place::Nowhere)
        | (Place::Contiguous { .. }, Place::Contiguous { .. })
        | (Place::Inline(_), Place::Inline(_)) => true,
        (Place::Records { stride: x, .. }, Place::Records { stride: y, .. }) => x == y,
        (Place::Unsupported(x), Place::Unsupported(y)) => x == y,
        (Place::NotFollowed(x), Place::NotFollowed(y)) => x == y,
        (Place::Chunked { chunk: x, codecs: p, .. }, Place::Chunked { chunk: y, codecs: q, .. }) => {
            x == y && p.filters() == q.filters()
        }
        _ => false,
    };
    places && (&a.name, &a.shape, &a.element, &a.absent) == (&b.name, &b.shape, &b.element, &b.absent)
}

impl SharedLayout {
    fn bytes(&self) -> u64 {
        512 + self.schema.dims.len() as u64 * 96 + self.layouts.len() as u64 * 768
    }
}

impl Own {
    fn bytes(&self) -> u64 {
        let inline = |s: &ValuePosition| match s {
            ValuePosition::Inline(bytes) => bytes.len() as u64,
            // Its table once it is read, and what is cached of the file for it.
            ValuePosition::Index(_) => 1 << 20,
            _ => 0,
        };
        let positions =
            self.positions.iter().map(|s| size_of::<ValuePosition>() as u64 + inline(s)).sum::<u64>();
        OPEN_TILE_BYTES + positions + (self.chunks.len() * size_of::<CompactRecord>()) as u64
    }
}

impl Container for CompactLayout {
    fn schema(&self) -> &Schema {
        &self.common.schema
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        &self.store
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        let Some(position) = self.own.positions.get(var.0) else {
            return Err(ncforge::Error::NoSuchId { kind: "variable", id: var.0 });
        };
        let common = &self.common.layouts[var.0];
        if matches!(position, ValuePosition::SharedLayout) {
            return Ok(Arc::clone(common));
        }
        let mut layout = VarLayout::clone(common);
        match (&mut layout.place, position) {
            (Place::Contiguous { offset: at } | Place::Records { begin: at, .. }, ValuePosition::At(own)) => {
                *at = *own;
            }
            (Place::Inline(bytes), ValuePosition::Inline(own)) => *bytes = Arc::clone(own),
            (Place::Chunked { index, .. }, ValuePosition::Index(own)) => *index = Arc::clone(own),
            (Place::Chunked { index, .. }, ValuePosition::Listed(first)) => {
                *index = Arc::new(Listed {
                    own: Arc::clone(&self.own),
                    first: *first,
                    counts: Arc::clone(&self.common.counts[var.0]),
                });
            }
            _ => {}
        }
        Ok(Arc::new(layout))
    }

    /// Through the whole file, opened again: few tiles hold strings, and fewer any that are split.
    fn decode_heap(&self, var: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        let whole = Dataset::from_store(Arc::clone(&self.store), &self.engine)?;
        whole.container().decode_heap(var, stored)
    }
}

/// The chunks of a variable.
#[derive(Debug)]
struct Listed {
    own: Arc<Own>,
    first: usize,
    counts: Arc<[u64]>,
}

impl Listed {
    fn record(&self, cell: usize) -> Option<ChunkRecord> {
        let record = self.own.chunks.get(self.first + cell)?;
        let written = record.offset != UNWRITTEN.offset;
        written.then(|| ChunkRecord { offset: record.offset, len: u64::from(record.len), mask: record.mask })
    }
}

impl ChunkIndex for Listed {
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>> {
        Ok(cell(at, &self.counts).and_then(|cell| self.record(cell)))
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        let ranges: Vec<std::ops::Range<u64>> = self.counts.iter().map(|&n| 0..n).collect();
        Ok(ncforge::raw::coordinates(&ranges)
            .enumerate()
            .filter_map(|(cell, at)| self.record(cell).map(|record| (at, record)))
            .collect())
    }
}

/// Stands in a common layout where a tile's chunks are its own.
#[derive(Debug)]
struct Nothing;

impl ChunkIndex for Nothing {
    fn get(&self, _: &[u64]) -> Result<Option<ChunkRecord>> {
        Ok(None)
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        Ok(Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug)]
    struct Written(Vec<u64>);

    impl ChunkIndex for Written {
        fn get(&self, _: &[u64]) -> Result<Option<ChunkRecord>> {
            unreachable!("the list is asked")
        }

        fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
            let record = |&i: &u64| (vec![i / 100, i % 100], ChunkRecord { offset: 8 * i, len: 8, mask: 1 });
            Ok(self.0.iter().map(record).collect())
        }
    }

    #[test]
    fn what_is_listed_is_in_proportion_to_what_was_written() {
        let counts: Arc<[u64]> = Arc::from([600, 100]);
        let mut chunks = Vec::new();
        assert!(matches!(listed(&Written(vec![]), &counts, &mut chunks), Some(ValuePosition::SharedLayout)));
        assert!(listed(&Written(vec![5, 7]), &counts, &mut chunks).is_none());
        // Outside the grid.
        assert!(listed(&Written((2000..60001).collect()), &counts, &mut chunks).is_none());
        assert!(chunks.is_empty());

        let written: Vec<u64> = (0..60000).filter(|i| i % 10 == 3).collect();
        let Some(ValuePosition::Listed(first)) = listed(&Written(written.clone()), &counts, &mut chunks)
        else {
            panic!("one in ten is enough")
        };
        let own = Arc::new(Own { positions: [].into(), chunks: chunks.into() });
        let listed = Listed { own, first, counts };
        assert_eq!(listed.list().unwrap(), Written(written).list().unwrap());
        assert_eq!(listed.get(&[1, 13]).unwrap(), Some(ChunkRecord { offset: 904, len: 8, mask: 1 }));
        assert_eq!(listed.get(&[1, 14]).unwrap(), None);
        assert_eq!(listed.get(&[600, 3]).unwrap(), None);
    }
}
