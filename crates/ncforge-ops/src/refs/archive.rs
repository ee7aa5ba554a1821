//! A netCDF file whose aggregation variables name variables of other files (CF conventions 1.13, section 2.8).
//!
//! The file has the description of the first file, with the joined dimension as long as in all files together. Coordinates of that
//! dimension, small variables, and those that do not lie along it if they are small, are stored in it. The others are aggregation variables,
//! whose fragments are the variables of the files. Packed variables become those that they mean: readers unpack fragments.

mod names;
mod packed;

use std::path::Path;
use std::time::Instant;

use super::agree;
use super::build;
use super::gather::{FileVar, Inputs, MOST_STRINGS, Stored};
use super::kinds::Kind;
use super::make::{Gathered, gathered};
use super::model::{LeftOut, RefsReport};
use super::options::RefsOptions;
use crate::endings::{self, Told};
use crate::progress::Progress;
use ncforge::model::{
    Atomic, Attribute, DType, DimId, Dimension, Endian, Fill, Format, Schema, Storage, Value, Values, VarId,
    Variable, shape,
};
use ncforge::{CreateOptions, Dataset, DatasetMut, Engine, Error, Hyperslab, Result};

/// The padding in rows of sizes.
const NO_SIZE: i64 = -1;

/// Writes the aggregation file of files, joined along a dimension if there are several.
///
/// # Errors
/// As [`references`](super::references) and [`DatasetMut::create`]; [`Error::Invalid`] where a part of the files is selected.
pub(super) fn archive<P: AsRef<Path> + Sync>(
    paths: &[P],
    output: &Path,
    overwrite: bool,
    options: &RefsOptions,
    engine: &Engine,
    progress: &dyn Progress,
) -> Result<RefsReport> {
    let begun = Instant::now();
    if !options.select.is_empty() {
        return Err(Error::Invalid(
            "fragments of an aggregation file are whole variables: nothing can be selected".into(),
        ));
    }
    endings::check(output, &[Told::Netcdf])?;
    let of = |p: &P| names::uri(p.as_ref(), output, options.base.as_deref());
    let uris = paths.iter().map(of).collect::<Result<Vec<_>>>()?;
    let open = |i: usize| Dataset::open_with(paths[i].as_ref(), engine);
    let names = paths.iter().map(|p| p.as_ref().display().to_string()).collect();
    let inputs = Inputs { names, open: &open };
    gathered(&inputs, options, engine.threads(), progress, |found| {
        build::check(&found.opened.names, &found.all, found.along)?;
        let mut builder = Builder::new(found, options, &uris);
        builder.all()?;
        let report = builder.report(begun);
        builder.write(
            output,
            CreateOptions { overwrite, engine: Some(engine.clone()), ..CreateOptions::default() },
        )?;
        Ok(RefsReport { seconds: begun.elapsed().as_secs_f64(), ..report })
    })
}

/// Where fragments lie along the joined dimension: the axis, and their lengths, those without an element among them.
#[derive(Clone, Debug, PartialEq)]
struct Lengths {
    /// The shape of the first one.
    shape: Vec<u64>,
    axis: Option<usize>,
    along: Vec<u64>,
}

/// What names of files depend on: the rank, the dimension along which files are joined, and which of them have a part.
type OfFiles = (usize, Option<usize>, Vec<bool>);

/// The variables that say where fragments are.
#[derive(Default)]
struct Known {
    maps: Vec<(Lengths, VarId)>,
    uris: Vec<(OfFiles, VarId)>,
}

/// The file in the making.
struct Builder<'a> {
    found: &'a Gathered<'a>,
    options: &'a RefsOptions,
    uris: &'a [String],
    /// The schema of the first file.
    first: &'a Schema,
    schema: Schema,
    /// Values of the new variables.
    values: Vec<(VarId, Hyperslab, Values)>,
    known: Known,
    left_out: Vec<LeftOut>,
    fragments: u64,
    stored: u64,
}

