//! What chunk shapes are chosen for, as Python says it.

use ncforge::Result;
use ncforge::dataset::NewFilter;
use ncforge::engine::parse_size;
use ncforge::model::{Atomic, Attribute, DimId, Dimension, Schema, Variable};
use ncforge_ops::choosing::{Choosing, Cut};
use ncforge_ops::copy::CopyOptions;
use ncforge_ops::tune::{Access, Limits, Machine, StorageKind, axes_along};
use pyo3::prelude::*;

use crate::define::{StorageRequest, TypeName};
use crate::errors::invalid;
use crate::values::checked;

/// How values will be read, and from where.
#[derive(FromPyObject, Default)]
#[pyo3(from_item_all)]
pub(crate) struct ChoosingRequest {
    reads: Option<String>,
    expect: Option<String>,
    storage: Option<String>,
    reader: String,
    writer_memory: Option<String>,
}

impl ChoosingRequest {
    /// Whether reads are named.
    pub(crate) fn has_reads(&self) -> bool {
        self.reads.is_some()
    }

    /// Names the reads.
    pub(crate) fn set_reads(&mut self, reads: &str) {
        self.reads = Some(reads.to_owned());
    }

    /// The same in the library's terms. `sample`: whether it looks at values.
    pub(crate) fn choosing(&self, sample: bool) -> Result<Choosing> {
        let stored = machine_of(self.storage.as_deref())?;
        let memory = self.writer_memory.as_deref().map(parse_size).transpose()?;
        Ok(Choosing {
            accesses: self.reads.as_deref().map_or(Ok(Access::usual()), |text| Access::parse(text, &[]))?,
            machine: match self.reader.as_str() {
                "ncforge" => stored,
                "netcdf-c" => stored.netcdf_c(),
                other => return Err(invalid(format!("reader is `ncforge` or `netcdf-c`, not `{other}`"))),
            },
            limits: Limits { writer_memory: memory.or(Limits::default().writer_memory), ..Limits::default() },
            sample,
            expect: self.expect.as_deref().map_or(Ok(Vec::new()), Choosing::parse_expected)?,
        })
    }
}

/// The user's machine, with files on this storage.
pub(crate) fn machine_of(storage: Option<&str>) -> Result<Machine> {
    let kind = match storage {
        None => return Ok(Machine::of_user()),
        Some("local") => StorageKind::Local,
        Some("nfs") => StorageKind::Nfs,
        Some("object") => StorageKind::Object,
        Some(other) => return Err(invalid(format!("storage is `local`, `nfs` or `object`, not `{other}`"))),
    };
    Ok(Machine::of_user().on(kind))
}

/// A variable that is about to be defined, and what is known of its dimensions.
pub(crate) struct Planned<'a> {
    pub(crate) dtype: &'a TypeName,
    pub(crate) dims: &'a [usize],
    pub(crate) storage: &'a StorageRequest,
    /// Text attributes of coordinate variables, which tell what dimensions mean; the file need not have them yet.
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
        let mut choosing = request.choosing(false)?;
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
        let bytes = axes.iter().fold(size as u64, |b, a| b.saturating_mul(a.len));
        if bytes < CopyOptions::default().min_chunked && !axes.iter().any(|a| a.unlimited) {
            return Ok(None);
        }
        let filters = NewFilter::all(&self.storage.filters(), size, 1 << 20);
        let cut = Cut { axes: &axes, element: size as u64, filters: &filters, sampled: None, before: None };
        Ok(cut.choose(&choosing)?.map(|choice| choice.chunks))
    }
}
