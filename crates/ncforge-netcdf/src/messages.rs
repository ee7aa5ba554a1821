//! HDF5's messages about errors, which netCDF-C's initialisation turns off for the thread that calls it.
//!
//! That thread is the one that opens the first file. Where ncforge initialises netCDF-C, the calling thread keeps its messages, and the
//! first one that opens a file loses them.

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::tables::LIBRARIES;

type Get = unsafe extern "C" fn(i64, *mut *mut c_void, *mut *mut c_void) -> c_int;
type Set = unsafe extern "C" fn(i64, *mut c_void, *mut c_void) -> c_int;

/// `H5Eget_auto2` and `H5Eset_auto2` of the HDF5 that a netCDF-C calls.
#[derive(Clone, Copy)]
pub(crate) struct Messages {
    get: Get,
    set: Set,
}

/// `H5E_DEFAULT`: what the calling thread has.
const OF_THIS_THREAD: i64 = 0;

/// `H5Eset_auto2` of a library whose next opening turns messages off.
static NEXT: [AtomicPtr<c_void>; LIBRARIES] = [const { AtomicPtr::new(null_mut()) }; LIBRARIES];

impl Messages {
    /// The functions that an object calls.
    ///
    /// # Safety
    /// `object` is from `dlopen`.
    pub(crate) unsafe fn of(object: *mut c_void) -> Option<Self> {
        // SAFETY: the caller's promise; HDF5's functions of these names, and their signatures.
        unsafe {
            let get = libc::dlsym(object, c"H5Eget_auto2".as_ptr());
            let set = libc::dlsym(object, c"H5Eset_auto2".as_ptr());
            let are_there = !get.is_null() && !set.is_null();
            are_there.then(|| Self {
                get: std::mem::transmute::<*mut c_void, Get>(get),
                set: std::mem::transmute::<*mut c_void, Set>(set),
            })
        }
    }

    /// Initialises a library, so that this thread keeps its messages.
    pub(crate) fn keep(self, library: usize, initialise: impl FnOnce() -> c_int) -> c_int {
        let before = self.now();
        let code = initialise();
        if let Some([function, data]) = before.filter(|_| self.now() != before) {
            // SAFETY: HDF5's function, with what it said.
            unsafe { (self.set)(OF_THIS_THREAD, function, data) };
            NEXT[library].store(self.set as *mut c_void, Ordering::Release);
        }
        code
    }

    /// The function that prints, and its argument.
    fn now(self) -> Option<[*mut c_void; 2]> {
        let [mut function, mut data] = [null_mut(); 2];
        // SAFETY: HDF5's function, which writes both.
        let code = unsafe { (self.get)(OF_THIS_THREAD, &raw mut function, &raw mut data) };
        (code >= 0).then_some([function, data])
    }
}

/// This thread is about to open a file.
pub(crate) fn before_opening(library: usize) {
    if NEXT[library].load(Ordering::Relaxed).is_null() {
        return;
    }
    let set = NEXT[library].swap(null_mut(), Ordering::Acquire);
    if !set.is_null() {
        // SAFETY: from `keep`; no function is the way to print nothing.
        unsafe { std::mem::transmute::<*mut c_void, Set>(set)(OF_THIS_THREAD, null_mut(), null_mut()) };
    }
}
