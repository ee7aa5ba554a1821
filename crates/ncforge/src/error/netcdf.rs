//! The error numbers of netCDF-C that say the same as this crate's errors.
//!
//! Numbers and names are those of `include/netcdf.h` (netCDF-C 4.10); which call gives which is as documented in its
//! `docs/` and done in `libsrc`, `libhdf5` and `libdispatch`. A front that offers netCDF-C's interface returns them as they
//! are: they are part of that interface.

use super::{Error, ErrorClass, Late, Limit, NameFault};

/// `NC_EBADID`: not a valid ID.
const EBADID: i32 = -33;
/// `NC_EEXIST`: the file exists, and `NC_NOCLOBBER` was given.
const EEXIST: i32 = -35;
/// `NC_EINVAL`: invalid argument.
const EINVAL: i32 = -36;
/// `NC_EPERM`: a write to what is open for reading.
const EPERM: i32 = -37;
/// `NC_ENOTINDEFINE`: not in define mode.
const ENOTINDEFINE: i32 = -38;
/// `NC_EINDEFINE`: not allowed in define mode.
const EINDEFINE: i32 = -39;
/// `NC_EINVALCOORDS`: an index beyond its dimension.
const EINVALCOORDS: i32 = -40;
/// `NC_EMAXDIMS`: more dimensions than `NC_MAX_DIMS`.
const EMAXDIMS: i32 = -41;
/// `NC_ENAMEINUSE`: the name is in use.
const ENAMEINUSE: i32 = -42;
/// `NC_ENOTATT`: no such attribute.
const ENOTATT: i32 = -43;
/// `NC_EMAXATTS`: too many attributes.
const EMAXATTS: i32 = -44;
/// `NC_EBADTYPE`: not a valid type.
const EBADTYPE: i32 = -45;
/// `NC_EBADDIM`: no such dimension.
const EBADDIM: i32 = -46;
/// `NC_EUNLIMPOS`: an unlimited dimension that is not the first.
const EUNLIMPOS: i32 = -47;
/// `NC_ENOTVAR`: no such variable.
const ENOTVAR: i32 = -49;
/// `NC_ENOTNC`: not a netCDF file.
const ENOTNC: i32 = -51;
/// `NC_EMAXNAME`: a name that is longer than `NC_MAX_NAME`.
const EMAXNAME: i32 = -53;
/// `NC_EUNLIMIT`: a second unlimited dimension.
const EUNLIMIT: i32 = -54;
/// `NC_ECHAR`: text that was to be numbers, or the other way round.
const ECHAR: i32 = -56;
/// `NC_EEDGE`: start and count run past a dimension.
const EEDGE: i32 = -57;
/// `NC_ESTRIDE`: an illegal stride.
const ESTRIDE: i32 = -58;
/// `NC_EBADNAME`: a name with illegal characters.
const EBADNAME: i32 = -59;
/// `NC_ERANGE`: a value that the other type cannot hold.
const ERANGE: i32 = -60;
/// `NC_ENOMEM`: not enough memory.
const ENOMEM: i32 = -61;
/// `NC_EVARSIZE`: a variable that is too large for its format.
const EVARSIZE: i32 = -62;
/// `NC_EDIMSIZE`: an illegal length of a dimension.
const EDIMSIZE: i32 = -63;
/// `NC_EHDFERR`: an error of the HDF5 layer.
const EHDFERR: i32 = -101;
/// `NC_ENOTNC4`: something of netCDF-4 in a classic file.
const ENOTNC4: i32 = -111;
/// `NC_ESTRICTNC3`: something that the classic model does not have.
const ESTRICTNC3: i32 = -112;
/// `NC_EBADGRPID`: no such group.
const EBADGRPID: i32 = -116;
/// `NC_EBADTYPID`: no such type.
const EBADTYPID: i32 = -117;
/// `NC_ELATEFILL`: the fill value of a variable that has values.
const ELATEFILL: i32 = -122;
/// `NC_ELATEDEF`: the storage of a variable that is in the file.
const ELATEDEF: i32 = -123;
/// `NC_ENOGRP`: no such group.
const ENOGRP: i32 = -125;
/// `NC_EBADCHUNK`: chunk lengths that cannot be.
const EBADCHUNK: i32 = -127;
/// `NC_EFILTER`: a filter that cannot be applied.
const EFILTER: i32 = -132;
/// `EIO`, `EAGAIN`, `EINTR` of the system, where it gave no number.
const EIO: i32 = 5;
const EAGAIN: i32 = 11;
const EINTR: i32 = 4;

