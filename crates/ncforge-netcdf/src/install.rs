//! The ways in: a constructor for preloading, and functions that programs call.

use std::ffi::{c_char, c_int, c_void};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

use crate::abi::{self, Dispatch};
use crate::engine;
use crate::hook;
use crate::libraries::{Found, Library, find, mpi, object_of};
use crate::report::{Wish, log, wish};
use crate::tables::{LIBRARIES, guarded};
use crate::writing;

/// What was found, for the status.
struct Entry {
    path: String,
    version: String,
    /// Address of its variable for the table of HDF5 files.
    at: usize,
    /// Why it is not served.
    why: Option<&'static str>,
    /// Why its writes are not.
    writing: Option<&'static str>,
}

static FOUND: Mutex<Vec<Entry>> = Mutex::new(Vec::new());

/// Runs when the library is loaded. Where it is preloaded, the program's libraries are loaded, too.
#[used]
#[unsafe(link_section = ".init_array")]
static AT_LOAD: extern "C" fn() = at_load;

extern "C" fn at_load() {
    // Only when preloaded: a program that loads this by itself says what it wants.
    let preloaded =
        std::env::var_os("LD_PRELOAD").is_some_and(|v| v.to_string_lossy().contains("libncforge_netcdf"));
    if preloaded {
        guarded(|| {
            match mpi() {
                Some(path) if wish() != Wish::Off => leave_alone(path, "the program is parallel (MPI)"),
                _ => {
                    enable();
                }
            }
            Some(())
        });
        if wish() == Wish::Status {
            guarded(|| {
                print_status();
                Some(())
            });
            // SAFETY: ends the process; nothing of the program has run.
            unsafe { libc::_exit(0) };
        }
    }
}

