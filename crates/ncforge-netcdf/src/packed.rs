//! Packed files for programs of netCDF-C: a user-defined format with the magic number of packed files.
//!
//! A packed file is the image of a classic file. NetCDF-C gets the image's header in a file in memory that is as long as the image,
//! and reads it with its own functions for classic files: everything that is asked of dimensions, variables and attributes is
//! answered by netCDF-C itself. Values are read by ncforge from the packed file, all of them: the file in memory has none.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::fs::File;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr::null_mut;

use ncforge::model::Atomic;
use ncforge::{Dataset, OpenOptions};

use crate::abi::{self, Dispatch, NOERR};
use crate::call::{Call, Outside};
use crate::files::{self, OpenFile};
use crate::hook::{CLASSIC, guarded, original};
use crate::identity::{Identity, path_of};
use crate::libraries::Library;
use crate::report::log;
use crate::variables::{Variable, atomic};
use crate::{engine, serve};

/// The first bytes of packed files.
const MAGIC: &CStr = c"\x89NCZ\r\n\x1a\n";

/// The table for packed files, from netCDF-C's one for classic files.
pub(crate) fn table<const L: usize>(classic: &Dispatch) -> Dispatch {
    Dispatch {
        create: create::<L>,
        open: open::<L>,
        abort: abort::<L>,
        close: close::<L>,
        get_vara: get_vara::<L>,
        get_vars: get_vars::<L>,
        get_varm: get_varm::<L>,
        ..*classic
    }
}

/// Defines the format in the last place that is free: other plug-ins take the first ones.
pub(crate) fn define(library: &Library, table: &'static Dispatch) {
    let Some(formats) = library.formats else { return };
    for mode in abi::UDF.into_iter().rev() {
        let mut taken = std::ptr::null();
        // SAFETY: netCDF-C's functions; unknown formats are refused, a magic number that is not wanted is null.
        let defined = unsafe {
            (formats.inquire)(mode, &raw mut taken, null_mut()) == NOERR
                && taken.is_null()
                && (formats.define)(mode, table, MAGIC.as_ptr()) == NOERR
        };
        if defined {
            return;
        }
    }
    log(format_args!("{}: no user-defined format is free; packed files cannot be opened", library.path));
}

/// The error number of a failure.
fn code_of(error: &ncforge::Error) -> c_int {
    error.netcdf_code()
}

unsafe extern "C" fn create<const L: usize>(
    _path: *const c_char,
    _mode: c_int,
    _initial: usize,
    _basepe: c_int,
    _hint: *mut usize,
    _parameters: *mut c_void,
    _table: *const Dispatch,
    _ncid: c_int,
) -> c_int {
    abi::EPERM
}

unsafe extern "C" fn open<const L: usize>(
    path: *const c_char,
    mode: c_int,
    basepe: c_int,
    hint: *mut usize,
    parameters: *mut c_void,
    table: *const Dispatch,
    ncid: c_int,
) -> c_int {
    let user_defined = abi::UDF.iter().fold(0, |all, bit| all | bit);
    if mode & abi::WRITE != 0 {
        return abi::EPERM;
    }
    if path.is_null() || !parameters.is_null() || mode & !(abi::HARMLESS | user_defined) != 0 {
        return abi::EINVAL;
    }
    let opened = guarded(|| {
        // SAFETY: netCDF-C passes a C string.
        let path = path_of(unsafe { CStr::from_ptr(path) });
        Some(prepare(path))
    });
    let (file, header) = match opened {
        Some(Ok(opened)) => opened,
        Some(Err(code)) => return code,
        None => return abi::EHDFERR,
    };
    let Ok(name) = CString::new(format!("/proc/self/fd/{}", header.as_raw_fd())) else { return abi::EINVAL };
    let classic = original(L, CLASSIC);
    // SAFETY: netCDF-C's function with its own arguments, but for the path.
    let code =
        unsafe { (classic.open)(name.as_ptr(), mode & !user_defined, basepe, hint, parameters, table, ncid) };
    if code == NOERR {
        files::put(L, ncid, file);
    }
    code
}

/// Opens a packed file, and makes the file in memory that has its header.
fn prepare(path: &Path) -> Result<(OpenFile, File), c_int> {
    let identity = Identity::of_path(path).ok_or(abi::EINVAL)?;
    let options = OpenOptions { engine: engine::engine(), ..OpenOptions::default() };
    let dataset = Dataset::open_options(path, &options).map_err(|e| code_of(&e))?;
    let store = dataset.container().store();
    let header = dataset.container().metadata_bytes().unwrap_or(store.len()).min(store.len());
    let bytes = store.read_vec(0, header).map_err(|e| code_of(&e))?;
    let memory = in_memory(&bytes, store.len()).map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))?;
    let absolute = std::path::absolute(path).map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))?;
    Ok((OpenFile::packed(absolute, identity, dataset), memory))
}

