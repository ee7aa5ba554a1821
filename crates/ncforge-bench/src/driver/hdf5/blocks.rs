//! Blocks by libhdf5.

use std::ffi::c_int;
use std::path::Path;
use std::rc::Rc;

use ncforge::{Atomic, Hyperslab};

use super::calls::{Calls, Handle, Id, c_string, check};
use crate::driver::{Access, BlockFile, FileSpec, MARK};
use crate::error::{Error, Result};

/// `H5F_ACC_TRUNC`.
const TRUNCATE: u32 = 2;
/// `H5S_UNLIMITED`.
const UNLIMITED: u64 = u64::MAX;
/// `H5D_FILL_TIME_ALLOC`, `H5D_FILL_TIME_NEVER`.
const FILL: (c_int, c_int) = (0, 1);
/// `H5S_SELECT_SET`.
const SET: c_int = 0;

pub(super) fn refuses(spec: &FileSpec, access: &Access<'_>) -> Option<String> {
    if spec.format.is_classic() {
        return Some("classic files are no HDF5; take --format netcdf4".to_owned());
    }
    if access.several().is_some() {
        return Some(
            "several ranks cannot share a file here; take --io-type file, or a parallel netCDF-C library"
                .to_owned(),
        );
    }
    (0..spec.vars.len()).find_map(|v| {
        let (chunks, shape) = (spec.chunks(v)?, spec.shape(v));
        let d =
            (0..shape.len()).find(|&d| chunks[d] > shape[d] && !spec.dims[spec.vars[v].dims[d]].unlimited)?;
        let name = &spec.dims[spec.vars[v].dims[d]].name;
        Some(format!("a chunk length of {} along `{name}`, whose length is {}", chunks[d], shape[d]))
    })
}

/// The library's name for the type of values in memory, which here is also that in the file.
fn type_of(calls: &Calls, dtype: Atomic) -> Result<Id> {
    calls.number(match dtype {
        Atomic::Byte | Atomic::Char => "H5T_NATIVE_SCHAR_g",
        Atomic::UByte => "H5T_NATIVE_UCHAR_g",
        Atomic::Short => "H5T_NATIVE_SHORT_g",
        Atomic::UShort => "H5T_NATIVE_USHORT_g",
        Atomic::Int => "H5T_NATIVE_INT_g",
        Atomic::UInt => "H5T_NATIVE_UINT_g",
        Atomic::Int64 => "H5T_NATIVE_LLONG_g",
        Atomic::UInt64 => "H5T_NATIVE_ULLONG_g",
        Atomic::Float => "H5T_NATIVE_FLOAT_g",
        Atomic::Double => "H5T_NATIVE_DOUBLE_g",
    })
}

struct Blocks {
    calls: Rc<Calls>,
    vars: Vec<Var>,
    /// The last to go.
    file: Handle,
    writable: bool,
}

struct Var {
    data: Handle,
    dtype: Id,
    /// Its shape so far, where it can grow.
    grown: Option<Vec<u64>>,
}

pub(super) fn create<'a>(calls: &Rc<Calls>, path: &Path, spec: &FileSpec) -> Result<Box<dyn BlockFile + 'a>> {
    let name = c_string(path.as_os_str().as_encoded_bytes())?;
    // SAFETY: a string that ends with zero; 0: usual properties.
    let id = unsafe { (calls.file_create)(name.as_ptr(), TRUNCATE, 0, 0) };
    let file = Handle::new(calls, id, calls.file_close, &format!("creating `{}`", path.display()))?;
    mark(calls, &file)?;
    let vars = (0..spec.vars.len()).map(|v| define(calls, &file, spec, v)).collect::<Result<_>>()?;
    Ok(Box::new(Blocks { calls: Rc::clone(calls), vars, file, writable: true }))
}

/// The attribute by which a benchmark's file is known.
fn mark(calls: &Rc<Calls>, file: &Handle) -> Result<()> {
    // SAFETY: 0: a single value.
    let space = Handle::new(calls, unsafe { (calls.space_create)(0) }, calls.space_close, "a space")?;
    let dtype = type_of(calls, Atomic::Int)?;
    let name = c_string(MARK.as_bytes())?;
    // SAFETY: an open file, a string that ends with zero, a type, a space.
    let id = unsafe { (calls.attr_create)(file.id, name.as_ptr(), dtype, space.id, 0, 0) };
    let attr = Handle::new(calls, id, calls.attr_close, "an attribute")?;
    let one: c_int = 1;
    // SAFETY: an open attribute of one number, and that number.
    check(unsafe { (calls.attr_write)(attr.id, dtype, (&raw const one).cast()) }, "an attribute")
}

