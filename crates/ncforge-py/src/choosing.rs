//! The purpose of chunk shapes, in Python's words.

use ncforge::model::{Atomic, Attribute, DimId, Dimension, Schema, Variable, shape};
use ncforge::{NewFilter, Result};
use ncforge_ops::choosing::Cut;
use ncforge_ops::copy::CopyOptions;
use ncforge_tune::{Stored, axes_along};
use pyo3::prelude::*;

use crate::define::{StorageRequest, TypeName};
use crate::request::Asked;
use crate::values::checked;

/// How values will be read, and from where: a dictionary of options.
pub(crate) type ChoosingRequest = Asked<ncforge_ops::choosing::ChoosingRequest>;

/// The lengths of blocks for Dask of an array with such chunks: of about `want` bytes, or (`None`) the usual ones, of `most` bytes
/// at most.
#[pyfunction]
pub(crate) fn blocks(
    chunk: Vec<u64>,
    lens: Vec<u64>,
    element: u64,
    filtered: bool,
    want: Option<u64>,
    most: u64,
) -> Vec<u64> {
    let stored = Stored { chunk: &chunk, lens: &lens, element, filtered };
    want.map_or_else(|| stored.blocks(most), |bytes| stored.joined(bytes))
}

/// A variable that is about to be defined, and what is known of its dimensions.
pub(crate) struct Planned<'a> {
    pub(crate) dtype: &'a TypeName,
    pub(crate) dims: &'a [usize],
    pub(crate) storage: &'a StorageRequest,
    /// Text attributes of coordinate variables, which say what dimensions mean; the file need not have them yet.
    pub(crate) coordinates: Vec<(String, Vec<(String, String)>)>,
    /// Lengths that unlimited dimensions will have.
    pub(crate) lengths: Vec<(String, u64)>,
}

impl Planned<'_> {
    /// Its chunk lengths in `file`. `None` for what a copy would not cut either: scalars, small arrays, strings.
    pub(crate) fn chunks(
        self,
        schema: &Schema,
        file: &str,
        request: &ChoosingRequest,
    ) -> Result<Option<Vec<u64>>> {
        let mut choosing = request.0.choosing(false);
        choosing.check(schema, file)?;
        for (name, len) in self.lengths {
            match choosing.expect.iter_mut().find(|(known, _)| *known == name) {
                Some((_, expected)) => *expected = len.max(*expected),
                None => choosing.expect.push((name, len)),
            }
        }
        let Some(size) = schema.fixed_size(self.dtype.resolve(schema)?) else { return Ok(None) };
        // The dimensions alone, with coordinate variables that say what they are.
        let mut plain = Schema::new(schema.format);
        for (i, &d) in self.dims.iter().enumerate() {
            checked(&schema.dims, d, "dimension")?;
            let dim = &schema.dims[d];
            plain.dims.push(Dimension { group: Schema::ROOT, ..dim.clone() });
            if let Some((name, attrs)) = self.coordinates.iter().find(|(name, _)| *name == dim.name) {
                let mut coordinate = Variable::new(name, Atomic::Double, vec![DimId(i)]);
                coordinate.attrs = attrs.iter().map(|(key, text)| Attribute::text(key, text)).collect();
                plain.vars.push(coordinate);
            }
        }
        let dims: Vec<DimId> = (0..plain.dims.len()).map(DimId).collect();
        let axes = axes_along(&plain, &dims);
        let bytes = shape::product(axes.iter().map(|a| a.len)).saturating_mul(size as u64);
        if bytes < CopyOptions::default().min_chunked && !axes.iter().any(|a| a.unlimited) {
            return Ok(None);
        }
        let filters = NewFilter::all(&self.storage.filters(), size, 1 << 20);
        let cut = Cut { axes: &axes, element: size as u64, filters: &filters, sampled: None, before: None };
        Ok(cut.choose(&choosing)?.map(|choice| choice.chunks))
    }
}
