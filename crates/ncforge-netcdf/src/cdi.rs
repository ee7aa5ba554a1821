//! CDO looks at the first bytes of a file by itself (`cdiGetFiletype` of its library libcdi), and opens only what it knows. When we are
//! preloaded, this function stands in front of libcdi's: where libcdi does not know the file and it is a zipped one, the answer
//! is the type of the classic file that it represents. It is never called in programs without libcdi.

use std::ffi::{CStr, c_char, c_int};

use ncforge::model::Format;
use ncforge::store::zipped;

use crate::abi::path_of;
use crate::report::wish;
use crate::tables::guarded;

/// libcdi's number for a classic file of each version (`CDI_FILETYPE_NC`, `_NC2`, `_NC5` of `cdi.h`).
fn file_type(format: Format) -> Option<c_int> {
    match format {
        Format::Cdf1 => Some(3),
        Format::Cdf2 => Some(4),
        Format::Cdf5 => Some(7),
        Format::Netcdf4 | Format::Netcdf4Classic => None,
    }
}

/// libcdi's function, with zipped files.
///
/// # Safety
/// The arguments are those that libcdi's function takes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn cdiGetFiletype(uri: *const c_char, byte_order: *mut c_int) -> c_int {
    /// `CDI_EUFTYPE`: an unsupported file type.
    const UNSUPPORTED: c_int = -23;
    // SAFETY: the next function of this name is libcdi's, with this signature; there is none without libcdi.
    let known = unsafe {
        let next = libc::dlsym(libc::RTLD_NEXT, c"cdiGetFiletype".as_ptr());
        if next.is_null() {
            return UNSUPPORTED;
        }
        let next: unsafe extern "C" fn(*const c_char, *mut c_int) -> c_int = std::mem::transmute(next);
        next(uri, byte_order)
    };
    if known >= 0 || uri.is_null() || wish().off {
        return known;
    }
    let zipped = guarded(|| {
        // SAFETY: libcdi takes a C string.
        let path = path_of(unsafe { CStr::from_ptr(uri) });
        let mut first = [0; 8];
        std::io::Read::read_exact(&mut std::fs::File::open(path).ok()?, &mut first).ok()?;
        if !zipped::detect(&first) {
            return None;
        }
        file_type(ncforge::Dataset::open(path).ok()?.schema().format)
    });
    zipped.unwrap_or(known)
}
