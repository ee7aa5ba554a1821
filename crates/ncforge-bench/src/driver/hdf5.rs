//! libhdf5 as a driver, loaded while the program runs: the layer below netCDF-C, without netCDF's conventions.
//!
//! Files are plain HDF5, a dataset for each variable; every program that reads HDF5 reads them. Several ranks of an MPI job share a file by a
//! build with MPI ([`mpio`]), independently or collectively; others have one file for each process.

mod blocks;
mod calls;
mod mpio;

use std::ffi::{c_char, c_int};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ncforge::Hyperslab;
use ncforge::codec::filter_name;
use ncforge::model::shape;

use self::blocks::{found, move_block, select, type_of};
use self::calls::{Calls, GroupInfo, Handle, Id, check};
use super::{Access, Driver, FileSpec, Opened, Session, VarInfo};
use crate::c_string::c_string;
use crate::error::{Error, Result};

/// The library in Linux distributions and conda, by the name that the loader looks up.
const USUAL: [&str; 8] = [
    "libhdf5_serial.so.103",
    "libhdf5_serial.so.310",
    "libhdf5.so.103",
    "libhdf5.so.200",
    "libhdf5.so.310",
    "libhdf5.so.320",
    "libhdf5_serial.so",
    "libhdf5.so",
];
/// Builds with Open MPI, and with MPICH, in Linux distributions.
pub(crate) const PARALLEL: [&str; 6] = [
    "libhdf5_openmpi.so.103",
    "libhdf5_openmpi.so.310",
    "libhdf5_mpich.so.103",
    "libhdf5_mpich.so.310",
    "libhdf5_openmpi.so",
    "libhdf5_mpich.so",
];
/// Longest name of an object that is opened.
const NAME: usize = 1024;
/// Groups within groups that are opened: links may make circles.
const DEEPEST: usize = 32;
/// `H5I_GROUP`, `H5I_DATASET`.
const KINDS: (c_int, c_int) = (2, 5);
/// `H5D_CHUNKED`.
const CHUNKED: c_int = 2;

/// An HDF5 library.
#[derive(Clone, Debug)]
pub struct Hdf5Driver {
    calls: Rc<Calls>,
    name: String,
}

impl Hdf5Driver {
    /// Loads the library at a path, or of a name that the system's loader finds.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it cannot be loaded, or is older than 1.10.
    pub fn load(path: &Path) -> Result<Self> {
        let calls = Calls::load(path)?;
        let name = if path.components().count() > 1 { path.display().to_string() } else { "hdf5".to_owned() };
        Ok(Self { calls: Rc::new(calls), name })
    }

    /// The library that the system's loader finds under one of the usual names, if there is one.
    pub fn find() -> Option<Self> {
        USUAL.iter().find_map(|name| Self::load(&PathBuf::from(name)).ok())
    }

    fn open_file(&self, path: &Path) -> Result<Handle> {
        let name = c_string(path)?;
        self.open_by(path, &name, 0)
    }

    /// Opens a file with these properties.
    fn open_by(&self, path: &Path, name: &std::ffi::CStr, properties: Id) -> Result<Handle> {
        // SAFETY: a string that ends with zero; `H5F_ACC_RDONLY`; properties, or 0 for the usual ones.
        let id = unsafe { (self.calls.file_open)(name.as_ptr(), 0, properties) };
        Handle::new(&self.calls, id, self.calls.file_close, &format!("opening `{}`", path.display()))
    }
}

impl Driver for Hdf5Driver {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> String {
        let (mut major, mut minor, mut release) = (0, 0, 0);
        // SAFETY: memory for three numbers.
        unsafe { (self.calls.version)(&mut major, &mut minor, &mut release) };
        format!("HDF5 {major}.{minor}.{release}")
    }

