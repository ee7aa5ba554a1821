//! Writes for netCDF-C: compressed chunks are encoded by ncforge, on all cores, and handed to netCDF-C's own HDF5.
//!
//! NetCDF-C does everything up to the moment at which it gives converted values to HDF5: it checks arguments, ends define mode,
//! converts, quantizes, extends dimensions, and finds its error numbers. Then it calls `H5Dwrite`. In the object of
//! netCDF-C, the imports of `H5Dwrite`, `H5Dread`, `H5Dclose` and `H5Fflush` are replaced by the functions of this module. A write
//! to a compressed dataset of numbers or text is copied into chunks; whole chunks are encoded by threads and stored by
//! `H5Dwrite_chunk`. Before HDF5 reads, flushes or closes a dataset, it has all of its chunks. So the file, its metadata and their
//! order are HDF5's, and a sync means what it means.
//!
//! What is held belongs to an HDF5, which copies of netCDF-C may share, with all that they have open: a library is known by its number,
//! and its HDF5 by another.
//!
//! HDF5 is called on the program's thread only, inside a call of netCDF-C's. Files that one process has open for writing more
//! than once, parallel ones, and those in memory are not served.

mod hdf5;
mod jobs;
mod output;
mod room;
mod seen;
mod slab;
mod target;

use std::cell::Cell;
use std::ffi::{CString, c_int, c_void};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};

use ncforge::store::Process;

use crate::imports;
use crate::report::{log, wish};
use crate::tables::{LIBRARIES, guarded};
use crate::writers::FileNumber;

use hdf5::{Close, Flush, Hdf5, Id, REPLACED, Transfer};
use output::{File, Output};
use room::Room;

/// Files that one netCDF-C may have open.
const FILES: usize = 1 << 16;

static HDF5: [OnceLock<Hdf5>; LIBRARIES] = [const { OnceLock::new() }; LIBRARIES];
/// The number of the HDF5 that each netCDF-C calls.
static CALLED: [OnceLock<usize>; LIBRARIES] = [const { OnceLock::new() }; LIBRARIES];
static OUTPUTS: [Mutex<Option<Output>>; LIBRARIES] = [const { Mutex::new(None) }; LIBRARIES];
/// The number of the process that had the lock last.
static LOCKED_IN: [AtomicU32; LIBRARIES] = [const { AtomicU32::new(0) }; LIBRARIES];
/// Datasets that are remembered: where there are none, HDF5 is called at once.
static DATASETS: [AtomicUsize; LIBRARIES] = [const { AtomicUsize::new(0) }; LIBRARIES];
/// Whether writes to an open file are served.
static SERVED: [[AtomicBool; FILES]; LIBRARIES] =
    [const { [const { AtomicBool::new(false) }; FILES] }; LIBRARIES];

thread_local! {
    /// The number of the file that a `put` of this thread is for, while netCDF-C does it.
    static PUT: Cell<Option<i32>> = const { Cell::new(None) };
    /// Those of HDF5 whose output this thread has, one bit each.
    static HAS: Cell<u8> = const { Cell::new(0) };
}

/// The place of an open file in its library.
fn place_of(ncid: c_int) -> usize {
    (ncid.cast_unsigned() >> 16) as usize
}

/// The number of an open file among those of all libraries.
fn number_of(library: usize, ncid: c_int) -> i32 {
    (library * FILES + place_of(ncid)) as i32
}

fn is_served(library: usize, ncid: c_int) -> &'static AtomicBool {
    &SERVED[library][place_of(ncid)]
}

/// Says that this thread has the output of an HDF5, or is about to.
struct Mark(u8);

impl Mark {
    /// `None` where the thread has it already.
    fn set(hdf5: usize) -> Option<Self> {
        let bit = 1u8.checked_shl(hdf5 as u32)?;
        let before = HAS.try_with(|has| has.replace(has.get() | bit)).ok()?;
        // Not one that is dropped at once: it would take the mark away.
        (before & bit == 0).then(|| Self(bit))
    }

    /// Whether the thread has it.
    fn is_set(hdf5: usize) -> bool {
        HAS.try_with(|has| has.get() >> hdf5 & 1 == 1).unwrap_or(false)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        let _ = HAS.try_with(|has| has.set(has.get() & !self.0));
    }
}

/// The output of an HDF5, locked. It is unlocked before the mark goes: no signal finds it locked and not marked.
struct Locked {
    output: MutexGuard<'static, Option<Output>>,
    _mark: Mark,
}

/// The output of an HDF5; `None` where nobody would unlock it: in a fork of a process that had it locked, and in the thread that has
/// it, in whose call a signal came. What the handler calls is netCDF-C's, and so is everything after a jump out of it.
fn lock(hdf5: usize) -> Option<Locked> {
    let mark = Mark::set(hdf5)?;
    let output = match OUTPUTS[hdf5].try_lock() {
        Ok(guard) => guard,
        Err(TryLockError::Poisoned(p)) => p.into_inner(),
        Err(TryLockError::WouldBlock) => {
            if LOCKED_IN[hdf5].load(Ordering::Relaxed) != Process::this().number() {
                return None;
            }
            OUTPUTS[hdf5].lock().unwrap_or_else(PoisonError::into_inner)
        }
    };
    LOCKED_IN[hdf5].store(Process::this().number(), Ordering::Relaxed);
    Some(Locked { output, _mark: mark })
}