/// A file in memory that begins with `bytes` and is `len` bytes long; the rest takes no memory.
fn in_memory(bytes: &[u8], len: u64) -> std::io::Result<File> {
    // SAFETY: a new descriptor, which the file owns from here on.
    let file = unsafe {
        match libc::memfd_create(c"ncforge".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => return Err(std::io::Error::last_os_error()),
            fd => File::from_raw_fd(fd),
        }
    };
    file.set_len(len)?;
    file.write_all_at(bytes, 0)?;
    Ok(file)
}

unsafe extern "C" fn close<const L: usize>(ncid: c_int, parameters: *mut c_void) -> c_int {
    // SAFETY: netCDF-C's function with netCDF-C's arguments.
    let code = unsafe { (original(L, CLASSIC).close)(ncid, parameters) };
    if code == NOERR {
        guarded(|| Some(files::remove(L, ncid)));
    }
    code
}

unsafe extern "C" fn abort<const L: usize>(ncid: c_int) -> c_int {
    // SAFETY: netCDF-C's function with netCDF-C's arguments.
    let code = unsafe { (original(L, CLASSIC).abort)(ncid) };
    if code == NOERR {
        guarded(|| Some(files::remove(L, ncid)));
    }
    code
}

/// Reads values, or says what is wrong in netCDF-C's numbers, by the checks of `NC3_get_vara` in their order.
///
/// # Safety
/// As [`serve::get`].
unsafe fn get(library: usize, call: &Call) -> c_int {
    let Some(file) = files::get(library, call.ncid) else { return abi::EHDFERR };
    let read = guarded(|| {
        let Some(dataset) = file.packed_dataset() else { return Some(abi::EHDFERR) };
        let known = file.variables.get(original(library, CLASSIC), call.ncid, call.varid);
        let Some(variable) = known else { return Some(abi::ENOTVAR) };
        // SAFETY: the caller's promise.
        Some(unsafe { get_checked(file, dataset, variable, call) }.unwrap_or_else(|code| code))
    });
    read.unwrap_or(abi::EHDFERR)
}

unsafe fn get_checked(
    file: &OpenFile,
    dataset: &Dataset,
    variable: &Variable,
    call: &Call,
) -> Result<c_int, c_int> {
    let memory = call.memory(variable);
    let stored = variable.stored.ok_or(abi::EBADTYPE)?;
    if (memory == abi::CHAR) != (stored == Atomic::Char) {
        return Err(abi::ECHAR);
    }
    let memory = atomic(memory).ok_or(abi::EBADTYPE)?;
    // SAFETY: the caller's promise.
    let selection = unsafe { call.selection(variable.shape.len()) }.ok_or(abi::EINVALCOORDS)?;
    selection.check(&variable.shape).map_err(|outside| match outside {
        Outside::Stride => abi::ESTRIDE,
        Outside::Start => abi::EINVALCOORDS,
        Outside::Edge => abi::EEDGE,
    })?;
    if selection.count.contains(&0) {
        return Ok(NOERR);
    }
    if call.out.is_null() {
        return Err(abi::EINVAL);
    }
    let id = variable.in_ncforge(dataset).map_err(|why| {
        file.note(why);
        abi::EHDFERR
    })?;
    // SAFETY: the caller's promise; the selection was checked.
    let done = unsafe { serve::deliver(dataset, id, &selection, memory, call) }.map_err(|e| {
        file.note(e.to_string());
        code_of(&e)
    })?;
    file.served.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    match done.ok_or(libc::ENOMEM)? {
        0 => Ok(NOERR),
        _ => Ok(abi::ERANGE),
    }
}

unsafe extern "C" fn get_vara<const L: usize>(
    ncid: c_int,
    varid: c_int,
    start: *const usize,
    count: *const usize,
    out: *mut c_void,
    memtype: c_int,
) -> c_int {
    let none = std::ptr::null();
    // SAFETY: netCDF-C's arguments.
    unsafe { get(L, &Call { ncid, varid, start, count, stride: none, imap: none, out, memtype }) }
}

unsafe extern "C" fn get_vars<const L: usize>(
    ncid: c_int,
    varid: c_int,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    out: *mut c_void,
    memtype: c_int,
) -> c_int {
    // SAFETY: netCDF-C's arguments.
    unsafe { get(L, &Call { ncid, varid, start, count, stride, imap: std::ptr::null(), out, memtype }) }
}

unsafe extern "C" fn get_varm<const L: usize>(
    ncid: c_int,
    varid: c_int,
    start: *const usize,
    count: *const usize,
    stride: *const isize,
    imap: *const isize,
    out: *mut c_void,
    memtype: c_int,
) -> c_int {
    // SAFETY: netCDF-C's arguments.
    unsafe { get(L, &Call { ncid, varid, start, count, stride, imap, out, memtype }) }
}
