//! A container in memory with one variable of any place, and an array to compare it with.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use super::options::Resolved;
use super::{Engine, boxes};
use crate::codec::CodecChain;
use crate::codec::kernels::order_in_place;
use crate::container::{Container, ContainerMut};
use crate::error::Result;
use crate::layout::{Absent, ChunkIndex, ChunkRecord, Element, Place, VarLayout};
use crate::model::{Atomic, DimId, Dimension, Format, Schema, Storage, VarId, Variable};
use crate::select::{ChunkGrid, Hyperslab, coordinates};
use crate::store::{IoProfile, MemoryStore, ReadStore, WriteStore};

pub(super) const VAR: VarId = VarId(0);

/// An engine with exactly these limits, however small.
pub(super) fn engine(threads: usize, memory: u64) -> Engine {
    Engine::from_resolved(&Resolved { threads, memory }, true)
}

/// The place of the variable of a [`TestContainer`].
#[derive(Clone, Debug)]
pub(super) enum Kind {
    Inline,
    Contiguous,
    Records,
    Chunked(Vec<u64>, CodecChain),
}

#[derive(Debug, Default)]
pub(super) struct MapIndex(pub(super) Mutex<BTreeMap<Vec<u64>, ChunkRecord>>);

impl ChunkIndex for MapIndex {
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>> {
        Ok(self.0.lock().unwrap_or_else(PoisonError::into_inner).get(at).copied())
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        let map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(map.iter().map(|(at, r)| (at.clone(), *r)).collect())
    }
}

/// Requests are joined and cut as in files a thousand times as large.
pub(super) const TINY: IoProfile = IoProfile { read_gap: 16, largest_request: 200, ..IoProfile::LOCAL };
/// [`TINY`] with latency (without its delays).
pub(super) const DISTANT: IoProfile =
    IoProfile { latency: Duration::from_millis(20), bandwidth: 300_000, in_flight: 3, ..TINY };

/// Bytes in memory that say of themselves what requests to them cost.
#[derive(Debug)]
pub(super) struct Profiled(MemoryStore, IoProfile);

impl Profiled {
    pub(super) fn new(bytes: Vec<u8>, profile: IoProfile) -> Self {
        Self(MemoryStore::new("m", bytes), profile)
    }
}

impl ReadStore for Profiled {
    fn len(&self) -> u64 {
        self.0.len()
    }

    fn name(&self) -> &str {
        self.0.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.0.read_at(buf, offset)
    }

    fn io_profile(&self) -> IoProfile {
        self.1
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        assert!(ranges.len() <= self.1.in_flight, "{ranges:?}");
        ranges.iter().map(|r| self.read_vec(r.start, r.end - r.start).map(Bytes::from)).collect()
    }
}

impl WriteStore for Profiled {
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.0.write_at(buf, offset)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.0.set_len(len)
    }
}

#[derive(Debug)]
pub(super) struct TestContainer {
    pub(super) schema: Schema,
    pub(super) store: Arc<dyn ReadStore>,
    pub(super) sink: Arc<dyn WriteStore>,
    pub(super) layout: Arc<VarLayout>,
    pub(super) index: Arc<MapIndex>,
}

/// Bytes before the data, so that offset 0 is never right by accident.
const HEAD: u64 = 100;

