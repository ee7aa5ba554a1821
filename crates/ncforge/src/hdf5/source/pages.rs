//! The pages of a file that are in memory.
//!
//! A page is present or absent as a whole. Pages that were read together share one immutable piece; readers copy a
//! reference to it under a shared lock, which is never held while a store is read.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustc_hash::FxHashMap;

use super::super::span::Span;
use crate::store::PerProcess;

/// Bytes of a page.
pub(super) const PAGE: u64 = 16 << 10;
/// Bytes of the first read of a local file.
const FIRST_READ: u64 = 64 << 10;

/// Bytes that were read together.
#[derive(Clone, Debug)]
pub(super) struct Piece {
    /// Byte of the store where they begin: a multiple of [`PAGE`].
    at: u64,
    bytes: Arc<Vec<u8>>,
}

impl Piece {
    pub(super) fn new(at: u64, bytes: Vec<u8>) -> Self {
        Piece { at, bytes: Arc::new(bytes) }
    }

    /// The byte of the store behind its last one.
    pub(super) fn end(&self) -> u64 {
        self.at + self.bytes.len() as u64
    }

    /// True if a page is present, as far as the file has it.
    pub(super) fn holds(&self, page: u64) -> bool {
        self.pages().contains(&page)
    }

    fn pages(&self) -> Range<u64> {
        self.at / PAGE..self.end().div_ceil(PAGE)
    }

    /// The bytes from `at` to `end` of the store, if all of them are here.
    #[inline]
    pub(super) fn span(&self, at: u64, end: u64) -> Option<Span> {
        let from = at.checked_sub(self.at)?;
        let to = end.checked_sub(self.at)?;
        (to <= self.bytes.len() as u64).then(|| Span::of(self.bytes.clone(), from as usize..to as usize))
    }
}

/// The bytes beyond the needed ones that a read of a local file, or one that was not announced, takes.
pub(super) struct Window {
    pub(super) least: u64,
    pub(super) most: u64,
}

/// The pages that are in memory.
#[derive(Debug, Default)]
pub(super) struct Pages {
    present: PerProcess<RwLock<Present>>,
    /// Bytes of the window of the last read.
    window: AtomicU64,
    /// The page behind the last read; 0 before the first.
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Present {
    /// The piece of each page, by page number.
    pieces: FxHashMap<u64, Piece>,
    /// The piece that came last: what is read next is in it most of the time.
    latest: Option<Piece>,
    /// Bytes of all pages.
    bytes: u64,
}

impl Pages {
    fn read(&self) -> RwLockReadGuard<'_, Present> {
        self.present.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Present> {
        self.present.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// The bytes from `at` to `end` of the store, if one piece holds them.
    #[inline]
    pub(super) fn span(&self, at: u64, end: u64) -> Option<Span> {
        let present = self.read();
        let latest = present.latest.as_ref().and_then(|piece| piece.span(at, end));
        latest.or_else(|| present.pieces.get(&(at / PAGE))?.span(at, end))
    }

    /// The piece that holds a page.
    pub(super) fn get(&self, page: u64) -> Option<Piece> {
        self.read().pieces.get(&page).cloned()
    }

    /// Whether a run of pages is present.
    pub(super) fn has_all(&self, run: &Range<u64>) -> bool {
        let present = self.read();
        run.clone().all(|p| present.pieces.contains_key(&p))
    }

    /// Bytes of all pages.
    pub(super) fn bytes(&self) -> u64 {
        self.read().bytes
    }

    /// Adds pieces; if more than `limit` bytes were present then, those from before are dropped.
    pub(super) fn insert(&self, pieces: &[Piece], limit: u64) {
        let mut present = self.write();
        let new: u64 = pieces.iter().map(|p| p.bytes.len() as u64).sum();
        if present.bytes + new > limit {
            *present = Present::default();
        }
        for piece in pieces {
            for page in piece.pages() {
                if present.pieces.insert(page, piece.clone()).is_none() {
                    present.bytes += PAGE;
                }
            }
        }
        present.latest = pieces.last().cloned();
    }

    /// Drops all pages.
    pub(super) fn clear(&self) {
        *self.write() = Present::default();
        // Later reads are not those of the beginning of a file that was just opened.
        self.next.store(1, Ordering::Relaxed);
    }

    /// Drops the pages from this one on.
    pub(super) fn retain_below(&self, page: u64) {
        let mut present = self.write();
        present.pieces.retain(|&p, piece| p < page && piece.pages().end <= page);
        present.bytes = present.pieces.len() as u64 * PAGE;
        present.latest = None;
    }

    /// The run of absent pages that should be read from an absent page on, if bytes up to `need` of a file of `len`
    /// bytes are needed.
    pub(super) fn window(&self, page: u64, need: u64, len: u64, window: &Window) -> Range<u64> {
        let (from, next) = (page * PAGE, self.next.load(Ordering::Relaxed));
        let present = self.read();
        // Metadata lies in clusters: next to what was needed before, more will be needed.
        let adjacent = page == next || page > 0 && present.pieces.contains_key(&(page - 1));
        let bytes = if from < FIRST_READ && next == 0 {
            FIRST_READ
        } else if adjacent {
            (self.window.load(Ordering::Relaxed) * 2).min(window.most)
        } else {
            window.least
        };
        let end = need.max(from + bytes).min(len).div_ceil(PAGE);
        // Pages that are present are not read again.
        let end = (page + 1..end).find(|p| present.pieces.contains_key(p)).unwrap_or(end.max(page + 1));
        self.window.store(bytes, Ordering::Relaxed);
        self.next.store(end, Ordering::Relaxed);
        page..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(page: u64, pages: u64) -> Piece {
        Piece::new(page * PAGE, vec![page as u8; (pages * PAGE) as usize])
    }

    #[test]
    fn windows_double_while_reads_go_forward_and_stop_at_what_is_present() {
        let (pages, limits, len) = (Pages::default(), Window { least: PAGE, most: 8 * PAGE }, 100 * PAGE);
        let read = |page, need| {
            let run = pages.window(page, need, len, &limits);
            pages.insert(&[piece(run.start, run.end - run.start)], u64::MAX);
            run
        };
        assert_eq!(read(0, 10), 0..4);
        assert_eq!(read(4, 4 * PAGE + 1), 4..12);
        assert_eq!(read(40, 40 * PAGE + 1), 40..41);
        assert_eq!(read(38, 38 * PAGE + 1), 38..39);
        assert_eq!(read(39, 39 * PAGE + 1), 39..40);
        assert_eq!(read(50, 60 * PAGE), 50..60);
        assert_eq!(read(99, 100 * PAGE), 99..100);
    }

    #[test]
    fn memory_is_bounded() {
        let pages = Pages::default();
        for i in 0..10 {
            pages.insert(&[piece(4 * i, 4)], 8 * PAGE);
            assert!(pages.bytes() <= 8 * PAGE);
            assert!(pages.has_all(&(4 * i..4 * i + 4)), "what was read last is present");
        }
        pages.retain_below(36);
        assert_eq!(pages.bytes(), 4 * PAGE);
        pages.clear();
        assert_eq!(pages.bytes(), 0);
    }
}
