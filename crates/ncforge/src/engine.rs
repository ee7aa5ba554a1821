//! Moves bytes: plan, fetch, decode, scatter for reading; gather, encode, place for writing.
//!
//! A format says where a variable's bytes lie ([`VarLayout`](crate::VarLayout)); the engine does the rest, the
//! same way for every format. An [`Engine`] is a pool of threads, a memory budget, and a cache of decoded
//! chunks under that budget; it is cheap to clone, and one per process is enough ([`Engine::global`]).
//!
//! Guarantees:
//! * a read touches the bytes that its selection needs, and decodes each chunk once;
//! * a chunk that a read consumes whole is decoded straight into the caller's memory and not kept; a chunk of
//!   which a part was read is kept under the budget ([`EngineStats`] counts);
//! * results, errors and the bytes of written files do not depend on the number of threads;
//! * no lock is held while bytes are fetched or decoded.
//!
//! ```
//! use ncforge::{Engine, EngineOptions};
//! let engine = Engine::new(EngineOptions { threads: Some(2), memory: Some(64 << 20) })?;
//! assert_eq!(engine.threads(), 2);
//! # Ok::<(), ncforge::Error>(())
//! ```

mod ahead;
mod align;
mod axes;
mod boxes;
mod budget;
mod cache;
mod checks;
mod chunked;
mod columns;
pub mod fetch;
mod fill;
mod how;
mod linear;
mod machine;
mod newer;
mod options;
mod parts;
mod picks;
mod plan;
mod points;
pub mod policy;
mod pool;
mod raw_chunks;
mod read;
mod scratch;
mod shared;
mod signals;
mod source;
mod stats;
mod stop;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod unpacked;
mod writer;
mod zipped;

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

use crate::buffer::{Buffer, Recycler};
use crate::codec::unpack::Unpacking;
use crate::container::Container;
use crate::error::Result;
use crate::model::{Values, VarId};
use crate::select::{Hyperslab, Picks};
use crate::store::{PerProcess, ReadStore};

pub(crate) use axes::is_run;
pub use chunked::PartialRequests;
pub use options::{EngineOptions, parse_size};
pub use parts::{Part, Region, Rows, overlap};
pub use raw_chunks::{RawChunk, read_chunks};
pub use signals::without_signals;
pub use stats::EngineStats;
pub use stop::with_stop;
pub use writer::Writer;

use ahead::ReadAhead;
use budget::Budget;
use cache::Cache;
use points::Points;
use pool::Pool;
use scratch::Scratch;
use stats::Counters;

/// A pool of threads, a memory budget, and the decoded chunks kept under it. Clones share all of it.
#[derive(Clone, Debug)]
pub struct Engine {
    /// A forked child has threads, caches and buffers of its own.
    inner: Arc<PerProcess<Inner, MakeInner>>,
    /// Whether files that are opened with it may lead to others.
    follow: Option<bool>,
}

type MakeInner = Box<dyn Fn() -> Inner + Send + Sync>;

#[derive(Debug)]
struct Inner {
    pool: Pool,
    budget: Arc<Budget>,
    cache: Cache,
    scratch: Scratch,
    /// Memory of results that were dropped.
    results: Arc<Recycler>,
    ahead: ReadAhead,
    points: Points,
    counters: Counters,
    /// Number of the latest read; the cache knows by it what the current read has touched.
    reads: AtomicU64,
}

impl Inner {
    fn new(threads: usize, memory: u64, ahead: bool) -> Self {
        let budget = Budget::new(memory);
        Self {
            pool: Pool::new(threads),
            cache: Cache::new(&budget),
            scratch: Scratch::new(&budget),
            results: Recycler::new(memory / 8),
            ahead: ReadAhead::new(ahead),
            points: Points::default(),
            budget,
            counters: Counters::default(),
            reads: AtomicU64::new(0),
        }
    }
}

impl Engine {
    /// An engine of its own. Options that are left open are taken from the environment and the machine, see
    /// [`EngineOptions`].
    pub fn new(options: EngineOptions) -> Result<Self> {
        Ok(Self::from_resolved(&options.checked()?.resolve()?, true))
    }

    /// An engine that keeps to what it is asked for: for work that plans its own reads, and its own memory.
    pub fn without_read_ahead(options: EngineOptions) -> Result<Self> {
        Ok(Self::from_resolved(&options.resolve()?, false))
    }

    /// The default engine: datasets use it unless they are given another one. It ignores malformed environment variables;
    /// [`Engine::new`] reports them.
    pub fn global() -> Self {
        static GLOBAL: OnceLock<Engine> = OnceLock::new();
        GLOBAL
            .get_or_init(|| {
                let resolved = EngineOptions::default().resolve();
                Self::from_resolved(&resolved.unwrap_or_else(|_| options::Resolved::of_machine()), true)
            })
            .clone()
    }

