//! The file of the library `ncforge-netcdf`: it comes along with the command.

use std::ffi::{CStr, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::exit::{Exit, Failure, Result};

/// Name of the library's file.
const NAME: &str = "libncforge_netcdf.so";

/// The library's path: next to the command that contains this code, in the folder `_netcdf` next to the extension module, or in `lib` of
/// the same installation.
pub(super) fn path() -> Result<PathBuf> {
    let own = own_object().or_else(|| std::env::current_exe().ok());
    let own = own.and_then(|p| p.canonicalize().ok());
    let folder = own.as_deref().and_then(Path::parent).unwrap_or(Path::new("."));
    let places = ["", "_netcdf", "../lib", "../lib/ncforge"];
    let found = places.iter().map(|place| folder.join(place).join(NAME)).find(|path| path.is_file());
    found.and_then(|path| path.canonicalize().ok()).ok_or_else(|| Failure { class: None,
        message: format!("{NAME} is not in {}", folder.display()),
        hint: format!(
            "`pip install` and the tarball bring it along, `cargo install` cannot: in the sources of this version, \
             `cargo build --release -p ncforge-netcdf && install -D target/release/{NAME} {}`",
            in_lib(folder).display()
        ),
        exit: Exit::Failed,
    })
}

/// The library's usual path, for a command in this folder.
fn in_lib(folder: &Path) -> PathBuf {
    folder.parent().unwrap_or(folder).join("lib").join(NAME)
}

/// The executable or shared object that contains this function.
fn own_object() -> Option<PathBuf> {
    let mut info = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    let here = own_object as *const c_void;
    // SAFETY: `info` is written only; the name that it gets is a C string that lives as long as the object.
    let name = unsafe {
        if libc::dladdr(here, &raw mut info) == 0 || info.dli_fname.is_null() {
            return None;
        }
        CStr::from_ptr(info.dli_fname)
    };
    let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    // Of a program, the system gives the name by which it was called.
    path.is_absolute().then(|| path.to_owned())
}
