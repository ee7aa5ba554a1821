//! The functions of netCDF-C that the driver calls, with the types of `netcdf.h` (4.1 and later).

use std::ffi::{c_char, c_float, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use libloading::Library;

use crate::error::{Error, Result};

macro_rules! calls {
    ($($field:ident: $symbol:literal = fn($($arg:ty),*) -> $out:ty;)*) => {
        /// Addresses of functions, and the library that they are in.
        #[derive(Debug)]
        pub(super) struct Calls {
            $(pub(super) $field: unsafe extern "C" fn($($arg),*) -> $out,)*
            /// Never unloaded: HDF5 asks the C library to call it when the program ends.
            _library: ManuallyDrop<Library>,
        }

        impl Calls {
            /// Loads the library and looks all functions up.
            pub(super) fn load(path: &Path) -> Result<Self> {
                let explain = |e: libloading::Error| {
                    Error::Invalid(format!("cannot load `{}` as a netCDF-C library: {e}", path.display()))
                };
                // SAFETY: loading runs the library's initialisers; those of netCDF-C and HDF5 ask nothing of us.
                let library = unsafe { Library::new(path) }.map_err(explain)?;
                Ok(Calls {
                    // SAFETY: the types are those of netcdf.h.
                    $($field: *unsafe { library.get($symbol) }.map_err(explain)?,)*
                    _library: ManuallyDrop::new(library),
                })
            }
        }
    };
}

calls! {
    inq_libvers: b"nc_inq_libvers\0" = fn() -> *const c_char;
    strerror: b"nc_strerror\0" = fn(c_int) -> *const c_char;
    open: b"nc_open\0" = fn(*const c_char, c_int, *mut c_int) -> c_int;
    close: b"nc_close\0" = fn(c_int) -> c_int;
    inq_format: b"nc_inq_format\0" = fn(c_int, *mut c_int) -> c_int;
    inq_nvars: b"nc_inq_nvars\0" = fn(c_int, *mut c_int) -> c_int;
    inq_grps: b"nc_inq_grps\0" = fn(c_int, *mut c_int, *mut c_int) -> c_int;
    inq_grpname: b"nc_inq_grpname\0" = fn(c_int, *mut c_char) -> c_int;
    inq_var: b"nc_inq_var\0" =
        fn(c_int, c_int, *mut c_char, *mut c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int;
    inq_vardimid: b"nc_inq_vardimid\0" = fn(c_int, c_int, *mut c_int) -> c_int;
    inq_dimlen: b"nc_inq_dimlen\0" = fn(c_int, c_int, *mut usize) -> c_int;
    inq_var_chunking: b"nc_inq_var_chunking\0" = fn(c_int, c_int, *mut c_int, *mut usize) -> c_int;
    inq_var_deflate: b"nc_inq_var_deflate\0" = fn(c_int, c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int;
    get_chunk_cache: b"nc_get_chunk_cache\0" = fn(*mut usize, *mut usize, *mut c_float) -> c_int;
    set_var_chunk_cache: b"nc_set_var_chunk_cache\0" = fn(c_int, c_int, usize, usize, c_float) -> c_int;
    get_vara: b"nc_get_vara\0" = fn(c_int, c_int, *const usize, *const usize, *mut c_void) -> c_int;
    get_vars: b"nc_get_vars\0" =
        fn(c_int, c_int, *const usize, *const usize, *const isize, *mut c_void) -> c_int;
}