impl Error {
    /// The number by which netCDF-C reports this: below zero its own, above zero the system's `errno`, as `nc_strerror`
    /// takes both.
    ///
    /// ```
    /// use ncforge::{Error, Op};
    /// let late = Error::NotInDefineMode { what: "a new dimension" };
    /// assert_eq!(late.netcdf_code(), -38);
    /// let gone = Error::io(Op::Open, "a.nc", std::io::Error::from_raw_os_error(2));
    /// assert_eq!(gone.netcdf_code(), 2);
    /// ```
    pub fn netcdf_code(&self) -> i32 {
        match self {
            Error::Io { source, .. } => source.raw_os_error().unwrap_or(EIO),
            Error::NotNetcdf { .. } | Error::NotHdf5 { .. } => ENOTNC,
            Error::NotFound { kind, .. } => match *kind {
                "variable" => ENOTVAR,
                "dimension" => EBADDIM,
                "attribute" => ENOTATT,
                "group" => ENOGRP,
                "type" => EBADTYPID,
                _ => EINVAL,
            },
            Error::NoSuchId { kind, .. } => match *kind {
                "variable" => ENOTVAR,
                "dimension" => EBADDIM,
                "group" => EBADGRPID,
                "type" => EBADTYPE,
                _ => EINVAL,
            },
            Error::NameInUse { .. } => ENAMEINUSE,
            Error::BadName { why: NameFault::TooLong, .. } => EMAXNAME,
            Error::BadName { .. } => EBADNAME,
            Error::BadDimension { .. } => EBADDIM,
            Error::BadType(_) => EBADTYPE,
            Error::BadChunks { .. } => EBADCHUNK,
            Error::BadFilter(_) => EFILTER,
            Error::TooLate { what: Late::Fill, .. } => ELATEFILL,
            Error::TooLate { what: Late::Storage, .. } => ELATEDEF,
            Error::NotInDefineMode { .. } => ENOTINDEFINE,
            Error::InDefineMode { .. } => EINDEFINE,
            Error::Selection { stride: 0, .. } => ESTRIDE,
            // As `NC_check_id` and `nc4_get_vars`: where the first element is outside, or right behind the last one and
            // something is selected.
            Error::Selection { start, count, len, .. } if start > len || (start == len && *count > 0) => {
                EINVALCOORDS
            }
            Error::Selection { .. } => EEDGE,
            Error::Index { .. } => EINVALCOORDS,
            Error::TextNumber { .. } => ECHAR,
            Error::Range { .. } => ERANGE,
            Error::ReadOnly { .. } => EPERM,
            Error::Closed => EBADID,
            Error::NotRepresentable { .. } => ESTRICTNC3,
            Error::Limit { limit, .. } => match limit {
                Limit::UnlimitedFirst => EUNLIMPOS,
                Limit::OneUnlimited => EUNLIMIT,
                Limit::DimensionLength => EDIMSIZE,
                Limit::Rank => EMAXDIMS,
                Limit::VariableSize => EVARSIZE,
                Limit::Attributes => EMAXATTS,
                Limit::Type => EBADTYPE,
                // The classic container lacks it altogether; the classic model forbids it in a container that has it.
                Limit::Classic => ENOTNC4,
            },
            Error::Exists(_) | Error::Appeared { .. } => EEXIST,
            Error::Locked { .. } | Error::Inherited { .. } => EAGAIN,
            Error::Lost { .. } => EIO,
            Error::Budget { .. } | Error::Memory { .. } | Error::TooLarge(_) => ENOMEM,
            Error::Interrupted(_) | Error::NotUploaded { .. } => EINTR,
            _ if self.class() == ErrorClass::Invalid => EINVAL,
            _ => EHDFERR,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_an_edge_and_a_stride() {
        let code = |start, count, stride| {
            Error::Selection { variable: "v".into(), dim: 0, start, count, stride, len: 10 }.netcdf_code()
        };
        assert_eq!(code(11, 0, 1), EINVALCOORDS);
        assert_eq!(code(10, 1, 1), EINVALCOORDS);
        assert_eq!(code(9, 2, 1), EEDGE);
        assert_eq!(code(0, 2, 0), ESTRIDE);
    }

    #[test]
    fn names_that_are_too_long_have_a_number_of_their_own() {
        let code = |name: &str| crate::model::check_name("variable", name).unwrap_err().netcdf_code();
        assert_eq!(code(&"x".repeat(257)), EMAXNAME);
        assert_eq!(code("a/b"), EBADNAME);
    }
}
