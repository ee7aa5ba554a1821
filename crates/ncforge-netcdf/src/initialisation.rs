//! When netCDF-C initialises itself.
//!
//! Its first open, of whatever kind, calls `nc_initialize`, by its table of imports, as it calls all of its exported functions: so that
//! other objects may replace them. There the function gets one of ours, which calls it, and then what installs ncforge. Builds that bind
//! their own functions when they are linked (`-Bsymbolic`) have no such import.

use std::ffi::{CString, c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

use crate::abi::NOERR;
use crate::imports;
use crate::libraries::Library;
use crate::tables::{LIBRARIES, guarded};

type Initialize = unsafe extern "C" fn() -> c_int;

static ORIGINALS: [AtomicPtr<c_void>; LIBRARIES] = [const { AtomicPtr::new(null_mut()) }; LIBRARIES];
/// The function that is called then.
static THEN: OnceLock<fn(usize)> = OnceLock::new();
/// The functions that take the place of `nc_initialize`.
const OURS: [Initialize; LIBRARIES] = [initialize::<0>, initialize::<1>, initialize::<2>, initialize::<3>];

/// Has `then` called with the number of a library when it has initialised itself; whether that is possible.
pub(crate) fn watch(number: usize, library: &Library, then: fn(usize)) -> bool {
    THEN.get_or_init(|| then);
    let Ok(object) = CString::new(&*library.path) else { return false };
    let Some((found, read_only)) = imports::find(&object, &[c"nc_initialize"]) else { return false };
    let Some(import) = found.first() else { return false };
    ORIGINALS[number].store(import.original, Ordering::Release);
    // SAFETY: the signatures are the same, and this library is never unloaded.
    unsafe { import.replace(OURS[number] as *const c_void, &read_only) }
}

unsafe extern "C" fn initialize<const L: usize>() -> c_int {
    let original = ORIGINALS[L].load(Ordering::Acquire);
    // SAFETY: netCDF-C's function, which was found before this one took its place.
    let code = unsafe { std::mem::transmute::<*mut c_void, Initialize>(original)() };
    if code == NOERR {
        guarded(|| {
            THEN.get()?(L);
            Some(())
        });
    }
    code
}
