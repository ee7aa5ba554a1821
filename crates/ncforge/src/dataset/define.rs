//! Define mode: dimensions, groups, types, variables and attributes, one after the other, in a new file or in one that is
//! being updated.
//!
//! A [`Definer`] checks each definition when it is made, by the rules of netCDF and the limits of the file's format, and
//! undoes what is refused: what was defined before stays. Definitions are carried out together before the next access to
//! data ([`Definer::dataset`]): a new file is created only then, with everything in it, and a file that is there is changed
//! once, however many definitions there were.
//!
//! netCDF-C's rules of when something may be defined are kept ([`DefineMode`]): chunks, filters and byte order until
//! the variable is in the file, the fill value until the variable has a value.
//!
//! ```
//! use ncforge::{CreateOptions, Dataset, DatasetMut, NewFilter, NewVariable, Owner, Hyperslab};
//! use ncforge::model::{Atomic, Attribute, Format, Schema};
//!
//! let dir = tempfile::tempdir()?;
//! let path = dir.path().join("t.nc");
//! let mut new = DatasetMut::begin(&path, Format::Netcdf4, CreateOptions::default())?;
//! let time = new.dimension(Schema::ROOT, "time", None)?;
//! let dims = [time];
//! let mut asked = NewVariable::new("t", Atomic::Float, &dims);
//! asked.storage.filters.push(NewFilter::Deflate(4));
//! let t = new.variable(asked)?;
//! new.put_attribute(Owner::Variable(t), Attribute::text("units", "K"))?;
//! // A second one of this name is refused, and netCDF-C has a number for that.
//! let twice = new.dimension(Schema::ROOT, "time", Some(3)).unwrap_err();
//! assert_eq!(twice.netcdf_code(), -42);
//! new.dataset()?.put(t, &Hyperslab::new(&[0], &[2]), &[280.0f32, 281.0])?;
//! new.close()?;
//! assert_eq!(Dataset::open(&path)?.schema().shape(t), [2]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod attributes;
mod chunks;
mod objects;
mod storage;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::formats;
use super::{CreateOptions, DatasetMut};
use crate::codec::quantize::Quantize;
use crate::error::{Error, Result};
use crate::model::{Changes, Definition, DimId, Format, Names, Schema, VarId};
use crate::store::zipped::is_named_zipped;
use crate::store::{FileStore, OutputFile, WriteStore};

pub use attributes::Owner;
pub use chunks::{ChunkChooser, default_chunks};
pub use objects::NewVariable;
pub use storage::{NewFilter, NewLayout, NewStorage};

/// The time at which definitions may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum DefineMode {
    /// At any time; data may be read and written at any time, too. As netCDF-C with netCDF-4 files.
    #[default]
    Implicit,
    /// Between [`Definer::redef`] and [`Definer::enddef`] only, where data are out of reach. As netCDF-C with files of
    /// the classic model. In data mode, attributes may get values that take no more bytes, and names that are no longer.
    Explicit,
}

/// A file that is being defined, and its data once they are needed.
#[derive(Debug)]
pub struct Definer {
    /// The description with all definitions; `None` until something is defined in a file that is there.
    described: Option<Description>,
    /// Definitions that the file does not have yet.
    changes: Changes,
    /// The file; `None` until a new one is created.
    file: Option<DatasetMut>,
    /// The place and the options of a new file.
    new: NewFile,
    /// Whether the new file is a zipped one: asked with every definition.
    is_zipped: bool,
    mode: DefineMode,
    /// Whether definitions may be made now, in [`DefineMode::Explicit`].
    is_defining: bool,
    /// Variables whose values shall lose bits, which the file does not know yet.
    quantized: Vec<(VarId, Quantize)>,
    choose: ChunkChooser,
}

/// Definitions that are not in the file yet.
#[derive(Debug)]
struct Description {
    schema: Schema,
    names: Names,
    /// Its unlimited dimensions, which grow as data are written.
    unlimited: Vec<DimId>,
    /// The revision of the file's description that it continues.
    revision: u64,
}

