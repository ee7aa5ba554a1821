//! The whole as a dataset: arrays whose parts are the tiles'.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use super::super::scheme::Span;
use super::Mosaic;
use super::batch::OfMosaic;
use super::facts::{KeptAs, OfTiles};
use super::fill::heap_fill_of;
use super::rebase::Rebased;
use ncforge::model::{Schema, Value, VarId, shape};
use ncforge::raw::{
    Absent, ArrayPart, ChunkIndex, Chunks, Container, Convert, Kept, OpenPart, PartAxis, PartIndex,
    PartSource, Place, Records, SourceName, VarGroup, VarLayout,
};
use ncforge::store::{MemoryStore, ReadStore};
use ncforge::{Dataset, Error, Hyperslab, Result};

impl Mosaic {
    /// The dataset that the tiles make.
    pub(crate) fn dataset(self: &Arc<Self>) -> Dataset {
        let name = match self.tiles.len() {
            1 => self.tiles.name(0),
            n => format!("{} and {} other {}s", self.tiles.name(0), n - 1, self.scheme.noun()),
        };
        let existing = self.existing.iter().map(|e| e.path().to_owned());
        let files = self.tiles.paths().iter().cloned().chain(existing).collect();
        let layouts = self.schema.vars.iter().map(|_| OnceLock::new()).collect();
        // No byte of the whole is in one store.
        let joined =
            Joined { mosaic: self.clone(), store: Arc::new(MemoryStore::new(&name, Vec::new())), layouts };
        Dataset::of_files(Box::new(joined), &self.engine, files, self.tile_format)
    }

    /// Bytes of the values of a variable, in which a value of variable length takes as many as its place.
    pub(super) fn bytes_of(&self, v: VarId) -> u64 {
        let element = self.schema.fixed_size(self.schema.var(v).dtype).unwrap_or(16) as u64;
        shape::bytes(&self.schema.shape(v), element)
    }

    /// Whether elements in no tile have other values than the fill value.
    fn is_patched(&self, v: VarId) -> bool {
        self.patches.contains_key(&v) || self.existing.is_some()
    }

    /// Whether chunks of a variable can be moved.
    pub(super) fn is_movable(&self, v: VarId) -> bool {
        self.of_tiles[v.0].movable && !self.is_patched(v)
    }
}

/// The whole.
#[derive(Debug)]
struct Joined {
    mosaic: Arc<Mosaic>,
    store: Arc<dyn ReadStore>,
    layouts: Vec<OnceLock<Arc<VarLayout>>>,
}

impl Joined {
    fn lay_out(&self, v: VarId) -> VarLayout {
        let Mosaic { schema, of_tiles, .. } = &*self.mosaic;
        let OfTiles { element, absent, kept, .. } = &of_tiles[v.0];
        let own = || OfMosaic { mosaic: self.mosaic.clone(), var: v };
        let layout = VarLayout {
            name: schema.var_path(v),
            shape: schema.shape(v),
            element: element.clone(),
            absent: if self.mosaic.is_patched(v) { Absent::Several } else { absent.clone() },
            place: Place::Nowhere,
        };
        let index: Option<Arc<dyn ChunkIndex>> = match kept {
            KeptAs::Chunks { .. } => Some(Arc::new(own())),
            KeptAs::Rows | KeptAs::Otherwise => None,
        };
        let tiled = Tiled { of: own(), index, below: self.below(v, &layout) };
        VarLayout { place: Place::Parts(Arc::new(tiled)), ..layout }
    }