impl<'a> Builder<'a> {
    fn new(found: &'a Gathered<'a>, options: &'a RefsOptions, uris: &'a [String]) -> Self {
        let first = found.first.schema();
        let mut schema = first.clone();
        schema.format = Format::Netcdf4;
        (schema.vars, schema.skipped, schema.provenance) = (Vec::new(), Vec::new(), None);
        schema.dims.iter_mut().for_each(|d| d.unlimited = false);
        names::conventions(&mut schema.groups[0].attrs);
        let (values, known, left_out) = (Vec::new(), Known::default(), Vec::new());
        Self { found, options, uris, first, schema, values, known, left_out, fragments: 0, stored: 0 }
    }

    fn all(&mut self) -> Result<()> {
        let found = self.found;
        for (i, var) in found.all[0].vars.iter().enumerate() {
            let Some(id) = self.first.find_var(&var.path) else { continue };
            if let Err(why) = self.one(i, var, id)? {
                self.left_out.push(LeftOut { name: var.path.clone(), why });
            }
        }
        Ok(())
    }

    /// Takes in the variable `i` of the first file; the reason if it cannot be.
    fn one(&mut self, i: usize, var: &FileVar, id: VarId) -> Result<std::result::Result<(), String>> {
        let kind = match &var.kind {
            Ok(kind) => *kind,
            Err(why) => return Ok(Err(why.clone())),
        };
        let found = self.found;
        let is_joined = |d: &&String| Some(d.as_str()) == found.along;
        if var.dims.iter().filter(is_joined).count() > 1 {
            return Ok(Err("it has the joined dimension twice".into()));
        }
        let axis = var.axis(found.along);
        let vars: Vec<&FileVar> = match axis {
            Some(_) => found.all.iter().filter_map(|f| agree::find(f, &var.path, i)).collect(),
            None => vec![var],
        };
        let along: Vec<u64> = axis.map_or_else(Vec::new, |a| vars.iter().map(|v| v.shape[a]).collect());
        let mut new = self.first.var(id).clone();
        (new.storage, new.endian, new.fill) = (Storage::Contiguous, Endian::Native, Fill::Default);
        if let Some(a) = axis {
            self.schema.dims[new.dims[a].0].len = along.iter().sum();
        }
        if vars.iter().all(|v| v.values.is_some()) && axis.is_some() {
            self.join(new, axis.unwrap_or(0), &vars);
            return Ok(Ok(()));
        }
        let few = match kind {
            Kind::Fixed { .. } => var.bytes() <= self.options.inline,
            Kind::Strings => shape::elements(&var.shape) <= MOST_STRINGS,
        };
        if axis.is_none() && (few || var.shape.is_empty()) {
            let all = Hyperslab::all(&var.shape);
            let values = self.found.first.read(id, &all)?;
            let id = self.add(new);
            self.values.push((id, all, values));
            self.stored += 1;
            return Ok(Ok(()));
        }
        let lengths = Lengths { shape: var.shape.clone(), axis, along };
        let is_unwritten = vars.iter().all(|v| matches!(v.stored, Stored::Nothing));
        Ok(self.aggregate(new, var, &lengths, is_unwritten))
    }

    fn add(&mut self, var: Variable) -> VarId {
        self.schema.vars.push(var);
        VarId(self.schema.vars.len() - 1)
    }

    /// Stores a variable whose values are all known.
    fn join(&mut self, new: Variable, axis: usize, vars: &[&FileVar]) {
        let id = self.add(new);
        self.stored += 1;
        if axis == 0 && vars.iter().all(|v| matches!(v.values, Some(Values::Fixed(_)))) {
            let bytes: Vec<u8> =
                vars.iter().filter_map(|v| v.values.as_ref()?.bytes()).flatten().copied().collect();
            let all = Hyperslab::all(&self.schema.shape(id));
            self.values.push((id, all, Values::fixed(&bytes)));
            return;
        }
        let mut begin = vec![0; vars[0].shape.len()];
        for var in vars {
            self.values.extend(var.values.clone().map(|v| (id, Hyperslab::new(&begin, &var.shape), v)));
            begin[axis] += var.shape[axis];
        }
    }

