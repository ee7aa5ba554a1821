//! The end of a program whose main thread leaves by `pthread_exit`.
//!
//! The C library ends a process with its last thread, but threads of ours wait for work for ever, with all signals blocked. So when the
//! main thread leaves, one more thread looks from time to time whether only ours remain, and ends the process as the C library would.
//!
//! When this library is preloaded, its `pthread_exit` is in front of the C library's, and goes on to it by a jump: that function
//! unwinds the caller's stack.

use std::ffi::c_void;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::time::Duration;

use ncforge::without_signals;

use crate::report::wish;
use crate::tables::guarded;

const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// The beginning of the names of our threads.
const OURS: &[u8] = b"ncforge-";

/// Before a thread leaves; where to go on.
extern "C" fn before() -> *mut c_void {
    static REAL: AtomicPtr<c_void> = AtomicPtr::new(null_mut());
    // SAFETY: asks for two numbers.
    let is_main = unsafe { libc::gettid() == libc::getpid() };
    if is_main && !wish().off {
        guarded(|| {
            let watcher = std::thread::Builder::new().name("ncforge-end".to_owned());
            without_signals(|| watcher.spawn(watch)).ok()
        });
    }
    let mut real = REAL.load(Ordering::Relaxed);
    if real.is_null() {
        // SAFETY: looks a name up in the objects behind this one.
        real = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_exit".as_ptr()) };
        REAL.store(real, Ordering::Relaxed);
    }
    if real.is_null() { std::process::abort() } else { real }
}

fn watch() {
    while !guarded(only_ours).unwrap_or(false) {
        std::thread::sleep(BETWEEN_LOOKS);
    }
    // SAFETY: nothing of the program runs any more.
    unsafe { libc::exit(0) };
}

/// Whether the main thread is gone, and nothing but threads of ours remains. A thread that ends meanwhile may have started another: it is
/// looked at again.
fn only_ours() -> Option<bool> {
    let main = std::process::id().to_string();
    for thread in std::fs::read_dir("/proc/self/task").ok()? {
        let thread = thread.ok()?;
        let is_ours = std::fs::read(thread.path().join("comm")).ok()?.starts_with(OURS);
        // Threads of a program of such a name have it, too.
        let is_main = *thread.file_name() == *main;
        if is_main == is_ours || is_main && !is_gone(&thread.path())? {
            return Some(false);
        }
    }
    Some(true)
}

/// Whether a thread has ended, and is kept for its number: its state, behind its name in parentheses, says so.
fn is_gone(thread: &Path) -> Option<bool> {
    let text = std::fs::read(thread.join("stat")).ok()?;
    let name_ends = text.iter().rposition(|&b| b == b')')?;
    Some(text.get(name_ends + 2) == Some(&b'Z'))
}

/// In front of the C library's function.
///
/// # Safety
/// As the C library's.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_exit(value: *mut c_void) -> ! {
    std::arch::naked_asm!("push rdi", "call {before}", "pop rdi", "jmp rax", before = sym before)
}

/// In front of the C library's function.
///
/// # Safety
/// As the C library's.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn pthread_exit(value: *mut c_void) -> ! {
    std::arch::naked_asm!(
        "stp x29, x30, [sp, #-32]!",
        "str x0, [sp, #16]",
        "mov x29, sp",
        "bl {before}",
        "mov x16, x0",
        "ldr x0, [sp, #16]",
        "ldp x29, x30, [sp], #32",
        "br x16",
        before = sym before,
    )
}
