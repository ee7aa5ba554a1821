//! Metadata reads: bounded, checksummed, and few system calls.
//!
//! HDF5 metadata is many small structures. A [`Source`] fetches pages of the file and serves structures from
//! them: the beginning of the file (where ncforge and newer writers gather metadata) at once, the rest on
//! demand, with a window that doubles while reads go forward. No structure may reach past the end of the file,
//! so damaged lengths allocate nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::checksum;
use super::cursor::{Cursor, Sizes};
use crate::error::{Error, Result};
use crate::store::Store;

const PAGE: u64 = 16 << 10;
const FIRST_READ: u64 = 256 << 10;
const MAX_WINDOW: u64 = 1 << 20;
/// Pages kept; when there are more, all are let go (metadata is read once, mostly forward).
const MAX_PAGES: usize = 1024;

/// The bytes of an HDF5 file, for reading metadata. Addresses are relative to the superblock.
#[derive(Debug)]
pub struct Source {
    store: Arc<dyn Store>,
    base: u64,
    len: u64,
    sizes: Sizes,
    pages: Mutex<Pages>,
    metadata: AtomicU64,
}

#[derive(Debug, Default)]
struct Pages {
    map: HashMap<u64, Box<[u8]>>,
    window: u64,
    next: u64,
}

impl Source {
    /// A source over `store` whose address 0 is byte `base`.
    pub fn new(store: Arc<dyn Store>, base: u64, sizes: Sizes) -> Self {
        let len = store.len();
        Source { store, base, len, sizes, pages: Mutex::default(), metadata: AtomicU64::new(0) }
    }

    /// The store.
    pub fn store(&self) -> &Arc<dyn Store> {
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
    pub fn read(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let out = self.peek(address, len)?;
        self.metadata.fetch_add(len, Ordering::Relaxed);
        Ok(out)
    }

    /// Reads a structure of `len` bytes whose last four are the checksum of those before.
    pub fn read_checked(&self, address: u64, len: u64, what: &str) -> Result<Vec<u8>> {
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
    pub fn peek(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let Some(at) = self.place(address, len) else {
            return Err(self
                .fail(address, format!("{len} bytes are needed here, the file ends at byte {}", self.len)));
        };
        if len > MAX_WINDOW {
            return self.store.read_vec(at, len);
        }
        let mut out = Vec::with_capacity(len as usize);
        let end = at + len;
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let mut pos = at;
        while pos < end {
            let number = pos / PAGE;
            if !pages.map.contains_key(&number) {
                self.load(&mut pages, number, end)?;
            }
            let Some(page) = pages.map.get(&number) else {
                return Err(self.fail(address, "the file became shorter while it was read"));
            };
            let from = (pos - number * PAGE) as usize;
            let part = page.get(from..page.len().min(from + (end - pos) as usize)).unwrap_or(&[]);
            if part.is_empty() {
                return Err(self.fail(address, "the file became shorter while it was read"));
            }
            out.extend_from_slice(part);
            pos += part.len() as u64;
        }
        Ok(out)
    }

    /// Reads bytes up to `len`, or up to the end of the file.
    pub fn peek_up_to(&self, address: u64, len: u64) -> Result<Vec<u8>> {
        let at = self.base.saturating_add(address);
        self.peek(address, len.min(self.len.saturating_sub(at)))
    }

    fn load(&self, pages: &mut Pages, number: u64, need: u64) -> Result<()> {
        if pages.map.len() >= MAX_PAGES {
            pages.map.clear();
        }
        let from = number * PAGE;
        pages.window = match () {
            () if number * PAGE < FIRST_READ && pages.next == 0 => FIRST_READ,
            () if number == pages.next => (pages.window * 2).min(MAX_WINDOW),
            () => PAGE,
        };
        let to = need.max(from + pages.window).next_multiple_of(PAGE).min(self.len);
        // Pages that are there already are not fetched again.
        let mut last = number + 1;
        while last * PAGE < to && !pages.map.contains_key(&last) {
            last += 1;
        }
        let to = to.min(last * PAGE);
        let bytes = self.store.read_vec(from, to - from)?;
        for (i, page) in bytes.chunks(PAGE as usize).enumerate() {
            pages.map.insert(number + i as u64, page.into());
        }
        pages.next = last;
        Ok(())
    }

    /// Lets go of the pages: what is read from now on is read from the store.
    pub fn forget(&self) {
        *self.pages.lock().unwrap_or_else(PoisonError::into_inner) = Pages { next: 1, ..Pages::default() };
    }
}
