//! Any netCDF-C library on the machine as a driver, loaded while the program runs.
//!
//! The library is opened with its symbols hidden from others, so that several builds (and the HDF5 that each brings) can
//! be measured in one run. netCDF-C is not thread-safe: a session must stay on the thread that opened it, and
//! two sessions of one library are not used at the same time.

mod blocks;
mod calls;

use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ncforge::model::shape;
use ncforge::{Atomic, Hyperslab};
use ncforge_tune::keep::next_prime;

use self::calls::Calls;
use super::{Access, Driver, FileSpec, Opened, Session, VarInfo};
use crate::c_string::c_string;
use crate::error::{Error, Result};

/// The library in Linux distributions and conda, by the name that the loader looks up.
const USUAL: [&str; 3] = ["libnetcdf.so.19", "libnetcdf.so.22", "libnetcdf.so"];
/// Longest name of an object (`NC_MAX_NAME`), with the zero behind it.
const NAME: usize = 257;
const NC_NETCDF4: [c_int; 2] = [3, 4];

/// A netCDF-C library.
#[derive(Clone, Debug)]
pub struct LibnetcdfDriver {
    calls: Rc<Calls>,
    name: String,
}

/// A library's default chunk cache.
#[derive(Clone, Debug, PartialEq)]
pub struct DefaultCache {
    /// The library's version.
    pub version: String,
    /// Bytes.
    pub size: u64,
    /// Slots.
    pub slots: u64,
    /// Preemption.
    pub preemption: f64,
}

impl LibnetcdfDriver {
    /// Loads the library at a path, or of a name that the system's loader finds.
    ///
    /// # Errors
    /// [`Error::Invalid`] when it cannot be loaded, or lacks a function of netCDF-C 4.
    pub fn load(path: &Path) -> Result<Self> {
        let calls = Calls::load(path)?;
        let mut name = "netcdf-c".to_owned();
        if path.components().count() > 1 {
            name = path.display().to_string();
        }
        Ok(Self { calls: Rc::new(calls), name })
    }

    /// The library that the system's loader finds under one of the usual names, if there is one.
    pub fn find() -> Option<Self> {
        USUAL.iter().find_map(|name| Self::load(&PathBuf::from(name)).ok())
    }

    /// The cache that the library gives to every variable without another request.
    pub fn default_cache(&self) -> Option<DefaultCache> {
        let (mut size, mut slots, mut preemption) = (0usize, 0usize, 0.0f32);
        // SAFETY: memory for the three numbers that the function sets.
        let code =
            unsafe { (self.calls.get_chunk_cache)(&raw mut size, &raw mut slots, &raw mut preemption) };
        (code == 0).then(|| DefaultCache {
            version: self.version(),
            size: size as u64,
            slots: slots as u64,
            // As people write it, not as the nearest float is.
            preemption: (f64::from(preemption) * 1e6).round() / 1e6,
        })
    }
}

impl Driver for LibnetcdfDriver {
    fn name(&self) -> &str {
        &self.name
    }

    fn version(&self) -> String {
        // SAFETY: the library's own text, which lives as long as it.
        let text = unsafe { CStr::from_ptr((self.calls.inq_libvers)()) }.to_string_lossy();
        text.split_whitespace().next().unwrap_or("unknown").to_owned()
    }

    fn stands_on(&self) -> Vec<String> {
        self.calls.below()
    }

    fn open_cached(&self, path: &Path, cache: Option<u64>) -> Result<Box<dyn Session>> {
        let c_path = c_string(path)?;
        let mut ncid = 0;
        // SAFETY: a string that ends with zero, and memory for one number.
        let code = unsafe { (self.calls.open)(c_path.as_ptr(), 0, &mut ncid) };
        self.calls.check(code, &path.display().to_string())?;
        let mut session =
            LibnetcdfSession { calls: Rc::clone(&self.calls), ncid, vars: Vec::new(), format: 0 };
        // SAFETY: an open file, and memory for one number.
        session.calls.check(unsafe { (session.calls.inq_format)(ncid, &mut session.format) }, "format")?;
        session.walk(ncid, "")?;
        if let Some(bytes) = cache {
            session.set_cache(bytes)?;
        }
        Ok(Box::new(session))
    }

