//! Blocks by netCDF-C: serial, or parallel through MPI where the library was built for that.

use std::ffi::{CString, c_int};
use std::path::Path;
use std::rc::Rc;

use ncforge::codec::filter_name;
use ncforge::codec::filters::{DEFLATE, SHUFFLE};
use ncforge::codec::quantize::Quantize;
use ncforge::model::Filter;
use ncforge::{Atomic, Format, Hyperslab};

use super::calls::{Calls, FilterAvailable, ParallelCalls};
use crate::c_string::c_string;
use crate::driver::blocks::Kind;
use crate::driver::coding::plugin_parameters;
use crate::driver::steps::Steps;
use crate::driver::zarr;
use crate::driver::{Access, BlockFile, ChunkAsk, FileSpec, MARK, Opened, Rounding, parallel_builds};
use crate::error::{Error, Result};

const NC_NOWRITE: c_int = 0;
const NC_CLOBBER: c_int = 0;
const NC_64BIT_DATA: c_int = 0x20;
const NC_CLASSIC_MODEL: c_int = 0x100;
const NC_64BIT_OFFSET: c_int = 0x200;
const NC_NETCDF4: c_int = 0x1000;
const NC_DISKLESS: c_int = 0x8;
const NC_NOFILL: c_int = 0x100;
const NC_FILL: c_int = 0;
const NC_CHUNKED: c_int = 0;
const NC_GLOBAL: c_int = -1;
const NC_COLLECTIVE: c_int = 1;
const NC_INDEPENDENT: c_int = 0;

pub(super) fn refuses(calls: &Rc<Calls>, name: &str, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
    if let Some(why) = spec.representable() {
        return Some(why);
    }
    // Of a store, the library itself is asked.
    let lacking = if spec.zarr { cannot_be_a_store(calls, name, spec) } else { lacks(calls, name, spec) };
    if lacking.is_some() {
        return lacking;
    }
    if let ChunkAsk::Lens(chunks) = &spec.var.chunks
        && let Some(why) = spec.chunks_too_long(chunks)
    {
        return Some(why);
    }
    let Access::Shared { team, collective, .. } = access else { return None };
    if team.size() == 1 {
        return None;
    }
    if spec.zarr {
        return Some(
            "netCDF-C writes a Zarr store from one process only; take --io-type file, which gives each rank its own".into(),
        );
    }
    let independent = !collective;
    if independent && spec.is_unlimited() && !spec.format.is_classic() {
        return Some(
            "netCDF-C extends unlimited dimensions by collective calls only; take --io-type coll".into(),
        );
    }
    if independent && spec.var.coding.is_filtered() {
        return Some(
            "netCDF-C writes compressed variables by collective calls only; take --io-type coll".into(),
        );
    }
    if team.mpi().is_none() {
        return Some(format!(
            "{name} writes one file from several processes only through MPI; start the command by mpiexec, or take --io-type file",
        ));
    }
    if let Some(family) = team.mpi().and_then(crate::team::MpiJob::foreign_family) {
        return Some(format!(
            "{} was built for {family}, the job runs under {}; start it by the launcher of {family}",
            name,
            team.kind()
        ));
    }
    let mpi = team.mpi()?;
    let serial = calls.parallel.is_none_or(|p| is_stub(calls, p, [mpi.world(), mpi.info()]));
    serial.then(|| {
        let here = parallel_builds();
        let which = match here.first() {
            Some(path) => format!("name a parallel one: --library {}", path.display()),
            None => "name a parallel one by --library (Debian: libnetcdf_pnetcdf.so.19 of the package libnetcdf-pnetcdf-19)".into(),
        };
        format!("{name} is a serial build of netCDF-C; {which}")
    })
}

/// Whether `nc_create_par` is there, but only gives an error: so in serial builds. With a file in memory parallel ones refuse it as
/// well, before they use MPI, with another number.
fn is_stub(calls: &Calls, parallel: ParallelCalls, [comm, info]: [usize; 2]) -> bool {
    const NC_ENOPAR: c_int = -114;
    let mut ncid = 0;
    // SAFETY: a string that ends with zero, handles as MPI gave them, memory for one number; the file is never on disk, and is
    // closed once. All ranks make the call.
    unsafe {
        let name = c"ncforge-bench-probe.nc";
        let code = (parallel.create_par)(name.as_ptr(), NC_NETCDF4 | NC_DISKLESS, comm, info, &mut ncid);
        if code == 0 {
            (calls.abort)(ncid);
        }
        code == NC_ENOPAR
    }
}

