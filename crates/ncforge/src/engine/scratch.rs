//! Memory that is used again: encoded bytes on their way in, decoded chunks on their way out.
//!
//! A fresh buffer costs a page fault every 4 KiB, as much as decoding into it. So buffers go back to a small
//! shared store instead of to the system.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, Mutex, PoisonError};

use super::budget::Budget;
use crate::buffer::Buffer;

/// Buffers kept at most, whatever their size.
const MAX_KEPT: usize = 64;

#[derive(Debug)]
pub(super) struct Scratch {
    budget: Arc<Budget>,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
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
        Self { budget: Arc::clone(budget), kept: Mutex::default() }
    }

    /// A block of `len` bytes with any contents.
    pub(super) fn take(&self, len: usize) -> Block {
        self.take_at_most(len, len.saturating_mul(4).max(1 << 16))
    }

    /// The same for keeping: it takes exactly [`Scratch::footprint`] bytes.
    pub(super) fn take_tight(&self, len: usize) -> Block {
        self.take_at_most(len, len.next_multiple_of(round(len)))
    }

    /// Bytes that a block of `len` bytes takes.
    pub(super) fn footprint(len: u64) -> u64 {
        len.next_multiple_of(round(len as usize) as u64)
    }

    fn take_at_most(&self, len: usize, most: usize) -> Block {
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
        let buffer = found.unwrap_or_else(|| Buffer::zeroed(len.next_multiple_of(round(len))));
        Block { buffer, len }
    }

    /// Lets go of what is more than the limit, which may have sunk.
    pub(super) fn trim(&self) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        while kept.bytes > self.budget.for_spares() {
            let Some(old) = kept.buffers.pop() else { break };
            kept.bytes -= old.len() as u64;
        }
    }

    /// Like [`Scratch::take`], given back on drop.
    pub(super) fn lease(&self, len: usize) -> Lease<'_> {
        Lease { scratch: self, block: Some(self.take(len)) }
    }

    /// A block that shall be given back on drop.
    pub(super) fn adopt(&self, block: Block) -> Lease<'_> {
        Lease { scratch: self, block: Some(block) }
    }

    /// Gives a block back.
    pub(super) fn give(&self, block: Block) {
        let size = block.buffer.len() as u64;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if size == 0 || kept.bytes + size > self.budget.for_spares() {
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
        let first = scratch.lease(5000).as_ptr();
        assert_eq!(scratch.lease(4500).as_ptr(), first);
        assert_eq!(scratch.lease(5000).len(), 5000);
        drop(scratch.lease(20_000));
        assert!(scratch.kept.lock().unwrap().bytes <= 10_000);
        assert_eq!(scratch.lease(0).len(), 0);
    }
}