    /// What lies under the tiles, where that is not what the layout says of absent elements, from the lowest on.
    fn below(&self, v: VarId, layout: &VarLayout) -> Vec<ArrayPart> {
        let Mosaic { fills, patches, .. } = &*self.mosaic;
        let mut found = Vec::new();
        let values = |absent: Absent, place: Place| {
            let element = layout.element.in_memory();
            let layout = VarLayout { element, absent, place, ..layout.clone() };
            Open::Values { layout: Arc::new(layout), store: self.store.clone() }
        };
        let mut add = |shape: &[u64], open: Open| {
            if !shape.contains(&0) {
                let axes = shape.iter().enumerate().map(|(d, &n)| PartAxis::run(d, 0, 0, n)).collect();
                let source = Arc::new(Source::Open(Arc::new(open)));
                found.push(ArrayPart { axes, origin: vec![0; shape.len()], source });
            }
        };
        if let Some(fill) = fills[v.0].as_ref().filter(|_| layout.absent.one().is_none()) {
            let absent = Absent::As(fill.clone());
            let place = patches.get(&v).map_or(Place::Nowhere, |patch| Place::Inline(Arc::from(&patch[..])));
            add(&layout.shape, values(absent, place));
        }
        if let Some((file, var)) = self.mosaic.existing_var(v) {
            let open = Open::Variable { file: file.clone(), var, change: None };
            add(&file.schema().shape(var), open);
        }
        found
    }
}

impl Container for Joined {
    fn schema(&self) -> &Schema {
        &self.mosaic.schema
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        &self.store
    }

    fn layout(&self, v: VarId) -> Result<Arc<VarLayout>> {
        let slot = self.layouts.get(v.0).ok_or(Error::NoSuchId { kind: "variable", id: v.0 })?;
        Ok(slot.get_or_init(|| Arc::new(self.lay_out(v))).clone())
    }

    /// Elements that are in no tile.
    fn decode_heap(&self, v: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        let number = stored.len() / self.mosaic.of_tiles[v.0].element.size.max(1);
        Ok(vec![heap_fill_of(&self.mosaic.schema, v); number])
    }

    fn var_group(&self, v: VarId) -> Option<&VarGroup> {
        self.mosaic.var_groups.get(v.0)?.as_ref()
    }

    fn read_together(&self, vars: &[VarId], slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.mosaic.read_small(vars, slab, out)
    }

    fn records(&self, vars: &[VarId]) -> Result<Option<Records>> {
        self.mosaic.records_of_series(vars)
    }

    fn record_file(&self, number: usize) -> Result<Arc<dyn ReadStore>> {
        let tile = self.mosaic.file_with_records(number);
        let tile = tile.ok_or_else(|| Error::Internal(format!("no file has the records {number}")))?;
        Ok(Arc::clone(self.mosaic.tiles.open(tile)?.container().store()))
    }
}

/// The parts of a variable.
#[derive(Debug)]
struct Tiled {
    of: OfMosaic,
    /// The index of its chunks.
    index: Option<Arc<dyn ChunkIndex>>,
    /// What lies under the tiles.
    below: Vec<ArrayPart>,
}

