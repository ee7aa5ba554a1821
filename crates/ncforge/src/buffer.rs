//! Memory for results: zeroed, aligned, and on huge pages when it is large.
//!
//! Reading 512 MB into a fresh ordinary allocation has a quarter of the speed of reading into a warm one, because every
//! 4 KiB page faults on first touch; 2 MiB pages make that cost small. Therefore every large result and scratch
//! buffer of this crate is a [`Buffer`].

mod arena;
mod memory;
mod pages;
mod recycle;

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

pub(crate) use arena::Arena;
pub(crate) use recycle::Recycler;

use crate::error::{Error, Result};
use memory::Memory;
use recycle::RECYCLE_FROM;

/// A fixed-length byte buffer, aligned for any element that fits in it.
///
/// The memory of a large result of an [`Engine`](crate::engine::Engine) is returned to that engine when the
/// buffer is dropped, within its memory budget, and used for another result: the system must clear fresh pages,
/// which costs a third of the time of reading into them. Old bytes are never visible: a result is returned
/// only when all of it was overwritten.
///
/// ```
/// let mut b = ncforge::Buffer::zeroed(8);
/// b[0] = 7;
/// assert_eq!(&b[..], &[7, 0, 0, 0, 0, 0, 0, 0]);
/// ```
pub struct Buffer {
    ptr: NonNull<u8>,
    len: usize,
    owner: Owner,
}

/// `len` times `value`, for lengths that a file decides.
///
/// # Errors
/// [`Error::Memory`] if the system does not give so much.
pub(crate) fn filled<T: Clone>(value: T, len: usize) -> Result<Vec<T>> {
    let mut all = reserved(len)?;
    all.resize(len, value);
    Ok(all)
}

/// No values, with space for `len`.
///
/// # Errors
/// As [`filled`].
pub(crate) fn reserved<T>(len: usize) -> Result<Vec<T>> {
    let mut none = Vec::new();
    none.try_reserve_exact(len).map_err(|_| refused(len.saturating_mul(size_of::<T>())))?;
    Ok(none)
}

fn refused(len: usize) -> Error {
    Error::Memory { bytes: len as u64 }
}

/// The owner of a buffer's memory, to which it is returned.
enum Owner {
    /// The system.
    System { _memory: Memory },
    /// The recycler while it exists, else the system.
    Recycler(Memory, Weak<Recycler>),
    /// A larger mapping, of which the buffer has this many bytes.
    Arena(Arc<Arena>, usize),
}

// SAFETY: a Buffer owns its allocation alone, as Vec<u8> does.
unsafe impl Send for Buffer {}
// SAFETY: shared access is read-only through &[u8].
unsafe impl Sync for Buffer {}

impl Buffer {
    /// `len` zero bytes. Large buffers are advised to use huge pages; no page is touched here.
    pub fn zeroed(len: usize) -> Self {
        Self::of(Memory::zeroed(len), len)
    }

    /// As [`Self::zeroed`], for lengths that a file decides.
    ///
    /// # Errors
    /// [`Error::Memory`] if the system does not give so much.
    pub fn try_zeroed(len: usize) -> Result<Self> {
        Memory::try_zeroed(len).map(|memory| Self::of(memory, len)).ok_or_else(|| refused(len))
    }

    /// All of the memory.
    fn of(memory: Memory, len: usize) -> Self {
        Self { ptr: memory.ptr(), len, owner: Owner::System { _memory: memory } }
    }

    /// Whether the memory is part of an [`Arena`].
    pub(crate) fn is_part(&self) -> bool {
        matches!(self.owner, Owner::Arena(..))
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        match &mut self.owner {
            Owner::System { .. } => {}
            Owner::Arena(owner, allocated) => owner.give(self.ptr, *allocated),
            Owner::Recycler(memory, owner) => {
                if let Some(owner) = owner.upgrade() {
                    owner.give(std::mem::take(memory));
                }
            }
        }
    }
}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: ptr is valid for len initialised bytes (dangling but aligned for len 0).
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in deref, and we hold the only reference.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self::from(&self[..])
    }
}

impl From<&[u8]> for Buffer {
    fn from(bytes: &[u8]) -> Self {
        Self::of(Memory::of(bytes), bytes.len())
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self::from(&bytes[..])
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        self[..] == other[..]
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Buffer({} bytes)", self.len)
    }
}

impl Recycler {
    /// A buffer of `len` bytes **with arbitrary contents**, possibly those of an earlier result: for
    /// callers that overwrite every byte, or drop the buffer on an error. It is returned when it is dropped.
    pub(crate) fn buffer(self: &Arc<Self>, len: usize) -> Result<Buffer> {
        let found = if len >= RECYCLE_FROM { self.take(len) } else { None };
        let memory = found.or_else(|| Memory::try_zeroed(len)).ok_or_else(|| refused(len))?;
        let ptr = memory.ptr();
        let buffer = Buffer { ptr, len, owner: Owner::Recycler(memory, Arc::downgrade(self)) };
        // So that tests, which compare results with models, detect bytes that were not written.
        #[cfg(debug_assertions)]
        let buffer = {
            let mut buffer = buffer;
            buffer.fill(0xA5);
            buffer
        };
        Ok(buffer)
    }
}

impl Arena {
    /// A buffer of `len` bytes **with arbitrary contents**, which is returned when it is dropped: in memory that was used
    /// before, else in fresh memory if `fresh` allows that. `None` if there is no space.
    pub(crate) fn buffer(self: &Arc<Self>, len: usize, fresh: bool) -> Option<Buffer> {
        let (ptr, allocated) = self.take(len, fresh)?;
        Some(Buffer { ptr, len, owner: Owner::Arena(Arc::clone(self), allocated) })
    }
}

#[cfg(test)]
mod tests {
    use super::memory::{ALIGNED_FROM, HUGE_FROM};
    use super::*;

    #[test]
    fn large_buffers_are_on_huge_pages() {
        for extra in [0, 1, 3 << 20] {
            let b = Buffer::zeroed(HUGE_FROM + extra);
            assert!(!cfg!(target_os = "linux") || (b.as_ptr() as usize).is_multiple_of(2 << 20));
        }
    }

    #[test]
    fn more_than_there_is_is_an_error() {
        for len in [1 << 46, isize::MAX as usize, usize::MAX] {
            assert!(matches!(Buffer::try_zeroed(len), Err(Error::Memory { bytes }) if bytes == len as u64));
            assert!(matches!(filled(0u64, len), Err(Error::Memory { .. })));
            assert!(Recycler::new(1 << 20).buffer(len).is_err());
        }
        assert_eq!(Buffer::try_zeroed(5).unwrap()[..], filled(0u8, 5).unwrap()[..]);
    }

    #[test]
    fn large_and_empty_buffers_work() {
        for len in [0, 1, 2, 3, 4, 7, 8, 63, ALIGNED_FROM - 1, ALIGNED_FROM, HUGE_FROM, HUGE_FROM + 5] {
            let mut b = Buffer::zeroed(len);
            assert_eq!(b.len(), len);
            assert!(b.iter().all(|&x| x == 0));
            b.fill(3);
            assert_eq!(b.clone(), b);
            let copy = Buffer::from(&b[..]);
            assert_eq!(copy, b);
            for size in [1, 2, 4, 8, 16] {
                assert!(
                    size > len || (copy.as_ptr() as usize).is_multiple_of(size),
                    "{len} bytes, align {size}"
                );
            }
        }
    }
}
