//! Files that are written and read in blocks: what a workload asks a driver to create, and the open file.

use ncforge::model::{Filter, shape};
use ncforge::{Atomic, Format, Hyperslab};

use super::Coding;
use crate::error::{Error, Result};
use crate::team::Team;

/// A global attribute that a benchmark's files carry: such a file may be overwritten without being asked.
pub const MARK: &str = "ncforge_bench";

/// A file to be created: a variable, its dimensions, how it is stored.
#[derive(Clone, Debug)]
pub struct FileSpec {
    /// Its format.
    pub format: Format,
    /// True for a Zarr store, a folder, with what [`FileSpec::format`] can express. Plain bytes are written as ever.
    pub zarr: bool,
    /// The variable's dimensions, slowest first. An unlimited one has the length that it will have at the end.
    pub dims: Vec<DimSpec>,
    /// The variable.
    pub var: VarSpec,
    /// Whether the library fills what nobody has written yet.
    pub fill: bool,
}

/// A dimension.
#[derive(Clone, Debug)]
pub struct DimSpec {
    /// Its name.
    pub name: String,
    /// Its length, or final length.
    pub len: u64,
    /// True if the dimension can grow.
    pub unlimited: bool,
}

impl DimSpec {
    /// A dimension of this name and length.
    pub fn new(name: &str, len: u64, unlimited: bool) -> Self {
        DimSpec { name: name.to_owned(), len, unlimited }
    }
}

/// A variable.
#[derive(Clone, Debug)]
pub struct VarSpec {
    /// Its name.
    pub name: String,
    /// Type of its values.
    pub dtype: Atomic,
    /// Its chunks.
    pub chunks: ChunkAsk,
    /// The coding of its values.
    pub coding: Coding,
}

/// The chunks that a variable shall have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChunkAsk {
    /// As the library does without a request: in one run where the format allows that. Where chunks are
    /// needed, libraries choose their own; ours takes the lengths given here.
    Unasked(Vec<u64>),
    /// Chunks of these lengths.
    Lens(Vec<u64>),
}

impl FileSpec {
    /// The shape of the variable, once it is complete.
    pub fn shape(&self) -> Vec<u64> {
        self.dims.iter().map(|d| d.len).collect()
    }

    /// A file of one plain variable: not compressed, in one run where the format allows that, not filled.
    pub fn plain(format: Format, name: &str, dtype: Atomic, dims: Vec<DimSpec>) -> Self {
        let chunks = ChunkAsk::Unasked(dims.iter().map(|d| d.len).collect());
        let var = VarSpec { name: name.to_owned(), dtype, chunks, coding: Coding::default() };
        FileSpec { format, zarr: false, dims, var, fill: false }
    }

    /// An error unless the variable that a file has, with this shape and type (`None`: one that is no number), is the one described.
    pub(super) fn admits(&self, shape: &[u64], dtype: Option<Atomic>) -> Result<()> {
        let (own, asked) = (&self.var, self.shape());
        if shape == asked && dtype == Some(own.dtype) {
            return Ok(());
        }
        let name = |t: Option<Atomic>| t.map_or("of another type", Atomic::cdl_name);
        Err(Error::Unreadable(format!(
            "`{}` in the file is {shape:?} {}, and {asked:?} {} was asked for",
            own.name,
            name(dtype),
            name(Some(own.dtype))
        )))
    }

    /// Whether the variable has an unlimited dimension.
    pub fn is_unlimited(&self) -> bool {
        self.dims.iter().any(|d| d.unlimited)
    }

    /// The reason why no file has such chunks: they are longer than a dimension that cannot grow.
    pub(super) fn chunks_too_long(&self, chunks: &[u64]) -> Option<String> {
        let (&c, dim) = chunks.iter().zip(&self.dims).find(|(c, d)| **c > d.len && !d.unlimited)?;
        Some(format!("a chunk length of {c} along `{}`, whose length is {}", dim.name, dim.len))
    }

    /// The reason why a library that knows no Zarr stores cannot create one.
    pub(super) fn no_zarr(&self, library: &str) -> Option<String> {
        let why = || format!("{library} writes no Zarr stores, which netCDF-C does; take --format netcdf4");
        self.zarr.then(why)
    }

    /// The filters of the variable's chunks.
    pub(super) fn filters(&self) -> Vec<Filter> {
        let size = self.var.dtype.size();
        let lens = self.chunks().unwrap_or_default();
        let chunk = shape::bytes(&lens, size as u64);
        self.var.coding.filters(size, usize::try_from(chunk).unwrap_or(usize::MAX))
    }

    /// The chunk lengths that the variable gets where the driver decides itself: as asked, or the fallback where the
    /// format needs chunks.
    pub fn chunks(&self) -> Option<Vec<u64>> {
        if self.format.is_classic() {
            return None;
        }
        match &self.var.chunks {
            ChunkAsk::Lens(lens) => Some(lens.clone()),
            ChunkAsk::Unasked(lens) => {
                (self.is_unlimited() || self.var.coding.is_filtered()).then(|| lens.clone())
            }
        }
    }