impl Description {
    fn new(schema: Schema, revision: u64) -> Self {
        let names = Names::of(&schema);
        let dims = (0..schema.dims.len()).map(DimId);
        let unlimited = dims.filter(|d| schema.dim(*d).unlimited).collect();
        Description { schema, names, unlimited, revision }
    }
}

#[derive(Debug)]
struct NewFile {
    target: Target,
    options: CreateOptions,
}

#[derive(Debug)]
enum Target {
    /// A file of this name, which is reserved until a first attempt to create it.
    Path(PathBuf, Option<OutputFile>),
    /// A store that is empty.
    Store(Arc<dyn WriteStore>),
    /// The file is there already.
    None,
}

impl DatasetMut {
    /// Begins a new file, which is created with all its definitions when its data are first needed. Its name is reserved
    /// now.
    ///
    /// # Errors
    /// As [`DatasetMut::create`]; what the format cannot hold is refused when it is defined.
    pub fn begin(path: impl AsRef<Path>, format: Format, options: CreateOptions) -> Result<Definer> {
        let path = path.as_ref();
        let claim = DatasetMut::claim(path, &options)?;
        let target = Target::Path(path.to_owned(), Some(claim));
        Ok(Definer::of_new(NewFile { target, options }, format))
    }

    /// Begins a new dataset in an empty store, see [`DatasetMut::begin`] and [`DatasetMut::create_in`].
    pub fn begin_in(store: Arc<dyn WriteStore>, format: Format, options: CreateOptions) -> Definer {
        Definer::of_new(NewFile { target: Target::Store(store), options }, format)
    }

    /// Goes on to define what a file that is open for updates shall have.
    pub fn define(self) -> Definer {
        Definer {
            described: None,
            changes: Changes::default(),
            file: Some(self),
            new: NewFile { target: Target::None, options: CreateOptions::default() },
            is_zipped: false,
            mode: DefineMode::default(),
            is_defining: false,
            quantized: Vec::new(),
            choose: default_chunks,
        }
    }
}

impl Definer {
    fn of_new(new: NewFile, format: Format) -> Self {
        let is_named = matches!(&new.target, Target::Path(path, _) if is_named_zipped(path));
        Definer {
            described: Some(Description::new(Schema::new(format), 0)),
            changes: Changes::default(),
            file: None,
            is_zipped: is_named || new.options.zipped.is_some(),
            new,
            mode: DefineMode::default(),
            is_defining: true,
            quantized: Vec::new(),
            choose: default_chunks,
        }
    }

    /// Whether define mode is begun and ended explicitly from now on.
    #[must_use]
    pub fn with_mode(mut self, mode: DefineMode) -> Self {
        self.mode = mode;
        self
    }

    /// Sets the function that chooses chunk lengths of variables that need chunks and for which none are given.
    #[must_use]
    pub fn with_chunks_by(mut self, choose: ChunkChooser) -> Self {
        self.choose = choose;
        self
    }

    /// The description, definitions included that the file does not have yet.
    pub fn schema(&self) -> &Schema {
        match (&self.described, &self.file) {
            (_, Some(file)) if self.changes.is_empty() => file.schema(),
            (Some(described), _) => &described.schema,
            (None, _) => unreachable!("what is not in the file is described"),
        }
    }

    /// [`Self::schema`] and its names, for repeated look-ups by name.
    pub fn named(&mut self) -> (&Schema, &Names) {
        let described = self.describe();
        (&described.schema, &described.names)
    }

    /// The description, to be changed: that of the file if somebody else changed it.
    fn describe(&mut self) -> &mut Description {
        if let Some(file) = self.file.as_ref().filter(|_| self.changes.is_empty()) {
            match &mut self.described {
                Some(d) if d.revision == file.revision() => {
                    for &id in &d.unlimited {
                        d.schema.dims[id.0].len = file.schema().dim(id).len;
                    }
                }
                other => *other = Some(Description::new(file.schema().clone(), file.revision())),
            }
        }
        self.described.as_mut().expect("what is not in the file is described")
    }

    /// The format by whose rules definitions are checked: of a zipped file, the classic one inside.
    pub fn format(&self) -> Format {
        let format = self.schema().format;
        if self.is_zipped && !format.is_classic() { Format::Cdf5 } else { format }
    }

