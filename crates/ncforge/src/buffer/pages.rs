//! Memory straight from the system.
//!
//! Large buffers are mapped: the standard allocator clears memory of more than its usual alignment by writing
//! to its small pages, before huge pages can be requested.

#[cfg(target_os = "linux")]
mod system {
    use std::ptr::{NonNull, null_mut};

    pub(in super::super) const HUGE_PAGE: usize = 2 << 20;
    pub(in super::super) const MAPS: bool = true;

    /// Bytes that a mapping for `len` bytes takes.
    pub(in super::super) fn mapped_len(len: usize) -> usize {
        len.next_multiple_of(HUGE_PAGE)
    }

    /// Fresh zero pages, aligned to a huge page: `None` if the system refuses.
    pub(in super::super) fn map(len: usize) -> Option<NonNull<u8>> {
        anonymous(len, 0)
    }

    /// Addresses for `len` bytes of which only a few may be used; `None` if the system refuses.
    pub(in super::super) fn reserve(len: usize) -> Option<NonNull<u8>> {
        anonymous(len, libc::MAP_NORESERVE)
    }

    fn anonymous(len: usize, flags: i32) -> Option<NonNull<u8>> {
        let whole = len.checked_next_multiple_of(HUGE_PAGE)?.checked_add(HUGE_PAGE)?;
        let (prot, flags) =
            (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | flags);
        // SAFETY: a new anonymous mapping at an address of the system's choice.
        let raw = unsafe { libc::mmap(null_mut(), whole, prot, flags, -1, 0) };
        if raw == libc::MAP_FAILED {
            return None;
        }
        let raw = raw.cast::<u8>();
        let head = raw.align_offset(HUGE_PAGE);
        let mapped = mapped_len(len);
        // SAFETY: head + mapped ≤ whole, all inside the mapping; unmapped parts are not used again. The advice
        // has no effect on contents.
        unsafe {
            let aligned = raw.add(head);
            if head > 0 {
                libc::munmap(raw.cast(), head);
            }
            if whole > head + mapped {
                libc::munmap(aligned.add(mapped).cast(), whole - head - mapped);
            }
            libc::madvise(aligned.cast(), mapped, libc::MADV_HUGEPAGE);
            NonNull::new(aligned)
        }
    }

    /// Frees the memory of some pages; they are zero when they are touched again.
    ///
    /// # Safety
    /// They are part of a mapping of this module, and no other thread accesses them during the call.
    pub(in super::super) unsafe fn discard(ptr: NonNull<u8>, len: usize) {
        // SAFETY: inside our own mapping. An error means that the memory stays.
        unsafe { libc::madvise(ptr.as_ptr().cast(), len, libc::MADV_DONTNEED) };
    }

    /// # Safety
    /// `ptr` came from [`map`] or [`reserve`] with a length of the same [`mapped_len`], and is not used again.
    pub(in super::super) unsafe fn unmap(ptr: NonNull<u8>, len: usize) {
        // SAFETY: a mapping that `map` returned.
        unsafe { libc::munmap(ptr.as_ptr().cast(), mapped_len(len)) };
    }

    /// Advises the system that the contents may be discarded: it reclaims the pages if memory is short, and does nothing
    /// otherwise.
    ///
    /// # Safety
    /// As for [`unmap`], except for the last condition: from now on every byte is either unchanged or zero.
    pub(in super::super) unsafe fn offer(ptr: NonNull<u8>, len: usize) {
        // SAFETY: inside our own mapping. An error means that the system cannot; then the pages just stay.
        unsafe { libc::madvise(ptr.as_ptr().cast(), mapped_len(len), libc::MADV_FREE) };
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::ptr::NonNull;

    pub(in super::super) const HUGE_PAGE: usize = 2 << 20;
    pub(in super::super) const MAPS: bool = false;

    pub(in super::super) fn mapped_len(len: usize) -> usize {
        len
    }

    pub(in super::super) fn map(_: usize) -> Option<NonNull<u8>> {
        None
    }

    pub(in super::super) fn reserve(_: usize) -> Option<NonNull<u8>> {
        None
    }

    pub(in super::super) unsafe fn discard(_: NonNull<u8>, _: usize) {}

    pub(in super::super) unsafe fn unmap(_: NonNull<u8>, _: usize) {}

    pub(in super::super) unsafe fn offer(_: NonNull<u8>, _: usize) {}
}

pub(super) use system::*;
