//! A netCDF file whose aggregation variables name variables of other files (CF conventions 1.13, section 2.8).
//!
//! The file has the description of the first file, with the joined dimension as long as in all files together. Coordinates of that
//! dimension, small variables, and those that do not lie along it if they are small, are stored in it. The others are aggregation variables,
//! whose fragments are the variables of the files. Packed variables become those that they mean: readers unpack fragments.

mod names;

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::gather::{Gathered, Var, gather};
use super::kinds::Kind;
use super::make::begin;
use super::model::{LeftOut, RefsReport};
use super::options::{MOST_STRINGS, RefsOptions};
use super::parts::{Misfit, Part, parts};
use super::source::Source;
use crate::endings::{self, Told};
use crate::packed;
use crate::progress::Progress;
use ncforge::model::{
    Atomic, Attribute, DType, DimId, Dimension, Endian, Fill, Format, Schema, Storage, Value, Values, VarId,
    Variable, shape,
};
use ncforge::{CreateOptions, DatasetMut, Engine, Error, Hyperslab, Result};

/// The padding in rows of sizes.
const NO_SIZE: i64 = -1;

/// Writes the aggregation file of files, joined along a dimension if there are several.
///
/// # Errors
/// As [`references`](super::references) and [`DatasetMut::create`]; [`Error::Invalid`] where a part of the files is selected.
pub(super) fn archive<P: AsRef<Path>>(
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
    let bytes = begin(paths, progress);
    let source = Source::open(paths, options, engine)?;
    let of = |file: &PathBuf| names::uri(file, output, options.base.as_deref());
    let uris = source.files.iter().map(of).collect::<Result<Vec<_>>>()?;
    let found = gather(&source, options)?;
    let mut builder = Builder::new(&source, &found, options, &uris);
    builder.all()?;
    progress.advance(bytes);
    let report = builder.report(begun);
    builder.write(
        output,
        CreateOptions { overwrite, engine: Some(engine.clone()), ..CreateOptions::default() },
    )?;
    Ok(RefsReport { seconds: begun.elapsed().as_secs_f64(), ..report })
}

/// Where fragments lie: for each dimension, their lengths along it.
type Lengths = Vec<Vec<u64>>;

/// What names of files depend on: the numbers of fragments along each dimension, and the file of each.
type OfFiles = (Vec<u64>, Vec<usize>);

/// The variables that say where fragments are.
#[derive(Default)]
struct Known {
    maps: Vec<(Lengths, VarId)>,
    uris: Vec<(OfFiles, VarId)>,
}

/// The file in the making.
struct Builder<'a> {
    source: &'a Source,
    found: &'a Gathered,
    options: &'a RefsOptions,
    uris: &'a [String],
    /// The schema of what the fragments make.
    whole: &'a Schema,
    schema: Schema,
    /// Values of the new variables.
    values: Vec<(VarId, Hyperslab, Values)>,
    known: Known,
    left_out: Vec<LeftOut>,
    fragments: u64,
    stored: u64,
}

impl<'a> Builder<'a> {
    fn new(source: &'a Source, found: &'a Gathered, options: &'a RefsOptions, uris: &'a [String]) -> Self {
        let whole = source.dataset.schema();
        let mut schema = whole.clone();
        schema.format = Format::Netcdf4;
        (schema.vars, schema.skipped, schema.provenance) = (Vec::new(), Vec::new(), None);
        schema.dims.iter_mut().for_each(|d| d.unlimited = false);
        names::conventions(&mut schema.groups[0].attrs);
        let (values, known, left_out) = (Vec::new(), Known::default(), Vec::new());
        Self { source, found, options, uris, whole, schema, values, known, left_out, fragments: 0, stored: 0 }
    }

    fn all(&mut self) -> Result<()> {
        for var in &self.found.vars {
            if let Err(why) = self.one(var)? {
                self.left_out.push(LeftOut { name: var.path.clone(), why });
            }
        }
        Ok(())
    }

    /// Takes in a variable; the reason if it cannot be.
    fn one(&mut self, var: &Var) -> Result<std::result::Result<(), String>> {
        let kind = match &var.kind {
            Ok(kind) => *kind,
            Err(why) => return Ok(Err(why.clone())),
        };
        let mut new = self.whole.var(var.id).clone();
        (new.storage, new.endian, new.fill) = (Storage::Contiguous, Endian::Native, Fill::Default);
        // HDF5 stores a variable without dimensions under another name if a dimension has its name.
        let is_coordinate = self.whole.coordinate_dim(var.id).is_some();
        let is_few = match kind {
            Kind::Fixed { .. } => var.bytes() <= self.options.inline,
            Kind::Strings => shape::elements(&var.shape) <= MOST_STRINGS,
        };
        if is_coordinate || is_few || var.shape.is_empty() || var.shape.contains(&0) {
            let all = Hyperslab::all(&var.shape);
            let values = self.source.dataset.read(var.id, &all)?;
            let id = self.add(new);
            self.values.push((id, all, values));
            self.stored += 1;
            return Ok(Ok(()));
        }
        Ok(match parts(self.source, var.id)? {
            Ok(parts) => self.aggregate(new, var, &parts),
            Err(Misfit { why, .. }) => Err(why),
        })
    }

