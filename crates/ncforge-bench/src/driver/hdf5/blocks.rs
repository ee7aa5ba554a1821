//! Blocks by libhdf5.

use std::ffi::c_int;
use std::path::Path;
use std::rc::Rc;

use ncforge::codec::{filter_name, filters};
use ncforge::{Atomic, Hyperslab};

use super::calls::{Calls, Handle, Id, check};
use super::mpio::Shared;
use crate::c_string::c_string;
use crate::driver::blocks::Kind;
use crate::driver::coding::plugin_parameters;
use crate::driver::steps::Steps;
use crate::driver::{Access, BlockFile, FileSpec, MARK, Opened};
use crate::error::{Error, Result};

/// `H5F_ACC_TRUNC`.
const TRUNCATE: u32 = 2;
/// `H5S_UNLIMITED`.
const UNLIMITED: u64 = u64::MAX;
/// `H5D_FILL_TIME_ALLOC`, `H5D_FILL_TIME_NEVER`.
const FILL: (c_int, c_int) = (0, 1);
/// `H5Z_FLAG_OPTIONAL`: a chunk that does not become smaller is stored as it is.
const OPTIONAL: u32 = 1;
/// `H5S_SELECT_SET`.
const SET: c_int = 0;
/// `H5T_INTEGER`, `H5T_FLOAT`.
const INTEGER: c_int = 0;
const FLOAT: c_int = 1;
/// `H5T_SGN_2`.
const SIGNED: c_int = 1;

pub(super) fn refuses(calls: &Calls, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
    if spec.format.is_classic() {
        return Some("classic files are no HDF5; take --format netcdf4".to_owned());
    }
    if let Some(why) = spec.no_zarr("HDF5") {
        return Some(why);
    }
    if let Some(why) = super::mpio::refuses(calls, spec, access) {
        return Some(why);
    }
    if spec.var.coding.rounding.is_some() {
        return Some("HDF5 does not quantize values; netCDF-C and ncforge do".to_owned());
    }
    for filter in spec.filters() {
        // SAFETY: a plain number; the library looks for a plug-in.
        if unsafe { (calls.filter_avail)(c_int::from(filter.id)) } <= 0 {
            return Some(format!(
                "this library has no filter {} ({}); HDF5_PLUGIN_PATH names folders with plug-ins",
                filter_name(filter.id),
                filter.id
            ));
        }
    }
    spec.chunks_too_long(&spec.chunks()?)
}

/// The type of values, in memory and in the file.
pub(super) fn type_of(calls: &Calls, dtype: Atomic) -> Result<Id> {
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
    var: Var,
    /// The last to go.
    file: Handle,
    writable: bool,
    steps: Steps,
    /// The properties of a shared file.
    shared: Option<Shared>,
}

struct Var {
    data: Handle,
    dtype: Id,
    kind: Kind,
    /// Its shape so far, where it can grow.
    grown: Option<Vec<u64>>,
}

pub(super) fn create<'a>(calls: &Rc<Calls>, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
    let shared = Shared::of(calls, access)?;
    let properties = shared.as_ref().map_or(0, Shared::file);
    let name = c_string(path)?;
    let mut steps = Steps::begin();
    // SAFETY: a string that ends with zero; properties, or 0 for the usual ones.
    let id = unsafe { (calls.file_create)(name.as_ptr(), TRUNCATE, 0, properties) };
    let file = Handle::new(calls, id, calls.file_close, &format!("creating `{}`", path.display()))?;
    steps.end("create");
    mark(calls, &file)?;
    let var = define(calls, &file, spec, shared.is_some())?;
    steps.end("define");
    Ok(Box::new(Blocks { calls: Rc::clone(calls), var, file, writable: true, steps, shared }))
}

