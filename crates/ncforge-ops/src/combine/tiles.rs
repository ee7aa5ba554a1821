//! The open files of a set of tiles: as many as memory and descriptors allow.
//!
//! A set may have ten thousand tiles. Each is opened once, to be looked at ([`Tiles::look_at_header`]); where its values lie
//! ([`Slim`]) is kept from then on as long as a share of the memory budget holds it. Beyond that a tile is opened anew
//! when it is read, and let go (those that were kept stay: a walk over all tiles, variable after variable, would make
//! any other rule keep the wrong ones). Descriptors are fewer still, and come and go below ([`PooledFile`]). Headers
//! that differ in values of attributes only, as those of classic tiles do, are parsed once for all of them ([`Heads`]).

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use super::descriptors::{Descriptors, PooledFile};
use super::heads::Heads;
use super::slim::{Commons, Slim};
use ncforge::dataset::Dataset;
use ncforge::engine::Engine;
use ncforge::error::Result;
use ncforge::model::Schema;
use ncforge::store::ReadStore;

/// Of fewer tiles than this nothing is learned about headers: it takes about as long as opening a tile.
const WORTH_LEARNING: usize = 32;

/// What is seen of a tile by its header.
pub(crate) enum Seen<'a> {
    /// All of it.
    Whole(&'a Dataset),
    /// It is described as an earlier tile is, but for values of attributes, and its values lie in the same places.
    Like(&'a Schema, Like),
}

/// Which tile another is like.
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
    descriptors: Arc<Descriptors>,
    kept: Vec<OnceLock<Dataset>>,
    commons: Commons,
    heads: Heads,
    /// Bytes of descriptions that are kept, and may be.
    held: AtomicU64,
    limit: u64,
}

impl Tiles {
    /// Of these paths; `memory` bytes for descriptions.
    pub(crate) fn new(paths: Vec<PathBuf>, engine: &Engine, memory: u64) -> Tiles {
        Tiles {
            kept: paths.iter().map(|_| OnceLock::new()).collect(),
            descriptors: Arc::new(Descriptors::of(paths.len())),
            paths,
            engine: engine.clone(),
            commons: Commons::default(),
            heads: Heads::default(),
            held: AtomicU64::new(0),
            limit: memory,
        }
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.paths.len()
    }

    /// Their paths.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        &self.paths
    }

    /// The path of one, for messages.
    pub(crate) fn name(&self, tile: usize) -> String {
        self.paths[tile].display().to_string()
    }

    /// Leaves out the tiles that are not in `keep`.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        let mut kept = keep.iter();
        self.paths.retain(|_| kept.next().is_some_and(|k| *k));
        let mut kept = keep.iter();
        self.kept.retain(|_| kept.next().is_some_and(|k| *k));
    }

    /// Opens a tile for its values, or gives the one that is open.
    pub(crate) fn open(&self, tile: usize) -> Result<Dataset> {
        match self.kept[tile].get() {
            Some(open) => Ok(open.clone()),
            None => self.keep(tile, self.open_whole(tile)?),
        }
    }

    /// Opens a tile, and looks at all that it says. It stays open for its values, where there is room, and where
    /// there is something to be said of it. A tile whose header is one that was seen, but for values of attributes, is
    /// not opened for that.
    pub(crate) fn look_at_header<T>(
        &self,
        tile: usize,
        say: impl FnOnce(Seen<'_>) -> Result<Option<T>>,
    ) -> Result<Option<T>> {
        let store = self.store(tile)?;
        if let Some((head, differing)) = self.heads.known(&store)? {
            let like = Like { tile: head.tile(), vars_differ: differing.of_vars() };
            let said = head.with_schema(&differing, |schema| say(Seen::Like(schema, like)))?;
            if said.is_some() {
                self.keep_slim(tile, head.slim(store));
            }
            return Ok(said);
        }
        let whole = Dataset::from_store(Arc::clone(&store) as Arc<dyn ReadStore>, &self.engine)?;
        let said = say(Seen::Whole(&whole))?;
        if said.is_some() && self.kept[tile].get().is_none() && self.has_room() {
            let slim = Slim::of(&whole, &self.commons)?;
            if self.len() >= WORTH_LEARNING {
                let bytes = self.heads.learn(tile, &store, &whole, &slim);
                self.held.fetch_add(bytes, Ordering::Relaxed);
            }
            self.keep_slim(tile, slim);
        }
        Ok(said)
    }

    /// Keeps where a tile's values lie, if there is room.
    fn keep(&self, tile: usize, whole: Dataset) -> Result<Dataset> {
        match self.has_room() {
            true => Ok(self.keep_slim(tile, Slim::of(&whole, &self.commons)?)),
            false => Ok(whole),
        }
    }

    fn has_room(&self) -> bool {
        self.held.load(Ordering::Relaxed) < self.limit
    }

    fn keep_slim(&self, tile: usize, slim: Slim) -> Dataset {
        let bytes = slim.bytes();
        let slim = Dataset::from_container(Box::new(slim), &self.engine);
        if self.held.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) <= self.limit {
            return self.kept[tile].get_or_init(|| slim).clone();
        }
        self.held.fetch_sub(bytes, Ordering::Relaxed);
        slim
    }

    /// Opens a tile with its attributes, which [`Tiles::open`] may not have.
    pub(crate) fn open_whole(&self, tile: usize) -> Result<Dataset> {
        Dataset::from_store(self.store(tile)?, &self.engine)
    }

    fn store(&self, tile: usize) -> Result<Arc<PooledFile>> {
        PooledFile::open(&self.paths[tile], &self.descriptors).map(Arc::new)
    }
}