    fn open_cached(&self, path: &Path, cache: Option<u64>) -> Result<Box<dyn Session>> {
        let file = self.open_file(path)?;
        let mut session = Hdf5Session { calls: Rc::clone(&self.calls), vars: Vec::new(), cache, file };
        session.walk(session.file.id, "", 0)?;
        Ok(Box::new(session))
    }

    fn refuses(&self, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
        blocks::refuses(&self.calls, spec, access)
    }

    fn create<'a>(&self, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
        blocks::create(&self.calls, path, spec, access)
    }

    fn open_blocks<'a>(&self, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
        let shared = mpio::Shared::of(&self.calls, access)?;
        let name = c_string(path)?;
        let properties = shared.as_ref().map_or(0, mpio::Shared::file);
        blocks::open(&self.calls, || self.open_by(path, &name, properties), spec, shared)
    }
}

struct Hdf5Session {
    calls: Rc<Calls>,
    vars: Vec<Found>,
    cache: Option<u64>,
    /// The last to go.
    file: Handle,
}

/// A dataset of numbers, open.
struct Found {
    info: VarInfo,
    data: Handle,
    /// The type of its values in memory.
    dtype: Id,
}

impl Hdf5Session {
    /// Opens the datasets of numbers of a group, and of those below it.
    fn walk(&mut self, group: Id, prefix: &str, depth: usize) -> Result<()> {
        let calls = Rc::clone(&self.calls);
        let mut info = GroupInfo::default();
        // SAFETY: an open group, and memory for its description.
        check(unsafe { (calls.group_info)(group, &mut info) }, "listing a group")?;
        for link in 0..info.links {
            let mut name = [0 as c_char; NAME];
            // SAFETY: an open group, by names, upwards; memory for the name and its end.
            let len =
                unsafe { (calls.link_name)(group, c".".as_ptr(), 0, 0, link, name.as_mut_ptr(), NAME, 0) };
            let Ok(len) = usize::try_from(len) else { continue };
            if len >= NAME {
                continue;
            }
            // SAFETY: a name of the group. Links that lead nowhere give a negative number.
            let id = unsafe { (calls.object_open)(group, name.as_ptr(), 0) };
            let Ok(object) = Handle::new(&calls, id, calls.object_close, "opening an object") else {
                continue;
            };
            let bytes: Vec<u8> = name[..len].iter().map(|&c| c as u8).collect();
            let path = format!("{prefix}/{}", String::from_utf8_lossy(&bytes));
            // SAFETY: an open object.
            let kind = unsafe { (calls.kind)(object.id) };
            if kind == KINDS.0 && depth < DEEPEST {
                self.walk(object.id, &path, depth + 1)?;
            } else if kind == KINDS.1 {
                self.vars.extend(self.dataset(&path)?);
            }
        }
        Ok(())
    }

    fn dataset(&self, path: &str) -> Result<Option<Found>> {
        let calls = &self.calls;
        let name = c_string(path)?;
        // SAFETY: an open file and a string that ends with zero; 0: usual properties.
        let id = unsafe { (calls.data_open)(self.file.id, name.as_ptr(), 0) };
        let mut data = Handle::new(calls, id, calls.data_close, path)?;
        let (shape, dtype) = found(calls, &data, path)?;
        let Some(dtype) = dtype else { return Ok(None) };
        let size = dtype.size();
        let (chunks, filters) = self.storage(&data, shape.len())?;
        if let (Some(cache), Some(chunks)) = (self.cache, &chunks) {
            // Opened again, with a cache for its chunks.
            data = self.cached(&name, cache, shape::bytes(chunks, size as u64))?;
        }
        let info = VarInfo { name: path.to_owned(), shape, size, chunks, filters };
        Ok(Some(Found { info, data, dtype: type_of(calls, dtype)? }))
    }

