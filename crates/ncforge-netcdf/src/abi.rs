//! The part of netCDF-C's binary interface that is used: its dispatch table, mode flags, types and error numbers.
//!
//! Names, order and signatures are those of `netcdf_dispatch.h` (installed by netCDF-C, version 5 of the table: netCDF-C 4.9.0
//! to 4.10), numbers those of `netcdf.h`. A table whose `dispatch_version` is another one is never touched.

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A C string as a path.
pub(crate) fn path_of(text: &CStr) -> &Path {
    Path::new(std::ffi::OsStr::from_bytes(text.to_bytes()))
}

/// The version of the dispatch table that [`Dispatch`] declares.
pub(crate) const DISPATCH_VERSION: c_int = 5;

/// `NC_NOERR`.
pub(crate) const NOERR: c_int = 0;
/// `NC_EPERM`: a write to what is open for reading.
pub(crate) const EPERM: c_int = -37;
/// `NC_EINVAL`: invalid argument.
pub(crate) const EINVAL: c_int = -36;
/// `NC_ERANGE`: a value that the other type cannot hold; all values were delivered.
pub(crate) const ERANGE: c_int = -60;
/// `NC_EHDFERR`: here, an error that has no number of its own.
pub(crate) const EHDFERR: c_int = -101;

/// `NC_WRITE`.
pub(crate) const WRITE: c_int = 0x0001;
/// `NC_NOCLOBBER`.
pub(crate) const NOCLOBBER: c_int = 0x0004;
/// `NC_INMEMORY`.
pub(crate) const IN_MEMORY: c_int = 0x8000;
/// Flags of a mode that say nothing about how a local file is read: formats (`NC_NETCDF4`, `NC_CLASSIC_MODEL`,
/// `NC_64BIT_OFFSET`, `NC_64BIT_DATA`), and `NC_NOATTCREORD`, `NC_NODIMSCALE_ATTACH`.
pub(crate) const HARMLESS: c_int = 0x1000 | 0x0100 | 0x0200 | 0x0020 | 0x20000 | 0x40000;
/// Flags of a mode that say how a local file is buffered while it is read: `NC_DISKLESS`, `NC_MMAP`, `NC_SHARE`, `NC_PERSIST`.
pub(crate) const BUFFERING: c_int = 0x0008 | 0x0010 | 0x0800 | 0x4000;
/// `NC_UDF0` to `NC_UDF9`, the user-defined formats; netCDF-C before 4.10 has the first two only.
pub(crate) const UDF: [c_int; 10] =
    [0x0040, 0x0080, 0x10000, 0x80000, 0x100000, 0x200000, 0x400000, 0x800000, 0x1000000, 0x2000000];

/// `NC_NAT`: the variable's own type.
pub(crate) const NAT: c_int = 0;

/// Longest name and path of a group (`NC_MAX_NAME`), with its end.
pub(crate) const NAME_BYTES: usize = 256 + 1;
/// Most dimensions of a variable (`NC_MAX_VAR_DIMS`).
pub(crate) const MAX_RANK: usize = 1024;

/// An entry that is passed on as it is.
pub(crate) type Other = *const c_void;

pub(crate) type Create = unsafe extern "C" fn(
    *const c_char,
    c_int,
    usize,
    c_int,
    *mut usize,
    *mut c_void,
    *const Dispatch,
    c_int,
) -> c_int;
pub(crate) type Open = unsafe extern "C" fn(
    *const c_char,
    c_int,
    c_int,
    *mut usize,
    *mut c_void,
    *const Dispatch,
    c_int,
) -> c_int;
pub(crate) type Abort = unsafe extern "C" fn(c_int) -> c_int;
pub(crate) type Close = unsafe extern "C" fn(c_int, *mut c_void) -> c_int;
pub(crate) type Inq = unsafe extern "C" fn(c_int, *mut c_int, *mut c_int, *mut c_int, *mut c_int) -> c_int;
pub(crate) type InqDim = unsafe extern "C" fn(c_int, c_int, *mut c_char, *mut usize) -> c_int;
pub(crate) type GetVara =
    unsafe extern "C" fn(c_int, c_int, *const usize, *const usize, *mut c_void, c_int) -> c_int;
pub(crate) type GetVars =
    unsafe extern "C" fn(c_int, c_int, *const usize, *const usize, *const isize, *mut c_void, c_int) -> c_int;
pub(crate) type GetVarm = unsafe extern "C" fn(
    c_int,
    c_int,
    *const usize,
    *const usize,
    *const isize,
    *const isize,
    *mut c_void,
    c_int,
) -> c_int;
pub(crate) type PutVara =
    unsafe extern "C" fn(c_int, c_int, *const usize, *const usize, *const c_void, c_int) -> c_int;
pub(crate) type PutVars = unsafe extern "C" fn(
    c_int,
    c_int,
    *const usize,
    *const usize,
    *const isize,
    *const c_void,
    c_int,
) -> c_int;
pub(crate) type PutVarm = unsafe extern "C" fn(
    c_int,
    c_int,
    *const usize,
    *const usize,
    *const isize,
    *const isize,
    *const c_void,
    c_int,
) -> c_int;
pub(crate) type InqVarAll = unsafe extern "C" fn(
    c_int,
    c_int,
    *mut c_char,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut usize,
    *mut c_int,
    *mut c_void,
    *mut c_int,
    *mut c_uint,
    *mut usize,
    *mut c_uint,
) -> c_int;
pub(crate) type GrpnameFull = unsafe extern "C" fn(c_int, *mut usize, *mut c_char) -> c_int;
pub(crate) type InqFilterAvail = unsafe extern "C" fn(c_int, c_uint) -> c_int;
pub(crate) type InqVarQuantize = unsafe extern "C" fn(c_int, c_int, *mut c_int, *mut c_int) -> c_int;
pub(crate) type FilterIds = unsafe extern "C" fn(c_int, c_int, *mut usize, *mut c_uint) -> c_int;

