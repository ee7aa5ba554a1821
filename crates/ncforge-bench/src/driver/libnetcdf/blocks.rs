//! Blocks by netCDF-C: serial, or parallel through MPI where the library was built for that.

use std::ffi::{CString, c_int};
use std::path::Path;
use std::rc::Rc;

use ncforge::{Format, Hyperslab};

use super::calls::Calls;
use super::{LibnetcdfDriver, check};
use crate::driver::{Access, BlockFile, ChunkAsk, FileSpec, MARK};
use crate::error::{Error, Result};

const NC_NOWRITE: c_int = 0;
const NC_WRITE: c_int = 1;
const NC_CLOBBER: c_int = 0;
const NC_64BIT_DATA: c_int = 0x20;
const NC_CLASSIC_MODEL: c_int = 0x100;
const NC_64BIT_OFFSET: c_int = 0x200;
const NC_NETCDF4: c_int = 0x1000;
const NC_NOFILL: c_int = 0x100;
const NC_FILL: c_int = 0;
const NC_CHUNKED: c_int = 0;
const NC_GLOBAL: c_int = -1;
const NC_COLLECTIVE: c_int = 1;
const NC_INDEPENDENT: c_int = 0;

pub(super) fn refuses(driver: &LibnetcdfDriver, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
    if let Some(why) = spec.representable() {
        return Some(why);
    }
    for (v, var) in spec.vars.iter().enumerate() {
        let ChunkAsk::Lens(chunks) = &var.chunks else { continue };
        for ((&c, &n), &d) in chunks.iter().zip(&spec.shape(v)).zip(&var.dims) {
            if c > n && !spec.dims[d].unlimited {
                return Some(format!(
                    "a chunk length of {c} along `{}`, whose length is {n}",
                    spec.dims[d].name
                ));
            }
        }
    }
    let Access::Shared { team, collective, .. } = access else { return None };
    if team.size() == 1 {
        return None;
    }
    let independent = !collective;
    if independent && (0..spec.vars.len()).any(|v| spec.is_unlimited(v)) && !spec.format.is_classic() {
        return Some(
            "netCDF-C extends unlimited dimensions by collective calls only; take --io-type coll".into(),
        );
    }
    if independent && spec.vars.iter().any(|v| v.deflate > 0) {
        return Some(
            "netCDF-C writes compressed variables by collective calls only; take --io-type coll".into(),
        );
    }
    if team.mpi().is_none() {
        return Some(format!(
            "{} writes one file from several processes only through MPI; start the command by mpiexec, or take --io-type file",
            super::Driver::name(driver)
        ));
    }
    if let Some(family) = team.mpi().and_then(crate::team::MpiTeam::foreign_family) {
        return Some(format!(
            "{} was built for {family}, the job runs under {}; start it by the launcher of {family}",
            super::Driver::name(driver),
            team.kind()
        ));
    }
    if driver.calls.parallel.is_none() {
        return Some(format!(
            "{} is a serial build of netCDF-C; name a parallel one by --library (Debian: libnetcdf_pnetcdf.so.19 of the package libnetcdf-pnetcdf-19)",
            super::Driver::name(driver)
        ));
    }
    None
}

struct Blocks {
    calls: Rc<Calls>,
    ncid: c_int,
    vars: Vec<c_int>,
    open: bool,
    /// Room for starts and counts, so that a call allocates nothing.
    start: Vec<usize>,
    count: Vec<usize>,
}

impl Drop for Blocks {
    fn drop(&mut self) {
        if self.open {
            // SAFETY: an open file that nobody uses again. Closing a shared one could wait for ranks that are gone.
            unsafe { (self.calls.abort)(self.ncid) };
        }
    }
}

fn c_string(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::Invalid(format!("`{text}` holds a zero byte")))
}

pub(super) fn create<'a>(
    driver: &LibnetcdfDriver,
    path: &Path,
    spec: &FileSpec,
    access: &Access<'a>,
) -> Result<Box<dyn BlockFile + 'a>> {
    let calls = &driver.calls;
    let name = c_string(&path.to_string_lossy())?;
    let mode = NC_CLOBBER
        | match spec.format {
            Format::Cdf1 => 0,
            Format::Cdf2 => NC_64BIT_OFFSET,
            Format::Cdf5 => NC_64BIT_DATA,
            Format::Netcdf4 => NC_NETCDF4,
            Format::Netcdf4Classic => NC_NETCDF4 | NC_CLASSIC_MODEL,
        };
    let mut ncid = 0;
    let parallel = parallel(driver, access)?;
    // SAFETY: a string that ends with zero, room for one number; handles as MPI gave them.
    let code = unsafe {
        match &parallel {
            Some(p) => (p.calls.create_par)(name.as_ptr(), mode, p.comm, p.info, &mut ncid),
            None => (calls.create)(name.as_ptr(), mode, &mut ncid),
        }
    };
    check(calls, code, &format!("cannot create `{}`", path.display()))?;
    let mut file = Blocks {
        calls: Rc::clone(calls),
        ncid,
        vars: Vec::new(),
        open: true,
        start: Vec::new(),
        count: Vec::new(),
    };
    file.define(spec)?;
    if let Some(p) = parallel {
        file.set_access(&p, access.is_collective())?;
    }
    Ok(Box::new(file))
}

