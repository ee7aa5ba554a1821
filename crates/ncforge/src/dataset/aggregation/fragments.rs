//! Fragments that are opened when elements of them are read, and those that are one value.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::canonical::{Target, canonical};
use super::location::Base;
use super::stored::Stored;
use crate::container::Container;
use crate::dataset::options::Leads;
use crate::engine::Engine;
use crate::error::Result;
use crate::layout::{Convert, NotFollowed, OpenPart, PartSource, Place, SourceName, VarLayout};
use crate::model::{Value, VarId};
use crate::store::{FileStore, Kept, ReadStore};
use crate::view::Unpacked;

/// The fragments of a file.
#[derive(Debug)]
pub(super) struct Fragments {
    pub(super) file: Arc<Stored>,
    base: Option<Base>,
    leads: Leads,
    open: Kept<PathBuf, Arc<File>>,
}

impl Fragments {
    pub(super) fn new(file: &Arc<Stored>, base: Option<Base>, leads: &Leads) -> Self {
        Self { file: file.clone(), base, leads: leads.clone(), open: Kept::default() }
    }

    /// Whether other files may be opened from this one.
    pub(super) fn leads(&self) -> bool {
        self.leads.follow && self.base.is_some()
    }

    /// These fragments, which must not be opened from this file.
    pub(super) fn not_followed(&self, sources: Vec<SourceName>) -> NotFollowed {
        NotFollowed::new("an aggregation variable", sources, !self.leads.follow)
    }

    /// Opens what a URI names; `None` if it is not there.
    fn find(&self, uri: &str, target: &Target) -> Result<Option<Arc<File>>> {
        let Some(base) = self.base.as_ref().filter(|_| self.leads.follow) else { return Ok(None) };
        for path in base.candidates(uri).map_err(|what| target.unsupported(&what))? {
            match self.at(&path) {
                Ok(found) => return Ok(Some(found)),
                Err(e) if e.says_no_file() => {}
                Err(e) => return Err(e.led_from(&target.file)),
            }
        }
        Ok(None)
    }

    /// Opens a file, if it is not open in its present state.
    fn at(&self, path: &Path) -> Result<Arc<File>> {
        let is_current =
            |f: &Arc<File>| FileStore::of(&**f.container.store()).is_none_or(FileStore::is_as_opened);
        if let Some(found) = self.open.find(path).filter(is_current) {
            return Ok(found);
        }
        let engine = self.file.engine.clone();
        let container = (self.leads.open)(path, &engine, &self.leads)?;
        let opened = Arc::new(File { container, engine });
        self.open.keep(path.to_owned(), opened.clone());
        Ok(opened)
    }
}

/// A file that is open.
#[derive(Debug)]
struct File {
    container: Box<dyn Container>,
    engine: Engine,
}

impl Drop for File {
    fn drop(&mut self) {
        // Cached data of a closed file are of no use.
        self.engine.forget_store(self.container.store());
    }
}

/// A variable of another file.
#[derive(Debug)]
pub(super) struct Fragment {
    pub(super) fragments: Arc<Fragments>,
    pub(super) target: Arc<Target>,
    pub(super) uri: Vec<u8>,
    pub(super) identifier: Vec<u8>,
    /// Its lengths in the array.
    pub(super) counts: Vec<u64>,
}

impl PartSource for Fragment {
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>> {
        let text = |bytes| {
            let text = std::str::from_utf8(bytes);
            text.map_err(|_| self.target.damaged("a name of a fragment is no text"))
        };
        let (uri, identifier) = (text(&self.uri)?, text(&self.identifier)?);
        let Some(file) = self.fragments.find(uri, &self.target)? else { return Ok(None) };
        let schema = file.container.schema();
        let var = schema.find_var(identifier);
        let var = var.ok_or_else(|| self.target.damaged(&format!("{} is not there", self.named())))?;
        let shape = schema.shape(var);
        let Some(lacks) = lacks(&self.counts, &shape) else {
            let (counts, what) = (&self.counts, self.named());
            return Err(self
                .target
                .damaged(&format!("{what} has the shape {shape:?}, the fragment {counts:?}")));
        };
        let convert = canonical(schema, var, &self.target)
            .map_err(|what| self.target.unsupported(&format!("{what} ({})", self.named())))?;
        Ok(Some(Arc::new(Opened { file, var, shape, lacks, convert })))
    }

