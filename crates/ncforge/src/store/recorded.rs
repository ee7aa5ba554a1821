//! A store that records what is read from another one, for checks of how a file is laid out.

use std::any::Any;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;

use super::{IoProfile, Origin, ReadStore};
use crate::error::{Error, Result};

/// A wrapped store, with a count of the bytes that are read and a list of the structures of metadata among them.
#[derive(Debug)]
pub struct RecordedStore {
    inner: Arc<dyn ReadStore>,
    read: AtomicU64,
    metadata: Mutex<Vec<(u64, u64)>>,
}

impl RecordedStore {
    /// Records what is read from `inner`.
    pub fn new(inner: Arc<dyn ReadStore>) -> Self {
        RecordedStore { inner, read: AtomicU64::new(0), metadata: Mutex::default() }
    }

    /// The recording store that a store is, if it is one.
    pub fn of(store: &dyn ReadStore) -> Option<&Self> {
        store.as_any()?.downcast_ref()
    }

    /// Bytes read so far.
    pub fn bytes_read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The structures of metadata (first byte, bytes) that were read since the last call.
    pub fn take_metadata(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut *self.metadata.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Notes a structure of metadata that a format read.
    pub fn note_metadata(&self, offset: u64, len: u64) {
        self.metadata.lock().unwrap_or_else(PoisonError::into_inner).push((offset, len));
    }
}

impl ReadStore for RecordedStore {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read.fetch_add(buf.len() as u64, Ordering::Relaxed);
        self.inner.read_at(buf, offset)
    }

    fn io_profile(&self) -> IoProfile {
        self.inner.io_profile()
    }

    fn origin(&self) -> Origin<'_> {
        self.inner.origin()
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        let all = ranges.iter().map(|r| r.end.saturating_sub(r.start)).sum();
        self.read.fetch_add(all, Ordering::Relaxed);
        self.inner.read_ranges(ranges)
    }

    fn read_each(
        &self,
        ranges: &[Range<u64>],
        give: &mut dyn FnMut(usize, Bytes) -> bool,
    ) -> std::result::Result<(), (usize, Error)> {
        self.read.fetch_add(ranges.iter().map(|r| r.end.saturating_sub(r.start)).sum(), Ordering::Relaxed);
        self.inner.read_each(ranges, give)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