    fn storage(&self, data: &Handle, rank: usize) -> Result<(Option<Vec<u64>>, Vec<String>)> {
        let calls = &self.calls;
        // SAFETY: an open dataset.
        let id = unsafe { (calls.data_plist)(data.id) };
        let plist = Handle::new(calls, id, calls.plist_close, "the properties of a dataset")?;
        // SAFETY: open properties.
        if unsafe { (calls.get_layout)(plist.id) } != CHUNKED {
            return Ok((None, Vec::new()));
        }
        let mut chunks = vec![0u64; rank];
        // SAFETY: memory for as many lengths as the space has.
        check(unsafe { (calls.get_chunk)(plist.id, rank as c_int, chunks.as_mut_ptr()) }, "chunks")?;
        let mut filters = Vec::new();
        // SAFETY: open properties.
        for i in 0..unsafe { (calls.get_nfilters)(plist.id) }.max(0) {
            let (mut flags, mut none, mut config) = (0, 0usize, 0);
            // SAFETY: memory for what is asked: no parameters, no name.
            let filter = unsafe {
                (calls.get_filter)(
                    plist.id,
                    i as u32,
                    &mut flags,
                    &mut none,
                    std::ptr::null_mut(),
                    0,
                    std::ptr::null_mut(),
                    &mut config,
                )
            };
            check(filter, "filters")?;
            filters.push(filter_name(filter as u16).to_owned());
        }
        Ok((Some(chunks), filters))
    }

    /// The dataset with a cache of `cache` bytes.
    fn cached(&self, name: &std::ffi::CStr, cache: u64, chunk: u64) -> Result<Handle> {
        let calls = &self.calls;
        let plist = with_cache(calls, cache, chunk)?;
        // SAFETY: an open file, a string that ends with zero, open properties.
        let id = unsafe { (calls.data_open)(self.file.id, name.as_ptr(), plist.id) };
        Handle::new(calls, id, calls.data_close, "opening a dataset")
    }
}

/// Properties of a dataset with a cache of `cache` bytes, and a table with a hundred slots a chunk, as HDF5 advises.
fn with_cache(calls: &Rc<Calls>, cache: u64, chunk: u64) -> Result<Handle> {
    let class = calls.number("H5P_CLS_DATASET_ACCESS_ID_g")?;
    // SAFETY: a class of properties.
    let plist = Handle::new(calls, unsafe { (calls.plist_create)(class) }, calls.plist_close, "properties")?;
    let slots = ((cache / chunk.max(1)).max(1).saturating_mul(100)).clamp(1009, 2_000_003) | 1;
    // SAFETY: open properties and plain numbers.
    let code = unsafe { (calls.set_chunk_cache)(plist.id, slots as usize, cache as usize, 0.75) };
    check(code, "the chunk cache")?;
    Ok(plist)
}

impl Session for Hdf5Session {
    fn format(&self) -> String {
        "HDF5".to_owned()
    }

    fn variables(&self) -> Vec<VarInfo> {
        self.vars.iter().map(|v| v.info.clone()).collect()
    }

    fn read(&mut self, var: &str, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let wanted = var.trim_start_matches('/');
        let found = self.vars.iter().find(|v| v.info.name.trim_start_matches('/') == wanted);
        let v = found.ok_or_else(|| Error::NotFound { kind: "numeric dataset", name: var.to_owned() })?;
        slab.check(&v.info.shape, var)?;
        if out.len() as u64 != slab.len().saturating_mul(v.info.size as u64) {
            return Err(Error::Misfit(format!("the selection of `{var}` does not fit its destination")));
        }
        let (file, memory) = select(&self.calls, &v.data, slab)?;
        move_block(out, |out| {
            // SAFETY: an open dataset, the type of its values in memory, selections of as many values as fit into `out`.
            unsafe {
                (self.calls.data_read)(v.data.id, v.dtype, memory.id, file.id, 0, out.as_mut_ptr().cast())
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_said() {
        let e = Hdf5Driver::load(Path::new("/nowhere/libhdf5.so")).unwrap_err().to_string();
        assert!(e.contains("/nowhere/libhdf5.so"), "{e}");
    }
}
