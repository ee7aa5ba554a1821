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

/// The selection of a call: slices of the caller's memory.
#[derive(Clone, Copy)]
pub(crate) struct Selection<'a> {
    pub(crate) start: &'a [usize],
    pub(crate) count: &'a [usize],
    pub(crate) stride: Option<&'a [isize]>,
    pub(crate) imap: Option<&'a [isize]>,
}

/// What is wrong with a selection, in the order in which netCDF-C looks for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outside {
    Stride,
    Start,
    Edge,
}

impl Call {
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
    /// Whether it lies inside an array of this shape.
    pub(crate) fn check(&self, shape: &[u64]) -> Result<(), Outside> {
        if self.stride.is_some_and(|s| s.iter().any(|&s| s <= 0)) {
            return Err(Outside::Stride);
        }
        let each =
            || self.start.iter().zip(self.count).zip(shape).map(|((&s, &c), &len)| (s as u64, c as u64, len));
        if each().any(|(start, count, len)| start > len || (start == len && count > 0)) {
            return Err(Outside::Start);
        }
        let ends = |d: usize, start: u64, count: u64| {
            let step = self.stride.map_or(1, |s| s[d].unsigned_abs() as u64);
            count.saturating_sub(1).checked_mul(step).and_then(|n| n.checked_add(start))
        };
        let outside =
            |(d, (start, count, len))| count > 0 && ends(d, start, count).is_none_or(|last| last >= len);
        if each().enumerate().any(outside) { Err(Outside::Edge) } else { Ok(()) }
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

    fn check(start: &[usize], count: &[usize], stride: Option<&[isize]>) -> Result<(), Outside> {
        Selection { start, count, stride, imap: None }.check(&[10, 4])
    }

    #[test]
    fn what_lies_outside_is_named_as_netcdf_c_names_it() {
        assert_eq!(check(&[0, 0], &[10, 4], None), Ok(()));
        assert_eq!(check(&[10, 0], &[0, 4], None), Ok(()));
        assert_eq!(check(&[10, 0], &[1, 4], None), Err(Outside::Start));
        assert_eq!(check(&[11, 0], &[0, 4], None), Err(Outside::Start));
        assert_eq!(check(&[9, 0], &[2, 4], None), Err(Outside::Edge));
        assert_eq!(check(&[9, 5], &[2, 4], None), Err(Outside::Start));
        assert_eq!(check(&[0, 0], &[5, 2], Some(&[2, 3])), Ok(()));
        assert_eq!(check(&[0, 0], &[6, 2], Some(&[2, 3])), Err(Outside::Edge));
        assert_eq!(check(&[0, 0], &[1, 1], Some(&[0, 1])), Err(Outside::Stride));
        assert_eq!(check(&[1, 0], &[usize::MAX, 1], Some(&[isize::MAX, 1])), Err(Outside::Edge));
    }

    #[test]
    fn counts_that_overflow_are_no_memory() {
        let selection = |count| Selection { start: &[0, 0], count, stride: None, imap: None };
        assert_eq!(selection(&[2, 3]).elements(Atomic::Double), Some(6));
        assert_eq!(selection(&[usize::MAX, 3]).elements(Atomic::Byte), None);
        assert_eq!(selection(&[usize::MAX / 2 + 1, 1]).elements(Atomic::Byte), None);
    }
}