/// The missing feature for values of this specification, if there is one.
fn lacks(c: &Calls, name: &str, spec: &FileSpec) -> Option<String> {
    if spec.var.coding.rounding.is_some() && c.optional.def_var_quantize.is_none() {
        return Some(format!("{name} does not quantize values: netCDF-C can since 4.9.0"));
    }
    let own = |f: &Filter| f.id == SHUFFLE || f.id == DEFLATE;
    let all: Vec<Filter> = spec.filters().into_iter().filter(|f| !own(f)).collect();
    if all.is_empty() {
        return None;
    }
    let missing = match (c.optional.def_var_filter, c.optional.inq_filter_avail) {
        (Some(_), Some(available)) => all.iter().find(|f| !has_filter(c, available, f.id)),
        _ => all.first(),
    }?;
    Some(format!(
        "this build has no filter {} ({}); HDF5_PLUGIN_PATH names folders with plug-ins, which netCDF-C takes since 4.9.0",
        filter_name(missing.id),
        missing.id
    ))
}

/// The reason why this build cannot make such a Zarr store: one with these definitions, and no values, is begun where temporary files go.
fn cannot_be_a_store(calls: &Rc<Calls>, name: &str, spec: &FileSpec) -> Option<String> {
    let begun = || -> Result<Option<String>> {
        let folder = tempfile::Builder::new().prefix("ncforge-bench-").tempdir();
        let folder = folder.map_err(|e| Error::place("make a folder in", &std::env::temp_dir(), e))?;
        let path = folder.path().join("probe.zarr");
        create(calls, &path, spec, &Access::Alone)?.close()?;
        // Filters that it does not have may be dropped without a word.
        let stored = zarr::stored(&path, &spec.var.name).map_or(0, |s| s.filters.len());
        Ok((stored < spec.filters().len()).then(|| "it leaves the compression out".to_owned()))
    };
    let why = match begun() {
        Ok(None) => return None,
        Ok(Some(why)) => why,
        Err(e) => e.to_string(),
    };
    Some(format!(
        "{name} cannot make such a Zarr store ({why}): netCDF-C can since 4.8, where it is built with NCZarr; it compresses where it finds plug-ins for Zarr, too",
    ))
}

/// The name under which the library knows a file.
fn known_as(path: &Path, spec: &FileSpec) -> Result<CString> {
    match spec.zarr {
        true => c_string(zarr::url(path)?),
        false => c_string(path),
    }
}

/// Whether a build can write chunks with a filter. It answers for a file that is open: here one in memory.
fn has_filter(calls: &Calls, available: FilterAvailable, id: u16) -> bool {
    let mut ncid = 0;
    // SAFETY: a string that ends with zero, memory for one number; the file is never on disk, and is closed once.
    unsafe {
        let name = c"ncforge-bench-probe.nc";
        if (calls.create)(name.as_ptr(), NC_NETCDF4 | NC_DISKLESS, &mut ncid) != 0 {
            return false;
        }
        let found = available(ncid, id.into()) == 0;
        (calls.abort)(ncid);
        found
    }
}

struct Blocks {
    calls: Rc<Calls>,
    ncid: c_int,
    /// The variable, once it is defined or found.
    var: c_int,
    kind: Kind,
    open: bool,
    steps: Steps,
    /// Memory for starts and counts, so that a call allocates nothing.
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

pub(super) fn create<'a>(calls: &Rc<Calls>, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
    let name = known_as(path, spec)?;
    let mode = NC_CLOBBER
        | match spec.format {
            Format::Cdf1 => 0,
            Format::Cdf2 => NC_64BIT_OFFSET,
            Format::Cdf5 => NC_64BIT_DATA,
            Format::Netcdf4 => NC_NETCDF4,
            Format::Netcdf4Classic => NC_NETCDF4 | NC_CLASSIC_MODEL,
        };
    let mut ncid = 0;
    let parallel = parallel(calls, access)?;
    let mut steps = Steps::begin();
    // SAFETY: a string that ends with zero, memory for one number; handles as MPI gave them.
    let code = unsafe {
        match &parallel {
            Some(p) => (p.calls.create_par)(name.as_ptr(), mode, p.comm, p.info, &mut ncid),
            None => (calls.create)(name.as_ptr(), mode, &mut ncid),
        }
    };
    steps.end("create");
    calls.check(code, &format!("cannot create `{}`", path.display()))?;
    let mut file = Blocks::begin(calls, ncid, steps, spec);
    file.define(spec)?;
    if let Some(p) = parallel {
        file.set_access(&p, access.is_collective())?;
    }
    Ok(Box::new(file))
}

