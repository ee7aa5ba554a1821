//! Reading the image: find the block, decode it, copy the requested bytes.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};

use super::block;
use super::cache::{BlockCache, Key};
use super::format::{Entry, Kind, corrupt, is_beyond, page_len, parse_page};
use super::image::{Piece, RunOver, tree_pieces};
use super::recent::Lookup;
use super::table::Table;
use super::tree::Pages;
use super::{Core, ZippedStore};
use crate::buffer::filled;
use crate::error::{Error, Result};
use crate::store::{ReadStore, past_end};

/// Reads of a table of at least this many bytes use several threads, …
const PARALLEL_FROM: usize = 256 << 10;
/// … which decode this many blocks before their bytes are scattered.
const TOGETHER: usize = 64;
/// After this many consecutive blocks, …
const STREAK: u64 = 2;
/// … this many more are decoded in the background.
const AHEAD: u64 = 8;

/// Loads index pages from the file.
pub(super) struct Fetch<'a> {
    pub(super) backing: &'a dyn ReadStore,
}

impl Pages for Fetch<'_> {
    fn load(&self, entry: &Entry, level: u8, first: u64) -> Result<Vec<Entry>> {
        let blamed = || format!("the index page of blocks from {first} on");
        if entry.len as usize > page_len(super::format::FANOUT as usize) {
            return Err(corrupt(
                self.backing.name(),
                entry.offset(),
                format!("{}: it is too long", blamed()),
            ));
        }
        let bytes = stored_bytes(self.backing, entry, &blamed)?;
        parse_page(&bytes, level, first)
            .map_err(|what| corrupt(self.backing.name(), entry.offset(), format!("{}: {what}", blamed())))
    }
}

/// The stored bytes of an entry, with their checksum verified. `what` names them in the error.
pub(super) fn stored_bytes(
    backing: &dyn ReadStore,
    entry: &Entry,
    what: &dyn Fn() -> String,
) -> Result<Vec<u8>> {
    let mut bytes = filled(0, entry.len as usize)?;
    fetch(backing, entry, &mut bytes, what)?;
    Ok(bytes)
}

fn fetch(backing: &dyn ReadStore, entry: &Entry, bytes: &mut [u8], what: &dyn Fn() -> String) -> Result<()> {
    if is_beyond(entry) {
        return Err(corrupt(backing.name(), None, format!("{}: its place is out of range", what())));
    }
    backing.read_at(bytes, entry.offset()).map_err(|e| match e {
        Error::Corrupt { path, offset, what: how } => {
            Error::Corrupt { path, offset, what: format!("{}: {how}", what()) }
        }
        other => other,
    })?;
    check(backing, entry, bytes, what)
}

fn check(backing: &dyn ReadStore, entry: &Entry, bytes: &[u8], what: &dyn Fn() -> String) -> Result<()> {
    if crc32c::crc32c(bytes) == entry.crc {
        return Ok(());
    }
    let how = format!("{}: its {} stored bytes do not match their checksum", what(), entry.len);
    Err(corrupt(backing.name(), entry.offset(), how))
}

/// Decodes a block into all of `out`; `what` names it.
pub(super) fn load_block(
    backing: &dyn ReadStore,
    entry: &Entry,
    out: &mut [u8],
    what: &dyn Fn() -> String,
) -> Result<()> {
    let failed = |how| corrupt(backing.name(), entry.offset(), format!("{}: {how}", what()));
    if entry.extent().is_none() {
        return block::decode(entry, &[], out).map_err(failed);
    }
    // Encoded bytes are never longer than the block, which would have been stored uncompressed.
    if entry.len as usize > out.len() {
        return Err(failed(format!("{} bytes are stored of {}", entry.len, out.len())));
    }
    if let Some(all) = backing.as_slice() {
        let from = usize::try_from(entry.offset()).ok();
        if let Some(bytes) = from.and_then(|from| all.get(from..)?.get(..entry.len as usize)) {
            check(backing, entry, bytes, what)?;
            return block::decode(entry, bytes, out).map_err(failed);
        }
    }
    with_buffer(entry.len as usize, |bytes| {
        fetch(backing, entry, bytes, what)?;
        block::decode(entry, bytes, out).map_err(failed)
    })
}

