//! Reads a header from front to back, fetching no more of the file than necessary.
//!
//! The first request is small, each further one is larger; every length is checked against the file's before
//! anything is fetched or allocated for it.

use std::borrow::Cow;

use crate::error::{Error, Result};
use crate::store::ReadStore;

/// Bytes of the first request: nearly every header fits.
const FIRST_READ: u64 = 16 << 10;

/// A position in a header, and the bytes fetched so far.
pub(super) struct Cursor<'s> {
    store: &'s dyn ReadStore,
    bytes: Cow<'s, [u8]>,
    pos: usize,
    end: u64,
}

impl<'s> Cursor<'s> {
    pub(super) fn new(store: &'s dyn ReadStore) -> Self {
        let bytes = store.as_slice().map_or(Cow::Owned(Vec::new()), Cow::Borrowed);
        let end = if bytes.is_empty() { store.len() } else { bytes.len() as u64 };
        Self { store, bytes, pos: 0, end }
    }

    /// Byte offset of the next byte.
    pub(super) fn pos(&self) -> u64 {
        self.pos as u64
    }

    /// Bytes between here and the end of the file.
    pub(super) fn remaining(&self) -> u64 {
        self.end - self.pos()
    }

    /// Length of the file when reading began.
    pub(super) fn file_len(&self) -> u64 {
        self.end
    }

    /// The error for something wrong at byte `at`.
    pub(super) fn corrupt(&self, at: u64, what: impl Into<String>) -> Error {
        Error::corrupt(self.store.name(), at, what)
    }

    /// The next `n` bytes; `what` names them for the message.
    pub(super) fn take(&mut self, n: u64, what: &str) -> Result<&[u8]> {
        if n > self.remaining() {
            let left = self.remaining();
            return Err(self.corrupt(
                self.pos(),
                format!("{what} takes {n} bytes, and only {left} are left of the file"),
            ));
        }
        let to = self.pos() + n;
        if to > self.bytes.len() as u64 {
            self.fetch(to)?;
        }
        let from = self.pos;
        self.pos = to as usize;
        Ok(&self.bytes[from..self.pos])
    }

    fn fetch(&mut self, to: u64) -> Result<()> {
        let have = self.bytes.len();
        let want = to.max(have as u64 * 4).max(FIRST_READ).min(self.end);
        // Not much more than the header: after it come data.
        let want = match self.store.blocks() {
            Some(blocks) => to.max(have as u64 + blocks.together(have as u64, want - have as u64)),
            None => want,
        };
        let bytes = self.bytes.to_mut();
        bytes.resize(want as usize, 0);
        self.store.read_at(&mut bytes[have..], have as u64)
    }

    pub(super) fn u32(&mut self, what: &str) -> Result<u32> {
        let b = self.take(4, what)?;
        Ok(u32::from_be_bytes(b.try_into().expect("four bytes")))
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64> {
        let b = self.take(8, what)?;
        Ok(u64::from_be_bytes(b.try_into().expect("eight bytes")))
    }
}
