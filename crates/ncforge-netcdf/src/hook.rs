//! Puts functions of ours into netCDF-C's dispatch tables.
//!
//! `nc_open` takes the table of a format from an exported variable at every call. The variables get copies of the tables, in which
//! `create`, `open`, `close`, `abort` and the three functions that read values are ours; ours call netCDF-C's for everything
//! that they do not serve. A table is known by two numbers, of the library and of the format, which are parameters of the
//! functions: a process may have two netCDF-Cs.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

use ncforge::store::Identity;

use crate::abi::{self, Dispatch, NOERR, path_of};
use crate::call::{Call, reads};
use crate::files::{self, OpenFile};
use crate::libraries::{Library, object_of};
use crate::report::log;
use crate::tables::{CLASSIC, HDF5, LIBRARIES, guarded, original, remember};
use crate::{limits, messages, serve, writers, writing, zipped};

/// The array of ones that `nc_get_var1` passes as the count: by its address, single values of classic files go straight on.
static ONES: [AtomicPtr<usize>; LIBRARIES] = [const { AtomicPtr::new(null_mut()) }; LIBRARIES];

/// Our tables for each library.
static INSTALLED: [AtomicPtr<Tables>; LIBRARIES] = [const { AtomicPtr::new(null_mut()) }; LIBRARIES];

/// The tables of ours for one library: formats of its own, and zipped files.
struct Tables {
    formats: [Dispatch; 2],
    zipped: Dispatch,
}

fn patched<const L: usize, const T: usize>(own: &Dispatch) -> Dispatch {
    Dispatch {
        create: create::<L, T>,
        open: open::<L, T>,
        abort: abort::<L, T>,
        close: close::<L, T>,
        get_vara: get_vara::<L, T>,
        get_vars: get_vars::<L, T>,
        get_varm: get_varm::<L, T>,
        put_vara: put_vara::<L, T>,
        put_vars: put_vars::<L, T>,
        put_varm: put_varm::<L, T>,
        ..*own
    }
}

fn tables<const L: usize>(own: [&Dispatch; 2]) -> Tables {
    Tables {
        formats: [patched::<L, HDF5>(own[HDF5]), patched::<L, CLASSIC>(own[CLASSIC])],
        zipped: zipped::table::<L>(own[CLASSIC]),
    }
}

/// Installs the functions of library number `number` by `put`, which gets its tables. They live for ever.
fn install(number: usize, own: [&Dispatch; 2], put: impl FnOnce(&'static Tables)) {
    let tables = match number {
        0 => tables::<0>(own),
        1 => tables::<1>(own),
        2 => tables::<2>(own),
        3 => tables::<3>(own),
        _ => return,
    };
    remember(number, own);
    let tables: &'static Tables = Box::leak(Box::new(tables));
    put(tables);
}

/// Installs the functions again, in a library that has set its tables to its own (by `nc_finalize`, and an open after that).
pub(crate) fn install_again_in(number: usize, library: &Library) {
    // SAFETY: from `install_in`, and never freed.
    if let Some(tables) = unsafe { INSTALLED[number].load(Ordering::Acquire).as_ref() } {
        put(library, tables);
    }
}

fn put(library: &Library, tables: &'static Tables) {
    // SAFETY: the variables are netCDF-C's, writable, and read at each open only.
    unsafe {
        *library.hdf5_table = &raw const tables.formats[HDF5];
        *library.classic_table = &raw const tables.formats[CLASSIC];
    }
    zipped::define(library, &tables.zipped);
}

/// Installs the functions in a library whose tables are initialised, and defines the format of zipped files.
pub(crate) fn install_in(number: usize, library: &Library) -> Result<(), &'static str> {
    // SAFETY: the variables are netCDF-C's, and initialised by `nc_initialize`.
    let own = unsafe { [(*library.hdf5_table).as_ref(), (*library.classic_table).as_ref()] };
    let [Some(hdf5), Some(classic)] = own else { return Err("a dispatch table is not set") };
    if [hdf5, classic].iter().any(|t| t.dispatch_version != abi::DISPATCH_VERSION) {
        return Err("its dispatch table is of another version");
    }
    if is_of_ncforge(hdf5) {
        return Err("another copy of ncforge serves it");
    }
    ONES[number].store(library.ones, Ordering::Relaxed);
    install(number, [hdf5, classic], |tables| {
        INSTALLED[number].store(std::ptr::from_ref(tables).cast_mut(), Ordering::Release);
        put(library, tables);
    });
    Ok(())
}

/// Whether a table is one of a library like this, of another installation.
fn is_of_ncforge(table: &Dispatch) -> bool {
    let object = object_of(table.open as *const c_void);
    object.is_some_and(|o| o.rsplit('/').next().is_some_and(|file| file.starts_with("libncforge")))
}

