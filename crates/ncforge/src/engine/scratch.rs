//! Memory that is used again: encoded bytes on their way in, decoded chunks on their way out.
//!
//! A fresh buffer costs a page fault every 4 KiB, as much as decoding into it. So buffers go back to a small
//! shared store instead of to the system; and the many that are kept as decoded chunks lie in an [`Arena`].

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::budget::Budget;
use crate::buffer::{Arena, Buffer};
use crate::error::Result;

/// Buffers kept at most, whatever their size.
const MAX_KEPT: usize = 64;
/// Chunks that are kept lie in memory of the arena's if they are at least as large as the first, and from this many bytes on, all together:
/// a small read must not pay for a huge page, which takes the system 100 µs.
const IN_ARENA: (usize, u64) = (4097, 1 << 20);

#[derive(Debug)]
pub(super) struct Scratch {
    budget: Arc<Budget>,
    kept: Mutex<FreeBuffers>,
    arena: OnceLock<Option<Arc<Arena>>>,
}

#[derive(Debug, Default)]
struct FreeBuffers {
    buffers: Vec<Buffer>,
    bytes: u64,
}

/// A buffer of at least the length asked for, seen as exactly that length.
pub(super) struct Block {
    buffer: Buffer,
    len: usize,
}

/// A [`Block`] that goes back to its scratch store when dropped.
pub(super) struct Lease<'a> {
    scratch: &'a Scratch,
    block: Option<Block>,
}

impl Scratch {
    pub(super) fn new(budget: &Arc<Budget>) -> Self {
        Self { budget: Arc::clone(budget), kept: Mutex::default(), arena: OnceLock::new() }
    }

    /// A block of `len` bytes with any contents.
    pub(super) fn take(&self, len: usize) -> Result<Block> {
        self.take_at_most(len, len.saturating_mul(4).max(1 << 16))
    }

    /// A block of exactly [`Scratch::footprint`] bytes for the cache, which holds `held` bytes already.
    pub(super) fn take_tight(&self, len: usize, held: u64) -> Result<Block> {
        let room = len.checked_next_multiple_of(round(len)).unwrap_or(usize::MAX);
        match self.in_arena(room, held) {
            Some(buffer) => Ok(Block { buffer, len }),
            None => self.take_at_most(len, room),
        }
    }

    fn in_arena(&self, room: usize, held: u64) -> Option<Buffer> {
        let many = held + room as u64 >= IN_ARENA.1;
        let arena = match many {
            _ if room < IN_ARENA.0 => None,
            true => {
                // Addresses only; chunks take half of them at most, and holes between them some more.
                let all = || Arena::new(usize::try_from(self.budget.memory()).unwrap_or(usize::MAX));
                self.arena.get_or_init(all).as_ref()
            }
            false => self.arena.get()?.as_ref(),
        };
        arena?.buffer(room, many)
    }

    /// Bytes that a block of `len` bytes takes.
    pub(super) fn footprint(len: u64) -> u64 {
        len.next_multiple_of(round(len as usize) as u64)
    }