/// The attribute by which a benchmark's file is known.
fn mark(calls: &Rc<Calls>, file: &Handle) -> Result<()> {
    // SAFETY: 0: a single value.
    let space = Handle::new(calls, unsafe { (calls.space_create)(0) }, calls.space_close, "a space")?;
    let dtype = type_of(calls, Atomic::Int)?;
    let name = c_string(MARK)?;
    // SAFETY: an open file, a string that ends with zero, a type, a space.
    let id = unsafe { (calls.attr_create)(file.id, name.as_ptr(), dtype, space.id, 0, 0) };
    let attr = Handle::new(calls, id, calls.attr_close, "an attribute")?;
    let one: c_int = 1;
    // SAFETY: an open attribute of one number, and that number.
    check(unsafe { (calls.attr_write)(attr.id, dtype, (&raw const one).cast()) }, "an attribute")
}

/// Several who share a file find all of it: enlarging is for all of them together, whoever writes what.
fn define(calls: &Rc<Calls>, file: &Handle, spec: &FileSpec, shared: bool) -> Result<Var> {
    let (var, shape) = (&spec.var, spec.shape());
    let unlimited: Vec<bool> = spec.dims.iter().map(|d| d.unlimited).collect();
    let grows = unlimited.contains(&true) && !shared;
    let now: Vec<u64> =
        shape.iter().zip(&unlimited).map(|(&n, &u)| if u && !shared { 0 } else { n }).collect();
    let most: Vec<u64> = shape.iter().zip(&unlimited).map(|(&n, &u)| if u { UNLIMITED } else { n }).collect();
    let rank = shape.len() as c_int;
    // SAFETY: as many lengths as the call says.
    let space = unsafe { (calls.space_simple)(rank, now.as_ptr(), most.as_ptr()) };
    let space = Handle::new(calls, space, calls.space_close, "a space")?;
    let class = calls.number("H5P_CLS_DATASET_CREATE_ID_g")?;
    // SAFETY: a class of properties.
    let plist = Handle::new(calls, unsafe { (calls.plist_create)(class) }, calls.plist_close, "properties")?;
    if let Some(chunks) = spec.chunks() {
        // SAFETY: open properties, as many lengths as the call says.
        check(unsafe { (calls.set_chunk)(plist.id, rank, chunks.as_ptr()) }, "chunks")?;
    }
    for filter in spec.filters() {
        let (id, params) = (c_int::from(filter.id), plugin_parameters(&filter));
        let code = match (filter.id, params) {
            // The library gives its own filters what they need.
            // SAFETY: open properties.
            (filters::SHUFFLE, _) => unsafe { (calls.set_shuffle)(plist.id) },
            // SAFETY: open properties and a plain number.
            (filters::DEFLATE, [level, ..]) => unsafe { (calls.set_deflate)(plist.id, *level) },
            // SAFETY: open properties, as many numbers as the call says.
            _ => unsafe { (calls.set_filter)(plist.id, id, OPTIONAL, params.len(), params.as_ptr()) },
        };
        check(code, filter_name(filter.id))?;
    }
    let when = if spec.fill { FILL.0 } else { FILL.1 };
    // SAFETY: open properties and a plain number.
    check(unsafe { (calls.set_fill_time)(plist.id, when) }, "fill mode")?;
    let dtype = type_of(calls, var.dtype)?;
    let name = c_string(&var.name)?;
    // SAFETY: an open file, a string that ends with zero, a type, a space, properties.
    let id = unsafe { (calls.data_create)(file.id, name.as_ptr(), dtype, space.id, 0, plist.id, 0) };
    let data = Handle::new(calls, id, calls.data_close, &format!("dataset `{}`", var.name))?;
    Ok(Var { data, dtype, kind: Kind::of(spec), grown: grows.then_some(now) })
}

/// Opens a file for reading.
pub(super) fn open<'a>(
    calls: &Rc<Calls>,
    file: impl FnOnce() -> Result<Handle>,
    spec: &FileSpec,
    shared: Option<Shared>,
) -> Opened<'a> {
    let mut steps = Steps::begin();
    let file = file()?;
    steps.end("open");
    let var = &spec.var;
    let name = c_string(&var.name)?;
    // SAFETY: an open file, a string that ends with zero.
    let id = unsafe { (calls.data_open)(file.id, name.as_ptr(), 0) };
    let data = Handle::new(calls, id, calls.data_close, &format!("opening dataset `{}`", var.name))?;
    let (shape, dtype) = found(calls, &data, &var.name)?;
    spec.admits(&shape, dtype)?;
    let var = Var { data, dtype: type_of(calls, var.dtype)?, kind: Kind::of(spec), grown: None };
    steps.end("inquire");
    Ok(Box::new(Blocks { calls: Rc::clone(calls), var, file, writable: false, steps, shared }))
}