/// Installs the functions in the tables of a library that is loading us as a plug-in: it sets its variables later, so its tables
/// are changed in place. The table for zipped files.
pub(crate) fn install_as_plugin(number: usize, library: &Library) -> Result<&'static Dispatch, &'static str> {
    let initialize = library.initialize_formats.ok_or("it hides the initialisation of its formats")?;
    // SAFETY: netCDF-C's own functions, which it calls itself in a moment; they set the variables to its static tables.
    let own = unsafe {
        if initialize.iter().any(|f| f() != NOERR) {
            return Err("its initialisation failed");
        }
        [(*library.hdf5_table).cast_mut(), (*library.classic_table).cast_mut()]
    };
    // SAFETY: as above.
    let [Some(hdf5), Some(classic)] = (unsafe { [own[HDF5].as_ref(), own[CLASSIC].as_ref()] }) else {
        return Err("a dispatch table is not set");
    };
    if [hdf5, classic].iter().any(|t| t.dispatch_version != abi::DISPATCH_VERSION) {
        return Err("its dispatch table is of another version");
    }
    ONES[number].store(library.ones, Ordering::Relaxed);
    let own_copies = [*hdf5, *classic];
    let mut done = Err("its dispatch tables cannot be changed");
    install(number, [&own_copies[HDF5], &own_copies[CLASSIC]], |tables| {
        if own.iter().all(|table| make_writable(*table)) {
            // SAFETY: the tables are writable now, and no file is open while netCDF-C initialises itself.
            unsafe {
                *own[HDF5] = tables.formats[HDF5];
                *own[CLASSIC] = tables.formats[CLASSIC];
            }
            done = Ok(&tables.zipped);
        }
    });
    done
}

/// Makes the pages of a table writable, which the loader makes read-only.
fn make_writable(table: *mut Dispatch) -> bool {
    // SAFETY: asks for a number.
    let page = usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096);
    let first = table as usize / page * page;
    let end = table as usize + size_of::<Dispatch>();
    // SAFETY: the pages of a loaded object's data, which stay readable.
    unsafe { libc::mprotect(first as *mut c_void, end - first, libc::PROT_READ | libc::PROT_WRITE) == 0 }
}

/// Says why a file that several processes opened together is not served.
fn say_if_parallel(path: &Path, mode: c_int, parameters: *mut c_void) {
    if !parameters.is_null() && mode & abi::IN_MEMORY == 0 {
        log(format_args!("{}: opened in parallel: left to netCDF-C", path.display()));
    }
}

/// The identity of a file that is about to be opened or created.
///
/// # Safety
/// `path` is null or a C string.
unsafe fn identity(path: *const c_char) -> Option<Identity> {
    // SAFETY: the caller's promise.
    guarded(|| (!path.is_null()).then(|| Identity::at(path_of(unsafe { CStr::from_ptr(path) })))?)
}

/// Whether this process has a file open for writing.
fn is_writable_here(identity: &Identity) -> bool {
    guarded(|| Some(writers::is_writable_here(identity.file()))).unwrap_or(true)
}

unsafe extern "C" fn create<const L: usize, const T: usize>(
    path: *const c_char,
    mode: c_int,
    initial: usize,
    basepe: c_int,
    hint: *mut usize,
    parameters: *mut c_void,
    table: *const Dispatch,
    ncid: c_int,
) -> c_int {
    // SAFETY: netCDF-C's argument.
    let is_written = unsafe { identity(path) }.is_some_and(|identity| is_writable_here(&identity));
    messages::before_opening(L);
    // SAFETY: netCDF-C's function with netCDF-C's arguments.
    let code = unsafe { (original(L, T).create)(path, mode, initial, basepe, hint, parameters, table, ncid) };
    if code == NOERR && !path.is_null() {
        guarded(|| {
            limits::after_opening();
            files::remove(L, ncid);
            // SAFETY: netCDF-C passes a C string.
            let path = path_of(unsafe { CStr::from_ptr(path) });
            say_if_parallel(path, mode, parameters);
            let file = Identity::at(path)?.file();
            let is_read = writers::add_writer((L, ncid), file);
            let plain = mode & !(abi::HARMLESS | abi::WRITE | abi::NOCLOBBER) == 0 && parameters.is_null();
            if T == HDF5 && !is_written && plain {
                writing::begin(L, ncid, path.to_path_buf(), file, is_read);
            }
            Some(())
        });
    }
    code
}