    /// Makes an aggregation variable.
    fn aggregate(
        &mut self,
        mut new: Variable,
        var: &FileVar,
        lengths: &Lengths,
        is_unwritten: bool,
    ) -> std::result::Result<(), String> {
        let unwritten = (new.dtype, var.fill.clone());
        packed::unpack(self.first, &mut new)?;
        let is_constant = is_unwritten && unwritten.0 == new.dtype && !unwritten.1.is_empty();
        let names = |vars: &[VarId], schema: &Schema| -> Vec<String> {
            let root = new.group == Schema::ROOT;
            vars.iter().map(|v| format!("{}{}", if root { "" } else { "/" }, schema.var(*v).name)).collect()
        };
        let map = self.map(lengths);
        let data = if is_constant {
            let values = self.unique(lengths, &new, &unwritten.1);
            let names = names(&[map, values], &self.schema);
            format!("map: {} unique_values: {}", names[0], names[1])
        } else {
            let uris = self.names_of_files(lengths);
            let path = if var.path.contains('/') { format!("/{}", var.path) } else { var.path.clone() };
            let identifier = self.text("fragment_identifier", Vec::new(), vec![path.into_bytes()]);
            let names = names(&[map, uris, identifier], &self.schema);
            self.fragments += lengths.along.iter().filter(|n| **n > 0).count().max(1) as u64;
            format!("map: {} uris: {} identifiers: {}", names[0], names[1], names[2])
        };
        let dims: Vec<&str> = new.dims.iter().map(|d| self.schema.dim(*d).name.as_str()).collect();
        new.attrs.push(Attribute::text("aggregated_dimensions", &dims.join(" ")));
        new.attrs.push(Attribute::text("aggregated_data", &data));
        new.dims.clear();
        self.add(new);
        Ok(())
    }

    /// The dimensions of the array of fragments.
    fn fragment_dims(&mut self, lengths: &Lengths) -> Vec<DimId> {
        let count = |d: usize| match lengths.axis {
            Some(axis) if axis == d => lengths.along.iter().filter(|n| **n > 0).count() as u64,
            _ => 1,
        };
        (0..lengths.shape.len()).map(|d| self.dim(&format!("fragments_{d}"), count(d))).collect()
    }

    /// A dimension of the root of this name, or one that begins with it, and this length.
    fn dim(&mut self, name: &str, len: u64) -> DimId {
        let names = (0..).map(|i| if i == 0 { name.to_owned() } else { format!("{name}_{i}") });
        for name in names {
            let known = self.schema.dims_in(Schema::ROOT).find(|d| self.schema.dim(*d).name == name);
            match known {
                // A dimension of the files may have any name.
                Some(found) if self.schema.dim(found).len == len && found.0 >= self.first.dims.len() => {
                    return found;
                }
                Some(_) => {}
                None => {
                    self.schema.dims.push(Dimension { name, group: Schema::ROOT, len, unlimited: false });
                    break;
                }
            }
        }
        DimId(self.schema.dims.len() - 1)
    }

    /// A new variable of the root, whose name begins so.
    fn variable(&mut self, name: &str, dtype: impl Into<DType>, dims: Vec<DimId>) -> Variable {
        let in_root =
            |schema: &Schema, name: &str| schema.vars_in(Schema::ROOT).any(|v| schema.var(v).name == name);
        let is_free = |name: &String| !in_root(&self.schema, name) && !in_root(self.first, name);
        let mut names = (0..).map(|i| if i == 0 { name.to_owned() } else { format!("{name}_{i}") });
        let name = names.find(is_free).unwrap_or_default();
        Variable::new(name, dtype, dims)
    }