/// Opens a file for reading.
pub(super) fn open<'a>(calls: &Rc<Calls>, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
    let name = known_as(path, spec)?;
    let mut ncid = 0;
    let mode = NC_NOWRITE;
    let mut steps = Steps::begin();
    // Reading needs no word among ranks: a serial build does it too, where the ranks are not an MPI job.
    let parallel = parallel(calls, access).unwrap_or_default();
    // SAFETY: as above.
    let code = unsafe {
        match &parallel {
            Some(p) => (p.calls.open_par)(name.as_ptr(), mode, p.comm, p.info, &mut ncid),
            None => (calls.open)(name.as_ptr(), mode, &mut ncid),
        }
    };
    steps.end("open");
    calls.check(code, &format!("cannot open `{}`", path.display()))?;
    let mut file = Blocks::begin(calls, ncid, steps, spec);
    let var = &spec.var.name;
    let name = c_string(var)?;
    // SAFETY: an open file, a string that ends with zero, memory for one number.
    let code = unsafe { (calls.inq_varid)(ncid, name.as_ptr(), &mut file.var) };
    calls.check(code, &format!("variable `{var}`"))?;
    let (shape, dtype) = calls.shape_and_type(ncid, file.var, var)?;
    spec.admits(&shape, u32::try_from(dtype).ok().and_then(Atomic::from_code))?;
    if let Some(p) = parallel {
        file.set_access(&p, access.is_collective())?;
    }
    file.steps.end("inquire");
    Ok(Box::new(file))
}

/// The functions of parallel access.
struct Parallel {
    calls: ParallelCalls,
    comm: usize,
    info: usize,
}

fn parallel(calls: &Calls, access: &Access<'_>) -> Result<Option<Parallel>> {
    let Some(team) = access.several() else { return Ok(None) };
    let found = team.mpi().zip(calls.parallel);
    let found = found.map(|(mpi, calls)| Parallel { calls, comm: mpi.world(), info: mpi.info() });
    match found.filter(|p| !is_stub(calls, p.calls, [p.comm, p.info])) {
        Some(parallel) => Ok(Some(parallel)),
        None => Err(Error::Missing("this build of netCDF-C cannot share a file here".into())),
    }
}

impl Blocks {
    /// A file that was just created or opened, its variable still to come.
    fn begin(calls: &Rc<Calls>, ncid: c_int, steps: Steps, spec: &FileSpec) -> Self {
        Blocks {
            calls: Rc::clone(calls),
            ncid,
            var: -1,
            kind: Kind::of(spec),
            open: true,
            steps,
            start: Vec::new(),
            count: Vec::new(),
        }
    }

    fn define(&mut self, spec: &FileSpec) -> Result<()> {
        let c = Rc::clone(&self.calls);
        let ncid = self.ncid;
        let mut old = 0;
        let fill = if spec.fill { NC_FILL } else { NC_NOFILL };
        // In all calls below: an open file in define mode, strings that end with zero, arrays as long as said.
        // SAFETY: see above.
        self.calls.check(unsafe { (c.set_fill)(ncid, fill, &mut old) }, "fill mode")?;
        let (mark, text) = (c_string(MARK)?, "blocks");
        // SAFETY: see above.
        let code =
            unsafe { (c.put_att_text)(ncid, NC_GLOBAL, mark.as_ptr(), text.len(), text.as_ptr().cast()) };
        self.calls.check(code, "an attribute")?;
        let mut dims = Vec::new();
        for dim in &spec.dims {
            let mut id = 0;
            let name = c_string(&dim.name)?;
            let len = if dim.unlimited { 0 } else { dim.len as usize };
            // SAFETY: see above.
            let code = unsafe { (c.def_dim)(ncid, name.as_ptr(), len, &mut id) };
            self.calls.check(code, &format!("dimension `{}`", dim.name))?;
            dims.push(id);
        }
        let var = &spec.var;
        let name = c_string(&var.name)?;
        let (rank, mut id) = (dims.len() as c_int, 0);
        // SAFETY: see above.
        let code =
            unsafe { (c.def_var)(ncid, name.as_ptr(), var.dtype as c_int, rank, dims.as_ptr(), &mut id) };
        self.calls.check(code, &format!("variable `{}`", var.name))?;
        if let ChunkAsk::Lens(lens) = &var.chunks {
            let lens: Vec<usize> = lens.iter().map(|&n| n as usize).collect();
            // SAFETY: see above.
            let code = unsafe { (c.def_var_chunking)(ncid, id, NC_CHUNKED, lens.as_ptr()) };
            self.calls.check(code, "chunks")?;
        }
        self.code(spec, id)?;
        self.var = id;
        self.steps.end("define");
        // SAFETY: see above.
        let code = unsafe { (c.enddef)(ncid) };
        self.steps.end("enddef");
        self.calls.check(code, "the end of the definitions")
    }

