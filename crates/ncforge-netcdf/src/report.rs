//! The words of `NCFORGE_NETCDF`, and the lines of the log that it may ask for.
//!
//! `off`: nothing is done. `read`: writes are netCDF-C's. `log`: standard error gets a line for each library found and for each file
//! closed. `always`: reads and writes of every size are served, and reads of files that were written just now, and logged, which
//! is slower; for tests. `status`: what is found is printed when the library is preloaded, and the program does not begin. Words are
//! separated by commas; others are passed over in silence.

use std::fmt::{Arguments, Write as _};
use std::fs::File;
use std::io::Write as _;
use std::mem::ManuallyDrop;
use std::os::fd::{FromRawFd, RawFd};
use std::sync::OnceLock;

/// The request of the environment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    /// Do nothing.
    pub(crate) off: bool,
    /// Leave all writes to netCDF-C.
    pub(crate) read_only: bool,
    /// Say what was done.
    pub(crate) log: bool,
    /// Serve reads and writes of every size.
    pub(crate) always: bool,
    /// Print what is found, and end.
    pub(crate) status: bool,
}

impl Wish {
    fn of(text: &str) -> Self {
        let mut wish = Self::default();
        for word in text.split(',') {
            match word.trim() {
                "off" | "0" | "no" => wish.off = true,
                "read" => wish.read_only = true,
                "log" => wish.log = true,
                "always" => (wish.always, wish.log) = (true, true),
                "status" => wish.status = true,
                _ => {}
            }
        }
        wish
    }
}

/// The wish, read once. Programs that run with other rights than their caller's do nothing.
pub(crate) fn wish() -> Wish {
    static WISH: OnceLock<Wish> = OnceLock::new();
    *WISH.get_or_init(|| {
        // SAFETY: asks the kernel's auxiliary vector, no memory is involved.
        if unsafe { libc::getauxval(libc::AT_SECURE) } != 0 {
            return Wish { off: true, ..Wish::default() };
        }
        Wish::of(&std::env::var("NCFORGE_NETCDF").unwrap_or_default())
    })
}

/// A line for the log, if there is one. One write, so that lines of several threads do not mix.
pub(crate) fn log(line: Arguments<'_>) {
    if wish().log {
        let mut text = String::new();
        let _ = writeln!(text, "ncforge: {line}");
        if let Some(descriptor) = standard_error().and_then(StandardError::descriptor) {
            // SAFETY: it is open, and stays so: the file is never dropped.
            let mut file = ManuallyDrop::new(unsafe { File::from_raw_fd(descriptor) });
            let _ = file.write_all(text.as_bytes());
        }
    }
}

/// Standard error as it was when the log began. A program may close it, and its next file, which may be one of netCDF's, gets the number.
pub(crate) struct StandardError {
    /// A descriptor of ours.
    kept: RawFd,
    /// The file.
    identity: (libc::dev_t, libc::ino_t),
}

/// Descriptors below this are the program's.
const LOWEST: RawFd = 200;

/// Keeps standard error for the log, if there is one; the first call does.
pub(crate) fn standard_error() -> Option<&'static StandardError> {
    static KEPT: OnceLock<Option<StandardError>> = OnceLock::new();
    KEPT.get_or_init(|| {
        let identity = identity(libc::STDERR_FILENO).filter(|_| wish().log)?;
        // SAFETY: makes a descriptor, which programs that this one starts do not get.
        let kept = unsafe { libc::fcntl(libc::STDERR_FILENO, libc::F_DUPFD_CLOEXEC, LOWEST) };
        Some(StandardError { kept, identity })
    })
    .as_ref()
}

impl StandardError {
    /// A descriptor of it, if there still is one: programs also close descriptors that they do not know.
    fn descriptor(&self) -> Option<RawFd> {
        [self.kept, libc::STDERR_FILENO].into_iter().find(|&fd| identity(fd) == Some(self.identity))
    }
}

fn identity(descriptor: RawFd) -> Option<(libc::dev_t, libc::ino_t)> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: written if the call succeeds, and read only then.
    unsafe { (libc::fstat(descriptor, stat.as_mut_ptr()) == 0).then(|| stat.assume_init()) }
        .map(|s| (s.st_dev, s.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_wishes() {
        assert_eq!(Wish::of(""), Wish::default());
        assert_eq!(Wish::of("read, log"), Wish { read_only: true, log: true, ..Wish::default() });
        assert!(Wish::of("off").off && Wish::of("always").log && !Wish::of("yes").log);
    }
}
