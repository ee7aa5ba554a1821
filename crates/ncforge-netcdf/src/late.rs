//! A netCDF-C that is loaded after the program began.
//!
//! Whoever loads an object at run time asks for one of its symbols next: Python for the initialisation of an extension module, R for
//! that of a package, GDAL for that of a plug-in, Julia and Java for every function that they call. When this library is
//! preloaded, its `dlsym` stands in front of the C library's. It looks whether objects were loaded since it was called last,
//! which the loader counts, and goes on to the C library's function by a jump: arguments, stack and return address are the
//! caller's, by which the C library finds what `RTLD_NEXT` means to it. A program that loads nothing pays some 20 ns a call.
//!
//! (`dlopen` cannot be replaced like this: it searches the paths of the object that calls it, so nothing of ours can run
//! after it. An audit library would slow down every call between objects.)

use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock};

use crate::libraries::may_matter;
use crate::tables::guarded;

/// Whether the library is preloaded, and the program's own objects were looked at.
static WATCHING: AtomicBool = AtomicBool::new(false);
/// The loader's count at the last look, and which of the objects mattered.
static LOADED: AtomicU64 = AtomicU64::new(0);
static MATTERED: AtomicU64 = AtomicU64::new(0);
/// The function that is called when others came.
static THEN: OnceLock<fn()> = OnceLock::new();
/// One thread looks at a time. Others go on: they may hold the loader's lock, which looking takes.
static LOOKING: Mutex<()> = Mutex::new(());

thread_local! {
    /// Whether this thread is looking, which calls `dlsym` as well.
    static BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Lets `then` be called from now on when objects that matter were loaded.
pub(crate) fn watch(then: fn()) {
    THEN.get_or_init(|| then);
    LOADED.store(loaded(), Ordering::Relaxed);
    MATTERED.store(mattering(), Ordering::Relaxed);
    WATCHING.store(true, Ordering::Release);
}

fn look() {
    let now = loaded();
    if now == LOADED.load(Ordering::Relaxed) || BUSY.try_with(|busy| busy.replace(true)).unwrap_or(true) {
        return;
    }
    guarded(|| {
        let _one = LOOKING.try_lock().ok()?;
        let mattering = mattering();
        if MATTERED.swap(mattering, Ordering::Relaxed) != mattering {
            THEN.get()?();
        }
        LOADED.store(now, Ordering::Relaxed);
        Some(())
    });
    let _ = BUSY.try_with(|busy| busy.set(false));
}

/// The number of objects that were loaded since the process began.
fn loaded() -> u64 {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: usize, count: *mut c_void) -> c_int {
        // SAFETY: what `dl_iterate_phdr` passes is valid during the call; `count` is what `loaded` passed.
        unsafe { *count.cast::<u64>() = (*info).dlpi_adds };
        1
    }
    let mut count = 0u64;
    // SAFETY: `first` gets the number that it expects, and does not panic.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut count).cast()) };
    count
}

/// A number that changes with the objects that matter: where they lie. Nothing is allocated.
fn mattering() -> u64 {
    unsafe extern "C" fn add(info: *mut libc::dl_phdr_info, _: usize, sum: *mut c_void) -> c_int {
        // SAFETY: what `dl_iterate_phdr` passes is valid during the call; `sum` is what `mattering` passed.
        let (info, sum) = unsafe { (&*info, &mut *sum.cast::<u64>()) };
        // SAFETY: a name of an object is a C string.
        if !info.dlpi_name.is_null() && may_matter(unsafe { CStr::from_ptr(info.dlpi_name) }) {
            *sum = sum.rotate_left(7) ^ info.dlpi_addr;
        }
        0
    }
    let mut sum = 0u64;
    // SAFETY: `add` gets the number that it expects, and does not panic.
    unsafe { libc::dl_iterate_phdr(Some(add), (&raw mut sum).cast()) };
    sum
}

/// The C library's function. Asked by its version, since the symbol without one is ours.
fn real() -> *mut c_void {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    unsafe extern "C" fn none(_: *mut c_void, _: *const c_char) -> *mut c_void {
        null_mut()
    }
    let known = REAL.load(Ordering::Relaxed);
    if !known.is_null() {
        return known;
    }
    let first = if cfg!(target_arch = "x86_64") { c"GLIBC_2.2.5" } else { c"GLIBC_2.17" };
    let find = |version: &CStr| {
        // SAFETY: looks a name up in the objects behind this one.
        unsafe { libc::dlvsym(libc::RTLD_NEXT, c"dlsym".as_ptr(), version.as_ptr()) }
    };
    let found = [c"GLIBC_2.34", first].into_iter().map(find).find(|at| !at.is_null());
    let found = found.unwrap_or(none as *mut c_void);
    REAL.store(found, Ordering::Relaxed);
    found
}

/// Before a symbol is asked for; where to go on.
extern "C" fn before() -> *mut c_void {
    if WATCHING.load(Ordering::Acquire) {
        look();
    }
    real()
}

/// Stands in front of the C library's function.
///
/// # Safety
/// As the C library's.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void {
    // Two arguments, and a word that keeps the stack aligned.
    std::arch::naked_asm!(
        "push rdi",
        "push rsi",
        "sub rsp, 8",
        "call {before}",
        "add rsp, 8",
        "pop rsi",
        "pop rdi",
        "jmp rax",
        before = sym before,
    )
}

/// Stands in front of the C library's function.
///
/// # Safety
/// As the C library's.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(handle: *mut c_void, symbol: *const c_char) -> *mut c_void {
    // Two arguments, and the frame with the return address.
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "stp x0, x1, [sp, #16]",
        "mov x29, sp",
        "bl {before}",
        "mov x16, x0",
        "ldp x0, x1, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        before = sym before,
    )
}