    fn refuses(&self, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
        blocks::refuses(&self.calls, &self.name, spec, access)
    }

    fn create<'a>(&self, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
        blocks::create(&self.calls, path, spec, access)
    }

    fn open_blocks<'a>(&self, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
        blocks::open(&self.calls, path, spec, access)
    }
}

struct LibnetcdfSession {
    calls: Rc<Calls>,
    ncid: c_int,
    format: c_int,
    vars: Vec<Found>,
}

/// A variable and how the library knows it.
struct Found {
    group: c_int,
    id: c_int,
    info: VarInfo,
    chunk_bytes: u64,
}

impl Drop for LibnetcdfSession {
    fn drop(&mut self) {
        // SAFETY: open until here, and never used again. A reader has nothing to lose by an error now.
        unsafe { (self.calls.close)(self.ncid) };
    }
}

impl LibnetcdfSession {
    /// Collects the numeric variables of a group and of those below it.
    fn walk(&mut self, group: c_int, prefix: &str) -> Result<()> {
        let mut count = 0;
        // SAFETY: an open group, and memory for one number.
        self.calls.check(unsafe { (self.calls.inq_nvars)(group, &mut count) }, "variables")?;
        for id in 0..count {
            if let Some(found) = self.variable(group, id, prefix)? {
                self.vars.push(found);
            }
        }
        if !NC_NETCDF4.contains(&self.format) {
            return Ok(());
        }
        let mut count = 0;
        // SAFETY: as the manual says, a null list asks for the number alone.
        let code = unsafe { (self.calls.inq_grps)(group, &mut count, std::ptr::null_mut()) };
        self.calls.check(code, "groups")?;
        let mut groups = vec![0; count.max(0) as usize];
        // SAFETY: memory for as many groups as were counted.
        let code = unsafe { (self.calls.inq_grps)(group, &mut count, groups.as_mut_ptr()) };
        self.calls.check(code, "groups")?;
        for inner in groups {
            let mut name = [0 as c_char; NAME];
            // SAFETY: memory for the longest name.
            let code = unsafe { (self.calls.inq_grpname)(inner, name.as_mut_ptr()) };
            self.calls.check(code, "a group's name")?;
            let path = format!("{prefix}/{}", text(&name));
            self.walk(inner, &path)?;
        }
        Ok(())
    }

    fn variable(&self, group: c_int, id: c_int, prefix: &str) -> Result<Option<Found>> {
        let calls = &self.calls;
        let mut name = [0 as c_char; NAME];
        // SAFETY: an open variable, memory for the longest name.
        self.calls.check(unsafe { (calls.inq_varname)(group, id, name.as_mut_ptr()) }, "a variable")?;
        let (shape, dtype) = calls.shape_and_type(group, id, "a variable")?;
        let Some(dtype) = u32::try_from(dtype).ok().and_then(Atomic::from_code) else { return Ok(None) };
        let size = dtype.size();
        let mut info = VarInfo {
            name: format!("{prefix}/{}", text(&name)),
            shape,
            size,
            chunks: None,
            filters: Vec::new(),
        };
        if NC_NETCDF4.contains(&self.format) && !info.shape.is_empty() {
            let mut storage = 0;
            let mut lens = vec![0usize; info.shape.len()];
            // SAFETY: memory for one length a dimension.
            let code = unsafe { (calls.inq_var_chunking)(group, id, &mut storage, lens.as_mut_ptr()) };
            self.calls.check(code, "chunks")?;
            if storage == 0 {
                info.chunks = Some(lens.iter().map(|&n| n as u64).collect());
            }
            let (mut shuffle, mut deflate, mut level) = (0, 0, 0);
            // SAFETY: memory for three numbers.
            let code = unsafe { (calls.inq_var_deflate)(group, id, &mut shuffle, &mut deflate, &mut level) };
            self.calls.check(code, "filters")?;
            if shuffle != 0 {
                info.filters.push("shuffle".to_owned());
            }
            if deflate != 0 {
                info.filters.push("deflate".to_owned());
            }
        }
        let chunk_bytes = info.chunks.as_ref().map_or(0, |c| shape::bytes(c, size as u64));
        Ok(Some(Found { group, id, info, chunk_bytes }))
    }