impl PartIndex for Tiled {
    fn meeting(&self, within: &[Range<u64>]) -> Result<Vec<Cow<'_, ArrayPart>>> {
        let OfMosaic { mosaic, var } = &self.of;
        let start: Vec<u64> = within.iter().map(|r| r.start).collect();
        let count: Vec<u64> = within.iter().map(|r| r.end.saturating_sub(r.start)).collect();
        let slab = Hyperslab::new(&start, &count);
        if slab.is_empty() {
            return Ok(Vec::new());
        }
        let tiles = mosaic.tiles_of(*var, &slab).into_iter().filter(|t| mosaic.facts[*t].var(*var).is_some());
        let (dims, mut covered, mut parts) = (&mosaic.schema.var(*var).dims, 0, Vec::new());
        'tiles: for tile in tiles {
            let (mut axes, mut elements) = (Vec::with_capacity(dims.len()), 1);
            for (d, dim) in dims.iter().enumerate() {
                let Span { first: begin, count, skip } = mosaic.facts[tile].spans[dim.0];
                let (from, to) = (begin.max(within[d].start), (begin + count).min(within[d].end));
                if from >= to {
                    continue 'tiles;
                }
                axes.push(PartAxis::run(d, from, from - begin + skip, to - from));
                elements *= to - from;
            }
            covered += elements;
            let source = Arc::new(Source::Tile(self.of.clone(), tile));
            parts.push(Cow::Owned(ArrayPart { axes, origin: vec![0; dims.len()], source }));
        }
        if covered < slab.len() {
            parts.splice(0..0, self.below.iter().map(Cow::Borrowed));
        }
        Ok(parts)
    }

    /// None: what a tile lacks was said when its header was looked at.
    fn sources(&self) -> Result<Vec<Arc<dyn PartSource>>> {
        Ok(Vec::new())
    }

    fn kept(&self) -> Kept<'_> {
        let kept = &self.of.mosaic.of_tiles[self.of.var.0].kept;
        match (kept, &self.index) {
            (KeptAs::Chunks { chunk, codecs }, Some(index)) => Kept::Chunks(Chunks { chunk, codecs, index }),
            (KeptAs::Rows, _) => Kept::Rows,
            _ => Kept::Otherwise,
        }
    }

    /// By its share of the values: counting the chunks of every tile would read every index.
    fn stored_bytes(&self) -> Result<u64> {
        let mosaic = &*self.of.mosaic;
        let all: u64 = mosaic.schema.var_ids().map(|v| mosaic.bytes_of(v)).fold(0, u64::saturating_add);
        Ok((mosaic.bytes as f64 * (mosaic.bytes_of(self.of.var) as f64 / all.max(1) as f64)) as u64)
    }
}

/// The source of a part.
#[derive(Debug)]
enum Source {
    Tile(OfMosaic, usize),
    Open(Arc<Open>),
}

impl PartSource for Source {
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>> {
        let (OfMosaic { mosaic, var }, tile) = match self {
            Source::Tile(of, tile) => (of, *tile),
            Source::Open(open) => return Ok(Some(open.clone())),
        };
        let Some(own) = mosaic.facts[tile].var(*var) else { return Ok(None) };
        let file = mosaic.tiles.open(tile)?;
        file.note_read();
        Ok(Some(Arc::new(Open::Variable { file, var: own, change: mosaic.rebased(*var, tile) })))
    }

    fn name(&self) -> Option<SourceName> {
        None
    }
}

/// A source that is open.
#[derive(Debug)]
enum Open {
    /// A variable of a file.
    Variable { file: Dataset, var: VarId, change: Option<Rebased> },
    /// Values in memory.
    Values { layout: Arc<VarLayout>, store: Arc<dyn ReadStore> },
}

impl OpenPart for Open {
    fn store(&self) -> &Arc<dyn ReadStore> {
        match self {
            Open::Variable { file, .. } => file.container().store(),
            Open::Values { store, .. } => store,
        }
    }

    fn var(&self) -> VarId {
        match self {
            Open::Variable { var, .. } => *var,
            Open::Values { .. } => VarId(0),
        }
    }

    fn layout(&self) -> Result<Arc<VarLayout>> {
        match self {
            Open::Variable { file, var, .. } => file.layout(*var),
            Open::Values { layout, .. } => Ok(layout.clone()),
        }
    }

    fn shape(&self) -> Option<Vec<u64>> {
        match self {
            Open::Variable { file, var, .. } => Some(file.schema().shape(*var)),
            Open::Values { .. } => None,
        }
    }

    fn convert(&self) -> Option<&dyn Convert> {
        match self {
            Open::Variable { change, .. } => change.as_ref().map(|change| change as &dyn Convert),
            Open::Values { .. } => None,
        }
    }

    fn decode_heap(&self, stored: &[u8]) -> Result<Vec<Value>> {
        match self {
            Open::Variable { file, var, .. } => file.container().decode_heap(*var, stored),
            Open::Values { layout, .. } => Err(Error::wrong_kind(&layout.name, "has no heap values")),
        }
    }
}