    /// The part of the specification that the format cannot hold: classic files, and the classic model of netCDF-4, know less.
    pub fn representable(&self) -> Option<String> {
        let kind = self.format.kind();
        if self.zarr && self.dims.iter().any(|d| d.unlimited) {
            return Some(
                "whether Zarr stores have unlimited dimensions depends on netCDF-C's version; leave out --unlimited".into(),
            );
        }
        let var = &self.var;
        let newer = !var.dtype.in_classic();
        if newer && matches!(self.format, Format::Cdf1 | Format::Cdf2 | Format::Netcdf4Classic) {
            let name = var.dtype.cdl_name();
            return Some(format!(
                "{kind} files have no values of type {name}; take --format cdf5 or netcdf4"
            ));
        }
        if !self.format.is_classic() {
            return None;
        }
        if matches!(var.chunks, ChunkAsk::Lens(_)) {
            return Some(format!(
                "{kind} files have no chunks; leave out the chunks, or take --format netcdf4"
            ));
        }
        if var.coding.is_filtered() {
            return Some(format!(
                "{kind} files are not compressed; leave out the compression, or take --format netcdf4"
            ));
        }
        if var.coding.rounding.is_some() {
            return Some(format!(
                "netCDF does not quantize the values of {kind} files; leave it out, or take --format netcdf4"
            ));
        }
        None
    }
}

/// The other users of the open file.
pub enum Access<'a> {
    /// Nobody: one process, one file.
    Alone,
    /// All ranks of a team write to, or read from, one file.
    Shared {
        /// The ranks.
        team: &'a dyn Team,
        /// All of them make every call together.
        collective: bool,
        /// The shape of the block that a rank writes in one call: blocks lie on a grid of this shape.
        block: &'a [u64],
    },
}

impl<'a> Access<'a> {
    /// The team, where several share the file.
    pub fn several(&self) -> Option<&'a dyn Team> {
        match self {
            Access::Shared { team, .. } if team.size() > 1 => Some(*team),
            _ => None,
        }
    }

    /// Whether calls are collective.
    pub fn is_collective(&self) -> bool {
        matches!(self, Access::Shared { collective: true, .. })
    }
}

/// A file that is open for blocks. Dropped without [`BlockFile::close`], it may be left in any state.
pub trait BlockFile {
    /// Writes a dense selection of the variable: native byte order, row-major.
    fn write(&mut self, slab: &Hyperslab, bytes: &[u8]) -> Result<()>;
    /// Reads a dense selection into `out`, which has exactly as many bytes.
    fn read(&mut self, slab: &Hyperslab, out: &mut [u8]) -> Result<()>;
    /// The steps of opening or creating it, with their seconds, where the driver does these separately: "create", "define", "enddef".
    fn steps(&self) -> &[(&'static str, f64)] {
        &[]
    }
    /// Closes the file; of a shared one every rank calls this.
    fn close(self: Box<Self>) -> Result<()>;
}

/// The rank and the bytes of a value of a variable: what a library that is called through pointers must be able to rely on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kind {
    pub(super) rank: usize,
    pub(super) size: usize,
}

impl Kind {
    /// The kind of a file's variable.
    pub(super) fn of(spec: &FileSpec) -> Self {
        Kind { rank: spec.dims.len(), size: spec.var.dtype.size() }
    }

    /// An error unless a selection has as many dimensions as the variable, and `bytes` are exactly those of its values.
    pub(super) fn check(self, slab: &Hyperslab, bytes: usize) -> Result<()> {
        let ranks = [slab.start.len(), slab.count.len(), slab.stride.len()];
        if ranks == [self.rank; 3]
            && slab.is_dense()
            && slab.len().checked_mul(self.size as u64) == Some(bytes as u64)
        {
            return Ok(());
        }
        Err(Error::Misfit(format!(
            "{bytes} bytes for a selection of {:?} values of {} bytes of a variable of {} dimensions",
            slab.count, self.size, self.rank
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> FileSpec {
        let dims = vec![DimSpec::new("t", 4, true), DimSpec::new("x", 3, false)];
        FileSpec::plain(Format::Netcdf4, "v", Atomic::Int, dims)
    }

    #[test]
    fn memory_that_does_not_fit_a_selection_is_refused() {
        let kind = Kind::of(&spec());
        kind.check(&Hyperslab::new(&[0, 0], &[2, 3]), 24).unwrap();
        for (slab, bytes) in [
            (Hyperslab::new(&[0, 0], &[2, 3]), 23),
            (Hyperslab::new(&[0], &[6]), 24),
            (Hyperslab::new(&[0, 0], &[u64::MAX, u64::MAX]), 4),
        ] {
            assert_eq!(kind.check(&slab, bytes).unwrap_err().exit_code(), 2, "{slab:?}");
        }
    }

    #[test]
    fn only_the_variable_that_was_described_is_admitted() {
        let int = Some(Atomic::Int);
        spec().admits(&[4, 3], int).unwrap();
        for (shape, dtype) in
            [(&[2, 3][..], int), (&[4, 2], int), (&[4], int), (&[4, 3], Some(Atomic::UInt)), (&[4, 3], None)]
        {
            let e = spec().admits(shape, dtype).unwrap_err();
            assert!(e.exit_code() == 4 && e.to_string().contains("and [4, 3] int was asked for"), "{e}");
        }
    }
}