    fn add(&mut self, var: Variable) -> VarId {
        self.schema.vars.push(var);
        VarId(self.schema.vars.len() - 1)
    }

    /// Makes an aggregation variable.
    fn aggregate(&mut self, mut new: Variable, var: &Var, parts: &[Part]) -> std::result::Result<(), String> {
        let (dtype, unwritten) = (new.dtype, parts[0].layout.unwritten());
        packed::unpack(self.whole, &mut new)?;
        let is_unwritten =
            |part: &Part| part.layout.place.is_nowhere() && part.layout.unwritten() == unwritten;
        let is_constant = dtype == new.dtype && !unwritten.is_empty() && parts.iter().all(is_unwritten);
        let names = |vars: &[VarId], schema: &Schema| -> Vec<String> {
            let root = new.group == Schema::ROOT;
            vars.iter().map(|v| format!("{}{}", if root { "" } else { "/" }, schema.var(*v).name)).collect()
        };
        let lengths = lengths(parts);
        let map = self.map(&lengths);
        let data = if is_constant {
            let values = self.unique(&lengths, &new, &unwritten);
            let names = names(&[map, values], &self.schema);
            format!("map: {} unique_values: {}", names[0], names[1])
        } else {
            let uris = self.names_of_files(&lengths, parts);
            let path = if var.path.contains('/') { format!("/{}", var.path) } else { var.path.clone() };
            let identifier = self.text("fragment_identifier", Vec::new(), vec![path.into_bytes()]);
            let names = names(&[map, uris, identifier], &self.schema);
            self.fragments += parts.len() as u64;
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
        let numbers = lengths.iter().enumerate();
        numbers.map(|(d, row)| self.dim(&format!("fragments_{d}"), row.len() as u64)).collect()
    }

    /// A dimension of the root of this name, or one that begins with it, and this length.
    fn dim(&mut self, name: &str, len: u64) -> DimId {
        let names = (0..).map(|i| if i == 0 { name.to_owned() } else { format!("{name}_{i}") });
        for name in names {
            let known = self.schema.dims_in(Schema::ROOT).find(|d| self.schema.dim(*d).name == name);
            match known {
                // A dimension of the files may have any name.
                Some(found) if self.schema.dim(found).len == len && found.0 >= self.whole.dims.len() => {
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
        let is_free = |name: &String| !in_root(&self.schema, name) && !in_root(self.whole, name);
        let mut names = (0..).map(|i| if i == 0 { name.to_owned() } else { format!("{name}_{i}") });
        let name = names.find(is_free).unwrap_or_default();
        Variable::new(name, dtype, dims)
    }

    /// The variable with the sizes of fragments.
    fn map(&mut self, lengths: &Lengths) -> VarId {
        if let Some((_, id)) = self.known.maps.iter().find(|(known, _)| known == lengths) {
            return *id;
        }
        let id = if lengths.is_empty() {
            let var = self.variable("fragment_map", Atomic::Int64, Vec::new());
            let id = self.add(var);
            self.values.push((id, Hyperslab::all(&[]), Values::fixed(&1i64.to_ne_bytes())));
            id
        } else {
            let most = lengths.iter().map(Vec::len).max().unwrap_or(0).max(1);
            let padded = |row: &Vec<u64>| {
                let sizes = row.iter().map(|n| *n as i64).chain(std::iter::repeat(NO_SIZE));
                sizes.take(most).flat_map(i64::to_ne_bytes).collect::<Vec<u8>>()
            };
            let bytes: Vec<u8> = lengths.iter().flat_map(padded).collect();
            let dims = vec![
                self.dim("fragment_map_rows", lengths.len() as u64),
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
    fn names_of_files(&mut self, lengths: &Lengths, parts: &[Part]) -> VarId {
        let numbers = lengths.iter().map(|row| row.len() as u64).collect();
        let key: OfFiles = (numbers, parts.iter().map(|part| part.file).collect());
        if let Some((_, id)) = self.known.uris.iter().find(|(known, _)| *known == key) {
            return *id;
        }
        let texts = key.1.iter().map(|&file| self.uris[file].as_bytes().to_vec()).collect();
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
        RefsReport {
            files: self.uris.len(),
            variables: self.found.vars.len() - self.left_out.len(),
            chunks: self.fragments,
            inlined: self.stored,
            along: self.source.along.clone(),
            left_out: self.left_out.clone(),
            notes: self.found.notes.clone(),
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

/// The lengths of parts along each dimension. Parts follow each other along one of them.
fn lengths(parts: &[Part]) -> Lengths {
    let of = |d: usize| {
        let mut axes: Vec<_> =
            parts.iter().map(|part| part.axes[d]).map(|axis| (axis.to, axis.count)).collect();
        axes.sort_unstable();
        axes.dedup();
        axes.into_iter().map(|(_, count)| count).collect()
    };
    (0..parts[0].axes.len()).map(of).collect()
}
