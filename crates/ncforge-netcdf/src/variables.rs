//! The variables of an open file: asked of netCDF-C once, and found in ncforge's schema.
//!
//! A variable of netCDF-C and one of ncforge are the same if path, type and the lengths of all dimensions are. Whatever
//! differs leaves the variable to netCDF-C.

use std::collections::HashMap;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use ncforge::model::{Atomic, DType, Schema, VarId, shape};

use ncforge::raw::coordinates;
use ncforge::{Dataset, Hyperslab, Imap};

use crate::abi::{Dispatch, MAX_RANK, NAME_BYTES, NOERR};
use crate::heap;

/// Filters of one variable that are asked for.
const MAX_FILTERS: usize = 32;

/// One variable.
pub(crate) struct Variable {
    path: String,
    /// `nc_type` of the file.
    pub(crate) xtype: c_int,
    /// The type, if it is served.
    pub(crate) stored: Option<Atomic>,
    /// Lengths of its dimensions.
    pub(crate) shape: Vec<u64>,
    /// Chunk lengths, of chunked variables.
    pub(crate) chunk: Option<Vec<u64>>,
    /// Whether its chunks are encoded.
    pub(crate) filtered: bool,
    /// Whether its values were quantized when they were written. NetCDF-C may do so again when it converts what it reads.
    pub(crate) quantized: bool,
    /// True if netCDF-C lacks one of its filters: then ncforge reads the variable, however small the read.
    pub(crate) needs_us: bool,
    /// Whether elements that nobody wrote have a value. Where they have none, HDF5 leaves the memory of whoever reads them as it is.
    fills: bool,
    /// Set when a read of it failed.
    pub(crate) failed: AtomicBool,
    found: OnceLock<Result<VarId, String>>,
}

/// The variables of a file.
#[derive(Default)]
pub(crate) struct Variables {
    /// Variables of the root group, by id. The pointers are from `Box::into_raw`, and live as long as this.
    root: OnceLock<Box<[AtomicPtr<Variable>]>>,
    /// Variables of other groups.
    below: Mutex<HashMap<(c_int, c_int), &'static Variable>>,
}

impl Drop for Variables {
    fn drop(&mut self) {
        let root = self.root.take().unwrap_or_default().into_vec().into_iter().map(AtomicPtr::into_inner);
        let below = std::mem::take(&mut self.below).into_inner().unwrap_or_else(PoisonError::into_inner);
        for variable in root.chain(below.into_values().map(|v| std::ptr::from_ref(v).cast_mut())) {
            if !variable.is_null() {
                // SAFETY: from `Box::into_raw` or `Box::leak`, and nobody else frees it.
                drop(unsafe { Box::from_raw(variable) });
            }
        }
    }
}

impl Variables {
    /// A variable by netCDF-C's ids; `None` if netCDF-C does not know it.
    #[inline]
    pub(crate) fn get(&self, netcdf_c: &Dispatch, ncid: c_int, varid: c_int) -> Option<&Variable> {
        if ncid & 0xffff != 0 {
            return self.get_below(netcdf_c, ncid, varid);
        }
        let root = match self.root.get() {
            Some(root) => root,
            None => self.root.get_or_init(|| places(netcdf_c, ncid)),
        };
        let place = root.get(usize::try_from(varid).ok()?)?;
        let known = place.load(Ordering::Acquire);
        if !known.is_null() {
            // SAFETY: see the field.
            return Some(unsafe { &*known });
        }
        let new = Box::into_raw(Box::new(Variable::inquire(netcdf_c, ncid, varid)?));
        match place.compare_exchange(null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: see the field.
            Ok(_) => Some(unsafe { &*new }),
            Err(other) => {
                // SAFETY: `new` was not stored anywhere; `other` was.
                unsafe {
                    drop(Box::from_raw(new));
                    Some(&*other)
                }
            }
        }
    }

    fn get_below(&self, netcdf_c: &Dispatch, ncid: c_int, varid: c_int) -> Option<&Variable> {
        let mut below = self.below.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = below.get(&(ncid, varid)) {
            return Some(known);
        }
        let new: &'static Variable = Box::leak(Box::new(Variable::inquire(netcdf_c, ncid, varid)?));
        below.insert((ncid, varid), new);
        Some(new)
    }

    /// The number of variables of the root group, once it is known.
    pub(crate) fn in_root(&self) -> u64 {
        self.root.get().map_or(0, |r| r.len() as u64)
    }
}

