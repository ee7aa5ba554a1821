//! Options of new netCDF-4 files.

/// Options of a new netCDF-4 file.
#[derive(Clone, Debug, Default)]
pub struct CreateOptions {
    /// Free bytes in the front metadata block beyond the size of the schema: for attributes and variables
    /// that are added later, and for chunks of unlimited dimensions beyond their present length.
    pub spare: u64,
    /// The alignment of variable data; `None`: no alignment.
    pub alignment: Option<Alignment>,
    /// Names come from another file: they are preserved even if netCDF does not allow them for new objects
    /// ([`crate::model::check_name`]).
    pub keep_names: bool,
}

/// Data of a variable (a chunk, or all of it if it is contiguous) that take at least `threshold` bytes begin
/// at a multiple of `multiple`, as with `H5Pset_alignment`. File systems with large blocks or stripes can be faster with it.
///
/// Valid while the new file is open: the setting is not stored in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Alignment {
    /// Bytes of the smallest data that are aligned.
    pub threshold: u64,
    /// Bytes; from 1 (anywhere) to 2^40.
    pub multiple: u64,
}
