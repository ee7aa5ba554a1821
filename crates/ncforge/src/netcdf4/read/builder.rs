//! The description of a file, made of what the walk over it found.

use std::collections::HashSet;

use super::attrs::{FoundAttrs, convert};
use super::dims::Dims;
use super::narrow;
use super::objects::Objects;
use super::scan::{self, Found};
use super::types::{Types, endian};
use crate::codec::filters::SHUFFLE;
use crate::error::{Error, Result};
use crate::hdf5::dataset::Dataset;
use crate::hdf5::dataspace::Dataspace;
use crate::hdf5::file::File;
use crate::hdf5::fill::FillKind;
use crate::hdf5::layout::Layout;
use crate::model::{
    Attribute, Cause, Endian, Fill, Format, GroupId, Schema, Segments, Skipped, Storage, VarId, Variable,
    decode_name,
};

/// The prefix of the dataset of a variable that has the name of a dimension without being its coordinate.
const NON_COORDINATE: &str = "_nc4_non_coord_";

/// Makes the description of what was found in a file.
struct Builder<'a> {
    file: &'a File,
    schema: Schema,
    notes: Vec<String>,
}

/// The description of a file; the addresses of its objects; the HDF5 dataset of each variable; notes.
pub(super) type Built = (Schema, Objects, Vec<Dataset>, Vec<String>);

/// The description of what was found in a file.
pub(super) fn build(file: &File, found: Found) -> Result<Built> {
    Builder { file, schema: Schema::new(Format::Netcdf4), notes: Vec::new() }.build(found)
}

