//! Reads values for netCDF-C's callers, or leaves them to netCDF-C.
//!
//! `None` always means: nothing was delivered, netCDF-C's own function is to be called. That is so for everything that is not
//! plainly right: a selection outside the variable, a type that is not a number or text, a conversion whose result C leaves
//! undefined, a file that changed, any error of ncforge.

use std::ffi::c_int;
use std::sync::atomic::Ordering;

use ncforge::Dataset;
use ncforge::model::{Atomic, VarId};

use crate::abi::{Dispatch, NOERR};
use crate::call::{Call, Selection};
use crate::files::OpenFile;
use crate::policy;
use crate::report::wish;
use crate::variables::{Variable, atomic, reach};

/// Serves a call; `None`: it is netCDF-C's.
///
/// # Safety
/// The pointers are those of a call by netCDF-C's rules for `get_vara`, `get_vars` and `get_varm`.
pub(crate) unsafe fn get(file: &OpenFile, netcdf_c: &Dispatch, call: &Call) -> Option<c_int> {
    if file.is_off() {
        return None;
    }
    let variable = file.variables.get(netcdf_c, call.ncid, call.varid)?;
    let stored = variable.stored?;
    // SAFETY: the caller's promise.
    let selection = unsafe { call.selection(variable.shape.len()) }?;
    if !is_for_us(file, variable, &selection) || variable.failed.load(Ordering::Relaxed) {
        return None;
    }
    let memory = atomic(call.memory(variable))?;
    if !is_certain(stored, memory) || (variable.quantized && memory != stored && !variable.needs_us) {
        return None;
    }
    if call.out.is_null() || !selection.is_inside(&variable.shape) {
        return None;
    }
    let served = file.dataset(variable.needs_us).and_then(|dataset| {
        let id = variable.in_ncforge(&dataset).map_err(|why| file.note(why)).ok()?;
        let delivered = match variable.has_no_value(&dataset, id, &selection.hyperslab()) {
            // SAFETY: the caller's promise; the selection was checked.
            Ok(false) => unsafe { deliver(&dataset, id, &selection, memory, call) },
            Ok(true) => return None,
            Err(e) => Err(e),
        };
        match delivered {
            Ok(Some(0)) => Some(NOERR),
            // NetCDF-C delivers what C makes of such values, and the error number.
            Ok(Some(_)) => None,
            Ok(None) => None,
            Err(e) => {
                file.note(e.to_string());
                variable.failed.store(true, Ordering::Relaxed);
                None
            }
        }
    });
    let counter = if served.is_some() { &file.served } else { &file.delegated };
    counter.fetch_add(1, Ordering::Relaxed);
    served
}

/// Whether ncforge is quicker, or the only one that can.
fn is_for_us(file: &OpenFile, variable: &Variable, selection: &Selection<'_>) -> bool {
    if variable.needs_us || wish().always {
        return true;
    }
    let work = policy::work(variable, selection.start, selection.count, selection.stride, file.classic);
    if !work.for_us {
        return false;
    }
    if file.is_open() {
        return true;
    }
    let so_far = file.waiting.fetch_add(work.bytes, Ordering::Relaxed).saturating_add(work.bytes);
    let pays = policy::opening_pays(so_far, file.variables.in_root());
    if !pays {
        file.delegated.fetch_add(1, Ordering::Relaxed);
    }
    pays
}

/// Whether C defines the result of a conversion: floats as integers have none for NaN, and what is outside.
pub(crate) fn is_certain(stored: Atomic, memory: Atomic) -> bool {
    let float = |a| matches!(a, Atomic::Float | Atomic::Double);
    (stored == Atomic::Char) == (memory == Atomic::Char) && (float(memory) || !float(stored))
}

/// Reads a selection, which lies inside the variable, into the caller's memory. How many values were out of range; `None`
/// where no memory has such a size.
///
/// # Safety
/// `out` is memory for all of the selection's elements, where `imap` says or one after the other.
pub(crate) unsafe fn deliver(
    dataset: &Dataset,
    id: VarId,
    selection: &Selection<'_>,
    memory: Atomic,
    call: &Call,
) -> ncforge::Result<Option<u64>> {
    let slab = selection.hyperslab();
    let Some(imap) = selection.imap else {
        let Some(elements) = selection.elements(memory) else { return Ok(None) };
        // SAFETY: the caller's promise. Bytes may be read before they are written, but not by anybody who cares for their
        // value.
        let out = unsafe { std::slice::from_raw_parts_mut(call.out.cast::<u8>(), elements * memory.size()) };
        return dataset.get_converted(id, &slab, memory, out).map(|done| Some(done.out_of_range));
    };
    let Some((before, behind, imap)) = reach(&slab.count, imap) else { return Ok(None) };
    let bytes = before.checked_add(behind).and_then(|n| n.checked_add(1)?.checked_mul(memory.size()));
    let Some(bytes) = bytes.filter(|&n| isize::try_from(n).is_ok()) else { return Ok(None) };
    // SAFETY: the caller's promise: the elements that are farthest in front of `out` and behind it are the caller's, and so is
    // what lies between them, where nothing but elements of the selection is written.
    let out = unsafe {
        let first = call.out.cast::<u8>().sub(before * memory.size());
        std::slice::from_raw_parts_mut(first, bytes)
    };
    dataset.get_converted_mapped(id, &slab, memory, &imap, out).map(|done| Some(done.out_of_range))
}