/// Prints what is found, for `ncforge netcdf status`.
fn print_status() {
    let found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    let mut text = String::from("ncforge-netcdf\n");
    for e in found.iter() {
        let what = match (e.why, e.writing) {
            (Some(why), _) => format!("not served: {why}"),
            (None, Some(why)) => format!("served, for reading: {why}"),
            (None, None) => "served".to_owned(),
        };
        let _ = match &*e.version {
            "" => writeln!(text, "{}: {what}", e.path),
            version => writeln!(text, "netCDF-C {version} ({}): {what}", e.path),
        };
    }
    if found.is_empty() {
        text.push_str("not served: no netCDF-C is loaded when it starts\n");
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// Notes an object for which nothing is done. NetCDF-C must not be initialised before MPI is, which is when the program begins.
fn leave_alone(path: String, why: &'static str) {
    log(format_args!("{path}: not served: {why}"));
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    found.push(Entry { path, version: String::new(), at: 0, why: Some(why), writing: None });
}

/// Installs ncforge in every netCDF-C that is loaded and not served yet. How many are served.
fn enable() -> usize {
    if wish() == Wish::Off {
        return 0;
    }
    prepare();
    let mut found = FOUND.lock().unwrap_or_else(PoisonError::into_inner);
    for object in find() {
        match object {
            Found::Usable(library) => enable_in(&mut found, &library),
            Found::Unusable(path, why) if found.iter().all(|e| e.path != path) => {
                log(format_args!("{path}: not served: {why}"));
                found.push(Entry { path, version: String::new(), at: 0, why: Some(why), writing: None });
            }
            Found::Unusable(..) => {}
        }
    }
    found.iter().filter(|e| e.why.is_none()).count()
}

/// What holds for all ways in: panics go to the log, forks are counted.
fn prepare() {
    std::panic::set_hook(Box::new(|panic| log(format_args!("{panic}; the call is left to netCDF-C"))));
    engine::watch_forks();
}

fn enable_in(found: &mut Vec<Entry>, library: &Library) {
    let at = library.hdf5_table as usize;
    if found.iter().any(|e| e.at == at) {
        return;
    }
    let number = found.iter().filter(|e| e.why.is_none()).count();
    let done = if number >= LIBRARIES {
        Err("too many copies of netCDF-C in this process")
    } else {
        // SAFETY: netCDF-C's own function; every `nc_open` calls it, too.
        match unsafe { (library.initialize)() } {
            abi::NOERR => hook::install_in(number, library),
            _ => Err("its initialisation failed"),
        }
    };
    note(found, library, done.err());
}

/// Remembers what was done with a library.
fn note(found: &mut Vec<Entry>, library: &Library, why: Option<&'static str>) {
    let (path, version) = (library.path.clone(), library.version.clone());
    // Its number is that of those that are served so far.
    let number = found.iter().filter(|e| e.why.is_none()).count();
    let writing = if why.is_none() { writing::install(number, &path).err() } else { None };
    match (why, writing) {
        (None, Some(why)) => log(format_args!("{path}: netCDF-C {version} is served, for reading: {why}")),
        (None, None) => log(format_args!("{path}: netCDF-C {version} is served")),
        (Some(why), _) => log(format_args!("{path}: netCDF-C {version} is not served: {why}")),
    }
    found.push(Entry { path, version, at: library.hdf5_table as usize, why, writing });
}

/// The initialisation of the plug-in, which netCDF-C 4.10.1 and later calls: installs ncforge in the netCDF-C that calls, and gives
/// the table for zipped files; null when nothing is to be done.
#[unsafe(no_mangle)]
pub extern "C" fn ncforge_netcdf_plugin() -> *const c_void {
    let table = guarded(|| {
        if wish() == Wish::Off {
            return None;
        }
        // While another way in has netCDF-C initialised, that one does it.
        let mut found = FOUND.try_lock().ok()?;
        prepare();
        let caller = caller()?;
        let library = find().into_iter().find_map(|f| match f {
            Found::Usable(library) if library.path == caller => Some(library),
            _ => None,
        })?;
        let number = found.iter().filter(|e| e.why.is_none()).count();
        let at = library.hdf5_table as usize;
        if number >= LIBRARIES || found.iter().any(|e| e.at == at) {
            return None;
        }
        let done = hook::install_as_plugin(number, &library);
        note(&mut found, &library, done.err());
        done.ok()
    });
    table.map_or(std::ptr::null(), |table| std::ptr::from_ref::<Dispatch>(table).cast())
}

/// The netCDF-C that called: the first object on the stack that is not this one.
fn caller() -> Option<String> {
    let mut stack = [std::ptr::null_mut(); 32];
    // SAFETY: writes as many addresses as the array has.
    let depth = unsafe { libc::backtrace(stack.as_mut_ptr(), 32) };
    let own = object_of(caller as *const c_void)?;
    let depth = usize::try_from(depth).unwrap_or(0);
    stack[..depth].iter().filter_map(|&at| object_of(at)).find(|object| *object != own)
}

/// Installs ncforge in every netCDF-C that is loaded; how many are served. May be called again after another one was loaded.
#[unsafe(no_mangle)]
pub extern "C" fn ncforge_netcdf_enable() -> c_int {
    guarded(|| c_int::try_from(enable()).ok()).unwrap_or(0)
}

/// Writes a line for each netCDF-C that was found into `buffer`, `path TAB version TAB reason` (an empty reason: it is served),
/// ended by a NUL; the bytes that this takes.
///
/// # Safety
/// `buffer` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncforge_netcdf_status(buffer: *mut c_char, len: usize) -> usize {
    let text = guarded(|| {
        let mut text = String::new();
        for entry in FOUND.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let _ = writeln!(text, "{}\t{}\t{}", entry.path, entry.version, entry.why.unwrap_or_default());
        }
        Some(text)
    })
    .unwrap_or_default();
    if !buffer.is_null() && len > text.len() {
        // SAFETY: the caller's promise; text and NUL fit.
        unsafe {
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), text.len());
            *buffer.add(text.len()) = 0;
        }
    }
    text.len() + 1
}