/// `struct NC_Dispatch`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Dispatch {
    pub(crate) model: c_int,
    pub(crate) dispatch_version: c_int,
    pub(crate) create: Create,
    pub(crate) open: Open,
    pub(crate) redef: Other,
    pub(crate) enddef: Other,
    pub(crate) sync: Other,
    pub(crate) abort: Abort,
    pub(crate) close: Close,
    pub(crate) set_fill: Other,
    pub(crate) inq_format: Other,
    pub(crate) inq_format_extended: Other,
    pub(crate) inq: Inq,
    pub(crate) inq_type: Other,
    pub(crate) def_dim: Other,
    pub(crate) inq_dimid: Other,
    pub(crate) inq_dim: InqDim,
    pub(crate) inq_unlimdim: Other,
    pub(crate) rename_dim: Other,
    pub(crate) inq_att: Other,
    pub(crate) inq_attid: Other,
    pub(crate) inq_attname: Other,
    pub(crate) rename_att: Other,
    pub(crate) del_att: Other,
    pub(crate) get_att: Other,
    pub(crate) put_att: Other,
    pub(crate) def_var: Other,
    pub(crate) inq_varid: Other,
    pub(crate) rename_var: Other,
    pub(crate) get_vara: GetVara,
    pub(crate) put_vara: PutVara,
    pub(crate) get_vars: GetVars,
    pub(crate) put_vars: PutVars,
    pub(crate) get_varm: GetVarm,
    pub(crate) put_varm: PutVarm,
    pub(crate) inq_var_all: InqVarAll,
    pub(crate) var_par_access: Other,
    pub(crate) def_var_fill: Other,
    pub(crate) show_metadata: Other,
    pub(crate) inq_unlimdims: Other,
    pub(crate) inq_ncid: Other,
    pub(crate) inq_grps: Other,
    pub(crate) inq_grpname: Other,
    pub(crate) inq_grpname_full: GrpnameFull,
    pub(crate) inq_grp_parent: Other,
    pub(crate) inq_grp_full_ncid: Other,
    pub(crate) inq_varids: Other,
    pub(crate) inq_dimids: Other,
    pub(crate) inq_typeids: Other,
    pub(crate) inq_type_equal: Other,
    pub(crate) def_grp: Other,
    pub(crate) rename_grp: Other,
    pub(crate) inq_user_type: Other,
    pub(crate) inq_typeid: Other,
    pub(crate) def_compound: Other,
    pub(crate) insert_compound: Other,
    pub(crate) insert_array_compound: Other,
    pub(crate) inq_compound_field: Other,
    pub(crate) inq_compound_fieldindex: Other,
    pub(crate) def_vlen: Other,
    pub(crate) put_vlen_element: Other,
    pub(crate) get_vlen_element: Other,
    pub(crate) def_enum: Other,
    pub(crate) insert_enum: Other,
    pub(crate) inq_enum_member: Other,
    pub(crate) inq_enum_ident: Other,
    pub(crate) def_opaque: Other,
    pub(crate) def_var_deflate: Other,
    pub(crate) def_var_fletcher32: Other,
    pub(crate) def_var_chunking: Other,
    pub(crate) def_var_endian: Other,
    pub(crate) def_var_filter: Other,
    pub(crate) set_var_chunk_cache: Other,
    pub(crate) get_var_chunk_cache: Other,
    pub(crate) inq_var_filter_ids: FilterIds,
    pub(crate) inq_var_filter_info: Other,
    pub(crate) def_var_quantize: Other,
    pub(crate) inq_var_quantize: InqVarQuantize,
    pub(crate) inq_filter_avail: InqFilterAvail,
}

// Two ints and 77 pointers.
const _: () = assert!(size_of::<Dispatch>() == 8 + 77 * size_of::<usize>());

// SAFETY: the pointers are addresses of functions, which never change.
unsafe impl Send for Dispatch {}
// SAFETY: as above.
unsafe impl Sync for Dispatch {}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    #[test]
    fn entries_are_where_netcdf_c_has_them() {
        // By the order of netcdf_dispatch.h.
        let at = |n: usize| 8 + n * size_of::<usize>();
        assert_eq!(offset_of!(Dispatch, open), at(1));
        assert_eq!(offset_of!(Dispatch, close), at(6));
        assert_eq!(offset_of!(Dispatch, inq), at(10));
        assert_eq!(offset_of!(Dispatch, inq_dim), at(14));
        assert_eq!(offset_of!(Dispatch, get_vara), at(27));
        assert_eq!(offset_of!(Dispatch, put_vara), at(28));
        assert_eq!(offset_of!(Dispatch, get_varm), at(31));
        assert_eq!(offset_of!(Dispatch, put_varm), at(32));
        assert_eq!(offset_of!(Dispatch, inq_var_all), at(33));
        assert_eq!(offset_of!(Dispatch, inq_grpname_full), at(41));
        assert_eq!(offset_of!(Dispatch, inq_var_filter_ids), at(72));
        assert_eq!(offset_of!(Dispatch, inq_filter_avail), at(76));
    }
}
