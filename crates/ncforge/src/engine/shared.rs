//! One destination, written by several threads in places that do not overlap.

use std::marker::PhantomData;

/// A mutable byte slice that threads may split between them piece by piece.
///
/// `split_at_mut` cannot express what chunks need: the rows of one chunk lie between the rows of its
/// neighbours. So the disjointness, which follows from the plan (every element of a selection belongs to
/// exactly one piece), is promised by the callers of [`SharedOut::slice`].
pub(super) struct SharedOut<'a> {
    ptr: *mut u8,
    len: usize,
    life: PhantomData<&'a mut [u8]>,
}

// SAFETY: a SharedOut is an exclusive borrow of plain bytes; what its users may touch at once is ruled by the
// contract of `slice`.
unsafe impl Send for SharedOut<'_> {}
// SAFETY: as above: all access goes through `slice`.
unsafe impl Sync for SharedOut<'_> {}

impl<'a> SharedOut<'a> {
    pub(super) fn new(bytes: &'a mut [u8]) -> Self {
        Self { ptr: bytes.as_mut_ptr(), len: bytes.len(), life: PhantomData }
    }

    /// `len` bytes at an address.
    ///
    /// # Safety
    /// They are valid for writing as long as this or a slice of it lives, and used in no other way than through
    /// a `SharedOut`.
    pub(super) unsafe fn from_raw(ptr: *mut u8, len: usize) -> Self {
        Self { ptr, len, life: PhantomData }
    }

    /// The destination without its first `at` bytes.
    ///
    /// # Panics
    /// When it has fewer.
    pub(super) fn from(&self, at: u64) -> Self {
        let at = usize::try_from(at).ok().filter(|&at| at <= self.len).expect("a place in the destination");
        // SAFETY: `at` is at most the length: still inside the borrowed bytes, or one past them.
        Self { ptr: unsafe { self.ptr.add(at) }, len: self.len - at, life: PhantomData }
    }

    /// Says that bytes from `at` on are going to be written: where the processor can, it fetches them meanwhile.
    #[inline]
    pub(super) fn announce(&self, at: usize) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_ET0, _mm_prefetch};
            // SAFETY: a hint touches no memory, wherever it points to.
            unsafe { _mm_prefetch::<_MM_HINT_ET0>(self.ptr.wrapping_add(at).cast_const().cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = at;
    }

    /// `len` bytes from `at`.
    ///
    /// # Panics
    /// When the range is not inside the destination.
    ///
    /// # Safety
    /// No other slice that overlaps this one may be alive.
    #[allow(clippy::mut_from_ref)]
    #[inline]
    pub(super) unsafe fn slice(&self, at: usize, len: usize) -> &'a mut [u8] {
        assert!(
            at <= self.len && len <= self.len - at,
            "{len} bytes at {at} of a destination of {}",
            self.len
        );
        // SAFETY: inside the borrowed bytes by the assertion; not aliased by the caller's promise.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.add(at), len) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_fill_their_own_parts() {
        let mut bytes = vec![0u8; 1000];
        let shared = SharedOut::new(&mut bytes);
        std::thread::scope(|s| {
            for t in 0..4usize {
                let shared = &shared;
                s.spawn(move || {
                    for i in (t..1000).step_by(4) {
                        // SAFETY: thread t touches only bytes that are t modulo 4.
                        let one = unsafe { shared.slice(i, 1) };
                        one[0] = t as u8 + 1;
                    }
                });
            }
        });
        assert!(bytes.iter().enumerate().all(|(i, &b)| b as usize == i % 4 + 1));
    }

    #[test]
    #[should_panic(expected = "destination of 10")]
    fn outside_is_refused() {
        let mut bytes = [0u8; 10];
        let shared = SharedOut::new(&mut bytes);
        // SAFETY: the only slice.
        let _ = unsafe { shared.slice(8, 3) };
    }
}
