//! The threads that wait for servers.
//!
//! One runtime serves the whole process. A process that was forked has none of its parent's threads, and so gets a new
//! runtime; clients belong to a runtime, which is why they are cached by its number ([`generation`]).

use std::future::Future;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, Result};

/// Threads: they move bytes from sockets and decrypt them; decoding has threads of its own.
const THREADS: usize = 2;

/// The process that the runtime belongs to, and the runtime. It lives as long as the process: dropping one in a child that
/// has none of its threads would wait for them.
static CURRENT: Mutex<Option<(u32, &'static Runtime)>> = Mutex::new(None);

/// A number that changes when the process was forked.
pub(super) fn generation() -> u32 {
    std::process::id()
}

fn current() -> std::io::Result<&'static Runtime> {
    let mut current = CURRENT.lock().unwrap_or_else(PoisonError::into_inner);
    match *current {
        Some((of, runtime)) if of == generation() => Ok(runtime),
        _ => {
            let runtime = Builder::new_multi_thread()
                .worker_threads(THREADS)
                .thread_name("ncforge-net")
                .enable_all()
                .build()?;
            let runtime: &'static Runtime = Box::leak(Box::new(runtime));
            *current = Some((generation(), runtime));
            Ok(runtime)
        }
    }
}

/// Runs a future to its end on the runtime's threads; the calling thread waits. It may itself belong to another runtime.
///
/// # Errors
/// The system gives no threads; the future panicked.
pub(super) fn wait<T: Send + 'static>(
    name: &str,
    future: impl Future<Output = T> + Send + 'static,
) -> Result<T> {
    let runtime = current().map_err(|e| Error::io("open", name, e))?;
    let (sender, receiver) = sync_channel(1);
    let task = runtime.spawn(async move {
        // Nobody waits any more if this fails.
        let _ = sender.send(future.await);
    });
    loop {
        match receiver.recv_timeout(Duration::from_secs(1)) {
            Ok(done) => return Ok(done),
            Err(RecvTimeoutError::Timeout) if !task.is_finished() => {}
            // It may have finished between the two checks.
            Err(_) => {
                return receiver
                    .try_recv()
                    .map_err(|_| Error::Internal(format!("a request to `{name}` was not finished")));
            }
        }
    }
}
