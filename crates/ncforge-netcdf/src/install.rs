//! The ways in: a constructor for preloading, and functions that programs call.

use std::cell::Cell;
use std::ffi::{c_char, c_int, c_void};
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::{Mutex, Once, PoisonError};

use ncforge::store::Process;

use crate::abi::{self, Dispatch};
use crate::libraries::{Found, Library, find, object_of};
use crate::report::{log, standard_error, wish};
use crate::tables::{LIBRARIES, guarded};
use crate::{files, hook, initialisation, mpi, writing};

/// An object that was found.
struct Entry {
    path: String,
    /// Its number, and what it has, if its tables can be replaced.
    library: Option<(usize, Library)>,
    /// Whether ncforge is installed when netCDF-C initialises itself, which it does when it opens its first file.
    waits: bool,
    /// The reason why it is not served.
    why: Option<&'static str>,
    /// The reason why its writes are not.
    writing: Option<&'static str>,
}

impl Entry {
    fn version(&self) -> &str {
        self.library.as_ref().map_or("", |(_, library)| &library.version)
    }
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
            let status = wish().status;
            take_up(if status { When::Now } else { When::Initialised });
            #[cfg(all(target_env = "gnu", any(target_arch = "x86_64", target_arch = "aarch64")))]
            if !wish().off && !status {
                crate::late::watch(look_again);
            }
            Some(())
        });
        if wish().status {
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
        let _ = match e.version() {
            "" => writeln!(text, "{}: {what}", e.path),
            version => writeln!(text, "netCDF-C {version} ({}): {what}", e.path),
        };
    }
    if found.is_empty() {
        text.push_str("no netCDF-C is loaded when it starts; one that it loads later is served\n");
    }
    let _ = std::io::stdout().write_all(text.as_bytes());
}

/// The time at which ncforge is installed in a netCDF-C.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    Now,
    /// When it initialises itself: an HDF5 that was built with MPI must not be initialised before MPI is, and a program that opens no
    /// file pays for nothing.
    Initialised,
}

/// Objects that matter were loaded.
fn look_again() {
    if take_up(When::Initialised) > 0 {
        mpi::watch();
    }
}

thread_local! {
    /// Whether this thread has the list of what was found.
    static HAS_FOUND: Cell<bool> = const { Cell::new(false) };
}

/// Does something with the list of what was found; `None` where this thread does so already: netCDF-C's initialisation calls functions
/// of ours.
fn with_found<T>(what: impl FnOnce(&mut Vec<Entry>) -> T) -> Option<T> {
    struct Has;
    impl Drop for Has {
        fn drop(&mut self) {
            let _ = HAS_FOUND.try_with(|has| has.set(false));
        }
    }
    if HAS_FOUND.try_with(|has| has.replace(true)).unwrap_or(true) {
        return None;
    }
    let _has = Has;
    Some(what(&mut FOUND.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// Takes up every netCDF-C that is loaded and not served yet. How many are served now.
fn take_up(when: When) -> usize {
    if wish().off {
        return 0;
    }
    prepare();
    with_found(|found| {
        for object in find() {
            match object {
                Found::Usable(library) => take_up_library(found, library, when),
                Found::Unusable(path, why) if found.iter().all(|e| e.path != path) => {
                    log(format_args!("{path}: not served: {why}"));
                    found.push(Entry { path, library: None, waits: false, why: Some(why), writing: None });
                }
                Found::Unusable(..) => {}
            }
        }
        found.iter().filter(|e| e.why.is_none() && !e.waits).count()
    })
    .unwrap_or(0)
}

/// Preparations for all ways in: panics go to the log, forks are counted.
fn prepare() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::panic::set_hook(Box::new(|panic| log(format_args!("{panic}; the call is left to netCDF-C"))));
        // Forks are counted from now on.
        Process::this();
        if wish().log {
            standard_error();
            // SAFETY: registers a function that is never unloaded.
            unsafe { libc::atexit(say_of_open_files) };
        }
    });
}

/// The log has a line for each file, whether the program closes it or not.
extern "C" fn say_of_open_files() {
    guarded(|| {
        writing::say_of_open_files();
        files::say_of_open_files();
        Some(())
    });
}

fn position(found: &[Entry], library: &Library) -> Option<usize> {
    found.iter().position(|e| e.library.as_ref().is_some_and(|(_, l)| l.hdf5_table == library.hdf5_table))
}

/// The entry for a library that was not known.
fn add(found: &mut Vec<Entry>, library: Library) -> &mut Entry {
    let number = found.iter().filter(|e| e.library.is_some()).count();
    let path = library.path.clone();
    let (library, why) = match number {
        0..LIBRARIES => (Some((number, library)), None),
        _ => (None, Some("too many copies of netCDF-C in this process")),
    };
    found.push(Entry { path, library, waits: false, why, writing: None });
    found.last_mut().expect("it was just added")
}