    /// Whether the file was created already, so that some of what is defined is in it.
    pub fn is_created(&self) -> bool {
        self.file.is_some()
    }

    /// Begins define mode again.
    ///
    /// # Errors
    /// [`Error::InDefineMode`] if it was not ended, in [`DefineMode::Explicit`].
    pub fn redef(&mut self) -> Result<()> {
        if self.is_defining && self.mode == DefineMode::Explicit {
            return Err(Error::InDefineMode { what: "to begin define mode" });
        }
        self.is_defining = true;
        Ok(())
    }

    /// Ends define mode: carries out what was defined.
    ///
    /// # Errors
    /// [`Error::NotInDefineMode`] if it was not begun, in [`DefineMode::Explicit`]; as [`Definer::dataset`].
    pub fn enddef(&mut self) -> Result<()> {
        if !self.is_defining && self.mode == DefineMode::Explicit {
            return Err(Error::NotInDefineMode { what: "to end it" });
        }
        self.carry_out()?;
        self.is_defining = false;
        Ok(())
    }

    /// The dataset with all definitions carried out, to read and write its data.
    ///
    /// # Errors
    /// [`Error::InDefineMode`] before [`Definer::enddef`] in [`DefineMode::Explicit`]; what [`DatasetMut::create`] and
    /// [`DatasetMut::redefine`] give. Where a file cannot hold them the pending definitions are dropped, so that it can still
    /// be closed; where they cannot be written, and of a new file, they stay pending, and the error comes back each time.
    pub fn dataset(&mut self) -> Result<&mut DatasetMut> {
        if self.is_defining && self.mode == DefineMode::Explicit {
            return Err(Error::InDefineMode { what: "access to data" });
        }
        self.carry_out()
    }

    /// Carries out what is pending, completes the file and closes it, see [`DatasetMut::close`].
    pub fn close(mut self) -> Result<()> {
        if self.is_inherited() {
            std::mem::forget(self);
            return Ok(());
        }
        self.finish()
    }

    /// As [`Self::close`]; after an error the file is still open, see [`DatasetMut::finish`].
    pub fn finish(&mut self) -> Result<()> {
        if self.is_inherited() {
            return Ok(());
        }
        self.carry_out()?.finish()
    }

    /// Brings everything so far into the file, see [`DatasetMut::sync`].
    ///
    /// # Errors
    /// As [`Definer::dataset`] and [`DatasetMut::sync`].
    pub fn sync(&mut self) -> Result<()> {
        if self.is_inherited() {
            return Ok(());
        }
        self.dataset()?.sync()
    }

    /// Whether the file belongs to a process that this one was forked from: then nothing is done to it, see [`DatasetMut`].
    pub fn is_inherited(&self) -> bool {
        self.store().is_some_and(|file| file.is_inherited())
    }

    /// An error if the file cannot be changed any more.
    fn check(&self) -> Result<()> {
        self.store().map_or(Ok(()), |file| file.check())
    }

    /// The file, if it is one.
    fn store(&self) -> Option<&Arc<FileStore>> {
        match (&self.file, &self.new.target) {
            (Some(file), _) => file.store(),
            (None, Target::Path(_, claim)) => claim.as_ref().map(OutputFile::store),
            _ => None,
        }
    }

    /// Carries out what is pending; from then on the dataset is not defined any further.
    pub fn into_dataset(mut self) -> Result<DatasetMut> {
        self.carry_out()?;
        self.file.take().ok_or_else(not_created)
    }

    fn carry_out(&mut self) -> Result<&mut DatasetMut> {
        self.check()?;
        match (&mut self.file, &mut self.described) {
            (None, Some(described)) => {
                self.file = Some(self.new.create(&described.schema)?);
                // The file describes itself as its format stores it.
                self.described = None;
                self.changes = Changes::default();
            }
            (Some(file), Some(described)) if !self.changes.is_empty() => {
                // Where values that wait cannot be written, what is defined stays pending.
                file.writer().flush()?;
                let changes = std::mem::take(&mut self.changes);
                if let Err(error) = file.redefine_parts(&described.schema, &changes) {
                    if described.schema.format.is_classic() && matches!(error, Error::Io { .. }) {
                        // Another attempt may succeed; until then nothing is reported as written.
                        self.changes = changes;
                        return Err(error);
                    }
                    self.described = None;
                    let known = file.schema().vars.len();
                    self.quantized.retain(|(var, _)| var.0 < known);
                    return Err(error);
                }
                changes.apply(file.schema(), &mut described.schema);
            }
            _ => {}
        }
        let file = self.file.as_mut().ok_or_else(not_created)?;
        file.quantize_from_now(self.quantized.drain(..));
        Ok(file)
    }