/// Calls `run` with a buffer of `len` bytes of the thread; its contents are arbitrary.
fn with_buffer<T>(len: usize, run: impl FnOnce(&mut [u8]) -> T) -> T {
    thread_local! {
        static BUFFER: std::cell::RefCell<Vec<u8>> = const { std::cell::RefCell::new(Vec::new()) };
    }
    BUFFER.with(|cell| {
        let buffer = &mut *cell.borrow_mut();
        if buffer.len() < len {
            buffer.resize(len, 0);
        }
        run(&mut buffer[..len])
    })
}

impl Core {
    /// The name of a block, for messages.
    pub(super) fn name_of(&self, tree: u32, block: u64, shift: u8) -> String {
        match self.map.bytes_of(tree, block, shift) {
            Some(reach) => format!("block {block} of tree {tree} ({reach})"),
            None => format!("block {block} of tree {tree}"),
        }
    }
}

/// The source of a piece's bytes.
enum Origin {
    /// The bytes were already copied.
    Done,
    Stored(Entry),
}

impl ZippedStore {
    /// Reads bytes of the image, which is long enough.
    pub(super) fn read_image(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        match self.recent.read(buf, offset) {
            Lookup::Answered => Ok(()),
            lookup => self.read_map(buf, offset, false, lookup == Lookup::Keep),
        }
    }

    /// Reads bytes of the image (or of its replacement while that is built), which is long enough. With `keep`, the block of
    /// a small read is cached.
    pub(super) fn read_map(
        &self,
        mut buf: &mut [u8],
        offset: u64,
        replacement: bool,
        keep: bool,
    ) -> Result<()> {
        let core = self.core();
        let map = core.map_of(replacement);
        match map.first_piece(offset, buf.len(), self.shift) {
            // A small read: its position and its block are looked up under one lock.
            Some(piece) if piece.len == buf.len() => {
                let origin = self.find(&core, piece, buf)?;
                let known = keep.then(|| (map.shown(offset), self.recent.changes()));
                drop(core);
                let block = self.read_from(piece, &origin, buf)?;
                if let (Some(block), Some((shown, changes))) = (block, known) {
                    self.recent.keep(shown, piece.block << self.shift, changes, &block);
                }
                Ok(())
            }
            None => Ok(()),
            _ => {
                let runs = map.runs(offset, buf.len());
                drop(core);
                for run in runs {
                    let (part, rest) = buf.split_at_mut(run.len);
                    match run.over {
                        RunOver::Tree(tree) => self.read_tree(tree, run.place, part)?,
                        RunOver::Table(table) => self.read_table(&table, run.place, part)?,
                    }
                    buf = rest;
                }
                Ok(())
            }
        }
    }

    /// Whether `n` runs of bytes, `step` bytes apart, are a column of records and are stored together.
    pub(super) fn has_column(&self, offset: u64, run: u64, step: u64, n: u64) -> bool {
        self.core().map.column(offset, run, step, n).is_some()
    }

    /// Reads runs of a column, one after the other.
    pub(super) fn read_column(&self, out: &mut [u8], offset: u64, run: usize, step: u64) -> Result<()> {
        let n = (out.len() / run.max(1)) as u64;
        let origin = self.core().map.column(offset, run as u64, step, n);
        let Some((tree, from)) = origin else { return Err(no_column(self.name())) };
        let (end, len) = (offset + (n - 1) * step + run as u64, self.len());
        if end > len {
            return Err(past_end(self.name(), out.len() as u64, offset, len));
        }
        self.read_tree(tree, from, out)
    }

