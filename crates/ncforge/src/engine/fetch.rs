//! Fetching requests ahead of the threads that decode them.
//!
//! All reading of data makes its requests here, by the store's [`IoProfile`](crate::store::IoProfile): neighbours belong into one request even
//! when a gap lies between them, as long as reading through it costs less than another request, and a request has a
//! largest length. [`join`] does that for ranges of any kind, `strips` for boxes of row-major arrays.
//!
//! A store with latency is not asked range by range. [`stream`] has as many requests under way as its profile wants, and hands
//! on what has come while the rest is on its way.

pub(super) mod strips;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;

use super::signals::without_signals;
use super::stop;
use crate::error::{Error, Result};
use crate::store::ReadStore;

pub use crate::store::requests::{Joining, Request, join};

/// A request whose bytes have come.
#[derive(Clone, Debug)]
pub struct Arrived<'a> {
    /// The request.
    pub request: &'a Request,
    /// Its bytes, all of them.
    pub bytes: Bytes,
}

impl Arrived<'_> {
    /// The bytes of a range that the request serves.
    pub fn range(&self, range: &Range<u64>) -> &[u8] {
        &self.bytes[self.request.within(range)]
    }
}

/// The ranges of several requests: the request's number among those that have come, and the range's.
pub(super) fn parts(arrived: &[Arrived<'_>]) -> Vec<(usize, usize)> {
    arrived.iter().enumerate().flat_map(|(n, a)| a.request.parts.clone().map(move |p| (n, p))).collect()
}

/// Bytes that have come.
pub(super) fn bytes_of(arrived: &[Arrived<'_>]) -> u64 {
    arrived.iter().map(|a| a.request.len()).sum()
}

/// Fetches requests, and hands on, on the calling thread, what has come, in the order in which it comes, while a thread goes on
/// fetching; a store without latency is read by the calling thread. At most twice `memory` bytes are under way or wait to be handed on, unless one request has more.
///
/// # Errors
/// Those of the store, as `explain` puts them; a request whose answer is too short or too long; those of `consume`;
/// [`Error::Interrupted`] when the work shall stop.
pub fn stream(
    store: &dyn ReadStore,
    requests: &[Request],
    memory: u64,
    explain: impl Fn(Error, &Request) -> Error,
    mut consume: impl FnMut(&[Arrived<'_>]) -> Result<()>,
) -> Result<()> {
    let mut take = |fetched: Vec<Fetched>| {
        stop::check()?;
        let of = |(i, bytes): Fetched| {
            let request = &requests[i];
            Ok(Arrived { request, bytes: bytes.map_err(|e| explain(e, request))? })
        };
        consume(&fetched.into_iter().map(of).collect::<Result<Vec<_>>>()?)
    };
    // Each is handed on when it has come, and the next one is read afterwards.
    let alone = |take: &mut dyn FnMut(Vec<Fetched>) -> Result<()>| {
        let mut done = Ok(());
        fetch(store, requests, &(0..requests.len()), |fetched| {
            done = take(vec![fetched]);
            done.is_ok()
        });
        done
    };
    if requests.len() < 2 || !store.io_profile().has_latency() {
        return alone(&mut take);
    }
    // Of three batches one is under way, one waits, and one is handed on.
    let batches = batches(requests, memory - memory / 3);
    std::thread::scope(|scope| {
        let (sender, receiver) = sync_channel::<Fetched>(store.io_profile().in_flight.max(1));
        let batches = &batches;
        let fetcher = move || {
            let _ = batches.iter().all(|b| fetch(store, requests, b, |fetched| sender.send(fetched).is_ok()));
        };
        let thread = std::thread::Builder::new().name("ncforge-fetch".to_owned());
        let spawned = without_signals(|| thread.spawn_scoped(scope, fetcher));
        if spawned.is_err() {
            // The system refuses threads.
            return alone(&mut take);
        }
        let mut missing = requests.len();
        while missing > 0 {
            let first = match receiver.recv_timeout(STOP) {
                Ok(first) => first,
                Err(RecvTimeoutError::Timeout) => {
                    stop::check()?;
                    continue;
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(Error::Internal("the thread that fetches has ended".to_owned()));
                }
            };
            let come: Vec<Fetched> = std::iter::once(first).chain(receiver.try_iter()).collect();
            missing = missing.saturating_sub(come.len());
            take(come)?;
        }
        Ok(())
    })
}

/// A thread that waits for a store notices within this time that the work shall stop.
const STOP: Duration = Duration::from_millis(100);

/// A request's number, and its bytes or why there are none.
type Fetched = (usize, Result<Bytes>);

/// Fetches some of the requests and gives each of them on; whether it is to go on.
fn fetch(
    store: &dyn ReadStore,
    requests: &[Request],
    batch: &Range<usize>,
    mut give: impl FnMut(Fetched) -> bool,
) -> bool {
    let ranges: Vec<Range<u64>> = requests[batch.clone()].iter().map(|r| r.bytes.clone()).collect();
    let mut go_on = true;
    let fetched = store.read_each(&ranges, &mut |i, bytes| {
        let (number, got) = (batch.start + i, bytes.len() as u64);
        let request = &requests[number];
        let right = got == request.len();
        let wrong = || {
            let what = format!("{} bytes were asked for here, the store gave {got}", request.len());
            Error::corrupt(store.name(), request.bytes.start, what)
        };
        go_on = give((number, if right { Ok(bytes) } else { Err(wrong()) })) && right;
        go_on
    });
    match fetched {
        Ok(()) => go_on,
        Err((i, e)) => {
            give((batch.start + i, Err(e)));
            false
        }
    }
}

/// Cuts requests into batches of at most `memory` bytes.
fn batches(requests: &[Request], memory: u64) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let (mut first, mut bytes) = (0, 0u64);
    for (i, r) in requests.iter().enumerate() {
        if i > first && bytes.saturating_add(r.len()) > memory {
            out.push(first..i);
            (first, bytes) = (i, 0);
        }
        bytes = bytes.saturating_add(r.len());
    }
    if first < requests.len() {
        out.push(first..requests.len());
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
            let thread = std::thread::Builder::new().name("ncforge-fetch".to_owned());
            let spawned = without_signals(|| thread.spawn_scoped(scope, || while step() {}));
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