    /// Makes a change of the description, which is carried out later. One that fails leaves it as it was: it must have
    /// undone what it did.
    fn change<T>(&mut self, change: impl FnOnce(&mut Draft<'_>) -> Result<T>) -> Result<T> {
        self.check()?;
        let (format, choose) = (self.format(), self.choose);
        self.describe();
        let Some(Description { schema, names, unlimited, .. }) = &mut self.described else {
            return Err(not_created());
        };
        change(&mut Draft { schema, names, unlimited, changes: &mut self.changes, format, choose })
    }

    /// An error in [`DefineMode::Explicit`] unless define mode was begun.
    fn must_define(&self, what: &'static str) -> Result<()> {
        match self.mode {
            DefineMode::Explicit if !self.is_defining => Err(Error::NotInDefineMode { what }),
            _ => Ok(()),
        }
    }

    /// Whether a variable is in the file, and not only defined.
    fn is_in_file(&self, var: VarId) -> bool {
        self.file.as_ref().is_some_and(|file| var.0 < file.schema().vars.len())
    }
}

impl NewFile {
    fn create(&mut self, schema: &Schema) -> Result<DatasetMut> {
        let (schema, options) = (schema.clone(), self.options.clone());
        match &mut self.target {
            Target::Store(store) => DatasetMut::create_in(store.clone(), schema, options),
            Target::Path(path, claim) => match claim.take() {
                Some(claim) => DatasetMut::create_as(claim, schema, options),
                None => DatasetMut::create(path, schema, options),
            },
            Target::None => Err(not_created()),
        }
    }
}

/// A description that is being changed.
struct Draft<'a> {
    schema: &'a mut Schema,
    names: &'a mut Names,
    unlimited: &'a mut Vec<DimId>,
    changes: &'a mut Changes,
    /// The format of the rules.
    format: Format,
    choose: ChunkChooser,
}

impl Draft<'_> {
    /// Accepts what was just defined, or undoes it if the format cannot hold it.
    fn accept(&mut self, new: Definition, undo: impl FnOnce(&mut Schema)) -> Result<()> {
        self.check_named(new).inspect_err(|_| undo(self.schema))?;
        self.names.insert(self.schema, new);
        self.changes.insert(new);
        Ok(())
    }

    /// Accepts a new name, or restores the old one.
    fn accept_name(&mut self, of: Definition, old: String) -> Result<()> {
        if let Err(error) = self.check_named(of) {
            *of.name_mut(self.schema) = old;
            return Err(error);
        }
        self.names.rename(self.schema, of, &old);
        self.changes.insert(of);
        Ok(())
    }

    /// Accepts a change of a definition that keeps its name, which may be one that netCDF reserves; or undoes it.
    fn accept_change(&mut self, changed: Definition, undo: impl FnOnce(&mut Schema)) -> Result<()> {
        self.check(changed).inspect_err(|_| undo(self.schema))?;
        self.changes.insert(changed);
        Ok(())
    }

    fn check_named(&self, new: Definition) -> Result<()> {
        new.check_name(self.schema)?;
        self.check(new)
    }

    fn check(&self, part: Definition) -> Result<()> {
        formats::check_changed(self.schema, self.names, self.format, part)
    }
}

fn not_created() -> Error {
    Error::Internal("a file that was not created".into())
}

/// An error unless an object has this number.
fn known<T>(list: &[T], id: usize, kind: &'static str) -> Result<()> {
    if id < list.len() { Ok(()) } else { Err(Error::NoSuchId { kind, id }) }
}

#[cfg(test)]
mod tests;