/// Opens a file for reading, or to `write` into it, too.
pub(super) fn open<'a>(
    driver: &LibnetcdfDriver,
    path: &Path,
    spec: &FileSpec,
    access: &Access<'a>,
    write: bool,
) -> Result<Box<dyn BlockFile + 'a>> {
    let calls = &driver.calls;
    let name = c_string(&path.to_string_lossy())?;
    let mut ncid = 0;
    let mode = if write { NC_WRITE } else { NC_NOWRITE };
    let parallel = match parallel(driver, access) {
        // Reading needs no word among ranks: a serial build does it too, where the ranks are not an MPI job.
        Err(_) if !write => None,
        other => other?,
    };
    // SAFETY: as above.
    let code = unsafe {
        match &parallel {
            Some(p) => (p.calls.open_par)(name.as_ptr(), mode, p.comm, p.info, &mut ncid),
            None => (calls.open)(name.as_ptr(), mode, &mut ncid),
        }
    };
    check(calls, code, &format!("cannot open `{}`", path.display()))?;
    let mut file = Blocks {
        calls: Rc::clone(calls),
        ncid,
        vars: Vec::new(),
        open: true,
        start: Vec::new(),
        count: Vec::new(),
    };
    for (v, var) in spec.vars.iter().enumerate() {
        let mut id = 0;
        let name = c_string(&var.name)?;
        // SAFETY: an open file, a string that ends with zero, room for one number.
        let code = unsafe { (calls.inq_varid)(ncid, name.as_ptr(), &mut id) };
        check(calls, code, &format!("variable `{}`", var.name))?;
        let grows: Vec<bool> = var.dims.iter().map(|&d| write && spec.dims[d].unlimited).collect();
        file.check_shape(id, &spec.shape(v), &grows, var.dtype as c_int, &var.name)?;
        file.vars.push(id);
    }
    if write && !spec.fill && spec.format.is_classic() {
        let mut old = 0;
        // SAFETY: an open file, room for one number.
        file.check(unsafe { (calls.set_fill)(ncid, NC_NOFILL, &mut old) }, "fill mode")?;
    }
    if let Some(p) = parallel {
        file.set_access(&p, access.is_collective())?;
    }
    Ok(Box::new(file))
}

/// What a parallel call needs.
struct Parallel {
    calls: super::calls::ParallelCalls,
    comm: usize,
    info: usize,
}

fn parallel(driver: &LibnetcdfDriver, access: &Access<'_>) -> Result<Option<Parallel>> {
    let Some(team) = access.several() else { return Ok(None) };
    let (Some(mpi), Some(calls)) = (team.mpi(), driver.calls.parallel) else {
        return Err(Error::Missing(format!("{} cannot share a file here", super::Driver::name(driver))));
    };
    Ok(Some(Parallel { calls, comm: mpi.world(), info: mpi.info_null() }))
}

impl Blocks {
    fn check(&self, code: c_int, what: &str) -> Result<()> {
        check(&self.calls, code, what)
    }

