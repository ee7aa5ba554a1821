//! Bytes that follow each other in a store, gathered to long requests.

use crate::error::Result;
use crate::store::WriteStore;

/// Metadata is written in pieces of about this many bytes.
const PIECE: usize = 4 << 20;

/// Bytes on their way to a store, one piece after the other.
pub(super) struct Pieces<'a> {
    store: &'a dyn WriteStore,
    at: u64,
    waiting: Vec<u8>,
}

impl<'a> Pieces<'a> {
    /// Pieces from byte `at` on.
    pub(super) fn new(store: &'a dyn WriteStore, at: u64) -> Self {
        Pieces { store, at, waiting: Vec::new() }
    }

    /// The next bytes.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<()> {
        self.waiting.extend_from_slice(bytes);
        if self.waiting.len() >= PIECE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.store.write_at(&self.waiting, self.at)?;
        self.at += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    /// Writes what is left; gives the end.
    pub(super) fn finish(mut self) -> Result<u64> {
        self.flush()?;
        Ok(self.at)
    }
}