    fn read_tree(&self, tree: u32, from: u64, mut out: &mut [u8]) -> Result<()> {
        for piece in tree_pieces(tree, from, out.len(), self.shift) {
            let (part, rest) = out.split_at_mut(piece.len);
            self.read_piece(piece, part)?;
            out = rest;
        }
        Ok(())
    }

    /// Reads bytes of a table, column by column, many blocks on several threads.
    fn read_table(&self, table: &Table, place: u64, out: &mut [u8]) -> Result<()> {
        let end = place + out.len() as u64;
        let mut wanted = Vec::new();
        for c in &table.columns {
            let (mut t, to) = (table.before(c, place), table.before(c, end));
            for piece in tree_pieces(c.tree, t, (to - t) as usize, self.shift) {
                wanted.push((c, t, piece));
                t += piece.len as u64;
            }
        }
        let workers = &self.resources.workers;
        if out.len() < PARALLEL_FROM || workers.threads() < 2 {
            let mut buffer = Vec::new();
            for (c, t, piece) in wanted {
                buffer.resize(piece.len, 0);
                self.read_piece(piece, &mut buffer)?;
                table.scatter(c, t, &buffer, place, out);
            }
            return Ok(());
        }
        for some in wanted.chunks(TOGETHER) {
            let decoded: Vec<Mutex<Result<Vec<u8>>>> =
                some.iter().map(|_| Mutex::new(Ok(Vec::new()))).collect();
            workers.run(some.len(), &|i| {
                let mut bytes = vec![0; some[i].2.len];
                let read = self.read_piece(some[i].2, &mut bytes).map(|()| bytes);
                *decoded[i].lock().unwrap_or_else(PoisonError::into_inner) = read;
            });
            for ((c, t, piece), bytes) in some.iter().zip(decoded) {
                let bytes = bytes.into_inner().unwrap_or_else(PoisonError::into_inner)?;
                if bytes.len() != piece.len {
                    return Err(Error::Internal("a block was not decoded".into()));
                }
                table.scatter(c, *t, &bytes, place, out);
            }
        }
        Ok(())
    }

    fn read_piece(&self, piece: Piece, out: &mut [u8]) -> Result<()> {
        let origin = self.find(&self.core(), piece, out)?;
        self.read_from(piece, &origin, out).map(|_| ())
    }

    /// Reads the bytes of a piece, and returns the decoded block if it is in the cache now.
    fn read_from(&self, piece: Piece, origin: &Origin, out: &mut [u8]) -> Result<Option<Arc<[u8]>>> {
        let entry = match origin {
            Origin::Done => return Ok(None),
            Origin::Stored(entry) => entry,
        };
        match self.read_stored(piece, entry, out) {
            Err(e @ Error::Corrupt { .. }) if self.sink.is_some() => {
                // Another thread may have written and committed since the entry was looked up.
                let origin = self.find(&self.core(), piece, out)?;
                match origin {
                    Origin::Done => Ok(None),
                    // The entry was looked up in another state: its block must not be used for this one.
                    Origin::Stored(now) if now != *entry => self.read_stored(piece, &now, out).map(|_| None),
                    Origin::Stored(_) => Err(e),
                }
            }
            other => other,
        }
    }

    /// Finds a block, under the lock.
    fn find(&self, core: &Core, piece: Piece, out: &mut [u8]) -> Result<Origin> {
        if let Some(tx) = &core.tx
            && let Some(bytes) = tx.dirty(piece.tree, piece.block)
        {
            out.copy_from_slice(&bytes[piece.at..piece.at + piece.len]);
            return Ok(Origin::Done);
        }
        let fetch = Fetch { backing: &*self.backing };
        let tree = &core.trees[piece.tree as usize];
        let entry = tree.get(piece.block, &fetch)?;
        if piece.len < 1 << self.shift && tree.last.load(Ordering::Relaxed) != piece.block {
            self.read_ahead(core, piece);
        }
        Ok(Origin::Stored(entry))
    }