/// Runs what may call HDF5; `None` if nothing is held, or if it panics.
fn with<T>(hdf5: usize, what: impl FnOnce(&mut Output) -> T) -> Option<T> {
    guarded(|| {
        let mut locked = lock(hdf5)?;
        let output = locked.output.as_mut()?;
        let result = what(output);
        DATASETS[hdf5].store(output.datasets(), Ordering::Relaxed);
        Some(result)
    })
}

/// Replaces the functions in an object of netCDF-C; an error says why writing is netCDF-C's.
pub(crate) fn install(library: usize, path: &str) -> Result<(), &'static str> {
    if wish().read_only {
        return Err("NCFORGE_NETCDF=read");
    }
    let object = CString::new(path).map_err(|_| "its path has a zero")?;
    let (imports, read_only) = imports::find(&object, &REPLACED).ok_or("it has HDF5 inside, or none")?;
    let [write, read, close, flush] = &*imports else { return Err("it has HDF5 inside, or none") };
    // SAFETY: the functions of HDF5 with these names.
    let known = unsafe {
        Hdf5::of(
            std::mem::transmute::<*mut c_void, Transfer>(write.original),
            std::mem::transmute::<*mut c_void, Transfer>(read.original),
            std::mem::transmute::<*mut c_void, Close>(close.original),
            std::mem::transmute::<*mut c_void, Flush>(flush.original),
        )?
    };
    if !known.is_known() {
        return Err("its HDF5 is of another version");
    }
    let is_it = |hdf5: &Hdf5| std::ptr::fn_addr_eq(hdf5.write, known.write);
    let hdf5 = HDF5.iter().position(|h| h.get().is_none_or(is_it)).ok_or("too many copies of HDF5")?;
    HDF5[hdf5].get_or_init(|| known);
    CALLED[library].set(hdf5).map_err(|_| "it is installed already")?;
    let ours = match hdf5 {
        0 => functions::<0>(),
        1 => functions::<1>(),
        2 => functions::<2>(),
        _ => functions::<3>(),
    };
    // The one that takes writes comes last: without the others nothing may be taken.
    for (import, ours) in imports.iter().zip(ours).rev() {
        // SAFETY: the signatures are the same, and this library is never unloaded.
        if !unsafe { import.replace(ours, &read_only) } {
            return Err("its imports cannot be replaced");
        }
    }
    Ok(())
}

/// Those that take the place of HDF5's, in the order of [`REPLACED`].
fn functions<const H: usize>() -> [*const c_void; 4] {
    [
        h5d_write::<H> as *const c_void,
        h5d_read::<H> as *const c_void,
        h5d_close::<H> as *const c_void,
        h5f_flush::<H> as *const c_void,
    ]
}

/// A file was opened for writing, by nobody else in this process; `shared`: it has it open for reading.
pub(crate) fn begin(library: usize, ncid: c_int, path: PathBuf, file: FileNumber, shared: bool) {
    let Some(&number) = CALLED[library].get() else { return };
    let Some((hdf5, mut locked)) = HDF5[number].get().zip(lock(number)) else { return };
    let output = locked.output.get_or_insert_with(|| Output::new(hdf5));
    let (room, process) = (Room::of(file), Process::this());
    let file = File { path, room, served: 0, left: Vec::new(), stopped: None, shared, process };
    output.files.insert(number_of(library, ncid), file);
    is_served(library, ncid).store(true, Ordering::Relaxed);
    at_exit();
}

/// A file is about to be opened once more in this process, for writing or for reading.
pub(crate) fn open_again(library: usize, ncid: c_int, for_writing: bool) {
    if is_served(library, ncid).load(Ordering::Relaxed)
        && let Some(&hdf5) = CALLED[library].get()
    {
        let number = number_of(library, ncid);
        // Failed writes are tried again, and reported, when the file is closed.
        with(hdf5, |output| match for_writing {
            true => output.stop(number, "it is open for writing more than once"),
            false => output.share(number),
        });
    }
}

/// A file was closed. `false`: what is held of it, nobody can give to HDF5 (see [`lock`]). In a fork, the parent does that.
pub(crate) fn end(library: usize, ncid: c_int) -> bool {
    if !is_served(library, ncid).swap(false, Ordering::Relaxed) {
        return true;
    }
    let Some(&hdf5) = CALLED[library].get() else { return true };
    let file = with(hdf5, |output| output.end(number_of(library, ncid)));
    if let Some(Some(file)) = &file {
        file.room.give_back(&file.path);
        say(file);
    }
    file.is_some() || !Mark::is_set(hdf5)
}

