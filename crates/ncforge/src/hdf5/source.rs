//! Metadata reads: bounded, checksummed, few system calls and few copies.
//!
//! HDF5 metadata is many small structures. A [`Source`] fetches pieces of the file and serves structures from
//! them as [`Span`]s: the beginning of the file (where ncforge and newer writers gather metadata) at once, the
//! rest on demand, with a window that doubles while reads go forward. No structure may reach past the end of
//! the file, so damaged lengths allocate nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use super::checksum;
use super::cursor::{Cursor, Sizes};
use super::span::Span;
use crate::error::{Error, Result};
use crate::store::{ReadStore, RecordedStore};

const PAGE: u64 = 16 << 10;
const FIRST_READ: u64 = 64 << 10;
const MAX_WINDOW: u64 = 1 << 20;
/// Pages kept; when there are more, all are let go (metadata is read once, mostly forward).
const MAX_PAGES: usize = 1024;

/// The bytes of an HDF5 file, for reading metadata. Addresses are relative to the superblock.
#[derive(Debug)]
pub struct Source {
    store: Arc<dyn ReadStore>,
    base: u64,
    len: u64,
    sizes: Sizes,
    pages: Mutex<Pages>,
    metadata: AtomicU64,
}

#[derive(Debug, Default)]
struct Pages {
    /// By page number, the piece that holds it.
    map: FxHashMap<u64, Piece>,
    /// The piece that was used last.
    last: Option<Piece>,
    window: u64,
    next: u64,
}

/// Bytes that were fetched together.
#[derive(Clone, Debug)]
struct Piece {
    /// Byte of the store where they begin.
    at: u64,
    bytes: Arc<Vec<u8>>,
}

impl Piece {
    /// The bytes from `at` to `end` of the store, if all of them are here.
    fn span(&self, at: u64, end: u64) -> Option<Span> {
        let from = at.checked_sub(self.at)?;
        let to = end - self.at;
        (to <= self.bytes.len() as u64).then(|| Span::of(self.bytes.clone(), from as usize..to as usize))
    }
}