/// A place for each variable of the root group.
fn places(netcdf_c: &Dispatch, ncid: c_int) -> Box<[AtomicPtr<Variable>]> {
    let mut count = 0;
    // SAFETY: a function of netCDF-C's table with one of its ids; results that are not wanted are null.
    let code = unsafe { (netcdf_c.inq)(ncid, null_mut(), &raw mut count, null_mut(), null_mut()) };
    let count = if code == NOERR { usize::try_from(count).unwrap_or(0) } else { 0 };
    (0..count).map(|_| AtomicPtr::new(null_mut())).collect()
}

/// The `nc_type`s of numbers and text.
pub(crate) fn atomic(xtype: c_int) -> Option<Atomic> {
    Some(match xtype {
        1 => Atomic::Byte,
        2 => Atomic::Char,
        3 => Atomic::Short,
        4 => Atomic::Int,
        5 => Atomic::Float,
        6 => Atomic::Double,
        7 => Atomic::UByte,
        8 => Atomic::UShort,
        9 => Atomic::UInt,
        10 => Atomic::Int64,
        11 => Atomic::UInt64,
        _ => return None,
    })
}

fn text(buffer: &[c_char]) -> Option<String> {
    // SAFETY: the last byte is zero: the buffers are longer than what netCDF-C writes into them.
    let text = unsafe { CStr::from_ptr(buffer.as_ptr()) };
    text.to_str().ok().map(str::to_owned)
}

