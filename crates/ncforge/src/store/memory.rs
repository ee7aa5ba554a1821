//! Bytes in memory: for tests, for in-memory datasets, and for parsing without a file.

use std::sync::{PoisonError, RwLock};

use super::{ReadStore, WriteStore, past_end};
use crate::error::{Error, Result};

/// A growable store in memory.
#[derive(Debug)]
pub struct MemoryStore {
    name: String,
    bytes: RwLock<Vec<u8>>,
}

impl MemoryStore {
    /// A store holding `bytes`; `name` is used in messages.
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), bytes: RwLock::new(bytes) }
    }

    /// A copy of the contents.
    pub fn to_vec(&self) -> Vec<u8> {
        self.bytes.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ReadStore for MemoryStore {
    fn len(&self) -> u64 {
        self.bytes.read().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let bytes = self.bytes.read().unwrap_or_else(PoisonError::into_inner);
        let part = usize::try_from(offset)
            .ok()
            .and_then(|from| bytes.get(from..from.checked_add(buf.len())?))
            .ok_or_else(|| past_end(&self.name, buf.len() as u64, offset, bytes.len() as u64))?;
        buf.copy_from_slice(part);
        Ok(())
    }
}

impl WriteStore for MemoryStore {
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        let mut bytes = self.bytes.write().unwrap_or_else(PoisonError::into_inner);
        let from =
            usize::try_from(offset).map_err(|_| Error::TooLarge(format!("offset {offset} in memory")))?;
        let end = from + buf.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[from..end].copy_from_slice(buf);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<()> {
        let len = usize::try_from(len).map_err(|_| Error::TooLarge(format!("length {len} in memory")))?;
        self.bytes.write().unwrap_or_else(PoisonError::into_inner).resize(len, 0);
        Ok(())
    }

    fn replace(&self, build: &mut dyn FnMut(&dyn WriteStore) -> Result<()>) -> Result<()> {
        let replacement = MemoryStore::new(self.name.clone(), Vec::new());
        build(&replacement)?;
        let new = replacement.bytes.into_inner().unwrap_or_else(PoisonError::into_inner);
        *self.bytes.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }
}
