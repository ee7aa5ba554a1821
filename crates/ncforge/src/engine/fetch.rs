//! Fetching requests ahead of the threads that decode them.
//!
//! All reading of data makes its requests here, by the store's [`IoProfile`](crate::store::IoProfile): neighbours belong into one request even
//! when a gap lies between them, as long as reading through it costs less than another request, and a request has a
//! largest length. [`join`] does that for ranges of any kind, `strips` for boxes of row-major arrays.
//!
//! A store with latency is not asked range by range. [`stream`] sends batches of requests, as many as its profile wants
//! to have under way, and fetches the next batch while the one before is decoded; so a read of many chunks takes as many
//! rounds as it has batches, in memory for two of them.

pub(super) mod strips;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::sync_channel;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::stop;
use crate::error::{Error, Result};
use crate::store::ReadStore;

pub use crate::store::requests::{Joining, Request, join};

/// The ranges of several requests: the request's number, and the range's.
pub(super) fn parts(requests: &[Request]) -> Vec<(usize, usize)> {
    requests.iter().enumerate().flat_map(|(r, request)| request.parts.clone().map(move |p| (r, p))).collect()
}

/// Fetches requests in batches and hands each batch on, in order, on the calling thread: the requests and their bytes.
/// The next batch is on its way meanwhile. A batch has at most as many requests as the store's profile wants to have
/// under way, and at most `memory` bytes unless one request has more; two batches are in memory. A store without latency is
/// read by the calling thread, batch by batch.
///
/// # Errors
/// Those of the store, of the first request that fails, as `explain` puts them; a request whose answer is too short or
/// too long; those of `consume`; [`Error::Interrupted`] between two batches when the work shall stop.
pub fn stream(
    store: &dyn ReadStore,
    requests: &[Request],
    memory: u64,
    explain: impl Fn(Error, &Request) -> Error,
    mut consume: impl FnMut(&[Request], Vec<Bytes>) -> Result<()>,
) -> Result<()> {
    let profile = store.io_profile();
    let batches = batches(requests, profile.in_flight, memory);
    let mut take = |batch: &[Request], fetched: Fetched| {
        stop::check()?;
        consume(batch, fetched.map_err(|(e, i)| explain(e, &batch[i]))?)
    };
    if batches.len() < 2 || !profile.has_latency() {
        return batches.iter().try_for_each(|batch| {
            stop::check()?;
            take(batch, fetch(store, batch))
        });
    }
    std::thread::scope(|scope| {
        // No place in the channel: what is fetched waits here until the batch before is consumed.
        let (sender, receiver) = sync_channel::<Fetched>(0);
        let ahead = &batches;
        let fetcher = move || {
            for batch in ahead {
                let fetched = fetch(store, batch);
                let failed = fetched.is_err();
                if sender.send(fetched).is_err() || failed {
                    break;
                }
            }
        };
        let spawned =
            std::thread::Builder::new().name("ncforge-fetch".to_owned()).spawn_scoped(scope, fetcher);
        for batch in &batches {
            stop::check()?;
            let fetched = match &spawned {
                Ok(_) => receiver.recv().map_err(|_| {
                    Error::Invalid(
                        "internal error in the engine: the thread that fetches has ended".to_owned(),
                    )
                })?,
                // The system refuses threads: one after the other.
                Err(_) => fetch(store, batch),
            };
            take(batch, fetched)?;
        }
        Ok(())
    })
}

/// The bytes of a batch; or an error, and the number of the request that it is of.
type Fetched = std::result::Result<Vec<Bytes>, (Error, usize)>;

fn fetch(store: &dyn ReadStore, batch: &[Request]) -> Fetched {
    let ranges: Vec<Range<u64>> = batch.iter().map(|r| r.bytes.clone()).collect();
    let bytes = match store.read_ranges(&ranges) {
        Ok(bytes) => bytes,
        Err(Error::Interrupted(what)) => return Err((Error::Interrupted(what), 0)),
        // Which of them failed is found by asking once more for each; what fails no more is no error.
        Err(e) if ranges.len() > 1 => {
            drop(e);
            let mut all = Vec::with_capacity(ranges.len());
            for (i, range) in ranges.iter().enumerate() {
                let one = store.read_ranges(std::slice::from_ref(range)).map_err(|e| (e, i))?;
                all.extend(one);
            }
            all
        }
        Err(e) => return Err((e, 0)),
    };
    let answered = |i: usize| bytes.get(i).map_or(0, |b| b.len() as u64);
    match (0..batch.len()).find(|&i| answered(i) != batch[i].len()) {
        None => Ok(bytes),
        Some(i) => {
            let what =
                format!("{} bytes were asked for here, the store gave {}", batch[i].len(), answered(i));
            Err((Error::corrupt(store.name(), batch[i].bytes.start, what), i))
        }
    }
}

/// Cuts requests into batches of at most `most` and at most `memory` bytes.
fn batches(requests: &[Request], most: usize, memory: u64) -> Vec<&[Request]> {
    let mut out = Vec::new();
    let (mut first, mut bytes) = (0, 0u64);
    for (i, r) in requests.iter().enumerate() {
        if i > first && (i - first >= most.max(1) || bytes.saturating_add(r.len()) > memory) {
            out.push(&requests[first..i]);
            (first, bytes) = (i, 0);
        }
        bytes = bytes.saturating_add(r.len());
    }
    if first < requests.len() {
        out.push(&requests[first..]);
    }
    out
}

/// Runs `work` for every index below `n` on up to `threads` threads of its own, which may all wait for a store at the
/// same time. Of several errors the one of the lowest index is returned.
pub(super) fn side_by_side(
    n: usize,
    threads: usize,
    work: impl Fn(usize) -> Result<()> + Sync,
) -> Result<()> {
    let next = AtomicUsize::new(0);
    let last = AtomicUsize::new(usize::MAX);
    let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
    let fail = |i: usize, e: Error| {
        last.fetch_min(i, Ordering::Relaxed);
        let mut slot = failure.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.as_ref().is_none_or(|(first, _)| i < *first) {
            *slot = Some((i, e));
        }
    };
    let step = || {
        let i = next.fetch_add(1, Ordering::Relaxed);
        if i >= n || i > last.load(Ordering::Relaxed) {
            return false;
        }
        if let Err(e) = super::pool::guarded(|| work(i)) {
            fail(i, e);
        }
        true
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(n) {
            let spawned = std::thread::Builder::new()
                .name("ncforge-fetch".to_owned())
                .spawn_scoped(scope, || while step() {});
            if spawned.is_err() {
                break;
            }
        }
        loop {
            if let Err(e) = stop::check() {
                fail(next.load(Ordering::Relaxed).min(n), e);
                break;
            }
            if !step() {
                break;
            }
        }
    });
    match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, e)) => Err(e),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