    fn name(&self) -> Option<SourceName> {
        Some(self.named())
    }
}

impl Fragment {
    fn named(&self) -> SourceName {
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        SourceName { file: text(&self.uri), variable: text(&self.identifier) }
    }
}

/// The dimensions of length 1 that a fragment does not have; `None` if it differs in more.
fn lacks(counts: &[u64], shape: &[u64]) -> Option<Vec<usize>> {
    let (mut own, mut lacks) = (shape.iter().peekable(), Vec::new());
    for (d, n) in counts.iter().enumerate() {
        match own.peek() {
            Some(have) if *have == n => drop(own.next()),
            _ if *n == 1 => lacks.push(d),
            _ => return None,
        }
    }
    own.next().is_none().then_some(lacks)
}

/// A fragment that is open.
struct Opened {
    file: Arc<File>,
    var: VarId,
    shape: Vec<u64>,
    lacks: Vec<usize>,
    convert: Option<Unpacked>,
}

impl OpenPart for Opened {
    fn store(&self) -> &Arc<dyn ReadStore> {
        self.file.container.store()
    }

    fn var(&self) -> VarId {
        self.var
    }

    fn layout(&self) -> Result<Arc<VarLayout>> {
        self.file.container.layout(self.var)
    }

    fn shape(&self) -> Option<Vec<u64>> {
        Some(self.shape.clone())
    }

    fn lacks(&self) -> &[usize] {
        &self.lacks
    }

    fn convert(&self) -> Option<&dyn Convert> {
        self.convert.as_ref().map(|c| c as &dyn Convert)
    }

    fn decode_heap(&self, stored: &[u8]) -> Result<Vec<Value>> {
        self.file.container.decode_heap(self.var, stored)
    }
}

/// A fragment of which all elements are one value.
#[derive(Clone, Debug)]
pub(super) struct Constant {
    layout: Arc<VarLayout>,
    store: Arc<dyn ReadStore>,
    /// Of a heap type.
    value: Option<Value>,
}

impl Constant {
    /// `one`: an element in native byte order.
    pub(super) fn new(target: &Target, counts: Vec<u64>, one: Vec<u8>, value: Option<Value>) -> Self {
        let layout = VarLayout {
            name: target.name.clone(),
            shape: counts,
            element: target.element.clone(),
            absent: crate::layout::Absent::As(one),
            place: Place::Nowhere,
        };
        Self { layout: Arc::new(layout), store: target.nothing.clone(), value }
    }
}

impl PartSource for Constant {
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>> {
        Ok(Some(Arc::new(self.clone())))
    }

    fn name(&self) -> Option<SourceName> {
        None
    }
}

impl OpenPart for Constant {
    fn store(&self) -> &Arc<dyn ReadStore> {
        &self.store
    }

    fn var(&self) -> VarId {
        VarId(0)
    }

    fn layout(&self) -> Result<Arc<VarLayout>> {
        Ok(self.layout.clone())
    }

    fn decode_heap(&self, stored: &[u8]) -> Result<Vec<Value>> {
        let n = stored.len() / self.layout.element.size.max(1);
        Ok(vec![self.value.clone().unwrap_or(Value::String(None)); n])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_of_length_1_may_lack() {
        assert_eq!(lacks(&[1, 5, 1], &[5]), Some(vec![0, 2]));
        assert_eq!(lacks(&[1, 1, 5], &[1, 5]), Some(vec![1]));
        assert_eq!(lacks(&[2, 5], &[2, 5]), Some(vec![]));
        assert_eq!(lacks(&[1, 1], &[]), Some(vec![0, 1]));
        for shape in [&[5][..], &[2, 5, 1], &[5, 2], &[2, 4]] {
            assert_eq!(lacks(&[2, 5], shape), None, "{shape:?}");
        }
    }
}
