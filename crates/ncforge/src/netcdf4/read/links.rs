//! External links: groups and datasets of other files, which are seen as if they were in this one.
//!
//! A file is opened with its own objects; what its links lead to is added to its description, and each variable of another file is an
//! array of one part. Links in those groups are followed, too. Files are looked for where HDF5 looks for them, with the folders of
//! `HDF5_EXT_PREFIX`; they are opened again when values are read, so that few are open at a time. A link that leads nowhere, or to a
//! group that contains it, is left out with the reason.

mod graft;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::Opened;
use super::container::Netcdf4File;
use super::lookup::{self, first_of};
use super::paths::{End, Paths};
use super::scan::FoundExternal;
use crate::container::Container;
use crate::error::{Error, Result};
use crate::hdf5::file::File;
use crate::layout::{
    Absent, ArrayPart, Element, OpenPart, Order, PartAxis, PartSource, Parts, Place, SourceName, VarLayout,
};
use crate::model::{Cause, GroupId, Schema, Value, VarId, decode_name};
use crate::store::{FileStore, Kept, ReadStore};

/// Opens a store, and follows its external links if that is allowed.
pub(super) fn open(store: Arc<dyn ReadStore>, follow: bool) -> Result<Box<dyn Container>> {
    let Opened { container, externals } = super::open_own(store, follow)?;
    if externals.is_empty() {
        return Ok(Box::new(container));
    }
    let path = container.store().local_path().map(Path::to_owned);
    let pool = Arc::new(Pool::default());
    let (schema, vars) = match path.filter(|_| follow) {
        Some(path) => graft::all(container.schema().clone(), &externals, &path, &pool),
        None => {
            let why = if follow { "in what is no local file" } else { "which is not followed here" };
            let mut schema = container.schema().clone();
            for link in &externals {
                let path = graft::path_in(&schema, link);
                let skipped = schema.skipped.iter_mut().find(|s| s.path == path);
                if let Some(skipped) = skipped {
                    (skipped.why, skipped.cause) = (format!("{}, {why}", skipped.why), Cause::NotFollowed);
                }
            }
            (schema, Vec::new())
        }
    };
    let layouts = vars.iter().map(|_| OnceLock::new()).collect();
    Ok(Box::new(Linked { own: container, schema, vars, layouts }))
}

/// A file with what its external links lead to.
#[derive(Debug)]
struct Linked {
    own: Netcdf4File,
    schema: Schema,
    /// Variables of other files, whose numbers follow those of its own.
    vars: Vec<Arc<Source>>,
    layouts: Vec<OnceLock<Arc<VarLayout>>>,
}

impl Linked {
    /// The position of a variable of another file.
    fn away(&self, var: VarId) -> Option<usize> {
        var.0.checked_sub(self.own.schema().vars.len())
    }
}

impl Container for Linked {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        self.own.store()
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        let Some(i) = self.away(var) else { return self.own.layout(var) };
        if let Some(layout) = self.layouts[i].get() {
            return Ok(layout.clone());
        }
        let layout = Arc::new(self.vars[i].layout(self.schema.var_path(var))?);
        Ok(self.layouts[i].get_or_init(|| layout).clone())
    }

    fn decode_heap(&self, var: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        match self.away(var) {
            None => self.own.decode_heap(var, stored),
            Some(i) => self.vars[i].opened()?.decode_heap(stored),
        }
    }

    fn notes(&self) -> Vec<String> {
        self.own.notes()
    }

    fn note_of(&self, var: VarId) -> Option<String> {
        if self.away(var).is_some() { None } else { self.own.note_of(var) }
    }

    fn metadata_bytes(&self) -> Option<u64> {
        self.own.metadata_bytes()
    }

    fn metadata_and_indexes(&self) -> Option<u64> {
        self.own.metadata_and_indexes()
    }
}

/// A file to which a link leads, with its own objects.
#[derive(Debug)]
struct Target {
    path: PathBuf,
    /// Without symbolic links.
    real: PathBuf,
    container: Netcdf4File,
    externals: Vec<FoundExternal>,
}

/// An object of a file.
enum Object {
    Group(GroupId),
    Var(VarId),
    /// Behind another external link.
    Away(FoundExternal),
}

impl Target {
    fn schema(&self) -> &Schema {
        self.container.schema()
    }

