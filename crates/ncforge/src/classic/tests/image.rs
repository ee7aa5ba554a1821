//! A zipped file with the interface of bytes in memory.

use std::sync::Arc;

use crate::error::Result;
use crate::store::zipped::{Codec, Options, Resources, ZippedStore};
use crate::store::{BlockStore, MemoryStore, ReadStore, WriteStore};

/// The image of a zipped file in memory, in small blocks and with little memory for them.
#[derive(Debug)]
pub(super) struct Image(ZippedStore);

impl Image {
    #[allow(clippy::needless_pass_by_value, reason = "it replaces `MemoryStore::new`")]
    pub(super) fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let options = Options { block: 4096, codec: Codec::Lz4 };
        let resources = Resources { pending: 4 * 4096, ..Resources::default() };
        let file = Arc::new(MemoryStore::new(name, Vec::new()));
        let store = ZippedStore::create(file, &options, resources).unwrap();
        store.write_at(&bytes, 0).unwrap();
        store.sync().unwrap();
        Image(store)
    }

    pub(super) fn to_vec(&self) -> Vec<u8> {
        self.0.read_vec(0, self.0.len()).unwrap()
    }
}

impl ReadStore for Image {
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
        self.0.blocks()
    }
}

impl WriteStore for Image {
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.0.write_at(buf, offset)
    }
    fn set_len(&self, len: u64) -> Result<()> {
        self.0.set_len(len)
    }
    fn sync(&self) -> Result<()> {
        self.0.sync()
    }
    fn replace(&self, build: &mut dyn FnMut(&dyn WriteStore) -> Result<()>) -> Result<()> {
        self.0.replace(build)
    }
}
