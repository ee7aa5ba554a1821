//! The copies of netCDF-C among the loaded objects, and the symbols of each.
//!
//! NetCDF-C is not linked: programs bring their own, some of them under hashed names (`libnetcdf-1a2b3c.so.22`), some two of
//! them. Objects are listed by `dl_iterate_phdr`; a symbol counts only if it is in that very object (`dladdr`), since
//! `dlsym` also searches an object's dependencies.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use crate::abi::Dispatch;
use crate::messages::Messages;

/// One loaded copy of netCDF-C.
#[derive(Clone)]
pub(crate) struct Library {
    /// Path of the object.
    pub(crate) path: String,
    /// The first word of `nc_inq_libvers`.
    pub(crate) version: String,
    /// Address of the exported variable that holds the table for HDF5 files.
    pub(crate) hdf5_table: *mut *const Dispatch,
    /// The table of classic files.
    pub(crate) classic_table: *mut *const Dispatch,
    /// `NC_coord_one`, or null.
    pub(crate) ones: *mut usize,
    /// Whether the HDF5 that it calls was built with MPI.
    pub(crate) parallel: bool,
    /// How HDF5 is told to print.
    pub(crate) messages: Option<Messages>,
    /// `nc_initialize`
    pub(crate) initialize: unsafe extern "C" fn() -> c_int,
    /// The initialisations of the two formats, which set the variables.
    pub(crate) initialize_formats: Option<[unsafe extern "C" fn() -> c_int; 2]>,
    /// `nc_def_user_format` and `nc_inq_user_format`.
    pub(crate) formats: Option<UserFormats>,
}

// SAFETY: addresses of an object that is never unloaded.
unsafe impl Send for Library {}

/// The functions that define user-defined formats.
#[derive(Clone, Copy)]
pub(crate) struct UserFormats {
    pub(crate) define: unsafe extern "C" fn(c_int, *const Dispatch, *const c_char) -> c_int,
    pub(crate) inquire: unsafe extern "C" fn(c_int, *mut *const Dispatch, *mut c_char) -> c_int,
}

/// The library, or the reason why it cannot be used.
pub(crate) enum Found {
    Usable(Library),
    /// An object that looks like netCDF-C, and the reason why it is left alone.
    Unusable(String, &'static str),
}

/// The path of the object that contains an address of code.
pub(crate) fn object_of(address: *const c_void) -> Option<String> {
    let mut info = no_info();
    // SAFETY: `info` is written only.
    let known = unsafe { libc::dladdr(address, &raw mut info) } != 0 && !info.dli_fname.is_null();
    // SAFETY: `dladdr` gave a C string.
    known.then(|| unsafe { CStr::from_ptr(info.dli_fname) }.to_string_lossy().into_owned())
}

const fn no_info() -> libc::Dl_info {
    libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    }
}

fn may_be_netcdf_c(file: &[u8]) -> bool {
    file.windows(6).any(|w| w == b"netcdf") && !file.starts_with(b"libncforge")
}

/// All loaded objects whose name says that they may be netCDF-C.
pub(crate) fn find() -> Vec<Found> {
    let may_be = |name: &&CString| may_be_netcdf_c(file_name(name));
    objects().iter().filter(may_be).filter_map(|name| of_object(name)).collect()
}

/// Whether something is to be done when an object of this name is loaded.
pub(crate) fn may_matter(name: &CStr) -> bool {
    may_be_netcdf_c(file_name(name)) || is_mpi(name)
}

/// Whether an object is an MPI library.
pub(crate) fn is_mpi(name: &CStr) -> bool {
    file_name(name).starts_with(b"libmpi")
}

fn file_name(name: &CStr) -> &[u8] {
    name.to_bytes().rsplit(|&b| b == b'/').next().unwrap_or_default()
}

/// Names of all loaded objects.
pub(crate) fn objects() -> Vec<CString> {
    let mut names: Vec<CString> = Vec::new();
    // SAFETY: `list` gets the vector that it expects, and does not panic.
    unsafe { libc::dl_iterate_phdr(Some(list), (&raw mut names).cast()) };
    names
}