/// The shape and the type of a dataset.
pub(super) fn found(calls: &Rc<Calls>, data: &Handle, name: &str) -> Result<(Vec<u64>, Option<Atomic>)> {
    // SAFETY: an open dataset.
    let dtype = Handle::new(calls, unsafe { (calls.data_type)(data.id) }, calls.type_close, name)?;
    // SAFETY: an open dataset.
    let space = Handle::new(calls, unsafe { (calls.data_space)(data.id) }, calls.space_close, name)?;
    // SAFETY: an open space.
    let rank = unsafe { (calls.space_rank)(space.id) };
    let mut lens = vec![0u64; rank.max(0) as usize];
    // SAFETY: memory for as many lengths as the space has.
    check(unsafe { (calls.space_dims)(space.id, lens.as_mut_ptr(), std::ptr::null_mut()) }, name)?;
    // SAFETY: an open type; the sign of what is no integer is a negative number, an error that changes nothing.
    let described =
        unsafe { ((calls.type_class)(dtype.id), (calls.type_size)(dtype.id), (calls.type_sign)(dtype.id)) };
    let known = match described {
        (INTEGER, 1, SIGNED) => Some(Atomic::Byte),
        (INTEGER, 2, SIGNED) => Some(Atomic::Short),
        (INTEGER, 4, SIGNED) => Some(Atomic::Int),
        (INTEGER, 8, SIGNED) => Some(Atomic::Int64),
        (INTEGER, 1, _) => Some(Atomic::UByte),
        (INTEGER, 2, _) => Some(Atomic::UShort),
        (INTEGER, 4, _) => Some(Atomic::UInt),
        (INTEGER, 8, _) => Some(Atomic::UInt64),
        (FLOAT, 4, _) => Some(Atomic::Float),
        (FLOAT, 8, _) => Some(Atomic::Double),
        _ => None,
    };
    Ok((lens, known))
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
    /// Properties to move values with.
    fn transfer(&self) -> Id {
        self.shared.as_ref().map_or(0, Shared::transfer)
    }

    /// Makes a dataset long enough for a selection.
    fn grow(&mut self, slab: &Hyperslab) -> Result<()> {
        let v = &mut self.var;
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
    fn write(&mut self, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        if !self.writable {
            return Err(Error::WrongKind("the file is open for reading only".into()));
        }
        self.var.kind.check(slab, bytes.len())?;
        self.grow(slab)?;
        let v = &self.var;
        let (file, memory) = select(&self.calls, &v.data, slab)?;
        // SAFETY: an open dataset, the type of its values, selections of as many values as `bytes` holds.
        let code = unsafe {
            let transfer = self.transfer();
            (self.calls.data_write)(v.data.id, v.dtype, memory.id, file.id, transfer, bytes.as_ptr().cast())
        };
        check(code, "writing a block")
    }

    fn read(&mut self, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let v = &self.var;
        v.kind.check(slab, out.len())?;
        let (file, memory) = select(&self.calls, &v.data, slab)?;
        let transfer = self.transfer();
        move_block(out, |out| {
            // SAFETY: as above; the selection's values fit into `out`.
            unsafe {
                (self.calls.data_read)(
                    v.data.id,
                    v.dtype,
                    memory.id,
                    file.id,
                    transfer,
                    out.as_mut_ptr().cast(),
                )
            }
        })
    }

    fn steps(&self) -> &[(&'static str, f64)] {
        self.steps.all()
    }

    fn close(self: Box<Self>) -> Result<()> {
        let Blocks { var, file, .. } = *self;
        var.data.give_back("closing a dataset")?;
        file.give_back("closing")
    }
}
