//! What lies beside the values that are read now, and will be read next.
//!
//! In a classic tile the records of all variables alternate: of a thousand tiles with forty variables, a variable's part of a
//! record is a kilobyte, and the next variable's lies behind it. A copy goes variable by variable; asking the system for each
//! kilobyte takes several times as long as moving it. So a few variables that follow one another, a *window*, are read
//! from a tile together, all records of them, as many as the memory holds for all tiles at once, and the reads of
//! each are answered from there.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use super::records::Records;
use super::{DimKind, From, Mosaic};
use crate::container::Container;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::layout::{Place, VarLayout};
use crate::model::{Schema, Value, VarId};
use crate::store::Store;

/// A variable's part of a tile's record up to this is read together with what lies beside it.
const SMALL: u64 = 16 << 10;

/// The windows of all tiles.
#[derive(Debug, Default)]
pub(crate) struct Beside {
    /// By variable of the whole: the window that it is in.
    windows: Vec<Option<Range<usize>>>,
    /// By tile: what was read last; `None` inside where a window cannot be had.
    read: Vec<Mutex<Option<Held>>>,
}

/// A window of one tile.
#[derive(Clone, Debug)]
struct Held {
    first: usize,
    tile: Option<Arc<Windowed>>,
}

impl Beside {
    /// Plans windows for a copy of all variables, with `memory` bytes for them.
    pub(super) fn plan(mosaic: &Mosaic, memory: u64) -> Beside {
        let n = mosaic.schema.vars.len();
        let mut windows: Vec<Option<Range<usize>>> = vec![None; n];
        let mut first = 0;
        while first < n {
            let Some(bytes) = small(mosaic, VarId(first)) else {
                first += 1;
                continue;
            };
            let alike = |v: &usize| small(mosaic, VarId(*v)) == Some(bytes);
            let run = (first..n).take_while(alike).count();
            let most = (memory / bytes.max(1)).min(run as u64) as usize;
            if most >= 2 {
                // All of about the same size.
                let each = run.div_ceil(run.div_ceil(most));
                for from in (first..first + run).step_by(each) {
                    let window = from..(from + each).min(first + run);
                    windows[window.clone()].fill(Some(window));
                }
            }
            first += run;
        }
        let tiles = if windows.iter().any(Option::is_some) { mosaic.tiles.len() } else { 0 };
        Beside { windows, read: (0..tiles).map(|_| Mutex::default()).collect() }
    }

    /// A tile with the window of a variable at hand; `None` where it has none.
    pub(super) fn tile(
        &self,
        mosaic: &Mosaic,
        v: VarId,
        tile: usize,
        open: &Dataset,
    ) -> Result<Option<Arc<Windowed>>> {
        let (Some(Some(window)), Some(slot)) = (self.windows.get(v.0), self.read.get(tile)) else {
            return Ok(None);
        };
        // Each tile is read by one thread at a time.
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(held) = slot.as_ref().filter(|h| h.first == window.start) {
            return Ok(held.tile.clone());
        }
        // In the room of the old one: two at once would pass the budget, and fresh memory costs as much as reading.
        let room = slot.take().and_then(|h| Arc::try_unwrap(h.tile?).ok()).map(Windowed::into_room);
        let read = Windowed::read(mosaic, window, tile, open, room.unwrap_or_default())?.map(Arc::new);
        *slot = Some(Held { first: window.start, tile: read.clone() });
        Ok(read)
    }
}

/// The bytes of a variable in all tiles, if every tile's part of a record is small and stands in records.
pub(super) fn small(mosaic: &Mosaic, v: VarId) -> Option<u64> {
    let From::Pattern(p) = mosaic.from[v.0] else { return None };
    let var = mosaic.schema.var(v);
    let record = *var.dims.first()?;
    if !mosaic.schema.dim(record).unlimited
        || mosaic.dims[record.0] != DimKind::Whole
        || mosaic.existing.is_some()
    {
        return None;
    }
    if !matches!(mosaic.layouts[v.0].0.place, Place::Contiguous { .. }) {
        return None;
    }
    let size = mosaic.schema.fixed_size(var.dtype)? as u64;
    let shape = mosaic.schema.shape(v);
    let bytes = shape.iter().try_fold(size, |b, &n| b.checked_mul(n))?;
    let of_record = bytes / shape.first().copied().filter(|&n| n > 1)?;
    (of_record / (mosaic.patterns[p].boxes.len() as u64).max(1) <= SMALL).then_some(bytes)
}

/// A tile of which a window is in memory.
#[derive(Debug)]
pub(super) struct Windowed {
    tile: Dataset,
    /// `window`, as a store.
    store: Arc<dyn Store>,
    window: Arc<Window>,
}

