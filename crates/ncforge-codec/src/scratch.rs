//! Buffers between the stages of a chain, which are reused so that decoding many chunks allocates once.

use std::cell::RefCell;
use std::thread::LocalKey;

use super::error::{Error, Result};

/// Calls `run` with this thread's own value, or with a new one: where the thread is ending and has none any more (a program's last files are
/// closed then), or where its own is in use further up the stack.
pub(super) fn with_own<T: Default, R>(
    own: &'static LocalKey<RefCell<T>>,
    run: impl FnOnce(&mut T) -> R,
) -> R {
    let mut run = Some(run);
    let mut call = |value: &mut T| run.take().map(|run| run(value));
    let done = own.try_with(|cell| cell.try_borrow_mut().ok().and_then(|mut value| call(&mut value)));
    match done.ok().flatten().or_else(|| call(&mut T::default())) {
        Some(result) => result,
        None => unreachable!("it is called once"),
    }
}

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
        with_own(&OWN, |scratch| {
            let result = run(scratch);
            scratch.trim();
            result
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
    with_own(&BLOCK, |buffer| {
        grow(buffer, len)?;
        let result = run(&mut buffer[..len]);
        if buffer.capacity() > RETAINED {
            *buffer = Vec::new();
        }
        result
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_ends_encodes_and_decodes() {
        /// What a program closes when its thread ends.
        struct Last;
        impl Drop for Last {
            fn drop(&mut self) {
                let data: Vec<u8> = (0..40_000u32).flat_map(|i| (i / 3).to_le_bytes()).collect();
                let mut out = Vec::new();
                for planes in [1, 4] {
                    let n =
                        crate::deflate::encode(&data, 4, planes, crate::deflate::Segments::None, &mut out);
                    let mut back = vec![0; data.len()];
                    let n = n.expect("encodes");
                    assert_eq!(crate::deflate::decode(&out[..n], &mut back).ok(), Some(data.len()));
                    assert_eq!(back, data);
                }
                let n = crate::zstd::encode(&data, 3, &mut out).expect("encodes");
                let mut back = vec![0; data.len()];
                assert_eq!(crate::zstd::decode(&out[..n], &mut back).ok(), Some(data.len()));
                assert_eq!(Scratch::with(|s| s.capacity()), 0);
                assert_eq!(with_block(3, |block| Ok(block.len())).ok(), Some(3));
            }
        }
        thread_local! {
            static LAST: Last = const { Last };
        }
        let ending = std::thread::spawn(|| {
            // The codec's own values are made after this one, and dropped before it.
            LAST.with(|_| drop(Last));
        });
        ending.join().expect("no panic");
    }
}
