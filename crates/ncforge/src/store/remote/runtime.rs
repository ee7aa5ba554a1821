//! The threads that wait for servers.
//!
//! One runtime serves the whole process. A process that was forked has none of its parent's threads, and so gets a new
//! runtime, and clients of its own.

use std::future::Future;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::stream::{self, Stream, StreamExt};
use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, Op, Result};
use crate::store::PerProcess;

/// Threads: they move bytes from sockets and decrypt them; decoding has threads of its own.
const THREADS: usize = 2;
/// The interval at which a thread that waits sees whether it still shall.
const TICK: Duration = Duration::from_millis(100);

/// The runtime. It lives as long as the process: dropping one in a child that has none of its threads would wait for them.
static CURRENT: LazyLock<PerProcess<Mutex<Option<&'static Runtime>>>> = LazyLock::new(PerProcess::default);

fn current() -> std::io::Result<&'static Runtime> {
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    match *current {
        Some(runtime) => Ok(runtime),
        None => {
            let runtime = Builder::new_multi_thread()
                .worker_threads(THREADS)
                .thread_name("ncforge-net")
                .enable_all()
                .build()?;
            let runtime: &'static Runtime = Box::leak(Box::new(runtime));
            *current = Some(runtime);
            Ok(runtime)
        }
    }
}

/// Runs a future to its end on the runtime's threads; the calling thread waits. It may itself belong to another runtime.
///
/// # Errors
/// The system gives no threads; the future panicked; [`Error::Interrupted`] where [`super::give_up_when`] says so.
pub(super) fn wait<T: Send + 'static>(
    name: &str,
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    wait_with(name, future, super::shall_give_up)
}

/// As [`wait`], with a function that the calling thread calls now and then while it waits; true gives up.
pub(super) fn wait_with<T: Send + 'static>(
    name: &str,
    future: impl Future<Output = T> + Send + 'static,
    tick: impl FnMut() -> bool,
) -> Result<T> {
    let mut done = None;
    let give = |one| {
        done = Some(one);
        true
    };
    each_with(name, stream::once(future), give, tick)?;
    done.ok_or_else(|| unfinished(name))
}

/// Runs a stream on the runtime's threads and hands each of its items to `give` on the calling thread, until that returns false:
/// then what is under way is given up.
///
/// # Errors
/// As for [`wait`].
pub(super) fn each<T: Send + 'static>(
    name: &str,
    items: impl Stream<Item = T> + Send + 'static,
    give: impl FnMut(T) -> bool,
) -> Result<()> {
    each_with(name, items, give, super::shall_give_up)
}

fn each_with<T: Send + 'static>(
    name: &str,
    items: impl Stream<Item = T> + Send + 'static,
    mut give: impl FnMut(T) -> bool,
    mut tick: impl FnMut() -> bool,
) -> Result<()> {
    let runtime = current().map_err(|e| Error::io(Op::Open, name, e))?;
    // Empty at the stream's end; without that it ended by a panic.
    let (sender, receiver) = channel();
    let task = runtime.spawn(async move {
        let mut items = std::pin::pin!(items);
        while let Some(item) = items.next().await {
            if sender.send(Some(item)).is_err() {
                return;
            }
        }
        // Nobody waits any more if this fails.
        let _ = sender.send(None);
    });
    let mut asked = Instant::now();
    loop {
        if asked.elapsed() >= TICK {
            if tick() {
                task.abort();
                return Err(Error::Interrupted(format!("waiting for `{name}`")));
            }
            asked = Instant::now();
        }
        match receiver.recv_timeout(TICK) {
            Ok(Some(item)) => {
                if !give(item) {
                    task.abort();
                    return Ok(());
                }
            }
            Ok(None) => return Ok(()),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Err(unfinished(name)),
        }
    }
}

fn unfinished(name: &str) -> Error {
    Error::Internal(format!("a request to `{name}` was not finished"))
}
