//! A file as it is stored, by the numbers of what is seen of it.

use std::sync::Arc;

use crate::container::Container;
use crate::engine::Engine;
use crate::error::Result;
use crate::layout::VarLayout;
use crate::model::{Schema, Value, Values, VarId};
use crate::select::Hyperslab;
use crate::store::ReadStore;

/// The file with all of its variables: first those that are seen, so that a number means the same variable in both.
#[derive(Debug)]
pub(super) struct Stored {
    inner: Box<dyn Container>,
    /// The numbers in `inner`.
    order: Vec<VarId>,
    pub(super) schema: Schema,
    pub(super) engine: Engine,
}

impl Stored {
    pub(super) fn new(inner: Box<dyn Container>, order: Vec<VarId>, schema: Schema, engine: Engine) -> Self {
        Self { inner, order, schema, engine }
    }

    /// The file.
    pub(super) fn inner(&self) -> &dyn Container {
        &*self.inner
    }

    /// All values of a variable.
    pub(super) fn all(&self, var: VarId) -> Result<Values> {
        self.engine.read(self, var, &Hyperslab::all(&self.schema.shape(var)))
    }
}

impl Container for Stored {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn store(&self) -> &Arc<dyn ReadStore> {
        self.inner.store()
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        self.inner.layout(self.order[var.0])
    }

    fn note_of(&self, var: VarId) -> Option<String> {
        self.inner.note_of(self.order[var.0])
    }

    fn decode_heap(&self, var: VarId, stored: &[u8]) -> Result<Vec<Value>> {
        self.inner.decode_heap(self.order[var.0], stored)
    }
}
