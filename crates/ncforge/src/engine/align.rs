//! Where memory should lie, relative to the file, for the system to copy between them at full speed.
//!
//! The system copies with `rep movsb` where the processor has it. On AMD processors of the families Zen 3 and
//! Zen 4 that runs at a third of its speed when the destination's place in its page is 1 to 63 bytes behind the
//! source's: measured with 128 KiB requests between the system's cache and memory, 2.2 to 2.6 GB/s instead of
//! 6 to 7, in both directions and for every such distance, and for no other. The C library's copies have the same
//! instruction and the same weakness. Where we choose the memory, we choose it well; where the caller did, a detour
//! over memory of ours, which is far from both places, is still twice as fast.

use super::scratch::{Lease, Scratch};
use crate::error::Result;

/// Places repeat after this many bytes.
const PAGE: u64 = 4096;
/// The distances `1..SLOW` are slow.
const SLOW: u64 = 64;

/// Whether copying from one place to another is slow; places are addresses or file offsets.
fn is_slow(from: u64, to: u64) -> bool {
    (1..SLOW).contains(&(to.wrapping_sub(from) % PAGE))
}

/// Whether reading from the file at `offset` into `memory` is slow.
pub(super) fn slow_to_read(memory: &[u8], offset: u64) -> bool {
    is_slow(offset, memory.as_ptr() as u64)
}

/// Whether writing `memory` to the file at `offset` is slow.
pub(super) fn slow_to_write(memory: &[u8], offset: u64) -> bool {
    is_slow(memory.as_ptr() as u64, offset)
}

/// Scratch that lies in its pages as the file's bytes from `offset` on lie in theirs.
pub(super) struct Aligned<'a> {
    lease: Lease<'a>,
    start: usize,
    len: usize,
}

impl<'a> Aligned<'a> {
    pub(super) fn new(scratch: &'a Scratch, len: usize, offset: u64) -> Result<Self> {
        Self::at(scratch, len, offset)
    }

    /// A block for a detour between the file at `offset` and memory that is slow for it: half a page away from the one, and so from the
    /// other, too.
    pub(super) fn detour(scratch: &'a Scratch, len: usize, offset: u64) -> Result<Self> {
        Self::at(scratch, len, offset.wrapping_add(PAGE / 2))
    }

    /// Scratch of which the first byte has this place in its page.
    fn at(scratch: &'a Scratch, len: usize, place: u64) -> Result<Self> {
        let lease = scratch.lease(len.saturating_add(PAGE as usize))?;
        let start = (place.wrapping_sub(lease.as_ptr() as u64) % PAGE) as usize;
        Ok(Self { lease, start, len })
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        &mut self.lease[self.start..self.start + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scratch_lies_as_the_file_does() {
        let scratch = Scratch::new(&super::super::budget::Budget::new(8 << 20));
        for offset in [0, 1, 63, 64, 184, 4095, 4096, 1 << 33] {
            for len in [0, 1, 5000] {
                let mut block = Aligned::new(&scratch, len, offset).unwrap();
                assert_eq!(block.bytes().len(), len);
                assert_eq!(block.bytes().as_ptr() as u64 % PAGE, offset % PAGE);
                assert!(!slow_to_read(block.bytes(), offset) && !slow_to_write(block.bytes(), offset));
                let mut between = Aligned::detour(&scratch, len, offset).unwrap();
                assert!(!slow_to_read(between.bytes(), offset) && !slow_to_write(between.bytes(), offset));
                // Nor to or from memory that is slow for the file.
                let here = between.bytes().as_ptr() as u64;
                for distance in 1..SLOW {
                    assert!(
                        !is_slow(here, offset + distance) && !is_slow(offset.wrapping_sub(distance), here)
                    );
                }
            }
        }
    }

    #[test]
    fn only_short_distances_are_slow() {
        assert!(is_slow(0, 16) && is_slow(4090, 4096 * 7 + 10) && is_slow(100, 163));
        assert!(!is_slow(0, 0) && !is_slow(16, 0) && !is_slow(0, 64) && !is_slow(5, 4096 + 5));
    }
}
