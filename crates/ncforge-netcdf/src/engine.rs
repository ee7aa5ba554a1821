//! The engine that reads.
//!
//! Threads do not survive a fork, and a child's engine has threads of its own. A file that was opened before the fork is left to netCDF-C
//! in the child.

use std::sync::Mutex;

use ncforge::{Engine, EngineOptions};

static ENGINE: Mutex<Option<Engine>> = Mutex::new(None);

/// The engine; `None` where the lock cannot be had at once, which after a fork may be for ever.
pub(crate) fn engine() -> Option<Engine> {
    let mut engine = ENGINE.try_lock().ok()?;
    let new = || Engine::new(EngineOptions::default()).unwrap_or_else(|_| Engine::global());
    Some(engine.get_or_insert_with(new).clone())
}
