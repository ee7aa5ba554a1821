//! A file whose every value has its place, written by several at the same time.

use std::sync::Arc;

use crate::container::{Container, ContainerMut};
use crate::error::{Error, Result};
use crate::layout::VarLayout;
use crate::model::{DimId, Schema, Value, VarId};
use crate::store::{ReadStore, WriteStore};

/// A container that is read as it is in the file; values are overwritten where they lie, nothing else changes.
#[derive(Debug)]
pub(super) struct InPlace {
    container: Box<dyn Container>,
    store: Arc<dyn WriteStore>,
}

impl InPlace {
    /// The file that `container` was opened from.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a zipped file, whose values have no places of their own.
    pub(super) fn new(container: Box<dyn Container>, store: Arc<dyn WriteStore>) -> Result<Self> {
        let this = InPlace { container, store };
        match this.container.store().blocks() {
            Some(_) => this.fixed("writing to the blocks"),
            None => Ok(this),
        }
    }

    fn fixed<T>(&self, what: &str) -> Result<T> {
        Err(Error::Unsupported {
            path: self.container.store().name().to_owned(),
            what: format!("{what} of a file that is shared with other writers"),
        })
    }
}

impl Container for InPlace {
    fn schema(&self) -> &Schema {
        self.container.schema()
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        self.container.store()
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        self.container.layout(var)
    }

    fn decode_heap(&self, var: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        self.container.decode_heap(var, stored)
    }
}

impl ContainerMut for InPlace {
    fn write_store(&self) -> &Arc<dyn WriteStore> {
        &self.store
    }

    fn redefine(&mut self, _schema: Schema) -> Result<()> {
        self.fixed("changing the description")
    }

    fn grow(&mut self, _dim: DimId, _len: u64) -> Result<()> {
        self.fixed("growing a dimension")
    }

    fn place_chunk(&mut self, _var: VarId, _at: &[u64], _encoded: &[u8], _mask: u32) -> Result<()> {
        self.fixed("placing a chunk")
    }

    fn reserve(&mut self, _var: VarId) -> Result<()> {
        self.fixed("reserving room")
    }

    fn sync(&mut self) -> Result<()> {
        self.store.sync()
    }

    fn as_container(&self) -> &dyn Container {
        self
    }
}
