//! Metadata reads: bounded, checksummed, few requests and few copies.
//!
//! HDF5 metadata is many small structures (format specification, "Disk Format: Level 0 to 2"). A [`Source`] reads pieces
//! of the file and serves structures from them as [`Span`]s. Pieces are immutable; no lock is held while the store is
//! read, so any number of threads may parse at the same time.
//!
//! * A local store is read on demand: the beginning of the file (where ncforge and newer writers gather metadata) at
//!   once, the rest with a window that doubles while reads go forward.
//! * A store with latency ([`crate::store::IoProfile::has_latency`]) is read in rounds, each of many ranges. A parser
//!   that knows which structures it needs next says so first (`Source::want`). In a *deferred* source, a read of absent
//!   bytes fails and records them; [`super::rounds`] runs many parsers on one, fetches what all of them lack in one round,
//!   and runs those again that lacked something.
//!
//! No structure may reach past the end of the file, so damaged lengths allocate nothing.

mod absent;
mod pages;
mod requests;

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::checksum;
use super::cursor::{Cursor, Sizes};
use super::span::Span;
use crate::buffer::{filled, reserved};
use crate::error::{Error, Op, Result};
use crate::store::{FIRST_REQUEST, IoProfile, ReadStore, RecordedStore};

pub(super) use absent::Outcome;

use absent::Absent;
use pages::{PAGE, Pages, Piece, Window};

/// Of a local store: longer structures are read on their own, not through pages. Also the largest window.
const LARGE: u64 = 1 << 20;
/// Of a local store: bytes of pages in memory; when there are more, all are dropped (metadata is read once, mostly
/// forward).
const LOCAL_CACHE: u64 = 16 << 20;
/// Of a store with latency: bytes of pages in memory. Each costs a share of a request to get back.
const CACHE: u64 = 256 << 20;
/// Bytes of one round at most, and of the longest structure that is read through pages of a store with latency.
const ROUND: u64 = 64 << 20;
/// Bytes of one request while reads go forward, at most.
const FORWARD: u64 = 4 << 20;
/// A file of at most this many bytes is read whole.
const SMALL: u64 = 4 << 20;
/// Bytes that are fetched where a structure of unknown length begins: most end within that.
const GUESS: u64 = 8 << 10;
/// Bytes that are fetched where an object begins: its header, and what was written with it (its continuation, the heap of its
/// attributes), which would take a round each.
const AROUND: u64 = 32 << 10;
/// Structures of unknown length that one call of `Source::want` brings at most: two pages for each make a round.
pub(super) const TOGETHER: usize = (ROUND / (2 * PAGE)) as usize;

/// The bytes of an HDF5 file, for reading metadata. Addresses are relative to the superblock.
#[derive(Debug)]
pub(crate) struct Source {
    store: Arc<dyn ReadStore>,
    base: u64,
    len: u64,
    sizes: Sizes,
    /// The cost of requests, if it has to be planned for.
    latency: Option<IoProfile>,
    pages: Arc<Pages>,
    metadata: AtomicU64,
    /// Bytes that were asked for and are absent, of a deferred source.
    absent: Option<Absent>,
}

impl Source {
    /// A source over `store` whose address 0 is byte `base`.
    pub(crate) fn new(store: Arc<dyn ReadStore>, base: u64, sizes: Sizes) -> Self {
        let len = store.len();
        let latency = Some(store.io_profile()).filter(IoProfile::has_latency);
        let (pages, metadata) = (Arc::default(), AtomicU64::new(0));
        Source { store, base, len, sizes, latency, pages, metadata, absent: None }
    }

    /// The source with another byte for address 0 and other sizes.
    #[must_use]
    pub(crate) fn based(self, base: u64, sizes: Sizes) -> Self {
        Source { base, sizes, ..self }
    }

    /// A source of the same file that makes no request: where bytes are absent, reads fail, and `Source::fetch_absent`
    /// fetches what they asked for. Pages are shared; metadata is not counted again.
    pub(super) fn deferred(&self) -> Self {
        Source {
            store: self.store.clone(),
            pages: self.pages.clone(),
            metadata: AtomicU64::new(0),
            absent: Some(Absent::default()),
            ..*self
        }
    }

