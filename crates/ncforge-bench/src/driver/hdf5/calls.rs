//! The functions and numbers of libhdf5 that the driver uses, with the types of HDF5 1.10 and later.

use std::ffi::{c_char, c_double, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;
use std::rc::Rc;

use libloading::Library;

use crate::error::{Error, Result};

/// A handle of the library (`hid_t`; 64 bits since 1.10).
pub(super) type Id = i64;

/// The description of a group (`H5G_info_t`).
#[repr(C)]
#[derive(Default)]
pub(super) struct GroupInfo {
    storage: c_int,
    pub(super) links: u64,
    max_order: i64,
    mounted: bool,
}

/// `H5Pset_fapl_mpio`: properties, communicator, info object. Handles of MPI are addresses or numbers of 32 bits, and go in one register either way.
pub(super) type SetMpio = unsafe extern "C" fn(Id, usize, usize) -> c_int;
/// `H5Pset_dxpl_mpio`: properties, kind of transfer.
pub(super) type SetTransfer = unsafe extern "C" fn(Id, c_int) -> c_int;

macro_rules! calls {
    ($($field:ident: $symbol:literal = fn($($arg:ty),*) -> $out:ty;)*) => {
        /// Addresses of functions, and the library that they are in.
        #[derive(Debug)]
        pub(super) struct Calls {
            $(pub(super) $field: unsafe extern "C" fn($($arg),*) -> $out,)*
            /// Present in builds with MPI.
            pub(super) parallel: Option<(SetMpio, SetTransfer)>,
            /// Never unloaded: HDF5 asks the C library to call it when the program ends.
            library: ManuallyDrop<Library>,
        }

        impl Calls {
            fn of(library: Library) -> std::result::Result<Self, libloading::Error> {
                // SAFETY: the types are those of H5FDmpio.h.
                let mpio = unsafe { library.get::<SetMpio>(b"H5Pset_fapl_mpio\0") }.ok().map(|s| *s);
                // SAFETY: as above.
                let transfer = unsafe { library.get::<SetTransfer>(b"H5Pset_dxpl_mpio\0") }.ok().map(|s| *s);
                Ok(Calls {
                    parallel: mpio.zip(transfer),
                    // SAFETY: the types are those of HDF5's headers.
                    $($field: *unsafe { library.get($symbol) }?,)*
                    library: ManuallyDrop::new(library),
                })
            }
        }
    };
}

calls! {
    open: b"H5open\0" = fn() -> c_int;
    version: b"H5get_libversion\0" = fn(*mut c_uint, *mut c_uint, *mut c_uint) -> c_int;
    silent: b"H5Eset_auto2\0" = fn(Id, *const c_void, *const c_void) -> c_int;
    file_create: b"H5Fcreate\0" = fn(*const c_char, c_uint, Id, Id) -> Id;
    file_open: b"H5Fopen\0" = fn(*const c_char, c_uint, Id) -> Id;
    file_close: b"H5Fclose\0" = fn(Id) -> c_int;
    group_info: b"H5Gget_info\0" = fn(Id, *mut GroupInfo) -> c_int;
    link_name: b"H5Lget_name_by_idx\0" =
        fn(Id, *const c_char, c_int, c_int, u64, *mut c_char, usize, Id) -> isize;
    object_open: b"H5Oopen\0" = fn(Id, *const c_char, Id) -> Id;
    object_close: b"H5Oclose\0" = fn(Id) -> c_int;
    kind: b"H5Iget_type\0" = fn(Id) -> c_int;
    plist_create: b"H5Pcreate\0" = fn(Id) -> Id;
    plist_close: b"H5Pclose\0" = fn(Id) -> c_int;
    set_chunk: b"H5Pset_chunk\0" = fn(Id, c_int, *const u64) -> c_int;
    get_chunk: b"H5Pget_chunk\0" = fn(Id, c_int, *mut u64) -> c_int;
    get_layout: b"H5Pget_layout\0" = fn(Id) -> c_int;
    get_nfilters: b"H5Pget_nfilters\0" = fn(Id) -> c_int;
    get_filter: b"H5Pget_filter2\0" =
        fn(Id, c_uint, *mut c_uint, *mut usize, *mut c_uint, usize, *mut c_char, *mut c_uint) -> c_int;
    set_shuffle: b"H5Pset_shuffle\0" = fn(Id) -> c_int;
    set_deflate: b"H5Pset_deflate\0" = fn(Id, c_uint) -> c_int;
    set_filter: b"H5Pset_filter\0" = fn(Id, c_int, c_uint, usize, *const c_uint) -> c_int;
    filter_avail: b"H5Zfilter_avail\0" = fn(c_int) -> c_int;
    set_fill_time: b"H5Pset_fill_time\0" = fn(Id, c_int) -> c_int;
    set_chunk_cache: b"H5Pset_chunk_cache\0" = fn(Id, usize, usize, c_double) -> c_int;
    space_create: b"H5Screate\0" = fn(c_int) -> Id;
    space_simple: b"H5Screate_simple\0" = fn(c_int, *const u64, *const u64) -> Id;
    space_select: b"H5Sselect_hyperslab\0" =
        fn(Id, c_int, *const u64, *const u64, *const u64, *const u64) -> c_int;
    space_rank: b"H5Sget_simple_extent_ndims\0" = fn(Id) -> c_int;
    space_dims: b"H5Sget_simple_extent_dims\0" = fn(Id, *mut u64, *mut u64) -> c_int;
    space_close: b"H5Sclose\0" = fn(Id) -> c_int;
    data_create: b"H5Dcreate2\0" = fn(Id, *const c_char, Id, Id, Id, Id, Id) -> Id;
    data_open: b"H5Dopen2\0" = fn(Id, *const c_char, Id) -> Id;
    data_space: b"H5Dget_space\0" = fn(Id) -> Id;
    data_type: b"H5Dget_type\0" = fn(Id) -> Id;
    data_plist: b"H5Dget_create_plist\0" = fn(Id) -> Id;
    data_extent: b"H5Dset_extent\0" = fn(Id, *const u64) -> c_int;
    data_write: b"H5Dwrite\0" = fn(Id, Id, Id, Id, Id, *const c_void) -> c_int;
    data_read: b"H5Dread\0" = fn(Id, Id, Id, Id, Id, *mut c_void) -> c_int;
    data_close: b"H5Dclose\0" = fn(Id) -> c_int;
    type_class: b"H5Tget_class\0" = fn(Id) -> c_int;
    type_sign: b"H5Tget_sign\0" = fn(Id) -> c_int;
    type_size: b"H5Tget_size\0" = fn(Id) -> usize;
    type_close: b"H5Tclose\0" = fn(Id) -> c_int;
    attr_create: b"H5Acreate2\0" = fn(Id, *const c_char, Id, Id, Id, Id) -> Id;
    attr_write: b"H5Awrite\0" = fn(Id, Id, *const c_void) -> c_int;
    attr_close: b"H5Aclose\0" = fn(Id) -> c_int;
}

impl Calls {
    /// Loads the library, looks all functions up, and starts it. Its own messages on stderr are turned off.
    pub(super) fn load(path: &Path) -> Result<Self> {
        let explain = |why: String| {
            Error::Library(format!(
                "cannot load `{}` as an HDF5 library (1.10 or later): {why}",
                path.display()
            ))
        };
        // SAFETY: loading runs the library's initialisers; those of HDF5 ask nothing of us.
        let library = unsafe { Library::new(path) }.map_err(|e| explain(e.to_string()))?;
        let calls = Calls::of(library).map_err(|e| explain(e.to_string()))?;
        let (mut major, mut minor, mut release) = (0, 0, 0);
        // SAFETY: memory for three numbers; functions without conditions.
        let code = unsafe {
            let started = (calls.open)();
            (calls.silent)(0, std::ptr::null(), std::ptr::null());
            started | (calls.version)(&mut major, &mut minor, &mut release)
        };
        if code < 0 || (major, minor) < (1, 10) {
            return Err(explain(format!("it is {major}.{minor}.{release}, or does not start")));
        }
        Ok(calls)
    }

    /// A number that the library has in a variable: the handle of a type or of a class of properties.
    pub(super) fn number(&self, symbol: &str) -> Result<Id> {
        let name = format!("{symbol}\0");
        // SAFETY: a variable of type `hid_t`, which the library has set when it was started.
        let found = unsafe { self.library.get::<*const Id>(name.as_bytes()) };
        let at = found.map_err(|e| Error::Library(format!("HDF5: {e}")))?;
        // SAFETY: as above; variables of a library that is never unloaded.
        Ok(unsafe { **at })
    }
}

/// A handle that is given back at the end.
pub(super) struct Handle {
    calls: Rc<Calls>,
    pub(super) id: Id,
    close: unsafe extern "C" fn(Id) -> c_int,
}

impl Handle {
    /// Takes what a function gave; negative numbers are errors.
    pub(super) fn new(
        calls: &Rc<Calls>,
        id: Id,
        close: unsafe extern "C" fn(Id) -> c_int,
        what: &str,
    ) -> Result<Self> {
        if id < 0 {
            return Err(Error::Library(format!("HDF5: {what} failed")));
        }
        Ok(Handle { calls: Rc::clone(calls), id, close })
    }

    /// Gives it back.
    pub(super) fn give_back(self, what: &str) -> Result<()> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the handle is open and not used again. The count of the library is leaked, which is never unloaded.
        check(unsafe { (this.close)(this.id) }, what)
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        let _keeps_the_library = &self.calls;
        // SAFETY: the handle is open and not used again.
        unsafe { (self.close)(self.id) };
    }
}

pub(super) fn check(code: c_int, what: &str) -> Result<()> {
    if code < 0 { Err(Error::Library(format!("HDF5: {what} failed"))) } else { Ok(()) }
}