fn define(calls: &Rc<Calls>, file: &Handle, spec: &FileSpec, v: usize) -> Result<Var> {
    let var = &spec.vars[v];
    let shape = spec.shape(v);
    let unlimited: Vec<bool> = var.dims.iter().map(|&d| spec.dims[d].unlimited).collect();
    let grows = unlimited.contains(&true);
    let now: Vec<u64> = shape.iter().zip(&unlimited).map(|(&n, &u)| if u { 0 } else { n }).collect();
    let most: Vec<u64> = shape.iter().zip(&unlimited).map(|(&n, &u)| if u { UNLIMITED } else { n }).collect();
    let rank = shape.len() as c_int;
    // SAFETY: as many lengths as told.
    let space = unsafe { (calls.space_simple)(rank, now.as_ptr(), most.as_ptr()) };
    let space = Handle::new(calls, space, calls.space_close, "a space")?;
    let class = calls.number("H5P_CLS_DATASET_CREATE_ID_g")?;
    // SAFETY: a class of properties.
    let plist = Handle::new(calls, unsafe { (calls.plist_create)(class) }, calls.plist_close, "properties")?;
    if let Some(chunks) = spec.chunks(v) {
        // SAFETY: open properties, as many lengths as told.
        check(unsafe { (calls.set_chunk)(plist.id, rank, chunks.as_ptr()) }, "chunks")?;
    }
    if var.deflate > 0 {
        if var.shuffle {
            // SAFETY: open properties.
            check(unsafe { (calls.set_shuffle)(plist.id) }, "shuffle")?;
        }
        // SAFETY: open properties and a plain number.
        check(unsafe { (calls.set_deflate)(plist.id, var.deflate) }, "deflate")?;
    }
    let when = if spec.fill { FILL.0 } else { FILL.1 };
    // SAFETY: open properties and a plain number.
    check(unsafe { (calls.set_fill_time)(plist.id, when) }, "fill mode")?;
    let dtype = type_of(calls, var.dtype)?;
    let name = c_string(var.name.as_bytes())?;
    // SAFETY: an open file, a string that ends with zero, a type, a space, properties.
    let id = unsafe { (calls.data_create)(file.id, name.as_ptr(), dtype, space.id, 0, plist.id, 0) };
    let data = Handle::new(calls, id, calls.data_close, &format!("dataset `{}`", var.name))?;
    Ok(Var { data, dtype, grown: grows.then_some(now) })
}

/// Takes an open file for reading, or to `write` into it, too.
pub(super) fn open<'a>(
    calls: &Rc<Calls>,
    file: Handle,
    spec: &FileSpec,
    write: bool,
) -> Result<Box<dyn BlockFile + 'a>> {
    let mut vars = Vec::new();
    for (v, var) in spec.vars.iter().enumerate() {
        let name = c_string(var.name.as_bytes())?;
        // SAFETY: an open file and a string that ends with zero.
        let id = unsafe { (calls.data_open)(file.id, name.as_ptr(), 0) };
        let data = Handle::new(calls, id, calls.data_close, &format!("opening dataset `{}`", var.name))?;
        let grows: Vec<bool> = var.dims.iter().map(|&d| write && spec.dims[d].unlimited).collect();
        let shape = shape_of(calls, &data, &spec.shape(v), &grows, var.dtype.size(), &var.name)?;
        let grown = grows.contains(&true).then_some(shape);
        vars.push(Var { data, dtype: type_of(calls, var.dtype)?, grown });
    }
    Ok(Box::new(Blocks { calls: Rc::clone(calls), vars, file, writable: write }))
}

