//! Memory for results: zeroed, aligned, and on huge pages when it is large.
//!
//! Reading 512 MB into a fresh ordinary allocation has a quarter of the speed of reading into a warm one, because every
//! 4 KiB page faults on first touch; 2 MiB pages make that cost small. Therefore every large result and scratch
//! buffer of this crate is a [`Buffer`].

mod arena;
mod pages;
mod recycle;

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;
use std::sync::{Arc, Weak};

pub(crate) use arena::Arena;
pub(crate) use recycle::Recycler;

/// From this many bytes on, a buffer is aligned to 2 MiB and advised to use huge pages.
const HUGE_FROM: usize = 4 << 20;
/// From this many bytes on, the memory of a result is retained for the next one.
const RECYCLE_FROM: usize = 64 << 10;
const CACHE_LINE: usize = 64;
/// From this many bytes on, a buffer is aligned to a cache line; smaller ones (there may be ten thousand attributes)
/// have the alignment of the largest element, with which the allocator is several times faster.
const ALIGNED_FROM: usize = 512;

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
    /// Bytes allocated; all of them are initialised.
    allocated: usize,
    owner: Owner,
}

/// The owner of a buffer's memory, to which it is returned.
enum Owner {
    /// The system.
    System,
    /// This recycler while it exists, else the system.
    Recycler(Weak<Recycler>),
    /// A larger mapping.
    Arena(Arc<Arena>),
}

// SAFETY: a Buffer owns its allocation alone, as Vec<u8> does.
unsafe impl Send for Buffer {}
// SAFETY: shared access is read-only through &[u8].
unsafe impl Sync for Buffer {}

/// Small buffers come from the allocator.
fn layout(len: usize) -> Layout {
    let align = if len < ALIGNED_FROM { (1 << len.max(1).ilog2()).min(16) } else { CACHE_LINE };
    Layout::from_size_align(len, align).expect("a buffer length below isize::MAX")
}

impl Buffer {
    /// `len` zero bytes. Large buffers are advised to use huge pages; no page is touched here.
    pub fn zeroed(len: usize) -> Self {
        if len == 0 {
            return Self { ptr: NonNull::dangling(), len, allocated: 0, owner: Owner::System };
        }
        let maps = pages::MAPS && len >= HUGE_FROM;
        let allocated = if maps { pages::mapped_len(len) } else { len };
        let ptr = if maps { pages::map(len) } else { None };
        let ptr = ptr.unwrap_or_else(|| {
            let layout = layout(len);
            // SAFETY: the layout has a non-zero size.
            let raw = unsafe { alloc_zeroed(layout) };
            NonNull::new(raw).unwrap_or_else(|| handle_alloc_error(layout))
        });
        Self { ptr, len, allocated, owner: Owner::System }
    }

    /// Whether the memory is a mapping of its own.
    fn is_mapped(&self) -> bool {
        pages::MAPS && self.allocated >= HUGE_FROM && !self.is_part()
    }

    /// Whether the memory is part of an [`Arena`].
    pub(crate) fn is_part(&self) -> bool {
        matches!(self.owner, Owner::Arena(_))
    }

    /// Allows the system to reclaim the pages if it needs them. The contents are lost.
    fn offer(&self) {
        if self.is_mapped() {
            // SAFETY: mapped in `zeroed`; only a recycler calls this, whose buffers have arbitrary contents.
            unsafe { pages::offer(self.ptr, self.allocated) };
        }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.allocated == 0 {
            return;
        }
        match std::mem::replace(&mut self.owner, Owner::System) {
            Owner::System => {}
            Owner::Arena(owner) => return owner.give(self.ptr, self.allocated),
            Owner::Recycler(owner) => {
                if let Some(owner) = owner.upgrade() {
                    let memory = Self {
                        ptr: self.ptr,
                        len: self.allocated,
                        allocated: self.allocated,
                        owner: Owner::System,
                    };
                    return owner.give(memory);
                }
            }
        }
        if self.is_mapped() {
            // SAFETY: mapped in `zeroed` with the same length.
            unsafe { pages::unmap(self.ptr, self.allocated) };
        } else {
            // SAFETY: allocated in `zeroed` with the same layout.
            unsafe { dealloc(self.ptr.as_ptr(), layout(self.allocated)) };
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
        if (1..ALIGNED_FROM).contains(&bytes.len()) {
            let layout = layout(bytes.len());
            // SAFETY: the layout has a non-zero size; all of the new allocation is written before it is used.
            unsafe {
                let ptr = NonNull::new(alloc(layout)).unwrap_or_else(|| handle_alloc_error(layout));
                ptr.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len());
                return Self { ptr, len: bytes.len(), allocated: bytes.len(), owner: Owner::System };
            }
        }
        let mut b = Self::zeroed(bytes.len());
        b.copy_from_slice(bytes);
        b
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn large_buffers_are_on_huge_pages() {
        for extra in [0, 1, 3 << 20] {
            let b = Buffer::zeroed(HUGE_FROM + extra);
            assert!(!cfg!(target_os = "linux") || (b.as_ptr() as usize).is_multiple_of(2 << 20));
        }
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