    fn take_at_most(&self, len: usize, most: usize) -> Result<Block> {
        let found = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            // The smallest that fits.
            let fit = (0..kept.buffers.len())
                .filter(|&i| (len..=most).contains(&kept.buffers[i].len()))
                .min_by_key(|&i| kept.buffers[i].len());
            fit.map(|i| {
                let buffer = kept.buffers.swap_remove(i);
                kept.bytes -= buffer.len() as u64;
                buffer
            })
        };
        // Rounded up, so that chunks of slightly different encoded lengths share buffers.
        let buffer = match found {
            Some(buffer) => buffer,
            None => Buffer::try_zeroed(len.checked_next_multiple_of(round(len)).unwrap_or(usize::MAX))?,
        };
        Ok(Block { buffer, len })
    }

    /// Lets go of what is more than the limit, which may have sunk.
    pub(super) fn trim(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let limit = self.limit();
        while kept.bytes > limit {
            let Some(old) = kept.buffers.pop() else { break };
            kept.bytes -= old.len() as u64;
        }
        let bytes = kept.bytes;
        drop(kept);
        self.trim_arena(self.budget.for_spares().saturating_sub(bytes));
    }

    /// Bytes of buffers that are kept, at most: half of what may be spare where an arena has some, too. Without a share of its own
    /// it would give back to the system what it needs again for the next chunk.
    fn limit(&self) -> u64 {
        let arena = self.arena.get().is_some_and(Option::is_some);
        self.budget.for_spares() / if arena { 2 } else { 1 }
    }

    fn trim_arena(&self, limit: u64) {
        if let Some(Some(arena)) = self.arena.get() {
            arena.trim(usize::try_from(limit).unwrap_or(usize::MAX));
        }
    }

    /// Lets go of all memory that chunks were kept in.
    pub(super) fn clear(&self) {
        self.trim_arena(0);
    }

    /// Like [`Scratch::take`], given back on drop.
    pub(super) fn lease(&self, len: usize) -> Result<Lease<'_>> {
        Ok(Lease { scratch: self, block: Some(self.take(len)?) })
    }

    /// A block that shall be given back on drop.
    pub(super) fn adopt(&self, block: Block) -> Lease<'_> {
        Lease { scratch: self, block: Some(block) }
    }

    /// Gives a block back.
    pub(super) fn give(&self, block: Block) {
        let size = block.buffer.len() as u64;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if block.buffer.is_part() {
            let all = self.budget.for_spares();
            let left = all.saturating_sub(kept.bytes).max(all / 2);
            drop((kept, block));
            return self.trim_arena(left);
        }
        if size == 0 || kept.bytes + size > self.limit() {
            return;
        }
        if kept.buffers.len() == MAX_KEPT {
            let old = kept.buffers.remove(0);
            kept.bytes -= old.len() as u64;
        }
        kept.bytes += size;
        kept.buffers.push(block.buffer);
    }
}

fn round(len: usize) -> usize {
    match len {
        0..=4096 => 64,
        4097..=65_536 => 4096,
        65_537..=1_048_576 => 1 << 16,
        _ => 1 << 18,
    }
}

impl Block {
    /// Bytes that the block really takes.
    pub(super) fn footprint(&self) -> u64 {
        self.buffer.len() as u64
    }
}

impl Deref for Block {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        &self.buffer[..self.len]
    }
}

impl DerefMut for Block {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[..self.len]
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Block({} bytes)", self.len)
    }
}

impl Deref for Lease<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        self.block.as_deref().unwrap_or(&[])
    }
}

impl DerefMut for Lease<'_> {
    fn deref_mut(&mut self) -> &mut [u8] {
        self.block.as_deref_mut().unwrap_or(&mut [])
    }
}

impl Drop for Lease<'_> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.scratch.give(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_used_again_within_the_limit() {
        let scratch = Scratch::new(&Budget::new(80_000));
        let first = scratch.lease(5000).unwrap().as_ptr();
        assert_eq!(scratch.lease(4500).unwrap().as_ptr(), first);
        assert_eq!(scratch.lease(5000).unwrap().len(), 5000);
        drop(scratch.lease(20_000).unwrap());
        assert!(scratch.kept.lock().unwrap().bytes <= 10_000);
        assert_eq!(scratch.lease(0).unwrap().len(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn memory_of_kept_chunks_serves_others_within_the_limit() {
        let scratch = Scratch::new(&Budget::new(64 << 20));
        assert!(!scratch.take_tight(1 << 16, 0).unwrap().buffer.is_part(), "a small read");
        assert!(!scratch.take_tight(4096, 1 << 30).unwrap().buffer.is_part(), "a small block");
        let many: Vec<Block> =
            (0..100).map(|i| scratch.take_tight(100_000, (1 << 20) + i).unwrap()).collect();
        assert!(many.iter().all(|b| b.buffer.is_part() && b.footprint() == Scratch::footprint(100_000)));
        let spare = || scratch.arena.get().unwrap().as_ref().unwrap().spare() as u64;
        many.into_iter().for_each(|block| scratch.give(block));
        assert!((4 << 20..=8 << 20).contains(&spare()), "{}", spare());
        let before = spare();
        let large = scratch.take_tight(3 << 20, 0).unwrap();
        assert_eq!(spare(), before - (3 << 20), "of memory that was used");
        drop(large);
        scratch.clear();
        assert_eq!(spare(), 0);
        // Other buffers leave it its share, however many there are.
        let others: Vec<Block> = (0..80).map(|_| scratch.take(1 << 18).unwrap()).collect();
        others.into_iter().for_each(|block| scratch.give(block));
        assert!(scratch.kept.lock().unwrap().bytes <= 4 << 20);
        scratch.give(scratch.take_tight(100_000, 1 << 30).unwrap());
        assert!(spare() >= 100_000);
    }
}