/// The shape of a dataset, which shall have this one; along dimensions that grow it may still be shorter.
fn shape_of(
    calls: &Rc<Calls>,
    data: &Handle,
    shape: &[u64],
    grows: &[bool],
    size: usize,
    name: &str,
) -> Result<Vec<u64>> {
    // SAFETY: an open dataset.
    let dtype = Handle::new(calls, unsafe { (calls.data_type)(data.id) }, calls.type_close, name)?;
    // SAFETY: an open dataset.
    let space = Handle::new(calls, unsafe { (calls.data_space)(data.id) }, calls.space_close, name)?;
    // SAFETY: an open space, an open type.
    let (rank, there) = unsafe { ((calls.space_rank)(space.id), (calls.type_size)(dtype.id)) };
    let mut lens = vec![0u64; rank.max(0) as usize];
    // SAFETY: room for as many lengths as the space has.
    check(unsafe { (calls.space_dims)(space.id, lens.as_mut_ptr(), std::ptr::null_mut()) }, name)?;
    let fits = |d: usize| lens[d] == shape[d] || (grows[d] && lens[d] < shape[d]);
    if lens.len() != shape.len() || !(0..lens.len()).all(fits) || there != size {
        return Err(Error::Unreadable(format!(
            "`{name}` in the file is {lens:?} of {there} bytes each, not {shape:?} of {size}"
        )));
    }
    Ok(lens)
}

/// A selection in a dataset's file, and as many values in memory.
pub(super) fn select(calls: &Rc<Calls>, data: &Handle, slab: &Hyperslab) -> Result<(Handle, Handle)> {
    // SAFETY: an open dataset.
    let file = Handle::new(calls, unsafe { (calls.data_space)(data.id) }, calls.space_close, "a space")?;
    // SAFETY: lists of as many numbers as the dataset has dimensions, which the caller made sure of; no block: single elements.
    let memory = unsafe {
        if !slab.count.is_empty() {
            let code = (calls.space_select)(
                file.id,
                SET,
                slab.start.as_ptr(),
                slab.stride.as_ptr(),
                slab.count.as_ptr(),
                std::ptr::null(),
            );
            check(code, "selecting")?;
        }
        (calls.space_simple)(1, [slab.len()].as_ptr(), std::ptr::null())
    };
    Ok((file, Handle::new(calls, memory, calls.space_close, "a space")?))
}

/// Reads into a buffer, and says whether that went well.
pub(super) fn move_block(out: &mut [u8], read: impl FnOnce(&mut [u8]) -> c_int) -> Result<()> {
    check(read(out), "reading a block")
}

impl Blocks {
    /// Makes a dataset long enough for a selection.
    fn grow(&mut self, var: usize, slab: &Hyperslab) -> Result<()> {
        let v = &mut self.vars[var];
        let Some(shape) = &mut v.grown else { return Ok(()) };
        let larger: Vec<u64> = (0..shape.len()).map(|d| shape[d].max(slab.end(d))).collect();
        if larger != *shape {
            // SAFETY: an open dataset, as many lengths as it has dimensions.
            check(unsafe { (self.calls.data_extent)(v.data.id, larger.as_ptr()) }, "enlarging")?;
            *shape = larger;
        }
        Ok(())
    }
}

impl BlockFile for Blocks {
    fn write(&mut self, var: usize, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        if !self.writable {
            return Err(Error::Invalid("the file is open for reading only".into()));
        }
        self.grow(var, slab)?;
        let v = &self.vars[var];
        let (file, memory) = select(&self.calls, &v.data, slab)?;
        // SAFETY: an open dataset, the type of its values, selections of as many values as `bytes` holds.
        let code = unsafe {
            (self.calls.data_write)(v.data.id, v.dtype, memory.id, file.id, 0, bytes.as_ptr().cast())
        };
        check(code, "writing a block")
    }

    fn read(&mut self, var: usize, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let v = &self.vars[var];
        let (file, memory) = select(&self.calls, &v.data, slab)?;
        move_block(out, |out| {
            // SAFETY: as above; `out` has room for the selection's values.
            unsafe {
                (self.calls.data_read)(v.data.id, v.dtype, memory.id, file.id, 0, out.as_mut_ptr().cast())
            }
        })
    }

    fn close(self: Box<Self>) -> Result<()> {
        let Blocks { vars, file, .. } = *self;
        for var in vars {
            var.data.give_back("closing a dataset")?;
        }
        file.give_back("closing")
    }
}
