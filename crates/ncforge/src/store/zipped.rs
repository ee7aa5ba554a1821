//! A zipped file: the byte image of another file in separately compressed blocks, which can be read and written
//! anywhere like the image itself.
//!
//! `docs/reference/zipped-format.md` specifies the bytes. Guarantees:
//!
//! * **Live data are never overwritten.** Changed blocks, and the index pages on the path to them, are written to free
//!   space; a commit ([`WriteStore::sync`]) makes them durable, and then writes the root that refers to them. After a crash the
//!   file is in the state of the last commit, or of the one that was in progress.
//! * **Commits are atomic.** A reader sees the state that it found when it opened the file, even if the file is
//!   written in the meantime. There is one writer at a time; locks are released when their process ends.
//! * **No wrong byte is returned.** The root has the checksum of the map, the map those of index pages, and these those of
//!   blocks (CRC-32C): damage is an error that names the block, and affects that block only.
//! * **Written bytes do not depend on the number of threads.**
//!
//! ```
//! use std::sync::Arc;
//! use ncforge::store::zipped::{Options, ZippedStore, Resources};
//! use ncforge::store::{MemoryStore, ReadStore, WriteStore};
//!
//! let file = Arc::new(MemoryStore::new("a.ncz", Vec::new()));
//! let store = ZippedStore::create(file.clone(), &Options::default(), Resources::default())?;
//! store.write_at(&[7; 100_000], 50_000)?;
//! store.sync()?;
//! drop(store);
//!
//! let back = ZippedStore::open(file.clone(), Resources::default())?;
//! assert_eq!(back.len(), 150_000);
//! assert_eq!(back.read_vec(49_999, 2)?, [0, 7]);
//! assert!(file.len() < 10_000);
//! # Ok::<(), ncforge::Error>(())
//! ```

mod block;
mod cache;
mod choice;
mod commit;
mod compact;
mod format;
mod image;
mod open;
mod options;
mod plan;
mod read;
mod rebuild;
mod recent;
mod shape;
mod space;
mod survey;
mod table;
mod tree;
mod tx;
mod workers;
mod write;

#[cfg(test)]
mod tests;

use std::any::Any;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::{BlockStore, Part, ReadStore, Wider, WriteStore, past_end};
use crate::error::{Error, Result};

pub use cache::BlockCache;
pub use image::Reach;
pub use options::{Codec, Options, Resources};
pub use survey::{Damage, Summary, Survey};
pub use workers::Workers;

use super::lock::ranges::Lock;
use image::Map;
use recent::Recent;
use tree::Tree;
use tx::Tx;

/// Byte offsets of other copies of the bytes that [`detect`] checks.
pub const OTHER_ROOTS: [u64; 3] = [512, 4096, 4608];

/// Whether a path has the extension of zipped files, `.ncz`.
///
/// ```
/// use ncforge::store::zipped::is_named_zipped;
/// assert!(is_named_zipped("out/sst.ncz".as_ref()));
/// assert!(!is_named_zipped("out/sst.nc".as_ref()));
/// ```
pub fn is_named_zipped(path: &Path) -> bool {
    path.extension().is_some_and(|e| e.eq_ignore_ascii_case("ncz"))
}

/// Whether a file that starts with these bytes is a zipped one.
pub fn detect(first: &[u8; 8]) -> bool {
    *first == format::MAGIC
}

/// A zipped file that is open. As a [`ReadStore`] it is the image.
#[derive(Debug)]
pub struct ZippedStore {
    /// A writer's lock or a reader's pin. Declared before the file that it locks, and therefore dropped before it.
    _lock: Option<Lock>,
    backing: Arc<dyn ReadStore>,
    /// The store, if it is open for writing.
    sink: Option<Arc<dyn WriteStore>>,
    core: RwLock<Core>,
    /// Bytes of the image, readable without the lock.
    len: AtomicU64,
    /// log2 of the block size.
    shift: u8,
    codec: Codec,
    /// Whether the state on disk is undefined after an error.
    poisoned: AtomicBool,
    resources: Resources,
    /// The blocks of recent small reads.
    recent: Recent,
    /// The id of this store in a shared cache.
    id: u64,
}