    pub(crate) fn store(&self) -> &Arc<dyn ReadStore> {
        &self.store
    }

    /// Name for messages.
    pub(crate) fn name(&self) -> &str {
        self.store.name()
    }

    /// Length of the store when it was opened, in bytes.
    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Bytes of addresses and lengths.
    pub(crate) fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Whether requests cost so much that they should be made many at a time.
    pub(crate) fn has_latency(&self) -> bool {
        self.latency.is_some()
    }

    /// The byte of the store that an address means, if `len` bytes from there are inside the store.
    pub(crate) fn place(&self, address: u64, len: u64) -> Option<u64> {
        let at = self.base.checked_add(address)?;
        (at.checked_add(len)? <= self.len).then_some(at)
    }

    /// An [`Error::Corrupt`] at an address.
    pub(crate) fn fail(&self, address: u64, what: impl Into<String>) -> Error {
        Error::corrupt(self.name(), self.base.saturating_add(address), what)
    }

    /// An [`Error::Unsupported`] in this file.
    pub(crate) fn unsupported(&self, what: impl Into<String>) -> Error {
        Error::Unsupported { path: self.name().to_owned(), what: what.into() }
    }

    /// A cursor over bytes read from `address`.
    pub(crate) fn cursor<'a>(&'a self, bytes: &'a [u8], address: u64) -> Cursor<'a> {
        Cursor::new(self.name(), bytes, self.base.saturating_add(address), self.sizes)
    }

    /// Bytes of metadata read so far (structures, not pages).
    pub(crate) fn metadata_bytes(&self) -> u64 {
        self.metadata.load(Ordering::Relaxed)
    }

    /// Reads a structure of `len` bytes.
    pub(crate) fn read(&self, address: u64, len: u64) -> Result<Span> {
        let out = self.peek(address, len)?;
        self.note(address, len);
        Ok(out)
    }

    /// Counts bytes as metadata.
    pub(super) fn note(&self, address: u64, len: u64) {
        if self.absent.is_none() {
            self.metadata.fetch_add(len, Ordering::Relaxed);
            if let Some(record) = RecordedStore::of(&*self.store) {
                record.note_metadata(self.base.saturating_add(address), len);
            }
        }
    }

    /// Reads a structure of `len` bytes whose last four are the checksum of those before.
    pub(crate) fn read_checked(&self, address: u64, len: u64, what: &str) -> Result<Span> {
        let bytes = self.read(address, len)?;
        self.check(&bytes, address, what)?;
        Ok(bytes)
    }

    /// Checks that the last four bytes are the checksum of those before.
    pub(crate) fn check(&self, bytes: &[u8], address: u64, what: &str) -> Result<()> {
        let fine = bytes
            .split_last_chunk::<4>()
            .is_some_and(|(body, sum)| checksum::matches(body, u32::from_le_bytes(*sum)));
        if fine { Ok(()) } else { Err(self.fail(address, format!("the checksum of {what} does not match"))) }
    }

    /// Reads bytes without counting them as metadata: a structure's head, before its length is known.
    pub(crate) fn peek(&self, address: u64, len: u64) -> Result<Span> {
        let Some(at) = self.place(address, len) else {
            return Err(self
                .fail(address, format!("{len} bytes are needed here, the file ends at byte {}", self.len)));
        };
        match self.pages.span(at, at + len) {
            Some(span) => Ok(span),
            None if len == 0 => Ok(Span::from(Vec::new())),
            None => self.assemble(address, at, len),
        }
    }

    /// Reads bytes up to `len`, or up to the end of the file.
    pub(crate) fn peek_up_to(&self, address: u64, len: u64) -> Result<Span> {
        let at = self.base.saturating_add(address);
        self.peek(address, len.min(self.len.saturating_sub(at)))
    }

