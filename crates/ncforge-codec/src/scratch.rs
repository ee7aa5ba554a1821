//! Buffers between the stages of a chain, kept so that decoding many chunks allocates once.

use std::cell::RefCell;

/// Buffers above this size go back to the system after use: a thread that met one huge chunk must not hold on
/// to its memory.
const KEEP: usize = 32 << 20;

/// Two buffers for the stages between stored bytes and elements. One per thread is enough; it grows to the
/// largest chunk met.
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

    /// Gives large buffers back to the system.
    pub fn trim(&mut self) {
        for b in &mut self.buffers {
            if b.capacity() > KEEP {
                *b = Vec::new();
            }
        }
    }

    /// Runs with this thread's own buffers.
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
            // Somewhere up this thread's stack the buffers are in use.
            Err(_) => run(&mut Scratch::new()),
        })
    }
}

/// Makes `buffer` at least `len` long. Never shrinks it: what is there already need not be cleared again.
pub(super) fn grow(buffer: &mut Vec<u8>, len: usize) {
    if buffer.len() < len {
        if buffer.capacity() < len {
            // Fresh zero pages are cheaper than copying bytes that nobody reads.
            *buffer = vec![0; len];
        } else {
            buffer.resize(len, 0);
        }
    }
}

/// Runs with `len` bytes of this thread's own room for one block inside a chunk. What they hold is arbitrary.
pub(super) fn with_block<T>(len: usize, run: impl FnOnce(&mut [u8]) -> T) -> T {
    thread_local! {
        static BLOCK: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    }
    BLOCK.with(|own| match own.try_borrow_mut() {
        Ok(mut room) => {
            grow(&mut room, len);
            let result = run(&mut room[..len]);
            if room.capacity() > KEEP {
                *room = Vec::new();
            }
            result
        }
        Err(_) => run(&mut vec![0; len]),
    })
}
