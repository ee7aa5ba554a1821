//! Parts of chunks, kept until the chunk is whole; and whole chunks on their way to the encoder.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::super::Engine;
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
    parts: HashMap<ChunkId, (u64, Part)>,
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

    /// Takes a part out to write into it.
    pub(super) fn take(&mut self, id: &ChunkId) -> Option<Part> {
        let (time, part) = self.parts.remove(id)?;
        self.by_time.remove(&time);
        self.bytes -= part.block.footprint();
        Some(part)
    }

    /// A part that is not whole yet.
    pub(super) fn put(&mut self, part: Part) {
        self.clock += 1;
        self.bytes += part.block.footprint();
        self.by_time.insert(self.clock, part.id.clone());
        self.parts.insert(part.id.clone(), (self.clock, part));
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
        self.take(&id)
    }

    /// All parts, of one variable or of all, by variable and row-major.
    pub(super) fn take_all(&mut self, var: Option<VarId>) -> Vec<Part> {
        let mut ids: Vec<ChunkId> =
            self.parts.keys().filter(|id| var.is_none_or(|v| id.0 == v)).cloned().collect();
        ids.sort_unstable();
        ids.iter().filter_map(|id| self.take(id)).collect()
    }

    /// Whether a chunk waits to be encoded.
    pub(super) fn is_pending(&self, var: VarId, at: &[u64]) -> bool {
        self.pending.iter().any(|p| p.id.0 == var && p.id.1 == at)
    }

    /// Forgets what was gathered of one chunk.
    pub(super) fn drop_chunk(&mut self, engine: &Engine, var: VarId, at: &[u64]) {
        if self.parts.is_empty() {
            return;
        }
        if let Some(part) = self.take(&(var, at.to_vec())) {
            engine.inner.scratch.give(part.block);
        }
    }
}
