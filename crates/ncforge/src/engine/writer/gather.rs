//! Parts of chunks, kept until the chunk is whole; and whole chunks on their way to the encoder.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::Engine;
use super::super::newer::Newer;
use super::super::policy::PENDING_BYTES;
use super::super::scratch::Block;
use crate::model::VarId;

/// A chunk of a variable.
pub(super) type ChunkId = (VarId, Vec<u64>);

/// A chunk of which something was written: all its elements in stored form.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) id: ChunkId,
    pub(super) block: Block,
    /// Elements written so far. Writing one twice counts twice: the chunk is then taken for whole too early,
    /// which costs a second encoding and is never wrong, since a block starts as what the file holds.
    pub(super) written: u64,
}

/// Everything that is in memory and not yet in the file.
#[derive(Debug)]
pub(super) struct Gather {
    /// Bytes of parts at most.
    limit: u64,
    /// Bytes of whole chunks that may wait.
    pub(super) pending_limit: u64,
    /// Parts of each variable, with the time of their last write.
    parts: HashMap<VarId, HashMap<Vec<u64>, (u64, Part)>>,
    /// Parts by the time of their last write.
    by_time: BTreeMap<u64, ChunkId>,
    bytes: u64,
    clock: u64,
    /// Whole chunks, or parts that had to go, in the order in which they will be placed.
    pub(super) pending: Vec<Part>,
    pub(super) pending_bytes: u64,
    /// Whether those that wait could not be written.
    pub(super) is_stuck: bool,
    /// Parts that were let go before they were whole.
    let_go: HashSet<ChunkId>,
    /// The number of those that came back lately: then letting go of the oldest is the wrong thing.
    returning: u32,
}

impl Gather {
    pub(super) fn new(memory: u64) -> Self {
        Self {
            limit: memory / 4,
            pending_limit: (memory / 8).min(PENDING_BYTES),
            parts: HashMap::new(),
            by_time: BTreeMap::new(),
            bytes: 0,
            clock: 0,
            pending: Vec::new(),
            pending_bytes: 0,
            is_stuck: false,
            let_go: HashSet::new(),
            returning: 0,
        }
    }

    /// The number of parts of this size that may be worked on at once.
    pub(super) fn window(&self, chunk_bytes: u64) -> u64 {
        (self.limit / 2 / chunk_bytes.max(1)).clamp(1, 4096)
    }

    /// Takes a chunk out to write into it: from the parts, or from those that wait, which are gathered once more.
    pub(super) fn take(&mut self, var: VarId, at: &[u64]) -> Option<Part> {
        self.take_part(var, at).or_else(|| self.take_pending(var, at))
    }

    fn take_part(&mut self, var: VarId, at: &[u64]) -> Option<Part> {
        let (time, part) = self.parts.get_mut(&var)?.remove(at)?;
        self.by_time.remove(&time);
        self.bytes -= part.block.footprint();
        Some(part)
    }

    fn take_pending(&mut self, var: VarId, at: &[u64]) -> Option<Part> {
        let place = self.pending.iter().position(|p| is(p, var, at))?;
        let part = self.pending.remove(place);
        self.pending_bytes -= part.block.footprint();
        Some(Part { written: 0, ..part })
    }

    /// A part that is not whole yet.
    pub(super) fn put(&mut self, part: Part) {
        self.clock += 1;
        self.bytes += part.block.footprint();
        self.by_time.insert(self.clock, part.id.clone());
        let (var, at) = part.id.clone();
        self.parts.entry(var).or_default().insert(at, (self.clock, part));
    }

    /// Says that a chunk begins to be gathered.
    pub(super) fn note_begin(&mut self, id: &ChunkId) {
        if self.let_go.remove(id) {
            self.returning = (self.returning + 1).min(64);
        } else {
            self.returning = self.returning.saturating_sub(2);
        }
    }

    /// A part that must leave because parts take more than their share: the one that waited longest, as it is
    /// likely that no more of it comes. When such parts did come back, the latest: the others then keep
    /// gathering undisturbed.
    pub(super) fn overflow(&mut self) -> Option<Part> {
        if self.bytes <= self.limit {
            return None;
        }
        let victim =
            if self.returning > 4 { self.by_time.last_key_value() } else { self.by_time.first_key_value() };
        let id = victim?.1.clone();
        if self.let_go.len() < 1 << 20 {
            self.let_go.insert(id.clone());
        }
        self.take_part(id.0, &id.1)
    }

    /// All parts, by variable and row-major.
    pub(super) fn take_all(&mut self) -> Vec<Part> {
        let mut parts: Vec<Part> =
            self.parts.drain().flat_map(|(_, parts)| parts.into_values()).map(|(_, part)| part).collect();
        self.by_time.clear();
        self.bytes = 0;
        parts.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        parts
    }

    /// Forgets what is in memory of one chunk.
    pub(super) fn drop_chunk(&mut self, engine: &Engine, var: VarId, at: &[u64]) {
        if let Some(part) = self.take(var, at) {
            engine.inner.scratch.give(part.block);
        }
    }
}

impl Newer for Gather {
    fn has_some(&self, var: VarId) -> bool {
        self.parts.get(&var).is_some_and(|parts| !parts.is_empty())
            || self.pending.iter().any(|p| p.id.0 == var)
    }

    fn chunk(&self, var: VarId, at: &[u64]) -> Option<&[u8]> {
        let part = self.parts.get(&var).and_then(|parts| parts.get(at)).map(|(_, part)| part);
        part.or_else(|| self.pending.iter().find(|p| is(p, var, at))).map(|part| &*part.block)
    }
}

fn is(part: &Part, var: VarId, at: &[u64]) -> bool {
    part.id.0 == var && part.id.1 == at
}
