//! Sending a whole file as one object.
//!
//! The object appears when its last part is there, in all stores: multipart uploads are completed by a request of their own,
//! and a web server gets one request. A failed upload leaves nothing but, where the store does not clean up by itself, parts
//! that were aborted.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bytes::Bytes;
use object_store::{ObjectStoreExt, PutPayload, WriteMultipart};

use super::client::Target;
use super::object::RemoteStore;
use super::{RemoteOptions, errors, runtime, shown};
use crate::error::{Error, Op, Result};
use crate::store::ReadStore;

/// Bytes of a part; stores allow 10,000 parts. A smaller file is sent with one request.
const PART: u64 = 16 << 20;
const PARTS: u64 = 10_000;
/// Parts under way at the same time.
const AT_ONCE: usize = 8;

pub(super) fn upload(
    path: &Path,
    url: &str,
    options: &RemoteOptions,
    overwrite: bool,
    verify: bool,
    stop: &dyn Fn() -> bool,
) -> Result<u64> {
    let local = path.display().to_string();
    let file = File::open(path).map_err(|e| Error::io(Op::Open, &local, e))?;
    let len = file.metadata().map_err(|e| Error::io(Op::Open, &local, e))?.len();
    let target = Target::of(url, options)?;
    if !overwrite && exists(url, &target)? {
        return Err(Error::Exists(url.into()));
    }
    let sent = {
        let (target, file) = (target.clone(), Arc::new(file));
        let given_up = Arc::new(AtomicBool::new(false));
        let seen = given_up.clone();
        // It ends by itself, with what it has to clear away.
        let tick = || {
            given_up.store(stop(), Ordering::Relaxed);
            false
        };
        runtime::wait_with(url, async move { send(&target, &file, len, &seen).await }, tick)?
    };
    sent.map_err(|e| match e {
        Failed::GivenUp => Error::NotUploaded { url: shown(url) },
        Failed::Local(e) => Error::io(Op::Read, &local, e),
        Failed::Remote(e) => errors::explain(Op::Write, url, &e),
    })?;
    if verify && let Some(what) = difference(path, url, options)? {
        let removed = {
            let target = target.clone();
            runtime::wait_with(url, async move { target.store.delete(&target.path).await }, || false)?
        };
        let left = if removed.is_ok() { "it was removed" } else { "it could not be removed" };
        return Err(Error::Verify(format!("`{}` {what}; {left}", shown(url))));
    }
    Ok(len)
}

fn exists(url: &str, target: &Target) -> Result<bool> {
    let target = target.clone();
    match runtime::wait(url, async move { target.store.head(&target.path).await })? {
        Ok(_) => Ok(true),
        Err(object_store::Error::NotFound { .. }) => Ok(false),
        Err(e) => Err(errors::explain(Op::Write, url, &e)),
    }
}

enum Failed {
    GivenUp,
    Local(std::io::Error),
    Remote(object_store::Error),
}

impl From<object_store::Error> for Failed {
    fn from(e: object_store::Error) -> Self {
        Failed::Remote(e)
    }
}

async fn send(target: &Target, file: &Arc<File>, len: u64, given_up: &AtomicBool) -> Result<(), Failed> {
    if len <= PART {
        let payload = PutPayload::from_bytes(part(file, 0, len).await?);
        target.store.put(&target.path, payload).await?;
        return Ok(());
    }
    let size = PART.max(len.div_ceil(PARTS).next_multiple_of(1 << 20));
    let upload = target.store.put_multipart(&target.path).await?;
    let mut parts = WriteMultipart::new_with_chunk_size(upload, size as usize);
    let mut at = 0;
    while at < len {
        let ready = match parts.wait_for_capacity(AT_ONCE).await {
            Ok(()) if given_up.load(Ordering::Relaxed) => Err(Failed::GivenUp),
            Ok(()) => part(file, at, size.min(len - at)).await,
            Err(e) => Err(e.into()),
        };
        match ready {
            Ok(bytes) => parts.put(bytes),
            Err(e) => {
                // The error that ended it says more than one of clearing up.
                let _ = parts.abort().await;
                return Err(e);
            }
        }
        at += size;
    }
    parts.finish().await?;
    Ok(())
}

/// A part of the file, read on a thread that may wait.
async fn part(file: &Arc<File>, at: u64, len: u64) -> Result<Bytes, Failed> {
    let file = file.clone();
    let read = tokio::task::spawn_blocking(move || {
        let mut bytes = vec![0; len as usize];
        file.read_exact_at(&mut bytes, at).map(|()| Bytes::from(bytes))
    });
    match read.await {
        Ok(bytes) => bytes.map_err(Failed::Local),
        Err(e) => Err(Failed::Local(std::io::Error::other(e))),
    }
}

/// The difference between the object and the file, if there is one.
fn difference(path: &Path, url: &str, options: &RemoteOptions) -> Result<Option<String>> {
    let (file, object) = (crate::store::FileStore::open(path)?, RemoteStore::open(url, options)?);
    if file.len() != object.len() {
        return Ok(Some(format!("has {} bytes, {} were sent", object.len(), file.len())));
    }
    let mut at = 0;
    while at < file.len() {
        let ranges: Vec<_> = (0..AT_ONCE as u64)
            .map(|i| at + i * PART..file.len().min(at + (i + 1) * PART))
            .filter(|r| r.start < r.end)
            .collect();
        for (range, bytes) in ranges.iter().zip(object.read_ranges(&ranges)?) {
            if file.read_vec(range.start, range.end - range.start)? != bytes {
                return Ok(Some(format!("differs from what was sent after byte {}", range.start)));
            }
        }
        at += AT_ONCE as u64 * PART;
    }
    Ok(None)
}
