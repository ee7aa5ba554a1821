//! Buffers between the stages of a chain, which are reused so that decoding many chunks allocates once.

use std::cell::RefCell;

use super::error::{Error, Result};

/// Buffers above this size are freed after use: a thread that decoded one huge chunk must not retain
/// its memory.
const RETAINED: usize = 32 << 20;

/// Two buffers for the stages between stored bytes and elements. One per thread is enough; it grows to the
/// largest chunk so far.
#[derive(Debug, Default)]
pub struct Scratch {
    pub(super) buffers: [Vec<u8>; 2],
}

impl Scratch {
    /// Empty buffers.
    pub fn new() -> Self {
        Self::default()
    }

    /// Bytes held.
    pub fn capacity(&self) -> usize {
        self.buffers.iter().map(Vec::capacity).sum()
    }

    /// Frees large buffers.
    pub fn trim(&mut self) {
        for b in &mut self.buffers {
            if b.capacity() > RETAINED {
                *b = Vec::new();
            }
        }
    }

    /// Calls `run` with this thread's own buffers.
    pub fn with<T>(run: impl FnOnce(&mut Scratch) -> T) -> T {
        thread_local! {
            static OWN: RefCell<Scratch> = RefCell::default();
        }
        OWN.with(|own| match own.try_borrow_mut() {
            Ok(mut scratch) => {
                let result = run(&mut scratch);
                scratch.trim();
                result
            }
            // The buffers are in use further up this thread's stack.
            Err(_) => run(&mut Scratch::new()),
        })
    }
}

/// So many zeros, or [`Error::Memory`] where the system does not give them: a file says how large its chunks are.
pub(super) fn zeros(len: usize) -> Result<Vec<u8>> {
    // Fresh zero pages are cheaper than clearing what was reserved.
    bytemuck::allocation::try_zeroed_vec(len).map_err(|()| Error::Memory(len as u64))
}

/// Makes `buffer` at least `len` long. Never shrinks it, because bytes that were cleared once need not be cleared again.
pub(super) fn grow(buffer: &mut Vec<u8>, len: usize) -> Result<()> {
    if buffer.capacity() < len {
        *buffer = zeros(len)?;
    } else if buffer.len() < len {
        buffer.resize(len, 0);
    }
    Ok(())
}

/// Calls `run` with `len` bytes of this thread's own memory for one block inside a chunk. Their contents are arbitrary.
pub(super) fn with_block<T>(len: usize, run: impl FnOnce(&mut [u8]) -> Result<T>) -> Result<T> {
    thread_local! {
        static BLOCK: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BLOCK.with(|own| match own.try_borrow_mut() {
        Ok(mut buffer) => {
            grow(&mut buffer, len)?;
            let result = run(&mut buffer[..len]);
            if buffer.capacity() > RETAINED {
                *buffer = Vec::new();
            }
            result
        }
        Err(_) => run(&mut zeros(len)?),
    })
}