impl TestContainer {
    /// Nothing written: everything is fill. The first dimension is unlimited where `unlimited`.
    pub(super) fn new(shape: &[u64], element: Element, fill: &[u8], kind: &Kind, unlimited: bool) -> Self {
        let mut schema = Schema::new(Format::Netcdf4);
        for (d, &len) in shape.iter().enumerate() {
            let name = format!("d{d}");
            schema.dims.push(Dimension { name, group: Schema::ROOT, len, unlimited: unlimited && d == 0 });
        }
        let dims = (0..shape.len()).map(DimId).collect();
        let mut var = Variable::new("v", Atomic::Byte, dims);
        if let Kind::Chunked(chunks, codecs) = kind {
            var.storage = Storage::Chunked { chunks: chunks.clone(), filters: codecs.filters().to_vec() };
        }
        schema.vars.push(var);
        let mut stored_fill = fill.to_vec();
        order_in_place(&mut stored_fill, &element);
        let len = shape.iter().product::<u64>() as usize * element.size;
        let index = Arc::new(MapIndex::default());
        let mut all = vec![0; len];
        boxes::fill_run(&stored_fill, &mut all);
        let record = shape.iter().skip(1).product::<u64>() * element.size as u64;
        let mut bytes = vec![0xEE; HEAD as usize];
        let place = match kind {
            Kind::Inline => Place::Inline(all.into()),
            Kind::Contiguous => {
                bytes.extend(all);
                Place::Contiguous { offset: HEAD }
            }
            Kind::Records => {
                for r in all.chunks(record.max(1) as usize) {
                    bytes.extend(r);
                    bytes.extend([0xEE; 13]);
                }
                Place::Records { begin: HEAD, stride: record + 13 }
            }
            Kind::Chunked(chunk, codecs) => {
                Place::Chunked { chunk: chunk.clone(), codecs: codecs.clone(), index: index.clone() }
            }
        };
        let layout = VarLayout {
            name: "v".into(),
            shape: shape.to_vec(),
            element,
            absent: Absent::As(stored_fill),
            place,
        };
        let sink: Arc<dyn WriteStore> = Arc::new(Profiled::new(bytes, TINY));
        Self { schema, store: sink.clone(), sink, layout: Arc::new(layout), index }
    }

    /// Writes all of an array naively; chunks for which `skip` says so stay unwritten, and their part of the
    /// array becomes fill.
    pub(super) fn fill_from(&mut self, model: &mut Model, skip: impl Fn(&[u64]) -> bool) {
        let element = self.layout.element.clone();
        let shape = self.layout.shape.clone();
        let stored = |model: &Model, at: &[u64]| {
            let mut one = model.get(at).to_vec();
            order_in_place(&mut one, &element);
            one
        };
        let everywhere: Vec<_> = shape.iter().map(|&n| 0..n).collect();
        match self.layout.place.clone() {
            Place::Inline(_) => {
                let bytes: Vec<u8> = coordinates(&everywhere).flat_map(|at| stored(model, &at)).collect();
                Arc::get_mut(&mut self.layout).unwrap().place = Place::Inline(bytes.into());
            }
            Place::Contiguous { offset } => {
                let bytes: Vec<u8> = coordinates(&everywhere).flat_map(|at| stored(model, &at)).collect();
                self.sink.write_at(&bytes, offset).unwrap();
            }
            Place::Records { begin, stride } => {
                for r in 0..shape[0] {
                    let mut record = everywhere.clone();
                    record[0] = r..r + 1;
                    let bytes: Vec<u8> = coordinates(&record).flat_map(|at| stored(model, &at)).collect();
                    self.sink.write_at(&bytes, begin + r * stride).unwrap();
                }
            }
            Place::Chunked { chunk, codecs, .. } => {
                let grid = ChunkGrid::new(&shape, &chunk);
                let counts: Vec<_> = grid.counts().iter().map(|&n| 0..n).collect();
                let mut chunks: Vec<_> = coordinates(&counts).collect();
                // The order on disk is not the order of the grid.
                chunks.reverse();
                for at in chunks {
                    let (start, count) = grid.region(&at);
                    let inside: Vec<_> = start.iter().zip(&count).map(|(&s, &c)| s..s + c).collect();
                    if skip(&at) {
                        coordinates(&inside).for_each(|e| model.clear(&e));
                        continue;
                    }
                    let whole: Vec<_> = start.iter().zip(&chunk).map(|(&s, &c)| s..s + c).collect();
                    let raw: Vec<u8> = coordinates(&whole)
                        .flat_map(|e| {
                            let held = e.iter().zip(&shape).all(|(&i, &n)| i < n);
                            if held {
                                stored(model, &e)
                            } else {
                                self.layout.absent.inside().unwrap().to_vec()
                            }
                        })
                        .collect();
                    let (encoded, mask) = codecs.encode(&raw).unwrap();
                    self.place_chunk(VAR, &at, &encoded, mask).unwrap();
                }
            }
            Place::Nowhere | Place::Parts(_) | Place::NotFollowed(_) | Place::Unsupported(_) => {}
        }
    }
}