    /// Filters, quantization of a variable that was just defined.
    fn code(&self, spec: &FileSpec, id: c_int) -> Result<()> {
        let (c, ncid) = (&self.calls, self.ncid);
        let mut filters = spec.filters().into_iter().peekable();
        while let Some(filter) = filters.next() {
            let shuffled = filter.id == SHUFFLE;
            let code = if shuffled || filter.id == DEFLATE {
                let deflate = if shuffled { filters.next_if(|f| f.id == DEFLATE) } else { Some(filter) };
                let level = deflate.as_ref().and_then(|f| f.params.first()).map_or(0, |&n| n as c_int);
                let (shuffle, deflate) = (c_int::from(shuffled), c_int::from(deflate.is_some()));
                // SAFETY: as above.
                unsafe { (c.def_var_deflate)(ncid, id, shuffle, deflate, level) }
            } else {
                let params = plugin_parameters(&filter);
                let Some(define) = c.optional.def_var_filter else {
                    return Err(Error::Library("netCDF-C: this build defines no filters".into()));
                };
                // SAFETY: as above; as many numbers as the call says.
                unsafe { define(ncid, id, filter.id.into(), params.len(), params.as_ptr()) }
            };
            self.calls.check(code, "filters")?;
        }
        if let (Some(Rounding(how)), Some(define)) = (spec.var.coding.rounding, c.optional.def_var_quantize) {
            let mode = match how {
                Quantize::BitGroom(_) => 1,
                Quantize::GranularBitRound(_) => 2,
                Quantize::BitRound(_) => 3,
            };
            // SAFETY: an open file in define mode, a variable of it.
            self.calls.check(unsafe { define(ncid, id, mode, how.kept() as c_int) }, "quantization")?;
        }
        Ok(())
    }

    fn set_access(&self, p: &Parallel, collective: bool) -> Result<()> {
        let mode = if collective { NC_COLLECTIVE } else { NC_INDEPENDENT };
        // SAFETY: an open file and plain numbers.
        let code = unsafe { (p.calls.var_par_access)(self.ncid, self.var, mode) };
        self.calls.check(code, "the kind of parallel access")
    }

    fn place(&mut self, slab: &Hyperslab) {
        self.start.clear();
        self.start.extend(slab.start.iter().map(|&n| n as usize));
        self.count.clear();
        self.count.extend(slab.count.iter().map(|&n| n as usize));
    }
}

impl BlockFile for Blocks {
    fn write(&mut self, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        self.kind.check(slab, bytes.len())?;
        self.place(slab);
        let (start, count) = (self.start.as_ptr(), self.count.as_ptr());
        // SAFETY: an open file and a variable of the described type and rank; as many starts and counts; the library checks the
        // selection, and `bytes` holds its values.
        let code = unsafe { (self.calls.put_vara)(self.ncid, self.var, start, count, bytes.as_ptr().cast()) };
        self.calls.check(code, "writing a block")
    }

    fn read(&mut self, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.kind.check(slab, out.len())?;
        self.place(slab);
        let (start, count) = (self.start.as_ptr(), self.count.as_ptr());
        // SAFETY: as above; the selection's values fit into `out`.
        let code =
            unsafe { (self.calls.get_vara)(self.ncid, self.var, start, count, out.as_mut_ptr().cast()) };
        self.calls.check(code, "reading a block")
    }

    fn steps(&self) -> &[(&'static str, f64)] {
        self.steps.all()
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        self.open = false;
        // SAFETY: an open file, not used again.
        let code = unsafe { (self.calls.close)(self.ncid) };
        self.calls.check(code, "closing")
    }
}