    /// The object at a path.
    fn find(&self, path: &[u8]) -> Result<Option<Object>> {
        let (schema, text) = (self.schema(), decode_name(path));
        let text = format!(
            "/{}",
            text.split('/').filter(|p| !p.is_empty() && *p != ".").collect::<Vec<_>>().join("/")
        );
        if let Some(group) = schema.find_group(&text) {
            return Ok(Some(Object::Group(group)));
        }
        if let Some(var) = schema.find_var(&text) {
            return Ok(Some(Object::Var(var)));
        }
        for link in &self.externals {
            let rest = text.strip_prefix(&graft::path_in(schema, link));
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
                let path = [&link.path[..], rest.as_bytes()].concat();
                return Ok(Some(Object::Away(FoundExternal { path, ..link.clone() })));
            }
        }
        // By another name.
        let file: &File = self.container.file();
        let address = match Paths::default().resolve(file, file.superblock.root, path)? {
            End::Here(address) => address,
            End::Away { file, path } => {
                let (group, name) = (Schema::ROOT, String::new());
                return Ok(Some(Object::Away(FoundExternal { group, name, file, path })));
            }
            End::Nowhere => return Ok(None),
        };
        let objects = self.container.objects();
        let group = objects.groups.iter().position(|g| g.0 == address).map(|i| Object::Group(GroupId(i)));
        Ok(group.or_else(|| objects.vars.iter().position(|v| *v == address).map(|i| Object::Var(VarId(i)))))
    }
}

/// Files that are open.
#[derive(Debug, Default)]
struct Pool {
    open: Kept<PathBuf, Arc<Target>>,
}

impl Pool {
    /// Opens the file that a link in the file at `from` names; `None` if there is none.
    fn find(&self, name: &[u8], from: &Path) -> Result<Option<Arc<Target>>> {
        first_of(name, from, lookup::OF_LINKS, |path| self.at(path))
    }

    /// Opens the file at a path, if it is not open in its present state.
    fn at(&self, path: &Path) -> Result<Arc<Target>> {
        let is_current =
            |t: &Arc<Target>| FileStore::of(&**t.container.store()).is_some_and(FileStore::is_as_opened);
        if let Some(known) = self.open.find(path).filter(is_current) {
            return Ok(known);
        }
        let Opened { container, externals } = super::open_own(Arc::new(FileStore::open(path)?), true)?;
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let opened = Arc::new(Target { path: path.to_owned(), real, container, externals });
        self.open.keep(path.to_owned(), opened.clone());
        Ok(opened)
    }
}

/// A variable of another file, to be opened.
#[derive(Debug)]
struct Source {
    pool: Arc<Pool>,
    file: PathBuf,
    /// Its path there.
    var: String,
    shape: Vec<u64>,
}

impl Source {
    fn opened(&self) -> Result<Away> {
        let target = self.pool.at(&self.file)?;
        let var = target.schema().find_var(&self.var).filter(|v| target.schema().shape(*v) == self.shape);
        let var = var.ok_or_else(|| Error::Changed { path: self.file.display().to_string() })?;
        Ok(Away { shape: self.shape.clone(), target, var })
    }

    /// The layout of the variable, which has another path here.
    fn layout(self: &Arc<Self>, name: String) -> Result<VarLayout> {
        let there = self.opened()?.layout()?;
        let shape = self.shape.clone();
        let element = match there.element.heap {
            true => there.element.clone(),
            false => Element { size: there.element.size, order: Order::Keep, heap: false },
        };
        let absent = match there.element.heap {
            true => there.absent.clone(),
            false => Absent::As(there.unwritten()),
        };
        if let Some(what) = there.place.unsupported() {
            return Ok(VarLayout {
                name,
                shape,
                element,
                absent,
                place: Place::Unsupported(what.to_owned()),
            });
        }
        let mut parts = Parts::default();
        if !shape.contains(&0) {
            let whole = shape.iter().enumerate().map(|(d, &n)| PartAxis::run(d, 0, 0, n));
            let (axes, origin) = (whole.collect(), vec![0; shape.len()]);
            parts.list.push(ArrayPart { axes, origin, source: self.clone() });
        }
        Ok(VarLayout { name, shape, element, absent, place: Place::Parts(Arc::new(parts)) })
    }
}

impl PartSource for Source {
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>> {
        Ok(Some(Arc::new(self.opened()?)))
    }

    fn name(&self) -> Option<SourceName> {
        Some(SourceName { file: self.file.display().to_string(), variable: self.var.clone() })
    }
}

/// A variable of another file that is open.
struct Away {
    target: Arc<Target>,
    var: VarId,
    shape: Vec<u64>,
}

impl OpenPart for Away {
    fn store(&self) -> &Arc<dyn ReadStore> {
        self.target.container.store()
    }

    fn var(&self) -> VarId {
        self.var
    }

    fn layout(&self) -> Result<Arc<VarLayout>> {
        self.target.container.layout(self.var)
    }

    fn shape(&self) -> Option<Vec<u64>> {
        Some(self.shape.clone())
    }

    fn decode_heap(&self, stored: &[u8]) -> Result<Vec<Value>> {
        self.target.container.decode_heap(self.var, stored)
    }
}