/// Logs the work on a file.
fn say(file: &File) {
    let mut left = file.left.clone();
    left.sort_by_key(|&(_, writes)| std::cmp::Reverse(writes));
    let reasons: Vec<_> = left.iter().map(|(why, writes)| format!("{why}: {writes}")).collect();
    let why = if left.is_empty() { String::new() } else { format!(" ({})", reasons.join(", ")) };
    let left: u64 = left.iter().map(|(_, writes)| writes).sum();
    log(format_args!("{}: {} writes served, {left} left to netCDF-C{why}", file.path.display(), file.served));
}

/// Logs the work on files that are open when the program ends.
pub(crate) fn say_of_open_files() {
    for hdf5 in 0..LIBRARIES {
        with(hdf5, |output| output.files.values().filter(|f| f.process.is_here()).for_each(say));
    }
}

/// Runs a `put` of netCDF-C's to a file: its writes are served if the file is.
pub(crate) fn putting(library: usize, ncid: c_int, put: impl FnOnce() -> c_int) -> c_int {
    if !is_served(library, ncid).load(Ordering::Relaxed) {
        return put();
    }
    let before = PUT.replace(Some(number_of(library, ncid)));
    let code = put();
    PUT.set(before);
    code
}

/// HDF5 writes what it has when the program ends. We give it what we have in front of that: this is called after HDF5 registered its
/// own. Writes that come later are HDF5's, but those to files that are opened later: for these, this is called again.
fn at_exit() {
    static WILL_BE_CALLED: AtomicBool = AtomicBool::new(false);
    extern "C" fn end() {
        WILL_BE_CALLED.store(false, Ordering::Relaxed);
        give_all(Output::stop_own);
    }
    if !WILL_BE_CALLED.swap(true, Ordering::Relaxed) {
        // SAFETY: registers a function that is never unloaded.
        unsafe { libc::atexit(end) };
    }
}

/// MPI is about to end. An HDF5 that was built with it ends as well, and whoever started the program may end it then.
pub(crate) fn before_mpi_ends() {
    // Failed writes are tried again, and reported, when the file is closed.
    give_all(|output| {
        let _ = output.flush_all();
        output.rest();
    });
}

/// Has what is held written.
fn give_all<T>(how: impl Fn(&mut Output) -> T) {
    for hdf5 in 0..LIBRARIES {
        with(hdf5, &how);
    }
}

const FAILED: c_int = -1;

fn original<const H: usize>() -> &'static Hdf5 {
    // The functions are replaced after it is set.
    HDF5[H].get().unwrap_or_else(|| std::process::abort())
}

fn is_idle<const H: usize>() -> bool {
    DATASETS[H].load(Ordering::Relaxed) == 0
}

unsafe extern "C" fn h5d_write<const H: usize>(
    dataset: Id,
    kind: Id,
    memory: Id,
    file: Id,
    list: Id,
    values: *const c_void,
) -> c_int {
    let taken = match PUT.get() {
        Some(number) if !values.is_null() => {
            // SAFETY: netCDF-C's arguments.
            with(H, |output| unsafe { output.write(number, dataset, kind, [memory, file], values) })
        }
        _ if is_idle::<H>() => None,
        _ => with(H, |output| output.hand_over(dataset).map(|()| false)),
    };
    match taken {
        Some(Ok(true)) => 0,
        Some(Err(_)) => FAILED,
        // SAFETY: HDF5's function with netCDF-C's arguments.
        Some(Ok(false)) | None => unsafe {
            (original::<H>().write)(dataset, kind, memory, file, list, values)
        },
    }
}

unsafe extern "C" fn h5d_read<const H: usize>(
    dataset: Id,
    kind: Id,
    memory: Id,
    file: Id,
    list: Id,
    values: *const c_void,
) -> c_int {
    if !is_idle::<H>() && matches!(with(H, |output| output.before_read(dataset)), Some(Err(_))) {
        return FAILED;
    }
    // SAFETY: HDF5's function with netCDF-C's arguments.
    unsafe { (original::<H>().read)(dataset, kind, memory, file, list, values) }
}

unsafe extern "C" fn h5d_close<const H: usize>(dataset: Id) -> c_int {
    let failed = !is_idle::<H>() && matches!(with(H, |output| output.close(dataset)), Some(Err(_)));
    // SAFETY: HDF5's function with netCDF-C's argument.
    let code = unsafe { (original::<H>().close)(dataset) };
    if failed { FAILED } else { code }
}

unsafe extern "C" fn h5f_flush<const H: usize>(object: Id, scope: c_int) -> c_int {
    let given = if is_idle::<H>() { None } else { with(H, |output| output.flush_file(object)) };
    if matches!(given, Some(Ok(false))) {
        return 0;
    }
    let failed = matches!(given, Some(Err(_)));
    // SAFETY: HDF5's function with netCDF-C's arguments.
    let code = unsafe { (original::<H>().flush)(object, scope) };
    if failed { FAILED } else { code }
}
