//! A tile of which only the places of its values are kept.
//!
//! An open file holds its whole description, attributes and all, and what it has read of its metadata. Of a thousand
//! tiles that is too much, and opening them again for every variable takes longer than moving their bytes. Where the
//! values lie is all that is needed once the headers have been looked at: some hundred bytes a variable and some dozen a
//! chunk.

use std::collections::HashMap;
use std::sync::Arc;

use crate::container::Container;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::layout::{ChunkIndex, ChunkRecord, Place, VarLayout};
use crate::model::{Schema, VarId};
use crate::store::Store;

/// The places of a tile's values.
#[derive(Debug)]
pub(super) struct Slim {
    schema: Schema,
    store: Arc<dyn Store>,
    layouts: Vec<Arc<VarLayout>>,
    bytes: u64,
}

impl Slim {
    /// Of an open tile; `None` where it has values that only the whole file can decode (strings, ragged rows).
    pub(super) fn of(tile: &Dataset) -> Result<Option<Slim>> {
        let container = tile.container();
        let mut schema = container.schema().clone();
        if schema.vars.iter().any(|v| schema.is_heap(v.dtype)) {
            return Ok(None);
        }
        schema.groups.iter_mut().for_each(|g| g.attrs = Vec::new());
        schema.vars.iter_mut().for_each(|v| v.attrs = Vec::new());
        schema.skipped = Vec::new();
        schema.provenance = None;
        let mut bytes = 512 + schema.dims.len() as u64 * 96;
        let mut layouts = Vec::with_capacity(schema.vars.len());
        for v in schema.var_ids() {
            let mut layout = VarLayout::clone(&*container.layout(v)?);
            bytes += 768;
            if let Place::Chunked { index, .. } = &mut layout.place {
                let listed = index.list()?;
                bytes += listed.len() as u64 * (56 + 8 * layout.shape.len() as u64);
                *index = Arc::new(Listed(listed.into_iter().collect()));
            }
            layouts.push(Arc::new(layout));
        }
        Ok(Some(Slim { schema, store: Arc::clone(container.store()), layouts, bytes }))
    }

    /// About what it takes in memory.
    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }
}

impl Container for Slim {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    fn layout(&self, var: VarId) -> Result<Arc<VarLayout>> {
        self.layouts.get(var.0).cloned().ok_or_else(|| {
            crate::Error::Invalid(format!("`{}` has no variable number {}", self.store.name(), var.0))
        })
    }
}

/// The chunks of a variable.
#[derive(Debug)]
struct Listed(HashMap<Vec<u64>, ChunkRecord>);

impl ChunkIndex for Listed {
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>> {
        Ok(self.0.get(at).copied())
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        Ok(self.0.iter().map(|(at, record)| (at.clone(), *record)).collect())
    }
}
