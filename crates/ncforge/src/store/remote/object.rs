//! One object, open for reading.

use std::any::Any;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use object_store::{GetOptions, GetRange, GetResult, ObjectMeta};

use super::client::Target;
use super::{RemoteOptions, errors, runtime, shown};
use crate::error::{Error, Op, Result};
use crate::store::attempts::Attempts;
use crate::store::{FIRST_REQUEST, IoProfile, Origin, PerProcess, ReadStore, copy_from, in_order, past_end};

/// The version of an object: all answers must be of the same one.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Version {
    len: u64,
    /// The server's own name of the version, if it gives one.
    tag: Option<String>,
    modified_ns: i128,
}

impl Version {
    fn of(meta: &ObjectMeta) -> Self {
        let modified_ns = i128::from(meta.last_modified.timestamp()) * 1_000_000_000
            + i128::from(meta.last_modified.timestamp_subsec_nanos());
        Version { len: meta.size, tag: meta.e_tag.clone(), modified_ns }
    }
}

/// An object of an object store, or a file of a web server, that is read by parts.
#[derive(Debug)]
pub struct RemoteStore {
    url: String,
    name: String,
    options: RemoteOptions,
    version: Version,
    front: Front,
    requests: Arc<AtomicU64>,
    received: Arc<AtomicU64>,
}

impl RemoteStore {
    /// Opens the object of a URL with one request.
    ///
    /// # Errors
    /// See [`super::open`].
    pub fn open(url: &str, options: &RemoteOptions) -> Result<Self> {
        let target = Target::of(url, options)?;
        let front = GetOptions { range: Some(GetRange::Bounded(0..FIRST_REQUEST)), ..GetOptions::default() };
        let fetched = runtime::wait(url, async move { fetch(&target, front).await })?;
        let (meta, front) = fetched.map_err(|e| match e {
            Fetch::Store(e) => errors::explain(Op::Open, url, &e),
            Fetch::Short(got, asked) => short(Op::Open, url, got, asked),
        })?;
        Ok(RemoteStore {
            url: url.to_owned(),
            name: shown(url),
            options: options.clone(),
            version: Version::of(&meta),
            received: Arc::new(AtomicU64::new(front.len() as u64)),
            requests: Arc::new(AtomicU64::new(1)),
            front: Front::new(front),
        })
    }

    /// The object that a store is, if it is one.
    pub fn of(store: &dyn ReadStore) -> Option<&Self> {
        store.as_any()?.downcast_ref()
    }

    /// The URL as it was given; it may contain secrets.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Requests that were made, and bytes that were received.
    pub fn traffic(&self) -> (u64, u64) {
        (self.requests.load(Ordering::Relaxed), self.received.load(Ordering::Relaxed))
    }

    /// Time of the last change in nanoseconds since 1970, and the server's name of the version.
    pub(crate) fn version(&self) -> (i128, Option<&str>) {
        (self.version.modified_ns, self.version.tag.as_deref())
    }

    /// Gets ranges that lie in the object, as many at a time as the profile says, and gives on each with its number when it has
    /// come.
    fn get(
        &self,
        ranges: Vec<Range<u64>>,
        mut give: impl FnMut(usize, Bytes) -> bool,
    ) -> Result<(), (usize, Error)> {
        // After a fork this is another client.
        let target = Target::of(&self.url, &self.options).map_err(|e| (0, e))?;
        let (requests, received) = (self.requests.clone(), self.received.clone());
        let one = move |(number, range): (usize, Range<u64>)| {
            let (target, requests, received) = (target.clone(), requests.clone(), received.clone());
            async move {
                requests.fetch_add(1, Ordering::Relaxed);
                let options =
                    GetOptions { range: Some(GetRange::Bounded(range.clone())), ..GetOptions::default() };
                let got = fetch(&target, options).await;
                if let Ok((_, bytes)) = &got {
                    received.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                }
                (number, range, got)
            }
        };
        let all = stream::iter(ranges.into_iter().enumerate().map(one));
        let mut failed = None;
        runtime::each(&self.name, all.buffer_unordered(IoProfile::OBJECT.in_flight), |(i, range, got)| {
            match self.answer(&range, got) {
                Ok(bytes) => give(i, bytes),
                Err(e) => {
                    failed = Some((i, e));
                    false
                }
            }
        })
        .map_err(|e| (0, e))?;
        failed.map_or(Ok(()), Err)
    }

    /// The bytes of an answer, if it is one and of the right version.
    fn answer(&self, range: &Range<u64>, got: Result<(ObjectMeta, Bytes), Fetch>) -> Result<Bytes> {
        let op = || Op::ReadAt { len: range.end - range.start, offset: range.start };
        match got {
            Ok((meta, bytes)) if Version::of(&meta) == self.version => Ok(bytes),
            Ok(_) => Err(Error::Changed { path: self.name.clone() }),
            Err(Fetch::Store(e)) => Err(errors::explain(op(), &self.url, &e)),
            Err(Fetch::Short(got, asked)) => Err(short(op(), &self.url, got, asked)),
        }
    }

    fn check(&self, range: &Range<u64>) -> Result<()> {
        if range.end > self.version.len {
            let len = range.end.saturating_sub(range.start);
            return Err(past_end(&self.name, len, range.start, self.version.len));
        }
        Ok(())
    }
}