fn take_up_library(found: &mut Vec<Entry>, library: Library, when: When) {
    if let Some(known) = position(found, &library) {
        if when == When::Now && found[known].waits {
            install_in(&mut found[known], true);
        }
        return;
    }
    let entry = add(found, library);
    let Some((number, library)) = &entry.library else { return note(entry, entry.why) };
    // SAFETY: the variable is netCDF-C's.
    let is_initialised = unsafe { !(*library.hdf5_table).is_null() };
    let early = when == When::Initialised && !is_initialised;
    entry.waits = early && initialisation::watch(*number, library, initialised);
    if entry.waits {
        return;
    }
    if early && library.parallel && mpi::is_loaded() {
        return note(entry, Some("its HDF5 was built with MPI, and when it is initialised is not seen"));
    }
    install_in(entry, true);
}

/// Installs ncforge in a library, which is initialised before if it has not done so.
fn install_in(entry: &mut Entry, initialise: bool) {
    let Some((number, library)) = &entry.library else { return };
    entry.waits = false;
    // SAFETY: netCDF-C's own function; every `nc_open` calls it, too.
    let call = || unsafe { (library.initialize)() };
    let code = match library.messages {
        _ if !initialise => abi::NOERR,
        Some(messages) => messages.keep(*number, call),
        None => call(),
    };
    let done = match code {
        abi::NOERR => hook::install_in(*number, library),
        _ => Err("its initialisation failed"),
    };
    note(entry, done.err());
}

/// NetCDF-C has initialised itself, perhaps again.
fn initialised(number: usize) {
    with_found(|found| {
        let entry = found.iter_mut().find(|e| e.library.as_ref().is_some_and(|(n, _)| *n == number));
        let Some(entry) = entry.filter(|e| e.why.is_none()) else { return };
        let Some((_, library)) = &entry.library else { return };
        if entry.waits {
            install_in(entry, false);
            mpi::watch();
        } else {
            hook::install_again_in(number, library);
        }
    });
}

/// Remembers what was done with a library.
fn note(entry: &mut Entry, why: Option<&'static str>) {
    let (path, version) = (&entry.path, entry.version());
    let writing = match &entry.library {
        Some((number, _)) if why.is_none() => writing::install(*number, path).err(),
        _ => None,
    };
    match (why, writing) {
        (None, Some(why)) => log(format_args!("{path}: netCDF-C {version} is served, for reading: {why}")),
        (None, None) => log(format_args!("{path}: netCDF-C {version} is served")),
        (Some(why), _) => log(format_args!("{path}: netCDF-C {version} is not served: {why}")),
    }
    (entry.why, entry.writing) = (why, writing);
}

/// The initialisation of the plug-in, which netCDF-C 4.10.1 and later calls: installs ncforge in the netCDF-C that calls, and gives
/// the table for zipped files; null when nothing is to be done.
#[unsafe(no_mangle)]
pub extern "C" fn ncforge_netcdf_plugin() -> *const c_void {
    let table = guarded(|| {
        if wish().off {
            return None;
        }
        prepare();
        let caller = caller()?;
        let library = find().into_iter().find_map(|f| match f {
            Found::Usable(library) if library.path == caller => Some(library),
            _ => None,
        })?;
        // While another way in has netCDF-C initialised, that one does it.
        with_found(|found| {
            if position(found, &library).is_some() {
                return None;
            }
            let entry = add(found, library);
            let (number, library) = entry.library.as_ref()?;
            let done = hook::install_as_plugin(*number, library);
            note(entry, done.err());
            done.ok()
        })?
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

/// Installs ncforge in every netCDF-C that is loaded; how many are served. It may be called again after another one was loaded.
#[unsafe(no_mangle)]
pub extern "C" fn ncforge_netcdf_enable() -> c_int {
    guarded(|| c_int::try_from(take_up(When::Now)).ok()).unwrap_or(0)
}

/// Writes a line for each netCDF-C that was found into `buffer`, `path TAB version TAB reason TAB reason`: why it is not served, and why
/// its writes are not, both empty where they are. A NUL ends the text; the bytes that this takes.
///
/// # Safety
/// `buffer` is null or has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ncforge_netcdf_status(buffer: *mut c_char, len: usize) -> usize {
    let text = guarded(|| {
        let mut text = String::new();
        for entry in FOUND.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let [why, writing] = [entry.why, entry.writing].map(Option::unwrap_or_default);
            let _ = writeln!(text, "{}\t{}\t{why}\t{writing}", entry.path, entry.version());
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
