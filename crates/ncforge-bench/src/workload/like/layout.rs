//! Which part of a variable is taken, and how it is stored.

use ncforge::model::{DimId, Dimension, Endian, Filter, Storage, Variable};
use ncforge::ops::sampling::sample;
use ncforge::tune::{Access, Axis, Coding, Pattern, Request, axes_of, choose};
use ncforge::{Atomic, DType, Dataset, Format, Hyperslab, Schema};

use super::LikeOptions;
use crate::driver::{ChunkAsk, DimSpec, FileSpec, VarInfo, VarSpec};
use crate::error::{Error, Result};

/// The part of the variable that is measured.
pub(super) struct Part {
    /// Path of the variable.
    pub(super) name: String,
    pub(super) dtype: Atomic,
    /// Names of its dimensions, and whether they can grow.
    pub(super) dims: Vec<(String, bool)>,
    /// The whole variable's shape …
    pub(super) whole: Vec<u64>,
    /// … and that of the part, from the first element on.
    pub(super) shape: Vec<u64>,
    /// The part's values, native byte order, row-major.
    pub(super) values: Vec<u8>,
    pub(super) format: Format,
    pub(super) chunks: Option<Vec<u64>>,
    pub(super) filters: Vec<Filter>,
}

impl Part {
    /// Reads the part: whole chunks as far as possible, fewer along the slowest axes.
    pub(super) fn of(dataset: &Dataset, info: &VarInfo, most: u64) -> Result<Part> {
        let schema = dataset.schema();
        let id = dataset.var(&info.name)?;
        let var = schema.var(id);
        let DType::Atomic(dtype) = var.dtype else {
            return Err(Error::Invalid(format!("`{}` has no numbers", info.name)));
        };
        let (chunks, filters) = match &var.storage {
            Storage::Chunked { chunks, filters } => (Some(chunks.clone()), filters.clone()),
            _ => (None, Vec::new()),
        };
        let whole = schema.shape(id);
        if whole.is_empty() {
            return Err(Error::Invalid(format!("`{}` is a single value", info.name)));
        }
        let shape = within(&whole, chunks.as_deref(), dtype.size() as u64, most);
        let bytes = shape.iter().try_fold(dtype.size() as u64, |b, &n| b.checked_mul(n));
        let bytes = bytes.and_then(|b| usize::try_from(b).ok());
        let bytes =
            bytes.ok_or_else(|| Error::Invalid(format!("`{}` is too large for memory", info.name)))?;
        let mut values = vec![0; bytes];
        dataset.read_bytes(id, &Hyperslab::all(&shape), &mut values)?;
        let dims = var.dims.iter().map(|&d| (schema.dim(d).name.clone(), schema.dim(d).unlimited)).collect();
        let format = schema.format;
        Ok(Part { name: info.name.clone(), dtype, dims, whole, shape, values, format, chunks, filters })
    }

    /// Selections along the first axis that are written one after the other, with the places of their values.
    pub(super) fn steps(&self, chunks: Option<&[u64]>) -> Vec<(Hyperslab, std::ops::Range<usize>)> {
        const CALL: u64 = 4 << 20;
        let row: u64 = self.shape[1..].iter().product::<u64>() * self.dtype.size() as u64;
        let unit = chunks.map_or(1, |c| c[0]).max(1);
        let step = (CALL / row.max(1)).div_ceil(unit).max(1) * unit;
        let mut out = Vec::new();
        let mut first = 0;
        while first < self.shape[0] {
            let count = step.min(self.shape[0] - first);
            let mut slab = Hyperslab::all(&self.shape);
            (slab.start[0], slab.count[0]) = (first, count);
            out.push((slab, (first * row) as usize..((first + count) * row) as usize));
            first += count;
        }
        out
    }
}

/// The shape of at most about so many bytes: axes are shortened from the slowest on, to whole chunks.
fn within(shape: &[u64], chunks: Option<&[u64]>, size: u64, most: u64) -> Vec<u64> {
    let mut out = shape.to_vec();
    for d in 0..out.len() {
        let bytes = out.iter().fold(size, |b, &n| b.saturating_mul(n));
        if bytes <= most {
            break;
        }
        let row = (bytes / out[d].max(1)).max(1);
        let unit = chunks.map_or(1, |c| c[d]).max(1);
        out[d] = (most / row / unit * unit).max(unit).min(out[d]);
    }
    out
}

/// One way to store the part.
pub(super) struct Layout {
    /// What people call it.
    pub(super) name: &'static str,
    pub(super) format: Format,
    pub(super) chunks: Option<Vec<u64>>,
    pub(super) filters: Vec<Filter>,
}