    /// Drops what was read, so that from now on a local file is read anew. Of a store with latency, the first request's
    /// bytes stay: chunk indexes are read later, and many stand there.
    pub(crate) fn forget(&self) {
        match self.latency {
            None => self.pages.clear(),
            Some(_) => self.pages.retain_below(self.front().div_ceil(PAGE)),
        }
    }

    /// Bytes from `at` that do not lie in one piece, or in none that is present.
    #[cold]
    fn assemble(&self, address: u64, at: u64, len: u64) -> Result<Span> {
        let end = at + len;
        let longest = if self.has_latency() { ROUND } else { LARGE };
        if len > longest {
            return self.read_long(at, len);
        }
        if let Some(absent) = &self.absent
            && !self.pages.has_all(&(at / PAGE..end.div_ceil(PAGE)))
        {
            let around = (at + len.max(AROUND)).min(self.len);
            absent.add(std::iter::once(at / PAGE..around.div_ceil(PAGE)));
            return Err(self.absent_error());
        }
        let short = || self.fail(address, "the file became shorter while it was read");
        let first = self.page(at / PAGE, end)?;
        if let Some(span) = first.span(at, end) {
            return Ok(span);
        }
        // Pieces that were fetched separately meet inside this structure.
        let mut out = reserved(len as usize)?;
        let (mut pos, mut piece) = (at, first);
        loop {
            let stop = end.min((pos / PAGE + 1) * PAGE).min(piece.end());
            let part = piece.span(pos, stop).filter(|p| !p.is_empty()).ok_or_else(short)?;
            out.extend_from_slice(&part);
            pos = stop;
            if pos >= end {
                return Ok(Span::from(out));
            }
            piece = self.page(pos / PAGE, end)?;
        }
    }

    /// A structure that is longer than what is cached.
    fn read_long(&self, at: u64, len: u64) -> Result<Span> {
        let Some(profile) = self.latency else {
            return self.store.read_vec(at, len).map(Span::from);
        };
        if let Some(absent) = &self.absent {
            absent.add_too_long();
            return Err(self.absent_error());
        }
        let parts = self.store.read_ranges(&requests::split(at..at + len, &profile))?;
        Ok(Span::from(parts.concat()))
    }

    /// The piece that holds a page; read if it is not present, up to `need` or further.
    fn page(&self, number: u64, need: u64) -> Result<Piece> {
        if let Some(piece) = self.pages.get(number) {
            return Ok(piece);
        }
        let Some(profile) = self.latency else {
            let run = self.pages.window(number, need, self.len, &Window { least: PAGE, most: LARGE });
            return self.read_local(run);
        };
        let window = Window { least: 4 * PAGE, most: profile.largest_request.clamp(4 * PAGE, FORWARD) };
        let run = self.pages.window(number, need, self.len, &window);
        let pieces = self.fetch([run].into(), &profile)?;
        let found = pieces.into_iter().find(|p| p.holds(number));
        found.ok_or_else(|| self.fail(need, "the file became shorter while it was read"))
    }

    /// Reads a run of pages of a local store.
    fn read_local(&self, run: Range<u64>) -> Result<Piece> {
        let (from, to) = (run.start * PAGE, (run.end * PAGE).min(self.len));
        if to < from {
            return Err(self.fail(from, "the file became shorter while it was read"));
        }
        // Inside the store as long as that is when it was opened; the store reports it if it is shorter now.
        let mut bytes = filled(0, (to - from) as usize)?;
        self.store.read_at(&mut bytes, from)?;
        let piece = Piece::new(from, bytes);
        self.pages.insert(std::slice::from_ref(&piece), LOCAL_CACHE);
        Ok(piece)
    }

    /// Reads runs of pages of a store with latency, in one round.
    fn fetch(&self, runs: Vec<Range<u64>>, profile: &IoProfile) -> Result<Vec<Piece>> {
        let ranges = requests::join(runs, profile, self.len);
        let parts = self.store.read_ranges(&ranges)?;
        let whole = parts.len() == ranges.len()
            && parts.iter().zip(&ranges).all(|(p, r)| p.len() as u64 == r.end - r.start);
        if !whole {
            return Err(self.fail(0, "the store returned other bytes than it was asked for"));
        }
        let pieces: Vec<Piece> =
            ranges.iter().zip(parts).map(|(r, p)| Piece::new(r.start, p.into())).collect();
        self.pages.insert(&pieces, CACHE);
        Ok(pieces)
    }

