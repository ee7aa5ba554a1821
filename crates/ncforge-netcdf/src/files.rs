//! The files that netCDF-C has open and ncforge may serve, by netCDF-C's ids.
//!
//! An id is the number of the file, shifted by 16 bits, and the number of a group. The table of a library is an array with a
//! pointer for each number: a call for a file that is not served costs one load. ncforge opens a file at the first read that
//! pays for it, by the absolute path, and only if the file is the one that netCDF-C opened, unchanged.
//!
//! NetCDF-C's rule holds here as well: no thread uses a file while another closes it.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ncforge::store::{FileStore, Identity, Process};
use ncforge::{Dataset, OpenOptions};

use crate::engine;
use crate::image::Zipped;
use crate::limits::{self, Slot};
use crate::report::{log, wish};
use crate::tables::LIBRARIES;
use crate::variables::Variables;
use crate::writers;

/// Files that one netCDF-C may have open (`NCFILELISTLENGTH`).
const FILES: usize = 1 << 16;

pub(crate) struct OpenFile {
    /// Absolute path.
    pub(crate) path: PathBuf,
    identity: Identity,
    /// True for a classic file.
    pub(crate) classic: bool,
    /// Set when the file must not be served any more: it changed, somebody writes to it, or ncforge cannot read it.
    off: Arc<AtomicBool>,
    /// The process in which it was opened.
    process: Process,
    /// ncforge's side of it.
    slot: Arc<Slot>,
    /// A zipped file: ncforge is the only reader.
    zipped: Option<Zipped>,
    pub(crate) variables: Variables,
    /// Estimated work of the reads that were left to netCDF-C while ncforge had not opened the file.
    pub(crate) waiting: AtomicU64,
    pub(crate) served: AtomicU64,
    pub(crate) delegated: AtomicU64,
    why: Mutex<Option<String>>,
}

impl OpenFile {
    /// A file of this identity, which netCDF-C then opened.
    pub(crate) fn new(path: PathBuf, identity: Identity, classic: bool, off: Arc<AtomicBool>) -> Self {
        Self::with(path, identity, classic, off, None)
    }

    /// A zipped file.
    pub(crate) fn zipped(path: PathBuf, identity: Identity, zipped: Zipped) -> Self {
        Self::with(path, identity, true, Arc::default(), Some(zipped))
    }

    fn with(
        path: PathBuf,
        identity: Identity,
        classic: bool,
        off: Arc<AtomicBool>,
        zipped: Option<Zipped>,
    ) -> Self {
        Self {
            path,
            identity,
            classic,
            off,
            process: Process::this(),
            slot: Arc::default(),
            zipped,
            variables: Variables::default(),
            waiting: AtomicU64::new(0),
            served: AtomicU64::new(0),
            delegated: AtomicU64::new(0),
            why: Mutex::new(None),
        }
    }

    /// Whether netCDF-C reads it from now on, whatever is asked.
    pub(crate) fn is_off(&self) -> bool {
        self.off.load(Ordering::Relaxed) || !self.process.is_here()
    }

    /// Leaves the file to netCDF-C.
    pub(crate) fn give_up(&self, why: impl Into<String>) {
        self.note(why);
        self.off.store(true, Ordering::Relaxed);
    }

    /// Remembers for the log why something was not served.
    pub(crate) fn note(&self, why: impl Into<String>) {
        self.why.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(why.into());
    }

    /// The zipped file, if this is one.
    pub(crate) fn zipped_file(&self) -> Option<&Zipped> {
        self.zipped.as_ref()
    }

    /// Whether ncforge has opened the file.
    pub(crate) fn is_open(&self) -> bool {
        self.slot.is_open()
    }

