//! Zipped files for programs of netCDF-C: a user-defined format with the magic number of zipped files.
//!
//! A zipped file is the image of a classic file. NetCDF-C gets the image's header in a file in memory that is as long as the image,
//! and reads it with its own functions for classic files: everything that is asked of dimensions, variables and attributes is
//! answered by netCDF-C itself. Values are read by ncforge from the zipped file. Where C leaves the result of a conversion undefined,
//! the file in memory gets all of the image, if it is not too large, and netCDF-C reads the values as well; and netCDF-C says what is wrong
//! with a call.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Mutex;
use std::sync::atomic::Ordering;

use ncforge::model::Atomic;
use ncforge::store::Identity;
use ncforge::{Dataset, OpenOptions};

use crate::abi::{self, Dispatch, NOERR, path_of};
use crate::call::{Call, reads};
use crate::files::{self, OpenFile};
use crate::image::{Zipped, copy, in_memory};
use crate::libraries::Library;
use crate::report::log;
use crate::tables::{CLASSIC, guarded, original};
use crate::variables::atomic;
use crate::{engine, serve};

/// The first bytes of zipped files.
const MAGIC: &CStr = c"\x89NCZ\r\n\x1a\n";

/// Bytes behind the header that netCDF-C may have in its buffers before any value is read.
const BUFFERED: u64 = 64 << 10;

/// The table for zipped files, from netCDF-C's one for classic files.
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
        let mut taken: *const Dispatch = std::ptr::null();
        // SAFETY: netCDF-C's functions; unknown formats are refused, a magic number that is not wanted is null.
        let defined = unsafe {
            (formats.inquire)(mode, &raw mut taken, null_mut()) == NOERR
                && (std::ptr::eq(taken, table)
                    || taken.is_null() && (formats.define)(mode, table, MAGIC.as_ptr()) == NOERR)
        };
        if defined {
            return;
        }
    }
    log(format_args!("{}: no user-defined format is free; zipped files cannot be opened", library.path));
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
    let ours = user_defined | abi::BUFFERING;
    if path.is_null() || !parameters.is_null() || mode & !(abi::HARMLESS | ours) != 0 {
        return abi::EINVAL;
    }
    let opened = guarded(|| {
        // SAFETY: netCDF-C passes a C string.
        let path = path_of(unsafe { CStr::from_ptr(path) });
        Some(prepare(path))
    });
    let (file, name) = match opened {
        Some(Ok(opened)) => opened,
        Some(Err(code)) => return code,
        None => return abi::EHDFERR,
    };
    let classic = original(L, CLASSIC);
    // SAFETY: netCDF-C's function with its own arguments, but for the path.
    let code = unsafe { (classic.open)(name.as_ptr(), mode & !ours, basepe, hint, parameters, table, ncid) };
    if code == NOERR {
        files::put(L, ncid, file);
    }
    code
}

/// Opens a zipped file, and makes the file in memory that has its header.
fn prepare(path: &Path) -> Result<(OpenFile, CString), c_int> {
    let system = |e: std::io::Error| e.raw_os_error().unwrap_or(libc::EIO);
    let identity = Identity::at(path).ok_or(abi::EINVAL)?;
    let options = OpenOptions { engine: engine::engine(), ..OpenOptions::default() };
    let dataset = Dataset::open_options(path, &options).map_err(|e| code_of(&e))?;
    let store = dataset.container().store();
    let memory = in_memory(store.len()).map_err(system)?;
    let buffers = memory.metadata().map_err(system)?.blksize().saturating_mul(4).max(BUFFERED);
    let header = dataset.container().metadata_bytes().unwrap_or(store.len());
    copy(&**store, &memory, 0, header.saturating_add(buffers).min(store.len()))?;
    let absolute = std::path::absolute(path).map_err(system)?;
    let name = CString::new(format!("/proc/self/fd/{}", memory.as_raw_fd())).map_err(|_| abi::EINVAL)?;
    let zipped = Zipped { dataset, memory, unzipped: Mutex::new(false) };
    Ok((OpenFile::zipped(absolute, identity, zipped), name))
}