/// State that changes while a file is written.
#[derive(Debug)]
struct Core {
    map: Map,
    /// The replacement of the image, while it is built.
    replacement: Option<Map>,
    trees: Vec<Tree>,
    /// Number of the root that was read or written last; 0: none yet.
    sequence: u64,
    /// Changes of a store that is open for writing.
    tx: Option<Tx>,
}

impl ZippedStore {
    /// Bytes of a block.
    pub fn block_size(&self) -> u64 {
        1 << self.shift
    }

    /// The codec of new blocks.
    pub fn codec(&self) -> Codec {
        self.codec
    }

    /// Number of the commit that is read or was written last.
    pub fn commit_number(&self) -> u64 {
        self.core().sequence
    }

    /// The file itself, as bytes.
    pub fn backing(&self) -> &Arc<dyn ReadStore> {
        &self.backing
    }

    /// The zipped file that a store is, if it is one.
    pub fn of(store: &dyn ReadStore) -> Option<&Self> {
        store.as_any()?.downcast_ref()
    }

    fn core(&self) -> RwLockReadGuard<'_, Core> {
        self.core.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn core_mut(&self) -> RwLockWriteGuard<'_, Core> {
        let core = self.core.write().unwrap_or_else(PoisonError::into_inner);
        self.recent.change();
        core
    }

    fn next_id() -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        NEXT.fetch_add(1, Ordering::Relaxed)
    }

    /// The file to write to.
    fn sink(&self) -> Result<&dyn WriteStore> {
        let Some(sink) = &self.sink else {
            return Err(Error::ReadOnly { path: self.name().to_owned() });
        };
        Ok(&**sink)
    }

    fn check_writable(&self) -> Result<()> {
        self.sink()?.check()?;
        if self.poisoned.load(Ordering::Relaxed) {
            return Err(Error::Invalid(format!(
                "an earlier error left it open what of `{}` is on disk; close it and open it again",
                self.name()
            )));
        }
        Ok(())
    }
}

impl Drop for ZippedStore {
    fn drop(&mut self) {
        self.resources.cache.forget(self.id);
    }
}

impl ReadStore for ZippedStore {
    fn len(&self) -> u64 {
        self.len.load(Ordering::Acquire)
    }

    fn name(&self) -> &str {
        self.backing.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let len = self.len();
        if offset.checked_add(buf.len() as u64).is_none_or(|end| end > len) {
            return Err(past_end(self.name(), buf.len() as u64, offset, len));
        }
        self.read_image(buf, offset)
    }

    fn blocks(&self) -> Option<&dyn BlockStore> {
        Some(self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl WriteStore for ZippedStore {
    fn check(&self) -> Result<()> {
        self.check_writable()
    }

    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        self.check_writable()?;
        self.write_image(buf, offset, false)
    }

    fn set_len(&self, len: u64) -> Result<()> {
        self.check_writable()?;
        self.set_image_len(len, false)
    }

    fn sync(&self) -> Result<()> {
        if self.sink.is_none() {
            return Ok(());
        }
        self.check_writable()?;
        self.commit()
    }

    fn replace(&self, build: &mut dyn FnMut(&dyn WriteStore) -> Result<()>) -> Result<()> {
        self.check_writable()?;
        self.rebuild(build)
    }
}

impl BlockStore for ZippedStore {
    fn insert(&self, insertions: &[(u64, u64)]) -> Result<bool> {
        self.check_writable()?;
        self.insert_bytes(insertions, None)
    }

    fn widen(&self, insertions: &[(u64, u64)], wider: &Wider) -> Result<bool> {
        self.check_writable()?;
        self.insert_bytes(insertions, Some(wider))
    }

    fn together(&self, offset: u64, len: u64) -> u64 {
        let core = self.core();
        len.min(core.map.end_of(core.map.find(offset)) - offset)
    }

    fn has_column(&self, offset: u64, run: u64, step: u64, n: u64) -> bool {
        ZippedStore::has_column(self, offset, run, step, n)
    }

    fn read_column(&self, out: &mut [u8], offset: u64, run: usize, step: u64) -> Result<()> {
        ZippedStore::read_column(self, out, offset, run, step)
    }

    fn write_column(&self, bytes: &[u8], offset: u64, run: usize, step: u64) -> Result<()> {
        self.check_writable()?;
        ZippedStore::write_column(self, bytes, offset, run, step)
    }

    fn describe(&self, parts: &[Part]) {
        if self.sink.is_some() {
            self.plan(parts, false);
        }
    }
}