unsafe extern "C" fn open<const L: usize, const T: usize>(
    path: *const c_char,
    mode: c_int,
    basepe: c_int,
    hint: *mut usize,
    parameters: *mut c_void,
    table: *const Dispatch,
    ncid: c_int,
) -> c_int {
    // SAFETY: netCDF-C's argument.
    let before = unsafe { identity(path) };
    let for_writing = mode & abi::WRITE != 0;
    let mut is_written = false;
    if let Some(identity) = &before {
        let writers = writers::writers_of(identity.file());
        writers.into_iter().for_each(|(library, id)| writing::open_again(library, id, for_writing));
        is_written = for_writing && is_writable_here(identity);
    }
    messages::before_opening(L);
    // SAFETY: netCDF-C's function with netCDF-C's arguments.
    let code = unsafe { (original(L, T).open)(path, mode, basepe, hint, parameters, table, ncid) };
    if code != NOERR {
        return code;
    }
    guarded(|| {
        limits::after_opening();
        files::remove(L, ncid);
        // If the file has this identity when ncforge opens it, netCDF-C opened the same one.
        let identity = before?;
        // SAFETY: netCDF-C passes a C string.
        let path = path_of(unsafe { CStr::from_ptr(path) });
        say_if_parallel(path, mode, parameters);
        if for_writing {
            let file = identity.file();
            let is_read = writers::add_writer((L, ncid), file);
            let plain = mode & !(abi::HARMLESS | abi::WRITE) == 0 && parameters.is_null();
            if T == HDF5 && !is_written && plain {
                writing::begin(L, ncid, path.to_path_buf(), file, is_read);
            }
            return None;
        }
        let off = writers::add_reader((L, ncid), identity.file())?;
        // Shared, parallel, diskless, in memory: netCDF-C's.
        if mode & !abi::HARMLESS != 0 || !parameters.is_null() {
            return None;
        }
        let absolute = std::path::absolute(path).ok()?;
        files::put(L, ncid, OpenFile::new(absolute, identity, T == CLASSIC, off));
        Some(())
    });
    code
}

/// Nothing is known of the file any more that had this id. `false`: values of it are lost.
fn ended<const L: usize>(ncid: c_int) -> bool {
    let has_all = guarded(|| {
        files::remove(L, ncid);
        writers::remove((L, ncid));
        Some(writing::end(L, ncid))
    });
    has_all != Some(false)
}

unsafe extern "C" fn close<const L: usize, const T: usize>(ncid: c_int, parameters: *mut c_void) -> c_int {
    // SAFETY: netCDF-C's function with netCDF-C's arguments.
    let code = unsafe { (original(L, T).close)(ncid, parameters) };
    // A file that cannot be closed stays open.
    if code != NOERR || ended::<L>(ncid) { code } else { abi::EHDFERR }
}

unsafe extern "C" fn abort<const L: usize, const T: usize>(ncid: c_int) -> c_int {
    // SAFETY: netCDF-C's function with netCDF-C's arguments.
    let code = unsafe { (original(L, T).abort)(ncid) };
    // The id is free, whatever the code.
    if ended::<L>(ncid) || code != NOERR { code } else { abi::EHDFERR }
}

/// Serves a call for values; netCDF-C does what is not served.
///
/// # Safety
/// As [`serve::get`].
#[inline]
unsafe fn get<const L: usize, const T: usize>(
    call: &Call,
    netcdf_c: impl FnOnce(&Dispatch) -> c_int,
) -> c_int {
    let own = original(L, T);
    let is_single = T == CLASSIC && std::ptr::eq(call.count, ONES[L].load(Ordering::Relaxed));
    let file = if is_single { None } else { files::get(L, call.ncid) };
    // SAFETY: the caller's promise.
    let served = file.and_then(|file| guarded(|| unsafe { serve::get(file, own, call) }));
    served.unwrap_or_else(|| netcdf_c(own))
}

reads!(get_vara<const L, const T>(), get::<L, T>);
reads!(get_vars<const L, const T>(stride), get::<L, T>);
reads!(get_varm<const L, const T>(stride, imap), get::<L, T>);

/// Defines a function of dispatch tables that writes values.
macro_rules! writes {
    ($name:ident($($index:ident),*)) => {
        unsafe extern "C" fn $name<const L: usize, const T: usize>(
            ncid: c_int,
            varid: c_int,
            start: *const usize,
            count: *const usize,
            $($index: *const isize,)*
            values: *const c_void,
            memtype: c_int,
        ) -> c_int {
            // SAFETY: netCDF-C's function with netCDF-C's arguments.
            let put = || unsafe { (original(L, T).$name)(ncid, varid, start, count, $($index,)* values, memtype) };
            if T == HDF5 { writing::putting(L, ncid, put) } else { put() }
        }
    };
}

writes!(put_vara());
writes!(put_vars(stride));
writes!(put_varm(stride, imap));
