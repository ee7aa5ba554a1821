//! One call for values of a variable, as netCDF-C's dispatch passes it on.

use std::ffi::{c_int, c_void};

use ncforge::model::Atomic;

use crate::variables::Variable;

/// The arguments of `get_vara`, `get_vars` and `get_varm`; pointers that a call does not have are null.
#[derive(Clone, Copy)]
pub(crate) struct Call {
    pub(crate) ncid: c_int,
    pub(crate) varid: c_int,
    pub(crate) start: *const usize,
    pub(crate) count: *const usize,
    pub(crate) stride: *const isize,
    pub(crate) imap: *const isize,
    pub(crate) out: *mut c_void,
    pub(crate) memtype: c_int,
}

/// Defines a function of dispatch tables that reads values: `$serve` gets the call, and netCDF-C's function of this name with the same
/// arguments, from a table.
macro_rules! reads {
    ($name:ident<$(const $number:ident),+>($($index:ident),*), $serve:path) => {
        unsafe extern "C" fn $name<$(const $number: usize),+>(
            ncid: c_int,
            varid: c_int,
            start: *const usize,
            count: *const usize,
            $($index: *const isize,)*
            out: *mut c_void,
            memtype: c_int,
        ) -> c_int {
            let array = Call::of_array(ncid, varid, start, count, out, memtype);
            #[allow(clippy::needless_update, reason = "an array has neither stride nor map")]
            let call = Call { $($index,)* ..array };
            // SAFETY: netCDF-C's arguments, and its function with them.
            unsafe { $serve(&call, |c| (c.$name)(ncid, varid, start, count, $($index,)* out, memtype)) }
        }
    };
}
pub(crate) use reads;

/// The selection of a call: slices of the caller's memory.
#[derive(Clone, Copy)]
pub(crate) struct Selection<'a> {
    pub(crate) start: &'a [usize],
    pub(crate) count: &'a [usize],
    pub(crate) stride: Option<&'a [isize]>,
    pub(crate) imap: Option<&'a [isize]>,
}

impl Call {
    /// The arguments of `get_vara`.
    pub(crate) fn of_array(
        ncid: c_int,
        varid: c_int,
        start: *const usize,
        count: *const usize,
        out: *mut c_void,
        memtype: c_int,
    ) -> Self {
        let none = std::ptr::null();
        Self { ncid, varid, start, count, stride: none, imap: none, out, memtype }
    }

    /// The selection; `None` where a pointer that must not be null is null.
    ///
    /// # Safety
    /// Pointers that are not null are to as many elements as the variable has dimensions.
    pub(crate) unsafe fn selection(&self, rank: usize) -> Option<Selection<'_>> {
        if rank == 0 {
            return Some(Selection { start: &[], count: &[], stride: None, imap: None });
        }
        if self.start.is_null() || self.count.is_null() {
            return None;
        }
        // SAFETY: the caller's promise.
        unsafe {
            Some(Selection {
                start: std::slice::from_raw_parts(self.start, rank),
                count: std::slice::from_raw_parts(self.count, rank),
                stride: (!self.stride.is_null()).then(|| std::slice::from_raw_parts(self.stride, rank)),
                imap: (!self.imap.is_null()).then(|| std::slice::from_raw_parts(self.imap, rank)),
            })
        }
    }

    /// The type in memory: `NC_NAT` is the variable's own.
    pub(crate) fn memory(&self, variable: &Variable) -> c_int {
        if self.memtype == crate::abi::NAT { variable.xtype } else { self.memtype }
    }
}

impl Selection<'_> {
    /// True if the selection lies inside an array of this shape.
    pub(crate) fn is_inside(&self, shape: &[u64]) -> bool {
        let inside = |d: usize, len: u64| {
            let (start, count) = (self.start[d] as u64, self.count[d] as u64);
            let Ok(step) = u64::try_from(self.stride.map_or(1, |s| s[d])) else { return false };
            let last = count.saturating_sub(1).checked_mul(step).and_then(|n| n.checked_add(start));
            step > 0 && if count == 0 { start <= len } else { last.is_some_and(|last| last < len) }
        };
        shape.iter().enumerate().all(|(d, &len)| inside(d, len))
    }

    /// Number of elements, if that many fit memory.
    pub(crate) fn elements(&self, memory: Atomic) -> Option<usize> {
        let bytes = self.count.iter().try_fold(memory.size(), |n, &c| n.checked_mul(c))?;
        isize::try_from(bytes).ok()?;
        Some(bytes / memory.size())
    }

    /// As the engine takes it.
    pub(crate) fn hyperslab(&self) -> ncforge::Hyperslab {
        let wide = |v: &[usize]| v.iter().map(|&n| n as u64).collect::<Vec<_>>();
        let stride = match self.stride {
            Some(stride) => stride.iter().map(|&n| n.unsigned_abs() as u64).collect(),
            None => vec![1; self.start.len()],
        };
        ncforge::Hyperslab { start: wide(self.start), count: wide(self.count), stride }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inside(start: &[usize], count: &[usize], stride: Option<&[isize]>) -> bool {
        Selection { start, count, stride, imap: None }.is_inside(&[10, 4])
    }

    #[test]
    fn selections_are_inside_with_their_last_element() {
        assert!(inside(&[0, 0], &[10, 4], None));
        assert!(inside(&[10, 0], &[0, 4], None));
        assert!(!inside(&[10, 0], &[1, 4], None));
        assert!(!inside(&[11, 0], &[0, 4], None));
        assert!(!inside(&[9, 0], &[2, 4], None));
        assert!(inside(&[0, 0], &[5, 2], Some(&[2, 3])));
        assert!(!inside(&[0, 0], &[6, 2], Some(&[2, 3])));
        assert!(!inside(&[0, 0], &[1, 1], Some(&[0, 1])));
        assert!(!inside(&[0, 0], &[1, 1], Some(&[1, -1])));
        assert!(!inside(&[1, 0], &[usize::MAX, 1], Some(&[isize::MAX, 1])));
    }

    #[test]
    fn counts_that_overflow_are_no_memory() {
        let selection = |count| Selection { start: &[0, 0], count, stride: None, imap: None };
        assert_eq!(selection(&[2, 3]).elements(Atomic::Double), Some(6));
        assert_eq!(selection(&[usize::MAX, 3]).elements(Atomic::Byte), None);
        assert_eq!(selection(&[usize::MAX / 2 + 1, 1]).elements(Atomic::Byte), None);
    }
}
