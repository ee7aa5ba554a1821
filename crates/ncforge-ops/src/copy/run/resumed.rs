//! The store of an output that an earlier run began.

use std::sync::Arc;

use ncforge::Result;
use ncforge::store::{BlockStore, ReadStore, WriteStore};

/// The partial output of an earlier run. A format that creates a dataset empties its store first; this one ignores
/// that, because the same bytes are going to be at the same places.
#[derive(Debug)]
pub(super) struct Resumed<S>(pub(super) Arc<S>);

impl<S: ReadStore> ReadStore for Resumed<S> {
    fn len(&self) -> u64 {
        self.0.len()
    }
    fn name(&self) -> &str {
        self.0.name()
    }
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.0.read_at(buf, offset)
    }
    fn blocks(&self) -> Option<&dyn BlockStore> {
        self.0.blocks().map(|_| self as &dyn BlockStore)
    }
}

impl<S: WriteStore> WriteStore for Resumed<S> {
    fn check(&self) -> Result<()> {
        self.0.check()
    }
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.0.write_at(buf, offset)
    }
    fn set_len(&self, len: u64) -> Result<()> {
        if len > self.0.len() { self.0.set_len(len) } else { Ok(()) }
    }
    fn reserve(&self, offset: u64, len: u64) -> Result<()> {
        self.0.reserve(offset, len)
    }
    fn sync(&self) -> Result<()> {
        self.0.sync()
    }
}

/// The places of data are known from the earlier run.
impl<S: Send + Sync> BlockStore for Resumed<S> {}