    fn read_stored(&self, piece: Piece, entry: &Entry, out: &mut [u8]) -> Result<Option<Arc<[u8]>>> {
        match entry.kind {
            Kind::Zero => out.fill(0),
            Kind::Pattern(pattern) => block::fill(&pattern, piece.at, out),
            _ => {
                let name = || self.core().name_of(piece.tree, piece.block, self.shift);
                let key = self.key(entry);
                if let Some(block) = self.resources.cache.get(&key) {
                    out.copy_from_slice(&block[piece.at..piece.at + piece.len]);
                    return Ok(Some(block));
                } else if out.len() == 1 << self.shift {
                    load_block(&*self.backing, entry, out, &name)?;
                } else {
                    let block = decoded(&*self.backing, entry, self.shift, &name)?;
                    out.copy_from_slice(&block[piece.at..piece.at + piece.len]);
                    self.resources.cache.put(key, block.clone());
                    return Ok(Some(block));
                }
            }
        }
        Ok(None)
    }

    pub(super) fn key(&self, entry: &Entry) -> Key {
        (self.id, entry.slot, entry.crc)
    }

    /// Called if the block that is read is not the last one that was read of its tree: after consecutive
    /// blocks, the next ones are decoded in the background.
    fn read_ahead(&self, core: &Core, piece: Piece) {
        let tree = &core.trees[piece.tree as usize];
        let last = tree.last.swap(piece.block, Ordering::Relaxed);
        if piece.block != last.wrapping_add(1) {
            tree.streak.store(0, Ordering::Relaxed);
            return;
        }
        let streak = tree.streak.fetch_add(1, Ordering::Relaxed) + 1;
        let workers = &self.resources.workers;
        if streak < STREAK || workers.threads() < 2 {
            return;
        }
        let fetch = Fetch { backing: &*self.backing };
        let mut coming = Vec::new();
        for block in piece.block + 1..=piece.block + AHEAD {
            // Errors are reported when the block is read.
            let Ok(entry) = tree.get(block, &fetch) else { break };
            let dirty = core.tx.as_ref().is_some_and(|tx| tx.dirty(piece.tree, block).is_some());
            if entry.extent().is_none() || dirty {
                continue;
            }
            if self.resources.cache.has(&self.key(&entry)) {
                if coming.is_empty() {
                    // Enough blocks are being decoded.
                    return;
                }
                break;
            }
            coming.push(entry);
        }
        if coming.is_empty() || self.resources.cache.limit() < (AHEAD + 2) << self.shift {
            return;
        }
        let (backing, cache, shift, id) =
            (self.backing.clone(), self.resources.cache.clone(), self.shift, self.id);
        workers.spawn(Box::new(move || decode_ahead(&*backing, &cache, &coming, shift, id)));
    }
}

fn decode_ahead(backing: &dyn ReadStore, cache: &BlockCache, coming: &[Entry], shift: u8, id: u64) {
    for entry in coming {
        let key = (id, entry.slot, entry.crc);
        if cache.begin(key) {
            if let Ok(block) = decoded(backing, entry, shift, &String::new) {
                cache.put(key, block);
            }
            cache.end(&key);
        }
    }
}

/// A whole block, decoded.
pub(super) fn decoded(
    backing: &dyn ReadStore,
    entry: &Entry,
    shift: u8,
    name: &dyn Fn() -> String,
) -> Result<Arc<[u8]>> {
    let mut block: Arc<[u8]> = std::iter::repeat_n(0, 1 << shift).collect();
    let bytes = Arc::get_mut(&mut block).expect("the only reference");
    load_block(backing, entry, bytes, name)?;
    Ok(block)
}

/// The error for callers that did not check [`BlockStore::has_column`] first.
pub(super) fn no_column(name: &str) -> Error {
    Error::Internal(format!("these bytes of `{name}` are no column"))
}