    /// Gives every chunked variable a cache of `bytes` bytes, with a table large enough that chunks do not push
    /// one another out of their slots (HDF5's advice: a hundred slots a chunk, a prime number).
    fn set_cache(&self, bytes: u64) -> Result<()> {
        for v in self.vars.iter().filter(|v| v.chunk_bytes > 0) {
            let slots = cache_slots(bytes, v.chunk_bytes);
            // SAFETY: an open variable and plain numbers.
            let code = unsafe {
                (self.calls.set_var_chunk_cache)(v.group, v.id, bytes as usize, slots as usize, PREEMPTION)
            };
            self.calls.check(code, "the chunk cache")?;
        }
        Ok(())
    }

    fn find(&self, var: &str) -> Result<&Found> {
        let wanted = var.trim_start_matches('/');
        self.vars
            .iter()
            .find(|v| v.info.name.trim_start_matches('/') == wanted)
            .ok_or_else(|| Error::NotFound { kind: "numeric variable", name: var.to_owned() })
    }
}

impl Session for LibnetcdfSession {
    fn format(&self) -> String {
        match self.format {
            1 => "classic",
            2 => "64-bit offset",
            3 => "netCDF-4",
            4 => "netCDF-4 classic model",
            5 => "cdf5",
            _ => "unknown",
        }
        .to_owned()
    }

    fn variables(&self) -> Vec<VarInfo> {
        self.vars.iter().map(|v| v.info.clone()).collect()
    }

    fn read(&mut self, var: &str, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let v = self.find(var)?;
        slab.check(&v.info.shape, var)?;
        if out.len() as u64 != slab.len().saturating_mul(v.info.size as u64) {
            return Err(Error::Misfit(format!("the selection of `{var}` does not fit its destination")));
        }
        let list = |v: &[u64]| -> Vec<usize> { v.iter().map(|&n| n as usize).collect() };
        let (start, count) = (list(&slab.start), list(&slab.count));
        let code = if slab.is_dense() {
            // SAFETY: the selection lies in the variable, and its values fit into `out` in their own type.
            unsafe {
                (self.calls.get_vara)(v.group, v.id, start.as_ptr(), count.as_ptr(), out.as_mut_ptr().cast())
            }
        } else {
            let stride: Vec<isize> = slab.stride.iter().map(|&n| n as isize).collect();
            // SAFETY: as above.
            unsafe {
                (self.calls.get_vars)(
                    v.group,
                    v.id,
                    start.as_ptr(),
                    count.as_ptr(),
                    stride.as_ptr(),
                    out.as_mut_ptr().cast(),
                )
            }
        };
        self.calls.check(code, var)
    }
}

fn text(name: &[c_char; NAME]) -> String {
    let bytes: Vec<u8> = name.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Chunks that were read to their end go first, more or less: HDF5's own default.
const PREEMPTION: f32 = 0.75;

/// Slots of a cache of `bytes` bytes: a hundred for each chunk in it, and a prime number, as HDF5 advises.
fn cache_slots(bytes: u64, chunk: u64) -> u64 {
    let held = (bytes / chunk.max(1)).max(1);
    next_prime((held.saturating_mul(100)).clamp(1009, 2_000_003))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_said() {
        let e = LibnetcdfDriver::load(Path::new("/nowhere/libnetcdf.so")).unwrap_err().to_string();
        assert!(e.contains("/nowhere/libnetcdf.so"), "{e}");
    }
}