impl Windowed {
    /// Reads a window of a tile: all records of the variables with these numbers in the whole.
    /// `bytes`: room for them.
    fn read(
        mosaic: &Mosaic,
        window: &Range<usize>,
        tile: usize,
        open: &Dataset,
        mut bytes: Vec<u8>,
    ) -> Result<Option<Windowed>> {
        let vars = window.clone().map(VarId);
        let Some(records) = Records::of(mosaic, vars, tile, open)? else { return Ok(None) };
        let (wide, stride) = (records.wide, records.stride);
        let record = mosaic.schema.var(VarId(window.start)).dims[0];
        let span = mosaic.facts[tile].spans[record.0];
        let store = open.container().store();
        let Some((begin, length)) = records.bytes(span.skip, span.count, store.len()) else {
            return Ok(None);
        };
        // Not more than the file has, as was just seen.
        let step = if records.in_one_go() || span.count == 1 {
            bytes.resize(length as usize, 0);
            store.read_at(&mut bytes, begin)?;
            stride
        } else {
            bytes.resize((span.count * wide) as usize, 0);
            for (r, part) in bytes.chunks_exact_mut(wide as usize).enumerate() {
                store.read_at(part, begin + r as u64 * stride)?;
            }
            wide
        };
        let window = Arc::new(Window { below: Arc::clone(store), begin, wide, stride, step, bytes });
        Ok(Some(Windowed { tile: open.clone(), store: window.clone(), window }))
    }

    /// The room that its bytes take.
    fn into_room(self) -> Vec<u8> {
        drop(self.store);
        Arc::try_unwrap(self.window).map(|w| w.bytes).unwrap_or_default()
    }
}

impl Container for Windowed {
    fn schema(&self) -> &Schema {
        self.tile.schema()
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        self.tile.container().layout(var)
    }

    fn decode_heap(&self, var: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        self.tile.container().decode_heap(var, stored)
    }
}

/// A store of which some bytes, at equal distances, are in memory.
#[derive(Debug)]
struct Window {
    below: Arc<dyn Store>,
    /// The first byte that is there.
    begin: u64,
    /// So many of each record …
    wide: u64,
    /// … of so many bytes …
    stride: u64,
    /// … stand here one behind the other at this distance.
    step: u64,
    bytes: Vec<u8>,
}

impl Window {
    /// The bytes, if they are all of one record, or all records are here whole.
    fn get(&self, offset: u64, len: u64) -> Option<&[u8]> {
        let from = offset.checked_sub(self.begin)?;
        let at = if self.step == self.stride {
            from
        } else {
            let (record, inside) = (from / self.stride, from % self.stride);
            if inside.checked_add(len)? > self.wide {
                return None;
            }
            record.checked_mul(self.step)?.checked_add(inside)?
        };
        self.bytes.get(usize::try_from(at).ok()?..)?.get(..usize::try_from(len).ok()?)
    }
}

impl Store for Window {
    fn len(&self) -> u64 {
        self.below.len()
    }

    fn name(&self) -> &str {
        self.below.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        match self.get(offset, buf.len() as u64) {
            Some(bytes) => {
                buf.copy_from_slice(bytes);
                Ok(())
            }
            None => self.below.read_at(buf, offset),
        }
    }

    fn at_hand(&self, offset: u64, len: u64) -> Option<&[u8]> {
        self.get(offset, len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::MemoryStore;

    #[test]
    fn a_window_answers_what_it_holds_and_asks_for_the_rest() {
        let all: Vec<u8> = (0..200).collect();
        let below: Arc<dyn Store> = Arc::new(MemoryStore::new("m", all.clone()));
        // Bytes 13..33, 63..83, 113..133 of records of 50.
        let bytes: Vec<u8> = [13u8, 63, 113].iter().flat_map(|&b| b..b + 20).collect();
        let apart = Window { below: Arc::clone(&below), begin: 13, wide: 20, stride: 50, step: 20, bytes };
        let whole = Window { below, begin: 13, wide: 20, stride: 50, step: 50, bytes: all[13..133].to_vec() };
        for window in [apart, whole] {
            for (offset, len) in [(13, 20), (70, 5), (132, 1), (30, 10), (0, 200), (133, 67), (83, 0)] {
                let mut got = vec![0; len];
                window.read_at(&mut got, offset as u64).unwrap();
                assert_eq!(got, all[offset..offset + len], "{offset} {len}");
                let at_hand = window.at_hand(offset as u64, len as u64);
                assert!(at_hand.is_none_or(|b| b == &all[offset..offset + len]), "{offset} {len}");
            }
            assert!(window.get(63, 20).is_some());
            assert!(window.get(0, 20).is_none());
            assert!(window.read_at(&mut [0; 2], 199).is_err());
        }
    }
}