    fn define(&mut self, spec: &FileSpec) -> Result<()> {
        let c = Rc::clone(&self.calls);
        let ncid = self.ncid;
        let mut old = 0;
        let fill = if spec.fill { NC_FILL } else { NC_NOFILL };
        // In all calls below: an open file in define mode, strings that end with zero, arrays as long as said.
        // SAFETY: see above.
        self.check(unsafe { (c.set_fill)(ncid, fill, &mut old) }, "fill mode")?;
        let (mark, text) = (c_string(MARK)?, "blocks");
        // SAFETY: see above.
        let code =
            unsafe { (c.put_att_text)(ncid, NC_GLOBAL, mark.as_ptr(), text.len(), text.as_ptr().cast()) };
        self.check(code, "an attribute")?;
        let mut dims = Vec::new();
        for dim in &spec.dims {
            let mut id = 0;
            let name = c_string(&dim.name)?;
            let len = if dim.unlimited { 0 } else { dim.len as usize };
            // SAFETY: see above.
            let code = unsafe { (c.def_dim)(ncid, name.as_ptr(), len, &mut id) };
            self.check(code, &format!("dimension `{}`", dim.name))?;
            dims.push(id);
        }
        for var in &spec.vars {
            let mut id = 0;
            let name = c_string(&var.name)?;
            let ids: Vec<c_int> = var.dims.iter().map(|&d| dims[d]).collect();
            let rank = ids.len() as c_int;
            // SAFETY: see above.
            let code =
                unsafe { (c.def_var)(ncid, name.as_ptr(), var.dtype as c_int, rank, ids.as_ptr(), &mut id) };
            self.check(code, &format!("variable `{}`", var.name))?;
            if let ChunkAsk::Lens(lens) = &var.chunks {
                let lens: Vec<usize> = lens.iter().map(|&n| n as usize).collect();
                // SAFETY: see above.
                self.check(unsafe { (c.def_var_chunking)(ncid, id, NC_CHUNKED, lens.as_ptr()) }, "chunks")?;
            }
            if var.deflate > 0 {
                let shuffle = c_int::from(var.shuffle);
                // SAFETY: see above.
                let code = unsafe { (c.def_var_deflate)(ncid, id, shuffle, 1, var.deflate as c_int) };
                self.check(code, "deflate")?;
            }
            self.vars.push(id);
        }
        // SAFETY: see above.
        self.check(unsafe { (c.enddef)(ncid) }, "the end of the definitions")
    }

    fn set_access(&self, p: &Parallel, collective: bool) -> Result<()> {
        let mode = if collective { NC_COLLECTIVE } else { NC_INDEPENDENT };
        for &var in &self.vars {
            // SAFETY: an open file and plain numbers.
            let code = unsafe { (p.calls.var_par_access)(self.ncid, var, mode) };
            self.check(code, "the kind of parallel access")?;
        }
        Ok(())
    }

    /// An error unless a variable has this type and shape; along dimensions that grow it may still be shorter.
    fn check_shape(&self, id: c_int, shape: &[u64], grows: &[bool], dtype: c_int, name: &str) -> Result<()> {
        let c = &self.calls;
        let (mut there, mut rank) = (0, 0);
        let null = std::ptr::null_mut::<c_int>();
        // SAFETY: an open variable, room for two numbers, null for what is not asked.
        let code = unsafe {
            (c.inq_var)(self.ncid, id, null.cast(), &mut there, &mut rank, null.cast(), null.cast())
        };
        self.check(code, name)?;
        let mut dims = vec![0; rank.max(0) as usize];
        // SAFETY: room for as many dimensions as the variable has.
        self.check(unsafe { (c.inq_vardimid)(self.ncid, id, dims.as_mut_ptr()) }, name)?;
        let mut lens = Vec::with_capacity(dims.len());
        for dim in dims {
            let mut len = 0usize;
            // SAFETY: a dimension of this file, room for one number.
            self.check(unsafe { (c.inq_dimlen)(self.ncid, dim, &mut len) }, name)?;
            lens.push(len as u64);
        }
        let fits = |d: usize| lens[d] == shape[d] || (grows[d] && lens[d] < shape[d]);
        if lens.len() != shape.len() || !(0..lens.len()).all(fits) || there != dtype {
            return Err(Error::Unreadable(format!(
                "`{name}` in the file is {lens:?} of type {there}, not {shape:?} of type {dtype}"
            )));
        }
        Ok(())
    }

    fn place(&mut self, slab: &Hyperslab) {
        self.start.clear();
        self.start.extend(slab.start.iter().map(|&n| n as usize));
        self.count.clear();
        self.count.extend(slab.count.iter().map(|&n| n as usize));
    }
}

impl BlockFile for Blocks {
    fn write(&mut self, var: usize, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        self.place(slab);
        // SAFETY: the file's variables were defined with the type and the rank of the caller's blocks; the library
        // checks the selection; `bytes` holds its values.
        let code = unsafe {
            (self.calls.put_vara)(
                self.ncid,
                self.vars[var],
                self.start.as_ptr(),
                self.count.as_ptr(),
                bytes.as_ptr().cast(),
            )
        };
        self.check(code, "writing a block")
    }

    fn read(&mut self, var: usize, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.place(slab);
        // SAFETY: as above; `out` has room for the selection's values.
        let code = unsafe {
            (self.calls.get_vara)(
                self.ncid,
                self.vars[var],
                self.start.as_ptr(),
                self.count.as_ptr(),
                out.as_mut_ptr().cast(),
            )
        };
        self.check(code, "reading a block")
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        self.open = false;
        // SAFETY: an open file, not used again.
        let code = unsafe { (self.calls.close)(self.ncid) };
        self.check(code, "closing")
    }
}