/// Nothing is known of the file any more that had this id.
fn ended<const L: usize>(ncid: c_int) {
    guarded(|| {
        files::remove(L, ncid);
        Some(())
    });
}

unsafe extern "C" fn close<const L: usize>(ncid: c_int, parameters: *mut c_void) -> c_int {
    // SAFETY: netCDF-C's function with netCDF-C's arguments.
    let code = unsafe { (original(L, CLASSIC).close)(ncid, parameters) };
    if code == NOERR {
        ended::<L>(ncid);
    }
    code
}

unsafe extern "C" fn abort<const L: usize>(ncid: c_int) -> c_int {
    // SAFETY: netCDF-C's function with netCDF-C's arguments.
    let code = unsafe { (original(L, CLASSIC).abort)(ncid) };
    // The id is free, whatever the code.
    ended::<L>(ncid);
    code
}

/// The outcome of a call for values.
enum Answer {
    /// The call is done.
    Done(c_int),
    /// The file in memory has the values, and netCDF-C reads them.
    NetcdfC,
    /// Something is wrong with the call, which netCDF-C puts into a number.
    Wrong,
}

/// Reads values.
///
/// # Safety
/// As [`serve::get`].
unsafe fn get<const L: usize>(call: &Call, netcdf_c: impl FnOnce(&Dispatch) -> c_int) -> c_int {
    let classic = original(L, CLASSIC);
    let Some(file) = files::get(L, call.ncid) else { return abi::EHDFERR };
    let answer = guarded(|| {
        let Some(zipped) = file.zipped_file() else { return Some(Answer::Done(abi::EHDFERR)) };
        // SAFETY: the caller's promise.
        Some(unsafe { answer(file, zipped, classic, call) })
    });
    match answer {
        Some(Answer::Done(code)) => code,
        Some(Answer::NetcdfC) => netcdf_c(classic),
        // There are no values that it could deliver.
        Some(Answer::Wrong) => match netcdf_c(classic) {
            NOERR => abi::EINVAL,
            code => code,
        },
        None => abi::EHDFERR,
    }
}

unsafe fn answer(file: &OpenFile, zipped: &Zipped, classic: &Dispatch, call: &Call) -> Answer {
    let Some(variable) = file.variables.get(classic, call.ncid, call.varid) else { return Answer::Wrong };
    let types = variable.stored.zip(atomic(call.memory(variable)));
    let Some((stored, memory)) = types else { return Answer::Wrong };
    // SAFETY: the caller's promise.
    let Some(selection) = (unsafe { call.selection(variable.shape.len()) }) else { return Answer::Wrong };
    let text = |a| a == Atomic::Char;
    if text(stored) != text(memory) || !selection.is_inside(&variable.shape) {
        return Answer::Wrong;
    }
    if selection.count.contains(&0) {
        return Answer::Done(NOERR);
    }
    if call.out.is_null() {
        return Answer::Done(abi::EINVAL);
    }
    if !serve::is_certain(stored, memory) && zipped.unzip() {
        return Answer::NetcdfC;
    }
    let id = match variable.in_ncforge(&zipped.dataset) {
        Ok(id) => id,
        Err(why) => {
            file.note(why);
            return Answer::Done(abi::EHDFERR);
        }
    };
    // SAFETY: the caller's promise; the selection was checked.
    match unsafe { serve::deliver(&zipped.dataset, id, &selection, memory, call) } {
        Ok(Some(out_of_range)) => {
            file.served.fetch_add(1, Ordering::Relaxed);
            match out_of_range {
                0 => Answer::Done(NOERR),
                _ if zipped.unzip() => Answer::NetcdfC,
                _ => Answer::Done(abi::ERANGE),
            }
        }
        Ok(None) => Answer::Done(libc::ENOMEM),
        Err(e) => {
            file.note(e.to_string());
            Answer::Done(code_of(&e))
        }
    }
}

reads!(get_vara<const L>(), get::<L>);
reads!(get_vars<const L>(stride), get::<L>);
reads!(get_varm<const L>(stride, imap), get::<L>);