impl Layout {
    /// As it is, and as it would be chosen, where that is something else.
    pub(super) fn both(dataset: &Dataset, part: &Part, options: &LikeOptions) -> Result<Vec<Layout>> {
        let now = Layout {
            name: "as it is",
            format: part.format,
            chunks: part.chunks.clone(),
            filters: part.filters.clone(),
        };
        let id = dataset.var(&part.name)?;
        let axes = axes(dataset, part)?;
        let accesses = accesses(&axes, options)?;
        let coding = sample(dataset, id, &part.filters, 64 << 20)?.map_or_else(Coding::none, |s| s.sized);
        let request =
            Request { accesses, ..Request::new(&axes, part.dtype.size() as u64, coding, &options.machine) };
        let chosen = choose(&request)?.chunks;
        let other = part.chunks.as_ref() != Some(&chosen);
        let format = if part.format.is_classic() { Format::Netcdf4 } else { part.format };
        let chosen =
            Layout { name: "chosen chunks", format, chunks: Some(chosen), filters: part.filters.clone() };
        Ok([Some(now), other.then_some(chosen)].into_iter().flatten().collect())
    }

    /// The file's description for ncforge. Unlimited dimensions are empty at first.
    pub(super) fn schema(&self, part: &Part) -> Schema {
        let mut schema = Schema::new(self.format);
        for ((name, unlimited), &len) in part.dims.iter().zip(&part.shape) {
            let unlimited = *unlimited && self.may_grow(name, part);
            let len = if unlimited { 0 } else { len };
            schema.dims.push(Dimension { name: name.clone(), group: Schema::ROOT, len, unlimited });
        }
        let mut var = Variable::new("v", part.dtype, (0..part.dims.len()).map(DimId).collect());
        if let Some(chunks) = &self.chunks {
            var.storage = Storage::Chunked { chunks: chunks.clone(), filters: self.filters.clone() };
        }
        var.fill = ncforge::model::Fill::None;
        schema.vars.push(var);
        schema
    }

    /// Without chunks, netCDF-4 has no dimensions that grow; classic files have one, the first.
    fn may_grow(&self, name: &str, part: &Part) -> bool {
        match self.format.is_classic() {
            true => part.dims.first().is_some_and(|d| d.0 == name),
            false => self.chunks.is_some(),
        }
    }

    /// The same for other drivers, if it can be told: chunks, shuffle, deflate.
    pub(super) fn spec(&self, part: &Part) -> Option<FileSpec> {
        use ncforge::codec::filter_name;
        let (mut deflate, mut shuffle) = (0, false);
        for filter in &self.filters {
            match filter_name(filter.id) {
                "shuffle" => shuffle = true,
                "deflate" => deflate = *filter.params.first()?,
                _ => return None,
            }
        }
        let dims = part
            .dims
            .iter()
            .zip(&part.shape)
            .map(|((name, unlimited), &len)| DimSpec {
                name: name.clone(),
                len,
                unlimited: *unlimited && self.may_grow(name, part),
            })
            .collect();
        let chunks = match &self.chunks {
            Some(lens) => ChunkAsk::Lens(lens.iter().zip(&part.shape).map(|(&c, &n)| c.min(n)).collect()),
            None => ChunkAsk::Unasked(part.shape.clone()),
        };
        let dims_of = (0..part.dims.len()).collect();
        let coding = crate::driver::Coding::deflate(deflate, shuffle);
        let var = VarSpec {
            name: "v".into(),
            dtype: part.dtype,
            dims: dims_of,
            chunks,
            coding,
            endian: Endian::Native,
        };
        Some(FileSpec { zarr: false, format: self.format, dims, vars: vec![var], fill: false, cache: None })
    }
}

/// The axes of the part.
fn axes(dataset: &Dataset, part: &Part) -> Result<Vec<Axis>> {
    let mut axes = axes_of(dataset.schema(), dataset.var(&part.name)?);
    for (axis, &len) in axes.iter_mut().zip(&part.shape) {
        axis.len = len;
    }
    Ok(axes)
}

/// What was asked for; words that mean nothing are the caller's mistake.
fn accesses(axes: &[Axis], options: &LikeOptions) -> Result<Vec<Access>> {
    let names: Vec<&str> = axes.iter().map(|a| a.name.as_str()).collect();
    Access::parse(&options.reads, &names).map_err(|e| Error::Invalid(e.to_string()))
}

/// The reads, as boxes of the part.
pub(super) fn reads(dataset: &Dataset, part: &Part, options: &LikeOptions) -> Result<Vec<Pattern>> {
    let axes = axes(dataset, part)?;
    Ok(Pattern::bind(&accesses(&axes, options)?, &axes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_whole_chunks() {
        assert_eq!(within(&[100, 10, 10], None, 4, 4000), [10, 10, 10]);
        assert_eq!(within(&[100, 10, 10], Some(&[8, 5, 5]), 4, 4000), [8, 10, 10]);
        assert_eq!(within(&[1, 1000, 10], Some(&[1, 300, 10]), 4, 26_000), [1, 600, 10]);
        assert_eq!(within(&[3, 4], None, 4, 1), [1, 1]);
        assert_eq!(within(&[3, 4], None, 4, 1000), [3, 4]);
    }
}