    /// The variable with the sizes of fragments.
    fn map(&mut self, lengths: &Lengths) -> VarId {
        if let Some((_, id)) = self.known.maps.iter().find(|(known, _)| known == lengths) {
            return *id;
        }
        let rows: Vec<Vec<u64>> = (0..lengths.shape.len())
            .map(|d| match lengths.axis {
                Some(axis) if axis == d => lengths.along.iter().copied().filter(|n| *n > 0).collect(),
                _ => vec![lengths.shape[d]],
            })
            .collect();
        let id = if rows.is_empty() {
            let var = self.variable("fragment_map", Atomic::Int64, Vec::new());
            let id = self.add(var);
            self.values.push((id, Hyperslab::all(&[]), Values::fixed(&1i64.to_ne_bytes())));
            id
        } else {
            let most = rows.iter().map(Vec::len).max().unwrap_or(0).max(1);
            let padded = |row: &Vec<u64>| {
                let sizes = row.iter().map(|n| *n as i64).chain(std::iter::repeat(NO_SIZE));
                sizes.take(most).flat_map(i64::to_ne_bytes).collect::<Vec<u8>>()
            };
            let bytes: Vec<u8> = rows.iter().flat_map(padded).collect();
            let dims = vec![
                self.dim("fragment_map_rows", rows.len() as u64),
                self.dim("fragment_map_sizes", most as u64),
            ];
            let mut var = self.variable("fragment_map", Atomic::Int64, dims);
            let values = Values::fixed(&NO_SIZE.to_ne_bytes());
            var.attrs.push(Attribute { name: "_FillValue".into(), dtype: Atomic::Int64.into(), values });
            let id = self.add(var);
            self.values.push((id, Hyperslab::all(&self.schema.shape(id)), Values::fixed(&bytes)));
            id
        };
        self.known.maps.push((lengths.clone(), id));
        id
    }

    /// The variable with the names of the files of fragments.
    fn names_of_files(&mut self, lengths: &Lengths) -> VarId {
        let has_some: Vec<bool> = lengths.along.iter().map(|n| *n > 0).collect();
        let key = (lengths.shape.len(), lengths.axis, has_some);
        if let Some((_, id)) = self.known.uris.iter().find(|(known, _)| *known == key) {
            return *id;
        }
        let file = |i: usize| self.uris[self.found.parts.files[i]].as_bytes().to_vec();
        let texts = match lengths.axis {
            Some(_) => (0..key.2.len()).filter(|i| key.2[*i]).map(file).collect(),
            None => vec![file(0)],
        };
        let dims = self.fragment_dims(lengths);
        let id = self.text("fragment_uris", dims, texts);
        self.known.uris.push((key, id));
        id
    }

    fn text(&mut self, name: &str, dims: Vec<DimId>, texts: Vec<Vec<u8>>) -> VarId {
        let var = self.variable(name, DType::String, dims);
        let id = self.add(var);
        let values = texts.into_iter().map(|t| Value::String(Some(t))).collect();
        self.values.push((id, Hyperslab::all(&self.schema.shape(id)), Values::Heap(values)));
        id
    }

    /// The variable with the one value that all elements of all fragments have.
    fn unique(&mut self, lengths: &Lengths, of: &Variable, value: &[u8]) -> VarId {
        let dims = self.fragment_dims(lengths);
        let var = self.variable("fragment_values", of.dtype, dims);
        let id = self.add(var);
        let shape = self.schema.shape(id);
        let bytes = value.repeat(shape::elements(&shape) as usize);
        self.values.push((id, Hyperslab::all(&shape), Values::fixed(&bytes)));
        id
    }

    fn report(&self, begun: Instant) -> RefsReport {
        let found = self.found;
        RefsReport {
            files: found.parts.files.len(),
            variables: found.all[0].vars.len() - self.left_out.len(),
            chunks: self.fragments,
            inlined: self.stored,
            along: found.along.map(str::to_owned),
            left_out: self.left_out.clone(),
            notes: build::notes(&found.opened.names, &found.all),
            seconds: begun.elapsed().as_secs_f64(),
        }
    }

    fn write(self, output: &Path, options: CreateOptions) -> Result<()> {
        let mut new = DatasetMut::create(output, self.schema, options)?;
        for (var, slab, values) in &self.values {
            if !slab.is_empty() {
                new.write(*var, slab, values)?;
            }
        }
        new.close()
    }
}
