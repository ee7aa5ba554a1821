//! A store with latency that is read through large pages: for formats whose reader asks for one small structure after the
//! other, such as zipped files. Pages in memory are bounded; a read forward fetches several at a time.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use rustc_hash::FxHashMap;

use super::{IoProfile, ReadStore, past_end};
use crate::error::Result;

/// Bytes of a page.
const PAGE: u64 = 1 << 20;
/// Pages in memory.
const PAGES: usize = 64;
/// Pages that are fetched together while reads go forward.
const AHEAD: u64 = 8;

/// The store, and its pages in memory.
#[derive(Debug)]
pub(crate) struct PagedStore {
    inner: Arc<dyn ReadStore>,
    pages: Mutex<Pages>,
}

#[derive(Debug)]
struct Pages {
    bytes: FxHashMap<u64, Bytes>,
    /// In the order in which they came.
    order: VecDeque<u64>,
    /// The page behind the last one that was fetched.
    next: u64,
}

impl Default for Pages {
    fn default() -> Self {
        // The first read is not one forward.
        Pages { bytes: FxHashMap::default(), order: VecDeque::new(), next: u64::MAX }
    }
}

impl PagedStore {
    /// Reads `inner` through pages, if requests to it have latency; otherwise it is `inner` itself.
    pub(crate) fn over(inner: Arc<dyn ReadStore>) -> Arc<dyn ReadStore> {
        match inner.io_profile().has_latency() {
            true => Arc::new(PagedStore { inner, pages: Mutex::default() }),
            false => inner,
        }
    }

    /// The pages of a range: those in memory, and the others fetched in one round. No lock is held over the requests.
    fn pages(&self, wanted: Range<u64>) -> Result<Vec<Bytes>> {
        let (mut found, absent): (Vec<Option<Bytes>>, Vec<u64>) = {
            let pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
            let found: Vec<_> = wanted.clone().map(|p| pages.bytes.get(&p).cloned()).collect();
            let mut absent: Vec<u64> =
                wanted.clone().zip(&found).filter(|(_, b)| b.is_none()).map(|(p, _)| p).collect();
            if absent.first() == Some(&pages.next) {
                let end = (wanted.end + AHEAD).min(self.inner.len().div_ceil(PAGE));
                absent.extend((wanted.end..end).filter(|p| !pages.bytes.contains_key(p)));
            }
            (found, absent)
        };
        if !absent.is_empty() {
            let range = |p: &u64| p * PAGE..((p + 1) * PAGE).min(self.inner.len());
            let got = self.inner.read_ranges(&absent.iter().map(range).collect::<Vec<_>>())?;
            let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
            for (page, bytes) in absent.iter().zip(got) {
                if let Some(place) = page.checked_sub(wanted.start).and_then(|i| found.get_mut(i as usize)) {
                    *place = Some(bytes.clone());
                }
                if pages.bytes.insert(*page, bytes).is_none() {
                    pages.order.push_back(*page);
                }
            }
            pages.next = absent.last().map_or(0, |p| p + 1);
            while pages.order.len() > PAGES {
                let oldest = pages.order.pop_front();
                oldest.map(|p| pages.bytes.remove(&p));
            }
        }
        Ok(found.into_iter().flatten().collect())
    }
}

impl ReadStore for PagedStore {
    fn len(&self) -> u64 {
        self.inner.len()
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let len = buf.len() as u64;
        let end = offset.saturating_add(len);
        if end > self.len() {
            return Err(past_end(self.name(), len, offset, self.len()));
        }
        let first = offset / PAGE;
        let mut done = 0;
        for (page, bytes) in (first..).zip(self.pages(first..end.div_ceil(PAGE))?) {
            let from = (offset + done as u64 - page * PAGE) as usize;
            let part = bytes.get(from..).unwrap_or_default();
            let n = part.len().min(buf.len() - done);
            buf[done..done + n].copy_from_slice(&part[..n]);
            done += n;
        }
        match done == buf.len() {
            true => Ok(()),
            false => Err(past_end(self.name(), len, offset, offset + done as u64)),
        }
    }

    fn io_profile(&self) -> IoProfile {
        self.inner.io_profile()
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.inner.read_ranges(ranges)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    /// Bytes that count up, with latency; counts the calls.
    #[derive(Debug)]
    struct Far(u64, AtomicU64);

    impl ReadStore for Far {
        fn len(&self) -> u64 {
            self.0
        }
        fn name(&self) -> &str {
            "far"
        }
        fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
            self.1.fetch_add(1, Ordering::Relaxed);
            buf.iter_mut().zip(offset..).for_each(|(b, at)| *b = (at % 251) as u8);
            Ok(())
        }
        fn io_profile(&self) -> IoProfile {
            IoProfile::OBJECT
        }
    }

    #[test]
    fn reads_across_pages_and_at_the_end() {
        let far = Arc::new(Far(3 * PAGE + 100, AtomicU64::new(0)));
        let store = PagedStore::over(far.clone());
        for (offset, len) in
            [(0, 10), (PAGE - 3, 7), (PAGE / 2, 2 * PAGE as usize), (3 * PAGE + 90, 10), (5, 0)]
        {
            let mut buf = vec![0; len];
            store.read_at(&mut buf, offset).unwrap();
            assert!(
                buf.iter().zip(offset..).all(|(&b, at)| b == (at % 251) as u8),
                "{len} bytes at {offset}"
            );
        }
        assert!(far.1.load(Ordering::Relaxed) <= 4, "a page is fetched once");
        assert!(store.read_at(&mut [0; 11], 3 * PAGE + 90).is_err());
    }

    #[test]
    fn pages_in_memory_are_bounded() {
        let store =
            PagedStore { inner: Arc::new(Far(200 * PAGE, AtomicU64::new(0))), pages: Mutex::default() };
        for page in 0..200 {
            store.read_at(&mut [0; 8], page * PAGE + 4).unwrap();
        }
        assert!(store.pages.lock().unwrap().bytes.len() <= PAGES);
    }
}
