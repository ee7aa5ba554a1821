//! A store in memory that answers like one far away: every request takes its time, several may be under way at once.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use ncforge::store::{IoProfile, ReadStore};
use ncforge::{Error, Result};

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The first byte of the request that fails, always.
    Fails(u64),
    /// The first byte of the request that fails once.
    FailsOnce(u64),
    /// The first byte of the request that is answered by too few bytes.
    Short(u64),
}

/// The store. It counts from [`Throttled::reset`] on.
#[derive(Debug)]
pub(crate) struct Throttled {
    bytes: Vec<u8>,
    pub(crate) profile: IoProfile,
    /// Time that a request takes.
    pause: Duration,
    fault: Mutex<Option<Fault>>,
    /// Requests, the bytes that they brought, …
    requests: AtomicUsize,
    fetched: AtomicU64,
    /// … in how many calls, …
    calls: AtomicUsize,
    /// … and in how many rounds of at most `in_flight` requests, …
    rounds: AtomicUsize,
    /// … how many are under way, and were at most.
    active: AtomicUsize,
    peak: AtomicUsize,
    /// Bytes of one call at most.
    largest_call: AtomicU64,
}

/// The counts of requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) requests: usize,
    pub(crate) fetched: u64,
    pub(crate) rounds: usize,
    pub(crate) peak: usize,
    pub(crate) largest_call: u64,
}

/// Requests since the last [`Throttled::take`]. A round is one call here: none of its requests depends on the answer to
/// another one of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    pub(crate) rounds: usize,
    pub(crate) requests: usize,
    pub(crate) bytes: u64,
}

impl Throttled {
    /// An object store as it is read over the internet; requests are counted, and nothing waits.
    pub(crate) fn far(bytes: Vec<u8>) -> Self {
        let mut store = Throttled::new(bytes, 16, 30).hurried();
        store.profile.bandwidth = 32 << 20;
        store.profile.read_gap = 256 << 10;
        store
    }

    /// The requests since the last call.
    pub(crate) fn take(&self) -> Asked {
        let counts = self.counts();
        let rounds = self.calls.load(Ordering::SeqCst);
        self.reset();
        Asked { rounds, requests: counts.requests, bytes: counts.fetched }
    }

    /// `in_flight` requests at a time, which take `millis` milliseconds each.
    pub(crate) fn new(bytes: Vec<u8>, in_flight: usize, millis: u64) -> Self {
        let profile = IoProfile {
            latency: Duration::from_millis(millis),
            bandwidth: 100 << 20,
            in_flight,
            read_gap: 64,
            largest_request: 8 << 20,
        };
        Throttled {
            bytes,
            profile,
            pause: profile.latency,
            fault: Mutex::new(None),
            requests: AtomicUsize::new(0),
            fetched: AtomicU64::new(0),
            calls: AtomicUsize::new(0),
            rounds: AtomicUsize::new(0),
            active: AtomicUsize::new(0),
            peak: AtomicUsize::new(0),
            largest_call: AtomicU64::new(0),
        }
    }

    /// The store without its waiting: for tests that count nothing.
    pub(crate) fn hurried(self) -> Self {
        Throttled { pause: Duration::ZERO, ..self }
    }

    pub(crate) fn set_fault(&self, fault: Option<Fault>) {
        *self.fault.lock().unwrap_or_else(PoisonError::into_inner) = fault;
    }

    pub(crate) fn reset(&self) {
        for n in [&self.requests, &self.calls, &self.rounds, &self.peak] {
            n.store(0, Ordering::SeqCst);
        }
        self.fetched.store(0, Ordering::SeqCst);
        self.largest_call.store(0, Ordering::SeqCst);
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts {
            requests: self.requests.load(Ordering::SeqCst),
            fetched: self.fetched.load(Ordering::SeqCst),
            rounds: self.rounds.load(Ordering::SeqCst),
            peak: self.peak.load(Ordering::SeqCst),
            largest_call: self.largest_call.load(Ordering::SeqCst),
        }
    }

    /// Several requests that are under way at the same time.
    fn round(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.rounds.fetch_add(1, Ordering::SeqCst);
        self.requests.fetch_add(ranges.len(), Ordering::SeqCst);
        let active = self.active.fetch_add(ranges.len(), Ordering::SeqCst) + ranges.len();
        self.peak.fetch_max(active, Ordering::SeqCst);
        std::thread::sleep(self.pause);
        self.active.fetch_sub(ranges.len(), Ordering::SeqCst);
        ranges.iter().map(|r| self.answer(r)).collect()
    }

    fn answer(&self, range: &Range<u64>) -> Result<Bytes> {
        let mut short = 0;
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        match *fault {
            Some(Fault::Fails(at)) if at == range.start => return Err(self.failure()),
            Some(Fault::FailsOnce(at)) if at == range.start => {
                *fault = None;
                return Err(self.failure());
            }
            Some(Fault::Short(at)) if at == range.start => short = 1,
            _ => {}
        }
        self.fetched.fetch_add(range.end - range.start, Ordering::SeqCst);
        let bytes = self.bytes.get(range.start as usize..range.end as usize - short);
        bytes.map(Bytes::copy_from_slice).ok_or_else(|| self.failure())
    }

    fn failure(&self) -> Error {
        let source = std::io::Error::other("the service answers 503");
        Error::Io { op: ncforge::Op::Other("fetch from"), path: self.name().into(), source }
    }
}

impl ReadStore for Throttled {
    fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn name(&self) -> &str {
        "far.nc"
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let all = self.round(std::slice::from_ref(&(offset..offset + buf.len() as u64)))?;
        let bytes = all.first().filter(|b| b.len() == buf.len()).ok_or_else(|| self.failure())?;
        buf.copy_from_slice(bytes);
        Ok(())
    }

    fn io_profile(&self) -> IoProfile {
        self.profile
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        // Metadata is requested by pages of 16 KiB at least.
        let largest = self.profile.largest_request.max(16 << 10);
        let odd = ranges.iter().find(|r| r.is_empty() || r.end - r.start > largest);
        if let Some(odd) = odd {
            return Err(Error::Invalid(format!("a request for bytes {odd:?}")));
        }
        self.calls.fetch_add(1, Ordering::SeqCst);
        let all = ranges.iter().map(|r| r.end - r.start).sum();
        self.largest_call.fetch_max(all, Ordering::SeqCst);
        let mut out = Vec::with_capacity(ranges.len());
        for round in ranges.chunks(self.profile.in_flight) {
            out.extend(self.round(round)?);
        }
        Ok(out)
    }
}