    fn from_resolved(resolved: &options::Resolved, ahead: bool) -> Self {
        let (threads, memory) = (resolved.threads, resolved.memory);
        let make = move || Inner::new(threads, memory, ahead);
        let inner = PerProcess::new(make(), Box::new(make) as MakeInner);
        Self { inner: Arc::new(inner), follow: None }
    }

    /// The same engine; files that are opened with it may lead to others, or not, where
    /// [`OpenOptions::follow`](crate::OpenOptions::follow) is `None`. `None`: it says nothing.
    #[must_use]
    pub fn following(self, follow: Option<bool>) -> Self {
        Self { follow, ..self }
    }

    /// What [`Engine::following`] said.
    pub fn follow(&self) -> Option<bool> {
        self.follow
    }

    /// Threads that work on one request, the caller's included.
    pub fn threads(&self) -> usize {
        self.inner.pool.threads()
    }

    /// The memory budget in bytes. Half of it is for decoded chunks (and
    /// blocks of zipped files), a quarter for chunks being gathered by a
    /// [`Writer`], an eighth for spare buffers, and an eighth for memory of dropped results, kept for the next
    /// ones. Where requests follow a pattern, coming ones take precedence over all of these; they may take the
    /// whole of it, or half while there is a [`Writer`]. Results themselves are the caller's and do not count, nor
    /// do the chunks that threads have in hand.
    pub fn memory(&self) -> u64 {
        self.inner.budget.memory()
    }

    /// Half of the bytes that are at most on their way from a store with latency at a time, or wait to be decoded.
    pub fn fetch_memory(&self) -> u64 {
        self.memory() / 8
    }

    /// Counters of the engine's work so far.
    pub fn stats(&self) -> EngineStats {
        self.inner.counters.snapshot(self.inner.cache.bytes(), self.inner.budget.ahead())
    }

    /// Lets go of all decoded chunks, of what was read ahead, and of the memory of results that were dropped.
    pub fn clear_cache(&self) {
        self.inner.cache.clear();
        self.inner.ahead.clear();
        self.inner.points.clear();
        self.inner.scratch.clear();
        self.inner.results.clear();
        self.inner.budget.blocks().clear();
    }

    /// Lets go of everything of one store.
    pub fn forget_store(&self, store: &Arc<dyn ReadStore>) {
        self.forget_ahead(store);
        self.inner.cache.forget_store(store);
        self.inner.points.forget_store(store);
        self.inner.scratch.trim();
    }

    /// Lets go of what was read ahead of one store.
    fn forget_ahead(&self, store: &Arc<dyn ReadStore>) {
        if self.inner.budget.windows() > 0 {
            self.inner.ahead.forget_store(store);
        }
    }

    /// Reads a selection of a variable of numbers and unpacks it: what [`Unpacking`] says, in the same pass. See
    /// [`Dataset::read_unpacked`](crate::Dataset::read_unpacked).
    pub fn read_unpacked(
        &self,
        container: &dyn Container,
        var: VarId,
        slab: &Hyperslab,
        rules: &Unpacking,
        out: &mut [u8],
        mask: Option<&mut [u8]>,
    ) -> Result<bool> {
        unpacked::read(self, container, var, slab, rules, out, mask)
    }

    /// [`Engine::read_unpacked`] into new memory; the mask only if something is missing and is to be marked.
    pub fn read_unpacked_new(
        &self,
        container: &dyn Container,
        var: VarId,
        slab: &Hyperslab,
        rules: &Unpacking,
    ) -> Result<(Buffer, Option<Buffer>)> {
        unpacked::read_new(self, container, var, slab, rules)
    }

    /// Reads picked positions of a variable of a fixed-size type into `out`: row-major in the shape of the picks,
    /// no gaps, native byte order. Each chunk that they meet is decoded once.
    pub fn read_picks_bytes(
        &self,
        container: &dyn Container,
        var: VarId,
        picks: &Picks,
        out: &mut [u8],
    ) -> Result<()> {
        self.reading(container).read_picks_bytes(var, picks, out)
    }

    /// Reads picked positions of a variable of any type.
    pub fn read_picks(&self, container: &dyn Container, var: VarId, picks: &Picks) -> Result<Values> {
        self.reading(container).read_picks(var, picks)
    }

    /// Runs `work` for every index below `n` on the engine's threads, the caller's among them. Indexes are
    /// begun in order; of several errors the one of the lowest index is returned.
    pub fn for_each(&self, n: usize, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
        self.inner.pool.run(n, true, work)
    }

    /// Runs `produce` for every index below `n` on the engine's threads, and hands the results to `consume` on
    /// the calling thread in the order of the indexes. At most `window` results exist at a time.
    pub fn ordered<T: Send>(
        &self,
        n: usize,
        window: usize,
        produce: impl Fn(usize) -> Result<T> + Sync,
        consume: impl FnMut(usize, T) -> Result<()>,
    ) -> Result<()> {
        self.inner.pool.ordered(n, window, produce, consume)
    }
}