impl Source {
    /// A source over `store` whose address 0 is byte `base`.
    pub fn new(store: Arc<dyn ReadStore>, base: u64, sizes: Sizes) -> Self {
        let len = store.len();
        Source { store, base, len, sizes, pages: Mutex::default(), metadata: AtomicU64::new(0) }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn ReadStore> {
        &self.store
    }

    /// Name for messages.
    pub fn name(&self) -> &str {
        self.store.name()
    }

    /// Length of the store when it was opened, in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the store holds no byte.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Bytes of addresses and lengths.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// The byte of the store that an address means, if `len` bytes from there are inside the store.
    pub fn place(&self, address: u64, len: u64) -> Option<u64> {
        let at = self.base.checked_add(address)?;
        (at.checked_add(len)? <= self.len).then_some(at)
    }

    /// An [`Error::Corrupt`] at an address.
    pub fn fail(&self, address: u64, what: impl Into<String>) -> Error {
        Error::corrupt(self.name(), self.base.saturating_add(address), what)
    }

    /// An [`Error::Unsupported`] in this file.
    pub fn unsupported(&self, what: impl Into<String>) -> Error {
        Error::Unsupported { path: self.name().to_owned(), what: what.into() }
    }

    /// A cursor over bytes read from `address`.
    pub fn cursor<'a>(&'a self, bytes: &'a [u8], address: u64) -> Cursor<'a> {
        Cursor::new(self.name(), bytes, self.base.saturating_add(address), self.sizes)
    }

    /// Bytes of metadata read so far (structures, not pages).
    pub fn metadata_bytes(&self) -> u64 {
        self.metadata.load(Ordering::Relaxed)
    }

    /// Reads a structure of `len` bytes.
    pub fn read(&self, address: u64, len: u64) -> Result<Span> {
        let out = self.peek(address, len)?;
        self.metadata.fetch_add(len, Ordering::Relaxed);
        if let Some(record) = RecordedStore::of(&*self.store) {
            record.note_metadata(self.base.saturating_add(address), len);
        }
        Ok(out)
    }

    /// Reads a structure of `len` bytes whose last four are the checksum of those before.
    pub fn read_checked(&self, address: u64, len: u64, what: &str) -> Result<Span> {
        let bytes = self.read(address, len)?;
        self.check(&bytes, address, what)?;
        Ok(bytes)
    }

    /// Checks that the last four bytes are the checksum of those before.
    pub fn check(&self, bytes: &[u8], address: u64, what: &str) -> Result<()> {
        let fine = bytes
            .split_last_chunk::<4>()
            .is_some_and(|(body, sum)| checksum::matches(body, u32::from_le_bytes(*sum)));
        if fine { Ok(()) } else { Err(self.fail(address, format!("the checksum of {what} does not match"))) }
    }

    /// Reads bytes without counting them as metadata: a look at a structure's head before its length is known.
    pub fn peek(&self, address: u64, len: u64) -> Result<Span> {
        let Some(at) = self.place(address, len) else {
            return Err(self
                .fail(address, format!("{len} bytes are needed here, the file ends at byte {}", self.len)));
        };
        if len > MAX_WINDOW {
            return self.store.read_vec(at, len).map(Span::from);
        }
        let end = at + len;
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(span) = pages.last.as_ref().and_then(|p| p.span(at, end)) {
            return Ok(span);
        }
        let first = self.page(&mut pages, at / PAGE, end)?;
        let span = first.span(at, end);
        if let Some(span) = span {
            pages.last = Some(first);
            return Ok(span);
        }
        // Pieces that were fetched apart meet inside this structure.
        let mut out = Vec::with_capacity(len as usize);
        let mut pos = at;
        while pos < end {
            let piece = self.page(&mut pages, pos / PAGE, end)?;
            let stop = end.min((pos / PAGE + 1) * PAGE);
            let part = piece.span(pos, stop.min(piece.at + piece.bytes.len() as u64));
            let Some(part) = part.filter(|p| !p.is_empty()) else {
                return Err(self.fail(address, "the file became shorter while it was read"));
            };
            out.extend_from_slice(&part);
            pos += part.len() as u64;
        }
        Ok(Span::from(out))
    }

    /// Reads bytes up to `len`, or up to the end of the file.
    pub fn peek_up_to(&self, address: u64, len: u64) -> Result<Span> {
        let at = self.base.saturating_add(address);
        self.peek(address, len.min(self.len.saturating_sub(at)))
    }

    /// The piece that holds a page; fetched if it is not there, up to `need` or further.
    fn page(&self, pages: &mut Pages, number: u64, need: u64) -> Result<Piece> {
        if let Some(piece) = pages.map.get(&number) {
            return Ok(piece.clone());
        }
        if pages.map.len() >= MAX_PAGES {
            pages.map.clear();
        }
        let from = number * PAGE;
        // Metadata lies in clusters: beside what was needed before, more will be needed.
        let beside = number == pages.next || number > 0 && pages.map.contains_key(&(number - 1));
        pages.window = match () {
            () if number * PAGE < FIRST_READ && pages.next == 0 => FIRST_READ,
            () if beside => (pages.window * 2).min(MAX_WINDOW),
            () => PAGE,
        };
        let to = need.max(from + pages.window).next_multiple_of(PAGE).min(self.len);
        // Pages that are there already are not fetched again.
        let mut last = number + 1;
        while last * PAGE < to && !pages.map.contains_key(&last) {
            last += 1;
        }
        let to = to.min(last * PAGE);
        if to < from {
            return Err(self.fail(need, "the file became shorter while it was read"));
        }
        // Inside the store as long as that is when it was opened; the store says if it is shorter now.
        let mut bytes = vec![0; (to - from) as usize];
        self.store.read_at(&mut bytes, from)?;
        let piece = Piece { at: from, bytes: Arc::new(bytes) };
        for page in number..last {
            pages.map.insert(page, piece.clone());
        }
        pages.next = last;
        Ok(piece)
    }

    /// Lets go of the pages: what is read from now on is read from the store.
    pub fn forget(&self) {
        *self.pages.lock().unwrap_or_else(PoisonError::into_inner) = Pages { next: 1, ..Pages::default() };
    }
}
