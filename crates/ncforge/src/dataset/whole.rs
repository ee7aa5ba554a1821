//! What a dataset is of, and what operations on whole files ask it: a file, a view of another dataset, or many files as one.

use crate::store::remote::shown_path;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use super::{Dataset, FileId, Origin};
use crate::container::{Container, Remark, remarks};
use crate::engine::{Engine, RawChunk};
use crate::error::Result;
use crate::layout::VarLayout;
use crate::model::{Format, VarId};
use crate::view::{Seen, View};

impl Dataset {
    /// Several files, of this format, as one dataset.
    pub fn of_files(
        container: Box<dyn Container>,
        engine: &Engine,
        files: Vec<PathBuf>,
        format: Format,
    ) -> Self {
        let path = PathBuf::from(container.store().name());
        Self::new(container.into(), engine, path, Origin::Files { files, format, ids: OnceLock::new() })
    }

    /// A view of it, which is a dataset, too.
    #[must_use]
    pub fn view(&self, view: View) -> Self {
        let view = Arc::new(view);
        let seen = Seen::new(view.clone(), self.inner.container.clone());
        let path = self.path().to_owned();
        Self::new(Arc::new(seen), self.engine(), path, Origin::View(self.clone(), view))
    }

    /// Its name in messages.
    pub fn name(&self) -> String {
        shown_path(self.path())
    }

    /// The files behind it.
    pub fn files(&self) -> Vec<PathBuf> {
        match &self.inner.origin {
            Origin::File { .. } => vec![self.path().to_owned()],
            Origin::View(whole, _) => whole.files(),
            Origin::Files { files, .. } => files.clone(),
        }
    }

    /// The format of the files behind it.
    pub fn format(&self) -> Format {
        match &self.inner.origin {
            Origin::File { .. } => self.schema().format,
            Origin::View(whole, _) => whole.format(),
            Origin::Files { format, .. } => *format,
        }
    }

    /// The files with the states that are read. Of a file that is the one at its opening: for a URL, another look is another request.
    ///
    /// # Errors
    /// A file is not there any more.
    pub fn ids(&self) -> Result<Vec<FileId>> {
        match &self.inner.origin {
            Origin::File { id: Some(id), .. } => Ok(vec![id.clone()]),
            Origin::File { id: None, .. } => Ok(vec![FileId::at(self.path())?]),
            Origin::View(whole, _) => whole.ids(),
            Origin::Files { files, ids, .. } => match ids.get() {
                Some(known) => Ok(known.clone()),
                None => {
                    let found = files.iter().map(|path| FileId::at(path)).collect::<Result<Vec<_>>>()?;
                    Ok(ids.get_or_init(|| found).clone())
                }
            },
        }
    }

    /// Which part of the files it is: of the same files, another text is another part.
    pub fn part(&self) -> String {
        match &self.inner.origin {
            Origin::View(whole, view) => whole.part() + &view.part(),
            Origin::File { .. } | Origin::Files { .. } => String::new(),
        }
    }

    /// What the user should know of it: contents that are read otherwise than they are stored.
    pub fn remarks(&self) -> Vec<Remark> {
        match &self.inner.origin {
            Origin::View(whole, view) => {
                whole.remarks().into_iter().chain(view.remarks().iter().cloned()).collect()
            }
            Origin::File { .. } | Origin::Files { .. } => remarks(self.container()),
        }
    }

    /// The layout of a variable.
    ///
    /// # Errors
    /// As [`Container::layout`].
    pub fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        self.container().layout(var)
    }

    /// One chunk as it is stored.
    ///
    /// # Errors
    /// As [`Engine::raw_chunk`].
    pub fn raw_chunk(&self, var: VarId, at: &[u64]) -> Result<RawChunk> {
        self.engine().raw_chunk(self.container(), var, at)
    }
}