impl Builder<'_> {
    fn build(mut self, mut found: Found) -> Result<Built> {
        self.schema.groups = std::mem::take(&mut found.tree);
        self.schema.skipped = std::mem::take(&mut found.skipped);
        if found.strict {
            self.schema.format = Format::Netcdf4Classic;
        }
        self.schema.provenance = found.provenance.take().map(|t| decode_name(&t));

        let mut types = self.types(&found);
        let dims = Dims::new(&found, &self.schema.groups);
        let mut is_variable = vec![false; found.datasets.len()];
        let mut dtypes = Vec::with_capacity(found.datasets.len());
        for (i, d) in found.datasets.iter().enumerate() {
            let dtype = if dims.is_bare(i) {
                None
            } else if d.dataset.space == Dataspace::Null {
                self.skip(d.group, &d.name, "a dataset without a value (null dataspace)");
                None
            } else if let Some(atomic) = narrow::read_as(&d.dataset.datatype) {
                Some(atomic.into())
            } else {
                match types.of(&d.dataset.datatype, d.dataset.committed, d.group) {
                    Ok(dtype) => Some(dtype),
                    Err(why) => {
                        self.skip(d.group, &d.name, &why);
                        None
                    }
                }
            };
            is_variable[i] = dtype.is_some();
            dtypes.push(dtype);
        }
        found.tree = self.schema.groups;
        let dims = dims.finish(self.file, &found, &is_variable);
        self.schema.groups = std::mem::take(&mut found.tree);
        self.schema.dims = dims.dims;
        self.notes.extend(dims.notes);

        let mut objects = Objects { scales: dims.scales, numbers: dims.numbers, ..Objects::default() };
        for (i, g) in found.groups.iter_mut().enumerate() {
            objects.groups.push((g.address, g.tracked));
            let attrs = std::mem::take(&mut g.attrs);
            let attrs = match self.attrs(&mut types, GroupId(i), "", attrs) {
                Ok(attrs) => attrs,
                Err(e) => {
                    let entry = scan::skipped_attributes(&self.schema.group_path(GroupId(i)), e)?;
                    self.schema.skipped.push(entry);
                    Vec::new()
                }
            };
            self.schema.groups[i].attrs = attrs;
        }
        let mut datasets = Vec::new();
        let mut names: HashSet<(GroupId, String)> = HashSet::new();
        let rest = found.datasets.into_iter().zip(dtypes).zip(dims.of_dataset).zip(dims.misfits);
        for (((d, dtype), dims), misfit) in rest {
            let (Some(dtype), Some(dims)) = (dtype, dims) else { continue };
            let short = d.name.strip_prefix(NON_COORDINATE).filter(|n| !n.is_empty()).unwrap_or(&d.name);
            let name = if names.insert((d.group, short.to_owned())) { short } else { &d.name }.to_owned();
            let attrs = match self.attrs(&mut types, d.group, &name, d.attrs) {
                Ok(attrs) => attrs,
                Err(e) => {
                    self.leave_out(d.group, &name, e)?;
                    continue;
                }
            };
            let (storage, fill) = (storage(&d.dataset), fill(&d.dataset));
            let narrow = narrow::read_as(&d.dataset.datatype).is_some();
            let endian = if narrow { Endian::Native } else { endian(&d.dataset.datatype) };
            if let Some(numbered) = misfit {
                objects.misfits.insert(VarId(self.schema.vars.len()), numbered);
            }
            self.schema.vars.push(Variable {
                name,
                group: d.group,
                dtype,
                dims,
                attrs,
                storage,
                endian,
                fill,
                access_points: Segments::Auto,
            });
            objects.vars.push(d.address);
            datasets.push(d.dataset);
        }
        objects.types = types.addresses;
        self.schema.types = types.types;
        Ok((self.schema, objects, datasets, self.notes))
    }

    fn types(&mut self, found: &Found) -> Types {
        let mut skipped = Vec::new();
        let types = Types::new(&found.types, &mut skipped, |g| self.schema.group_path(g));
        self.schema.skipped.extend(skipped);
        types
    }

    fn path(&self, group: GroupId, name: &str) -> String {
        format!("{}/{name}", self.schema.group_path(group).trim_end_matches('/'))
    }

    fn skip(&mut self, group: GroupId, name: &str, why: &str) {
        let path = self.path(group, name);
        self.schema.skipped.push(Skipped { path, why: why.to_owned(), cause: Cause::Foreign });
    }

    fn leave_out(&mut self, group: GroupId, name: &str, e: Error) -> Result<()> {
        let skipped = scan::skipped(&self.path(group, name), e)?;
        self.schema.skipped.push(skipped);
        Ok(())
    }

    /// The attributes that are a user's.
    fn attrs(
        &mut self,
        types: &mut Types,
        group: GroupId,
        var: &str,
        found: FoundAttrs,
    ) -> Result<Vec<Attribute>> {
        let mut out = found.ready;
        let mut dropped = 0;
        for (i, stored) in found.raw {
            match convert(self.file, types, group, &stored)? {
                Ok(attr) => out.insert(i - dropped, attr),
                Err(why) => {
                    dropped += 1;
                    self.skip(group, &format!("{var}:{}", decode_name(&stored.name)), &why);
                }
            }
        }
        Ok(out)
    }
}

fn storage(d: &Dataset) -> Storage {
    let mut filters = d.filters.clone();
    if let Some(atomic) = narrow::read_as(&d.datatype) {
        // For those who write the numbers as they are read.
        let size = atomic.size() as u32;
        filters.iter_mut().filter(|f| f.id == SHUFFLE).for_each(|f| f.params = vec![size]);
    }
    match &d.layout {
        Layout::Compact(_) => Storage::Compact,
        Layout::Contiguous { .. } | Layout::Virtual { .. } => Storage::Contiguous,
        Layout::Chunked(c) => Storage::Chunked { chunks: c.chunk.clone(), filters },
    }
}

/// netCDF-C takes a dataset without a fill value of the user's for one that is not filled.
fn fill(d: &Dataset) -> Fill {
    match d.fill.value {
        FillKind::User(_) => Fill::Default,
        FillKind::Default | FillKind::Undefined => Fill::None,
    }
}