impl Variable {
    fn inquire(netcdf_c: &Dispatch, ncid: c_int, varid: c_int) -> Option<Self> {
        let mut name: [c_char; NAME_BYTES + 1] = [0; NAME_BYTES + 1];
        let (mut xtype, mut rank, mut contiguous, mut no_fill) = (0, 0, 1, 0);
        let mut dims = [0; MAX_RANK];
        let mut chunk = [0; MAX_RANK];
        // SAFETY: a function of netCDF-C's table with one of its ids; the buffers are as long as its limits.
        let code = unsafe {
            (netcdf_c.inq_var_all)(
                ncid,
                varid,
                name.as_mut_ptr(),
                &raw mut xtype,
                &raw mut rank,
                dims.as_mut_ptr(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                &raw mut contiguous,
                chunk.as_mut_ptr(),
                &raw mut no_fill,
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
                null_mut(),
            )
        };
        if code != NOERR {
            return None;
        }
        let rank = usize::try_from(rank).ok().filter(|&r| r <= MAX_RANK)?;
        let shape = dims[..rank].iter().map(|&d| dimension(netcdf_c, ncid, d)).collect::<Option<Vec<_>>>()?;
        let chunk: Vec<u64> = chunk[..rank].iter().map(|&c| c as u64).collect();
        let chunked = contiguous == 0 && rank > 0 && !chunk.contains(&0);
        let filters = if chunked { filters(netcdf_c, ncid, varid) } else { Vec::new() };
        Some(Self {
            path: format!("{}/{}", group_path(netcdf_c, ncid)?, text(&name)?),
            xtype,
            stored: atomic(xtype),
            shape,
            chunk: chunked.then_some(chunk),
            filtered: !filters.is_empty(),
            quantized: is_quantized(netcdf_c, ncid, varid),
            needs_us: filters.iter().any(|&filter| !has_filter(netcdf_c, ncid, filter)),
            fills: no_fill == 0,
            failed: AtomicBool::new(false),
            found: OnceLock::new(),
        })
    }

    /// The variable in ncforge, or the reason why it is not served.
    pub(crate) fn in_ncforge(&self, dataset: &Dataset) -> Result<VarId, &str> {
        let found = self.found.get_or_init(|| self.find(dataset));
        found.as_ref().map(|id| *id).map_err(String::as_str)
    }

    /// Whether a selection meets elements that have no value. NetCDF-C knows what memory gets there, if it can read the variable.
    pub(crate) fn has_no_value(
        &self,
        dataset: &Dataset,
        id: VarId,
        slab: &Hyperslab,
    ) -> ncforge::Result<bool> {
        if self.fills || self.needs_us {
            return Ok(false);
        }
        let layout = dataset.container().layout(id)?;
        let Some(chunks) = layout.place.chunks() else { return Ok(layout.place.is_nowhere()) };
        // The chunks that it meets along each dimension; strides may leave out most of them.
        let met = |d: usize| {
            let mut met: Vec<u64> =
                (0..slab.count[d]).map(|i| (slab.start[d] + i * slab.stride[d]) / chunks.chunk[d]).collect();
            met.dedup();
            met
        };
        let met: Vec<Vec<u64>> = (0..slab.count.len()).map(met).collect();
        let ranges: Vec<_> = met.iter().map(|met| 0..met.len() as u64).collect();
        for at in coordinates(&ranges) {
            let at: Vec<u64> = at.iter().zip(&met).map(|(&i, met)| met[i as usize]).collect();
            if !layout.has_chunk(&at)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn find(&self, dataset: &Dataset) -> Result<VarId, String> {
        let schema: &Schema = dataset.schema();
        let id = dataset.var(&self.path).map_err(|e| e.to_string())?;
        let same_type = self.stored.is_some_and(|s| schema.var(id).dtype == DType::Atomic(s));
        if !same_type || schema.shape(id) != self.shape {
            return Err(format!("`{}` has another type or shape in ncforge", self.path));
        }
        let layout = dataset.container().layout(id).map_err(|e| e.to_string())?;
        if let Some(why) = layout.place.unsupported() {
            return Err(format!("`{}`: {why}", self.path));
        }
        if layout.place.parts().is_some() {
            return Err(format!("`{}` is a virtual dataset", self.path));
        }
        // Where a dimension is longer than what is stored, netCDF-C makes up the rest in a way of its own.
        if layout.shape != self.shape {
            return Err(format!("`{}` is shorter than its dimensions", self.path));
        }
        if let (Some(chunk), Some(stored)) = (&self.chunk, self.stored) {
            heap::note_chunk(shape::bytes(chunk, stored.size() as u64));
        }
        Ok(id)
    }
}

fn dimension(netcdf_c: &Dispatch, ncid: c_int, dim: c_int) -> Option<u64> {
    let mut len = 0;
    // SAFETY: a function of netCDF-C's table with one of its ids.
    let code = unsafe { (netcdf_c.inq_dim)(ncid, dim, null_mut(), &raw mut len) };
    (code == NOERR).then_some(len as u64)
}

/// Path of a group without its last slash: "" for the root.
fn group_path(netcdf_c: &Dispatch, ncid: c_int) -> Option<String> {
    if ncid & 0xffff == 0 {
        return Some(String::new());
    }
    let mut len = 0usize;
    // SAFETY: a function of netCDF-C's table with one of its ids; first the length is asked for, then the name.
    let code = unsafe { (netcdf_c.inq_grpname_full)(ncid, &raw mut len, null_mut()) };
    if code != NOERR || len > 1 << 20 {
        return None;
    }
    let mut name: Vec<c_char> = vec![0; len + 8];
    // SAFETY: as above; the buffer is longer than the name.
    let code = unsafe { (netcdf_c.inq_grpname_full)(ncid, &raw mut len, name.as_mut_ptr()) };
    let path = text(&name).filter(|_| code == NOERR)?;
    Some(path.trim_end_matches('/').to_owned())
}

fn is_quantized(netcdf_c: &Dispatch, ncid: c_int, varid: c_int) -> bool {
    let mut mode = 0;
    // SAFETY: a function of netCDF-C's table with one of its ids; the digits are not wanted.
    let code = unsafe { (netcdf_c.inq_var_quantize)(ncid, varid, &raw mut mode, null_mut()) };
    code == NOERR && mode != 0
}

fn filters(netcdf_c: &Dispatch, ncid: c_int, varid: c_int) -> Vec<u32> {
    let mut count = 0usize;
    let mut ids = [0; MAX_FILTERS];
    // SAFETY: a function of netCDF-C's table with one of its ids; first the number is asked for, then the ids.
    unsafe {
        let known = (netcdf_c.inq_var_filter_ids)(ncid, varid, &raw mut count, null_mut()) == NOERR;
        if !known || count > MAX_FILTERS {
            return Vec::new();
        }
        if (netcdf_c.inq_var_filter_ids)(ncid, varid, &raw mut count, ids.as_mut_ptr()) != NOERR {
            return Vec::new();
        }
    }
    ids[..count.min(MAX_FILTERS)].to_vec()
}

/// Whether netCDF-C can decode a filter: HDF5 has it, or finds a plug-in.
fn has_filter(netcdf_c: &Dispatch, ncid: c_int, filter: u32) -> bool {
    // SAFETY: a function of netCDF-C's table with one of its ids.
    unsafe { (netcdf_c.inq_filter_avail)(ncid, filter) == NOERR }
}

/// Steps in memory of a mapped array, and how far before and behind the first element it reaches, in elements.
pub(crate) fn reach(count: &[u64], steps: &[isize]) -> Option<(usize, usize, Imap)> {
    let (mut before, mut behind) = (0isize, 0isize);
    for (&n, &step) in count.iter().zip(steps) {
        let far = isize::try_from(n.saturating_sub(1)).ok()?.checked_mul(step)?;
        if far < 0 {
            before = before.checked_sub(far)?;
        } else {
            behind = behind.checked_add(far)?;
        }
    }
    let (before, behind) = (usize::try_from(before).ok()?, usize::try_from(behind).ok()?);
    Some((before, behind, Imap { origin: before, steps: steps.to_vec() }))
}