impl Container for TestContainer {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        &self.store
    }

    fn layout(&self, _: VarId) -> Result<Arc<VarLayout>> {
        Ok(self.layout.clone())
    }
}

impl ContainerMut for TestContainer {
    fn write_store(&self) -> &Arc<dyn WriteStore> {
        &self.sink
    }

    fn redefine(&mut self, schema: Schema) -> Result<()> {
        self.schema = schema;
        Ok(())
    }

    fn grow(&mut self, dim: DimId, len: u64) -> Result<()> {
        let old = std::mem::replace(&mut self.schema.dims[dim.0].len, len);
        let mut layout = (*self.layout).clone();
        layout.shape[dim.0] = len;
        if let Place::Records { begin, stride } = layout.place {
            let mut record = vec![0; (stride - 13) as usize];
            boxes::fill_run(layout.absent.inside().unwrap(), &mut record);
            record.extend([0xEE; 13]);
            (old..len).for_each(|r| self.sink.write_at(&record, begin + r * stride).unwrap());
        }
        self.layout = Arc::new(layout);
        Ok(())
    }

    fn place_chunk(&mut self, _: VarId, at: &[u64], encoded: &[u8], mask: u32) -> Result<()> {
        // A new place every time, with a small gap here and there.
        let offset = self.store.len() + (encoded.len() as u64 % 3) * 7;
        self.sink.write_at(encoded, offset)?;
        let record = ChunkRecord { offset, len: encoded.len() as u64, mask };
        self.index.0.lock().unwrap().insert(at.to_vec(), record);
        Ok(())
    }

    fn place_inline(&mut self, _: VarId, bytes: &[u8]) -> Result<()> {
        let mut layout = (*self.layout).clone();
        layout.place = Place::Inline(bytes.into());
        self.layout = Arc::new(layout);
        Ok(())
    }

    fn sync(&mut self) -> Result<()> {
        Ok(())
    }

    fn as_container(&self) -> &dyn Container {
        self
    }
}

/// The array as it should be: elements in memory form, found one by one.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) shape: Vec<u64>,
    fill: Vec<u8>,
    elements: BTreeMap<Vec<u64>, Vec<u8>>,
}

impl Model {
    pub(super) fn new(shape: &[u64], fill: &[u8]) -> Self {
        Self { shape: shape.to_vec(), fill: fill.to_vec(), elements: BTreeMap::new() }
    }

    /// Some different value for every element.
    pub(super) fn counting(shape: &[u64], fill: &[u8]) -> Self {
        let mut model = Self::new(shape, fill);
        let everywhere: Vec<_> = shape.iter().map(|&n| 0..n).collect();
        for (i, at) in coordinates(&everywhere).enumerate() {
            let one = (0..fill.len()).map(|b| (i * 31 + b * 7 + 1) as u8).collect();
            model.elements.insert(at, one);
        }
        model
    }

    pub(super) fn get(&self, at: &[u64]) -> &[u8] {
        self.elements.get(at).unwrap_or(&self.fill)
    }

    fn clear(&mut self, at: &[u64]) {
        self.elements.remove(at);
    }

    pub(super) fn read(&self, slab: &Hyperslab) -> Vec<u8> {
        selected(slab).flat_map(|at| self.get(&at).to_vec()).collect()
    }

    /// Growing the first dimension as needed.
    pub(super) fn write(&mut self, slab: &Hyperslab, bytes: &[u8]) {
        for (d, len) in self.shape.iter_mut().enumerate() {
            *len = (*len).max(if slab.is_empty() { 0 } else { slab.end(d) });
        }
        for (at, one) in selected(slab).zip(bytes.chunks(self.fill.len())) {
            self.elements.insert(at, one.to_vec());
        }
    }
}

fn selected(slab: &Hyperslab) -> impl Iterator<Item = Vec<u64>> {
    let counts: Vec<_> = slab.count.iter().map(|&c| 0..c).collect();
    let (start, stride) = (slab.start.clone(), slab.stride.clone());
    coordinates(&counts).map(move |k| (0..k.len()).map(|d| start[d] + k[d] * stride[d]).collect())
}