    /// Makes the first request to a store with latency.
    pub(super) fn fetch_front(&self) -> Result<()> {
        let Some(profile) = self.latency else { return Ok(()) };
        let front = self.front();
        if front > 0 {
            self.fetch(std::iter::once(0..front.div_ceil(PAGE)).collect(), &profile)?;
        }
        Ok(())
    }

    /// Bytes of the first request: all of a small file.
    fn front(&self) -> u64 {
        if self.len <= SMALL { self.len } else { FIRST_REQUEST.min(self.len) }
    }

    /// Announces structures (address, bytes) that are read next: of a store with latency, those that are absent are
    /// fetched in one round. Where the length is unknown, `Source::guess` is a good one. A structure past the end of
    /// the file is left to the read itself, which reports it.
    ///
    /// # Errors
    /// Those of the store; and of a deferred source, that something is absent.
    pub(super) fn want(&self, structures: impl IntoIterator<Item = (u64, u64)>) -> Result<()> {
        let Some(profile) = self.latency else { return Ok(()) };
        let mut runs: Vec<Range<u64>> = Vec::new();
        let mut pages = 0;
        for (address, len) in structures {
            let Some(at) = self.place(address, len) else { continue };
            let run = at / PAGE..(at + len).div_ceil(PAGE);
            if self.pages.has_all(&run) {
                continue;
            }
            match runs.last_mut() {
                Some(last) if last.start <= run.start && run.start <= last.end => {
                    pages += run.end.saturating_sub(last.end);
                    last.end = last.end.max(run.end);
                }
                _ => {
                    pages += run.end - run.start;
                    runs.push(run);
                }
            }
            if pages * PAGE > ROUND {
                // The rest is read when it is needed.
                break;
            }
        }
        if runs.is_empty() {
            return Ok(());
        }
        if let Some(absent) = &self.absent {
            absent.add(runs);
            return Err(self.absent_error());
        }
        self.fetch(runs, &profile).map(drop)
    }

    /// A structure at an address whose length is unknown, for `Source::want`.
    pub(super) fn guess(&self, address: u64) -> (u64, u64) {
        (address, GUESS.min(self.len.saturating_sub(self.base.saturating_add(address))))
    }

    /// An error among several parsers that do not depend on each other. It ends them; but of a deferred source, the first
    /// one is recorded and the others are tried, too, so that all of what is absent becomes known at once.
    pub(super) fn postpone(&self, first: &mut Result<()>, e: Error) -> Result<()> {
        if self.absent.is_none() {
            return Err(e);
        }
        if first.is_ok() {
            *first = Err(e);
        }
        Ok(())
    }

    /// The error that a parser gets for absent bytes. It never leaves the module: the parser's result is void.
    fn absent_error(&self) -> Error {
        Error::io(Op::Read, self.name(), std::io::ErrorKind::WouldBlock.into())
    }

    /// The outcome of the parser that ran since the last call on a deferred source.
    pub(super) fn outcome(&self) -> Outcome {
        self.absent.as_ref().map(Absent::take_outcome).unwrap_or_default()
    }

    /// Fetches in one round the bytes that parsers of a deferred source asked for, as far as memory allows. False if there were none.
    pub(super) fn fetch_absent(&self) -> Result<bool> {
        let (Some(profile), Some(absent)) = (self.latency, &self.absent) else { return Ok(false) };
        let mut free = CACHE.saturating_sub(self.pages.bytes()).min(ROUND) / PAGE;
        let fitting = requests::distinct(absent.take_pages()).into_iter().map(|run| {
            let pages = free.min(run.end - run.start);
            free -= pages;
            run.start..run.start + pages
        });
        let fitting: Vec<_> = fitting.filter(|run| !run.is_empty()).collect();
        if fitting.is_empty() {
            return Ok(false);
        }
        self.fetch(fitting, &profile).map(|_| true)
    }
}