    /// The dataset, opened now if it is not; `None` when the file is not served (any more). A file that was written a moment ago is
    /// waited for if only ncforge can read it.
    pub(crate) fn dataset(&self, only_us: bool) -> Option<Dataset> {
        let known = self.slot.get();
        let dataset = match known {
            Some(dataset) => dataset,
            None => self.open(only_us)?,
        };
        let store = dataset.container().store();
        let now = FileStore::of(&**store).and_then(|s| Identity::of_file(s.file()));
        if now == Some(self.identity) {
            return Some(dataset);
        }
        self.give_up("the file changed after it was opened");
        self.slot.close();
        None
    }

    fn open(&self, only_us: bool) -> Option<Dataset> {
        // A file that changes later must show it.
        if only_us {
            self.identity.settle();
        } else if !self.identity.is_settled() && !wish().always {
            return None;
        }
        if !only_us && limits::are_few_left() {
            return None;
        }
        if !only_us && writers::is_writable_here(self.identity.file()) {
            self.give_up("this process has it open for writing");
            return None;
        }
        let options = OpenOptions { engine: Some(engine::engine()?), ..OpenOptions::default() };
        match Dataset::open_options(&self.path, &options) {
            Ok(dataset) if dataset.container().missing_bytes() > 0 => {
                self.give_up("the file is shorter than its header says");
                None
            }
            Ok(dataset) => {
                limits::opened(&self.slot, &dataset);
                Some(dataset)
            }
            Err(e) => {
                self.give_up(e.to_string());
                None
            }
        }
    }

    fn say_what_was_done(&self) {
        let (served, delegated) =
            (self.served.load(Ordering::Relaxed), self.delegated.load(Ordering::Relaxed));
        let why = self.why.lock().unwrap_or_else(PoisonError::into_inner).take();
        let why = why.map(|w| format!(" ({w})")).unwrap_or_default();
        let path = self.path.display();
        log(format_args!("{path}: {served} reads served, {delegated} left to netCDF-C{why}"));
    }
}

/// The open files of each library.
static TABLES: [[AtomicPtr<OpenFile>; FILES]; LIBRARIES] =
    [const { [const { AtomicPtr::new(std::ptr::null_mut()) }; FILES] }; LIBRARIES];

fn place(library: usize, ncid: i32) -> &'static AtomicPtr<OpenFile> {
    &TABLES[library][(ncid as u32 >> 16) as usize]
}

/// The file with this id (or with a group of this id), if it may be served.
#[inline]
pub(crate) fn get(library: usize, ncid: i32) -> Option<&'static OpenFile> {
    let file = place(library, ncid).load(Ordering::Acquire);
    // SAFETY: pointers in the table are from `put`, and valid until `remove`, which no thread calls while another uses the
    // file (see the module).
    unsafe { file.as_ref() }
}

/// Registers a file.
pub(crate) fn put(library: usize, ncid: i32, file: OpenFile) {
    let old = place(library, ncid).swap(Box::into_raw(Box::new(file)), Ordering::AcqRel);
    drop_file(old);
}

/// Forgets a file that netCDF-C closed.
pub(crate) fn remove(library: usize, ncid: i32) {
    let place = place(library, ncid);
    if !place.load(Ordering::Relaxed).is_null() {
        drop_file(place.swap(std::ptr::null_mut(), Ordering::AcqRel));
    }
}

/// Says what was done with the files that are open when the program ends.
pub(crate) fn say_of_open_files() {
    for place in TABLES.iter().flatten() {
        // SAFETY: as in `get`; a thread that closes a file while the program ends would be the program's mistake.
        if let Some(file) = unsafe { place.load(Ordering::Acquire).as_ref() }
            && file.process.is_here()
        {
            file.say_what_was_done();
        }
    }
}

fn drop_file(file: *mut OpenFile) {
    if !file.is_null() {
        // SAFETY: it was made by `put`, and is in no table any more.
        let file = unsafe { Box::from_raw(file) };
        if !file.process.is_here() {
            // The parent's: its engine does not work here.
            std::mem::forget(file);
            return;
        }
        file.slot.close();
        file.say_what_was_done();
    }
}
