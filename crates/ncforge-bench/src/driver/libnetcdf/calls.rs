//! The functions of netCDF-C that the driver calls, with the types of `netcdf.h` (4.1 and later).

use std::ffi::{CStr, c_char, c_float, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use libloading::Library;

use crate::error::{Error, Result};

/// `nc_def_var_filter`: file, variable, number of the filter, its parameters.
pub(super) type FilterDefined = unsafe extern "C" fn(c_int, c_int, c_uint, usize, *const c_uint) -> c_int;
/// `nc_inq_filter_avail`: file, number of the filter.
pub(super) type FilterAvailable = unsafe extern "C" fn(c_int, c_uint) -> c_int;

macro_rules! calls {
    (serial { $($field:ident: $symbol:literal = fn($($arg:ty),*) -> $out:ty;)* }
     optional { $($opt:ident: $opt_symbol:literal = $opt_type:ty;)* }
     parallel { $($par:ident: $par_symbol:literal = fn($($par_arg:ty),*) -> $par_out:ty;)* }) => {
        /// The further functions of a build for parallel access.
        #[derive(Clone, Copy, Debug)]
        pub(super) struct ParallelCalls {
            $(pub(super) $par: unsafe extern "C" fn($($par_arg),*) -> $par_out,)*
        }

        /// The further functions of newer versions.
        #[derive(Clone, Copy, Debug)]
        pub(super) struct OptionalCalls {
            $(pub(super) $opt: Option<$opt_type>,)*
        }

        /// Addresses of functions, and the library that they are in.
        #[derive(Debug)]
        pub(super) struct Calls {
            $(pub(super) $field: unsafe extern "C" fn($($arg),*) -> $out,)*
            pub(super) optional: OptionalCalls,
            /// Present in builds with MPI.
            pub(super) parallel: Option<ParallelCalls>,
            /// Never unloaded: HDF5 asks the C library to call it when the program ends.
            library: ManuallyDrop<Library>,
        }

        impl Calls {
            /// Loads the library and looks all functions up.
            pub(super) fn load(path: &Path) -> Result<Self> {
                let explain = |e: libloading::Error| {
                    Error::Invalid(format!("cannot load `{}` as a netCDF-C library: {e}", path.display()))
                };
                // SAFETY: loading runs the library's initialisers; those of netCDF-C and HDF5 ask nothing of us.
                let library = unsafe { Library::new(path) }.map_err(explain)?;
                let parallel = || -> std::result::Result<ParallelCalls, libloading::Error> {
                    Ok(ParallelCalls {
                        // SAFETY: the types are those of netcdf_par.h; see there for handles of MPI.
                        $($par: *unsafe { library.get($par_symbol) }?,)*
                    })
                };
                let optional = OptionalCalls {
                    // SAFETY: the types are those of netcdf.h and netcdf_filter.h.
                    $($opt: unsafe { library.get::<$opt_type>($opt_symbol) }.ok().map(|s| *s),)*
                };
                Ok(Calls {
                    optional,
                    parallel: parallel().ok(),
                    // SAFETY: the types are those of netcdf.h.
                    $($field: *unsafe { library.get($symbol) }.map_err(explain)?,)*
                    library: ManuallyDrop::new(library),
                })
            }
        }
    };
}

calls! {
    serial {
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
    inq_varname: b"nc_inq_varname\0" = fn(c_int, c_int, *mut c_char) -> c_int;
    inq_vardimid: b"nc_inq_vardimid\0" = fn(c_int, c_int, *mut c_int) -> c_int;
    inq_dimlen: b"nc_inq_dimlen\0" = fn(c_int, c_int, *mut usize) -> c_int;
    inq_var_chunking: b"nc_inq_var_chunking\0" = fn(c_int, c_int, *mut c_int, *mut usize) -> c_int;
    inq_var_deflate: b"nc_inq_var_deflate\0" = fn(c_int, c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int;
    get_chunk_cache: b"nc_get_chunk_cache\0" = fn(*mut usize, *mut usize, *mut c_float) -> c_int;
    set_var_chunk_cache: b"nc_set_var_chunk_cache\0" = fn(c_int, c_int, usize, usize, c_float) -> c_int;
    get_vara: b"nc_get_vara\0" = fn(c_int, c_int, *const usize, *const usize, *mut c_void) -> c_int;
    get_vars: b"nc_get_vars\0" =
        fn(c_int, c_int, *const usize, *const usize, *const isize, *mut c_void) -> c_int;
    create: b"nc_create\0" = fn(*const c_char, c_int, *mut c_int) -> c_int;
    def_dim: b"nc_def_dim\0" = fn(c_int, *const c_char, usize, *mut c_int) -> c_int;
    def_var: b"nc_def_var\0" =
        fn(c_int, *const c_char, c_int, c_int, *const c_int, *mut c_int) -> c_int;
    def_var_chunking: b"nc_def_var_chunking\0" = fn(c_int, c_int, c_int, *const usize) -> c_int;
    def_var_deflate: b"nc_def_var_deflate\0" = fn(c_int, c_int, c_int, c_int, c_int) -> c_int;
    set_fill: b"nc_set_fill\0" = fn(c_int, c_int, *mut c_int) -> c_int;
    put_att_text: b"nc_put_att_text\0" = fn(c_int, c_int, *const c_char, usize, *const c_char) -> c_int;
    enddef: b"nc_enddef\0" = fn(c_int) -> c_int;
    abort: b"nc_abort\0" = fn(c_int) -> c_int;
    put_vara: b"nc_put_vara\0" = fn(c_int, c_int, *const usize, *const usize, *const c_void) -> c_int;
    inq_varid: b"nc_inq_varid\0" = fn(c_int, *const c_char, *mut c_int) -> c_int;
    }
    optional {
    def_var_filter: b"nc_def_var_filter\0" = FilterDefined;
    inq_filter_avail: b"nc_inq_filter_avail\0" = FilterAvailable;
    def_var_quantize: b"nc_def_var_quantize\0" = unsafe extern "C" fn(c_int, c_int, c_int, c_int) -> c_int;
    }
    parallel {
    // Communicators and infos are pointers in one family of MPI and integers in the other. Both go in one register on
    // the platforms that this runs on; who takes an integer looks at its lower half.
    create_par: b"nc_create_par\0" = fn(*const c_char, c_int, usize, usize, *mut c_int) -> c_int;
    open_par: b"nc_open_par\0" = fn(*const c_char, c_int, usize, usize, *mut c_int) -> c_int;
    var_par_access: b"nc_var_par_access\0" = fn(c_int, c_int, c_int) -> c_int;
    }
}

impl Calls {
    /// An error unless the code is 0.
    pub(super) fn check(&self, code: c_int, what: &str) -> Result<()> {
        if code == 0 {
            return Ok(());
        }
        // SAFETY: nc_strerror answers any number with a text that lives as long as the library.
        let text = unsafe { CStr::from_ptr((self.strerror)(code)) };
        Err(Error::Library(format!("netCDF-C: {what}: {} ({code})", text.to_string_lossy())))
    }

    /// The shape and the type (`nc_type`) of a variable.
    pub(super) fn shape_and_type(&self, group: c_int, id: c_int, what: &str) -> Result<(Vec<u64>, c_int)> {
        let (mut dtype, mut rank) = (0, 0);
        let null = std::ptr::null_mut::<c_int>();
        // SAFETY: an open variable, memory for two numbers, null for what is not asked.
        let code = unsafe {
            (self.inq_var)(group, id, null.cast(), &mut dtype, &mut rank, null.cast(), null.cast())
        };
        self.check(code, what)?;
        let mut dims = vec![0; rank.max(0) as usize];
        // SAFETY: memory for as many dimensions as the variable has.
        self.check(unsafe { (self.inq_vardimid)(group, id, dims.as_mut_ptr()) }, what)?;
        let mut shape = Vec::with_capacity(dims.len());
        for dim in dims {
            let mut len = 0usize;
            // SAFETY: a dimension of this variable, memory for one number.
            self.check(unsafe { (self.inq_dimlen)(group, dim, &mut len) }, what)?;
            shape.push(len as u64);
        }
        Ok((shape, dtype))
    }

    /// The libraries below this one that it has brought along, with their versions.
    pub(super) fn below(&self) -> Vec<String> {
        let mut out = Vec::new();
        type Version = unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint) -> c_int;
        // SAFETY: the type is that of HDF5's header. The loader searches what the library depends on, too.
        if let Ok(version) = unsafe { self.library.get::<Version>(b"H5get_libversion\0") } {
            let (mut major, mut minor, mut release) = (0, 0, 0);
            // SAFETY: memory for three numbers.
            if unsafe { version(&mut major, &mut minor, &mut release) } >= 0 {
                out.push(format!("HDF5 {major}.{minor}.{release}"));
            }
        }
        type Text = unsafe extern "C" fn() -> *const c_char;
        // SAFETY: the type is that of pnetcdf.h.
        if let Ok(version) = unsafe { self.library.get::<Text>(b"ncmpi_inq_libvers\0") } {
            // SAFETY: a text of the library's, which lives as long as it.
            let text = unsafe { CStr::from_ptr(version()) }.to_string_lossy();
            // The version is the first word that is a number.
            let number = text.split_whitespace().find(|w| w.starts_with(|c: char| c.is_ascii_digit()));
            out.extend(number.map(|v| format!("PnetCDF {v}")));
        }
        out
    }
}