impl ReadStore for RemoteStore {
    fn len(&self) -> u64 {
        self.version.len
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        if copy_from(&self.front.bytes(), buf, offset) {
            return Ok(());
        }
        let range = offset..offset.saturating_add(buf.len() as u64);
        self.check(&range)?;
        self.get([range].into(), |_, bytes| {
            buf.copy_from_slice(&bytes);
            true
        })
        .map_err(|(_, e)| e)
    }

    fn io_profile(&self) -> IoProfile {
        IoProfile::OBJECT
    }

    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        in_order(self, ranges)
    }

    fn read_each(
        &self,
        ranges: &[Range<u64>],
        give: &mut dyn FnMut(usize, Bytes) -> bool,
    ) -> std::result::Result<(), (usize, Error)> {
        let front = self.front.bytes();
        let end = front.len() as u64;
        let (mut absent, mut numbers) = (Vec::new(), Vec::new());
        for (i, range) in ranges.iter().enumerate() {
            self.check(range).map_err(|e| (i, e))?;
            if range.start > range.end || range.end > end {
                // Of a range that begins in the front, only the rest is asked for.
                absent.push(if range.start < end { end..range.end } else { range.clone() });
                numbers.push(i);
            } else if !give(i, front.slice(range.start as usize..range.end as usize)) {
                return Ok(());
            }
        }
        if absent.is_empty() {
            return Ok(());
        }
        self.get(absent, |n, bytes| {
            let start = ranges[numbers[n]].start;
            let whole = match start < end {
                true => Bytes::from([&front[start as usize..], &bytes[..]].concat()),
                false => bytes,
            };
            give(numbers[n], whole)
        })
        .map_err(|(n, e)| (numbers.get(n).copied().unwrap_or(0), e))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }

    fn origin(&self) -> Origin<'_> {
        Origin::Url(self.url())
    }
}

/// The bytes of the first request. All objects of a process together hold [`FRONTS`] of them; those that were opened
/// first lose theirs when there are more.
#[derive(Debug)]
struct Front(Arc<PerProcess<Mutex<Bytes>>>);

/// Bytes of first requests in memory.
const FRONTS: usize = 256 << 20;

/// The first requests of objects that are open, in the order in which they were opened, and their bytes.
static HELD: LazyLock<PerProcess<Mutex<Held>>> = LazyLock::new(PerProcess::default);
type Held = (VecDeque<Weak<PerProcess<Mutex<Bytes>>>>, usize);

impl Front {
    fn new(bytes: Bytes) -> Self {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.1 += bytes.len();
        let this = Front(Arc::new(PerProcess::new(Mutex::new(bytes), Mutex::default)));
        held.0.push_back(Arc::downgrade(&this.0));
        while held.1 > FRONTS && held.0.len() > 1 {
            let oldest = held.0.pop_front().and_then(|f| f.upgrade());
            held.1 -= oldest.map_or(0, |f| take(&f));
        }
        this
    }

    fn bytes(&self) -> Bytes {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        held.1 -= take(&self.0);
        let this = Arc::as_ptr(&self.0);
        held.0.retain(|f| f.as_ptr() != this);
    }
}

/// Empties a front; the bytes that it had.
fn take(front: &Mutex<Bytes>) -> usize {
    std::mem::take(&mut *front.lock().unwrap_or_else(PoisonError::into_inner)).len()
}

/// The reason why a range could not be had.
enum Fetch {
    Store(object_store::Error),
    /// Bytes that came, and bytes that were asked for.
    Short(u64, u64),
}

impl From<object_store::Error> for Fetch {
    fn from(e: object_store::Error) -> Self {
        Fetch::Store(e)
    }
}

fn short(op: Op, url: &str, got: u64, asked: u64) -> Error {
    let what = format!("the server sent {got} of {asked} bytes");
    Error::io(op, shown(url), std::io::Error::new(std::io::ErrorKind::UnexpectedEof, what))
}

/// Gets one range. Answers that were cut are asked for again; `object_store` itself repeats requests that were refused for
/// a while.
async fn fetch(target: &Target, options: GetOptions) -> Result<(ObjectMeta, Bytes), Fetch> {
    let mut attempts = Attempts::at_an_answer();
    loop {
        let failed = match once(target, options.clone()).await {
            Ok(done) => return Ok(done),
            Err(e) => e,
        };
        let cut = match &failed {
            Fetch::Short(..) => true,
            Fetch::Store(e) => errors::is_cut(e),
        };
        let Some(wait) = attempts.next_wait().filter(|_| cut) else { return Err(failed) };
        tokio::time::sleep(wait).await;
    }
}

async fn once(target: &Target, options: GetOptions) -> Result<(ObjectMeta, Bytes), Fetch> {
    let result: GetResult = target.store.get_opts(&target.path, options).await?;
    let (meta, asked) = (result.meta.clone(), result.range.end - result.range.start);
    let bytes = result.bytes().await?;
    if bytes.len() as u64 != asked {
        return Err(Fetch::Short(bytes.len() as u64, asked));
    }
    Ok((meta, bytes))
}
