//! A store that knows what was read from it, and where metadata lie.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ncforge::error::Result;
use ncforge::store::Store;

/// Another store, watched.
#[derive(Debug)]
pub(super) struct Watched {
    inner: Arc<dyn Store>,
    read: AtomicU64,
    metadata: Mutex<Vec<(u64, u64)>>,
}

impl Watched {
    pub(super) fn new(inner: Arc<dyn Store>) -> Self {
        Watched { inner, read: AtomicU64::new(0), metadata: Mutex::default() }
    }

    /// Bytes read so far.
    pub(super) fn read(&self) -> u64 {
        self.read.load(Ordering::Relaxed)
    }

    /// The structures of metadata (first byte, bytes) that were read since the last call.
    pub(super) fn take_metadata(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut *self.metadata.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Store for Watched {
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
    fn note_metadata(&self, offset: u64, len: u64) {
        self.metadata.lock().unwrap_or_else(PoisonError::into_inner).push((offset, len));
    }
}
