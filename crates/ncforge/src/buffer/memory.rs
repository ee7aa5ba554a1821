//! The memory of one buffer, from the system, and returned to it when it is dropped.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::fmt;
use std::ptr::NonNull;

use super::pages;

/// From this many bytes on, a buffer is aligned to 2 MiB and advised to use huge pages.
pub(super) const HUGE_FROM: usize = 4 << 20;
const CACHE_LINE: usize = 64;
/// From this many bytes on, a buffer is aligned to a cache line; smaller ones (there may be ten thousand attributes)
/// have the alignment of the largest element, with which the allocator is several times faster.
pub(super) const ALIGNED_FROM: usize = 512;

/// Initialised bytes: an allocation, or a mapping of its own.
pub(super) struct Memory {
    ptr: NonNull<u8>,
    len: usize,
}

// SAFETY: a Memory owns its allocation alone, as Vec<u8> does.
unsafe impl Send for Memory {}
// SAFETY: shared access gives the address only.
unsafe impl Sync for Memory {}

/// Small buffers come from the allocator. `None` for more bytes than an address can count.
fn try_layout(len: usize) -> Option<Layout> {
    let align = if len < ALIGNED_FROM { (1 << len.max(1).ilog2()).min(16) } else { CACHE_LINE };
    Layout::from_size_align(len, align).ok()
}

fn layout(len: usize) -> Layout {
    try_layout(len).expect("a buffer length below isize::MAX")
}

impl Memory {
    /// At least `len` zero bytes. Much memory is advised to use huge pages; no page is touched here.
    pub(super) fn zeroed(len: usize) -> Self {
        Self::try_zeroed(len).unwrap_or_else(|| handle_alloc_error(layout(len)))
    }

    /// As [`Self::zeroed`]; `None` if the system does not give the bytes.
    pub(super) fn try_zeroed(len: usize) -> Option<Self> {
        if len == 0 {
            return Some(Self::default());
        }
        if pages::MAPS && len >= HUGE_FROM {
            return pages::map(len).map(|ptr| Self { ptr, len: pages::mapped_len(len) });
        }
        // SAFETY: the layout has a non-zero size.
        let raw = unsafe { alloc_zeroed(try_layout(len)?) };
        NonNull::new(raw).map(|ptr| Self { ptr, len })
    }

    /// A copy of these bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        let memory = if (1..ALIGNED_FROM).contains(&bytes.len()) {
            let layout = layout(bytes.len());
            // SAFETY: the layout has a non-zero size; all of the new allocation is written before it is used.
            let raw = unsafe { alloc(layout) };
            let ptr = NonNull::new(raw).unwrap_or_else(|| handle_alloc_error(layout));
            Self { ptr, len: bytes.len() }
        } else {
            Self::zeroed(bytes.len())
        };
        // SAFETY: the new memory has at least as many bytes, and nobody else refers to it.
        unsafe { memory.ptr.copy_from_nonoverlapping(NonNull::from(bytes).cast(), bytes.len()) };
        memory
    }

    /// The address.
    pub(super) fn ptr(&self) -> NonNull<u8> {
        self.ptr
    }

    /// Bytes allocated.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// True if the block is a mapping of its own.
    fn is_mapped(&self) -> bool {
        pages::MAPS && self.len >= HUGE_FROM
    }

    /// Allows the system to reclaim the pages if it needs them. The contents are lost.
    pub(super) fn offer(&self) {
        if self.is_mapped() {
            // SAFETY: mapped in `zeroed`; only a recycler calls this, whose memory has arbitrary contents.
            unsafe { pages::offer(self.ptr, self.len) };
        }
    }
}

impl Default for Memory {
    /// No bytes.
    fn default() -> Self {
        Self { ptr: NonNull::dangling(), len: 0 }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        if self.is_mapped() {
            // SAFETY: mapped in `zeroed` with the same length.
            unsafe { pages::unmap(self.ptr, self.len) };
        } else {
            // SAFETY: allocated in `zeroed` or `of` with the same layout.
            unsafe { dealloc(self.ptr.as_ptr(), layout(self.len)) };
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Memory({} bytes)", self.len)
    }
}