/// Collects the names of objects.
unsafe extern "C" fn list(info: *mut libc::dl_phdr_info, _: usize, names: *mut c_void) -> c_int {
    // SAFETY: what `dl_iterate_phdr` passes is valid during the call; `names` is what `objects` passed.
    let (info, names) = unsafe { (&*info, &mut *names.cast::<Vec<CString>>()) };
    if !info.dlpi_name.is_null() {
        // SAFETY: a name of an object is a C string.
        names.push(unsafe { CStr::from_ptr(info.dlpi_name) }.to_owned());
    }
    0
}

fn of_object(name: &CStr) -> Option<Found> {
    // NODELETE: the tables of this object will hold pointers to ours, and ours to its functions.
    let flags = libc::RTLD_LAZY | libc::RTLD_NOLOAD;
    // SAFETY: the object is loaded; nothing of it is run.
    let handle = unsafe { libc::dlopen(name.as_ptr(), flags) };
    if handle.is_null() {
        return None;
    }
    let object = Object { handle, name };
    object.symbol(c"nc_open")?;
    let path = name.to_string_lossy().into_owned();
    let found = match object.library() {
        Ok(library) => {
            // SAFETY: as above.
            unsafe { libc::dlopen(name.as_ptr(), flags | libc::RTLD_NODELETE) };
            Found::Usable(library)
        }
        Err(why) => Found::Unusable(path, why),
    };
    Some(found)
}

struct Object<'a> {
    handle: *mut c_void,
    name: &'a CStr,
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        // SAFETY: the handle is from dlopen, and is given back once.
        unsafe { libc::dlclose(self.handle) };
    }
}

impl Object<'_> {
    /// The address of a symbol of this object itself.
    fn symbol(&self, symbol: &CStr) -> Option<*mut c_void> {
        // SAFETY: handle and name are valid; an absent symbol gives null.
        let at = unsafe { libc::dlsym(self.handle, symbol.as_ptr()) };
        if at.is_null() {
            return None;
        }
        (object_of(at)? == self.name.to_string_lossy()).then_some(at)
    }

    fn library(&self) -> Result<Library, &'static str> {
        const HIDDEN: &str = "it hides its dispatch tables";
        let hdf5 = self.symbol(c"HDF5_dispatch_table").ok_or(HIDDEN)?;
        let classic = self.symbol(c"NC3_dispatch_table").ok_or(HIDDEN)?;
        let initialize = self.symbol(c"nc_initialize").ok_or("it has no nc_initialize")?;
        let version = self.symbol(c"nc_inq_libvers").ok_or("it has no nc_inq_libvers")?;
        let of_formats = self.symbol(c"NC_HDF5_initialize").zip(self.symbol(c"NC3_initialize"));
        let formats = self.symbol(c"nc_def_user_format").zip(self.symbol(c"nc_inq_user_format"));
        type Initialize = unsafe extern "C" fn() -> c_int;
        // SAFETY: these are the functions of netCDF-C with these names, and their signatures.
        unsafe {
            let initialization = |at: *mut c_void| std::mem::transmute::<*mut c_void, Initialize>(at);
            let version: unsafe extern "C" fn() -> *const c_char = std::mem::transmute(version);
            let text = version();
            let text =
                if text.is_null() { String::new() } else { CStr::from_ptr(text).to_string_lossy().into() };
            Ok(Library {
                path: self.name.to_string_lossy().into_owned(),
                version: text.split_whitespace().next().unwrap_or_default().to_owned(),
                hdf5_table: hdf5.cast(),
                classic_table: classic.cast(),
                ones: self.symbol(c"NC_coord_one").map_or(std::ptr::null_mut(), <*mut c_void>::cast),
                messages: Messages::of(self.handle),
                parallel: !libc::dlsym(self.handle, c"H5Pset_fapl_mpio".as_ptr()).is_null(),
                initialize: initialization(initialize),
                initialize_formats: of_formats.map(|(hdf5, classic)| [hdf5, classic].map(initialization)),
                formats: formats.map(|(define, inquire)| UserFormats {
                    define: std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C" fn(c_int, *const Dispatch, *const c_char) -> c_int,
                    >(define),
                    inquire: std::mem::transmute::<
                        *mut c_void,
                        unsafe extern "C" fn(c_int, *mut *const Dispatch, *mut c_char) -> c_int,
                    >(inquire),
                }),
            })
        }
    }
}
