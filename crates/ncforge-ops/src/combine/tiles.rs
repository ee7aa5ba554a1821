//! The open files of a set of tiles: as many as memory and descriptors allow.
//!
//! A set may have ten thousand tiles. Each is opened once, to be looked at ([`Tiles::look_at_header`]); where its values lie
//! ([`CompactLayout`]) is retained from then on as long as a share of the memory budget holds it. Beyond that a tile is opened anew
//! when it is read, and let go (those that are retained stay: a walk over all tiles, variable after variable, would make
//! any other rule retain the wrong ones). Descriptors are fewer still, and come and go below ([`PooledFile`]). Headers
//! that differ in values of attributes only, as those of classic tiles do, are parsed once for all of them ([`KnownHeaders`]).

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::compact_layout::{CompactLayout, SharedLayouts};
use super::descriptors::{Descriptors, PooledFile};
use super::headers::KnownHeaders;
use crate::packed::Decoded;
use ncforge::model::Schema;
use ncforge::store::remote::shown_path;
use ncforge::store::remote::url_of;
use ncforge::store::{self, ReadStore};
use ncforge::{Dataset, Engine, Result};

/// The least number of tiles from which headers are learned: that takes about as long as opening a tile.
const WORTH_LEARNING: usize = 32;
/// Bytes that an open tile takes if its container does not tell them.
const UNKNOWN_METADATA: u64 = 64 << 10;

/// The header of a tile.
pub(crate) enum Seen<'a> {
    /// All of it.
    Whole(&'a Dataset),
    /// The tile is described as an earlier one, but for values of attributes, and its values lie in the same places.
    Like(&'a Schema, Like),
}

/// The tile that another one is like.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Like {
    pub(crate) tile: usize,
    /// Whether attributes of variables differ.
    pub(crate) vars_differ: bool,
}

/// The files of a set.
#[derive(Debug)]
pub(crate) struct Tiles {
    paths: Vec<PathBuf>,
    engine: Engine,
    /// Variables that are unpacked.
    decoded: Decoded,
    descriptors: Arc<Descriptors>,
    retained: Vec<OnceLock<Dataset>>,
    shared_layouts: SharedLayouts,
    headers: KnownHeaders,
    /// Bytes of descriptions that are retained, and may be.
    held: AtomicU64,
    limit: u64,
}

impl Tiles {
    /// The tiles of these paths, with these variables unpacked; `memory` bytes for descriptions.
    pub(crate) fn new(paths: Vec<PathBuf>, decoded: Decoded, engine: &Engine, memory: u64) -> Tiles {
        Tiles {
            retained: paths.iter().map(|_| OnceLock::new()).collect(),
            descriptors: Arc::new(Descriptors::of(paths.len())),
            paths,
            engine: engine.clone(),
            decoded,
            shared_layouts: SharedLayouts::default(),
            headers: KnownHeaders::default(),
            held: AtomicU64::new(0),
            limit: memory,
        }
    }

    /// The number of tiles.
    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Their paths.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The path of one, for messages.
    pub(crate) fn name(&self, tile: usize) -> String {
        shown_path(&self.paths[tile])
    }

    /// Leaves out the tiles that are not in `keep`.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        let mut kept = keep.iter();
        self.paths.retain(|_| kept.next().is_some_and(|k| *k));
        let mut kept = keep.iter();
        self.retained.retain(|_| kept.next().is_some_and(|k| *k));
    }

    /// Opens a tile for its values, or gives the one that is open.
    pub(crate) fn open(&self, tile: usize) -> Result<Dataset> {
        match self.retained[tile].get() {
            Some(open) => Ok(open.clone()),
            None => self.retained_or_whole(tile, self.open_whole(tile)?),
        }
    }

    /// Opens a tile, and looks at all that it says. It stays open for its values, where memory allows, and where
    /// there is something to be said of it. A tile whose header is one that was seen, but for values of attributes, is
    /// not opened for that.
    pub(crate) fn look_at_header<T>(
        &self,
        tile: usize,
        say: impl FnOnce(Seen<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let store = self.store(tile)?;
        if let Some((header, differing)) = self.headers.known(&*store)? {
            let like = Like { tile: header.tile(), vars_differ: differing.of_vars() };
            let said = header.with_schema(&differing, |schema| say(Seen::Like(schema, like)))?;
            if said.is_some() {
                self.retain_layout(tile, header.compact(store));
            }
            return Ok(said);
        }
        let whole = self.decoded.seen_in(Dataset::from_store(Arc::clone(&store), &self.engine)?)?;
        let said = say(Seen::Whole(&whole))?;
        let is_wanted = said.is_some() && self.retained[tile].get().is_none() && self.has_space();
        if is_wanted && has_parts(&whole) {
            // Tiles of parts have nothing in common.
            let bytes = whole.container().metadata_bytes().unwrap_or(UNKNOWN_METADATA);
            self.held.fetch_add(bytes, Ordering::Relaxed);
            self.retained[tile].get_or_init(|| whole.clone());
        } else if is_wanted {
            let compact = CompactLayout::of(&whole, &self.shared_layouts)?;
            if self.len() >= WORTH_LEARNING {
                let bytes = self.headers.learn(tile, &*store, &whole, &compact);
                self.held.fetch_add(bytes, Ordering::Relaxed);
            }
            self.retain_layout(tile, compact);
        }
        Ok(said)
    }

    /// Retains where a tile's values lie, if memory allows.
    fn retained_or_whole(&self, tile: usize, whole: Dataset) -> Result<Dataset> {
        match self.has_space() && !has_parts(&whole) {
            true => Ok(self.retain_layout(tile, CompactLayout::of(&whole, &self.shared_layouts)?)),
            false => Ok(whole),
        }
    }

    fn has_space(&self) -> bool {
        self.held.load(Ordering::Relaxed) < self.limit
    }

    fn retain_layout(&self, tile: usize, compact: CompactLayout) -> Dataset {
        let bytes = compact.bytes();
        let compact = Dataset::from_container(Box::new(compact), &self.engine);
        if self.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.limit {
            return self.retained[tile].get_or_init(|| compact).clone();
        }
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        compact
    }

    /// Opens a tile with its attributes, which [`Tiles::open`] may not have.
    pub(crate) fn open_whole(&self, tile: usize) -> Result<Dataset> {
        self.decoded.seen_in(Dataset::from_store(self.store(tile)?, &self.engine)?)
    }

    /// The variables that are unpacked.
    pub(crate) fn decoded(&self) -> &Decoded {
        &self.decoded
    }

    /// An object of a URL has no descriptor.
    fn store(&self, tile: usize) -> Result<Arc<dyn ReadStore>> {
        let path = &self.paths[tile];
        match url_of(path) {
            Some(_) => store::open(path),
            None => Ok(Arc::new(PooledFile::open(path, &self.descriptors)?)),
        }
    }
}

/// Whether a file has variables of parts: values in other files, or unpacked ones.
fn has_parts(file: &Dataset) -> bool {
    let container = file.container();
    let is_of_parts = |v| container.layout(v).is_ok_and(|layout| layout.place.parts().is_some());
    container.schema().var_ids().any(is_of_parts)
}
