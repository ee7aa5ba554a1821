//! The parts that every request has: threads, memory, and whether files lead to others.

use ncforge::{Engine, EngineOptions, Result as NcResult};
use serde::{Deserialize, Serialize};

use super::Size;

/// Threads and memory of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EngineRequest {
    /// Worker threads, 1 or more. Default: `NCFORGE_THREADS`, else what the machine or the job allows.
    pub threads: Option<usize>,
    /// Memory budget in bytes, or as `512M`. Default: `NCFORGE_MEMORY`, else a share of what the machine or the job has.
    pub memory: Option<Size>,
    /// Whether files may lead to others. Default: what [`ncforge::set_follow`] says.
    pub follow: Option<bool>,
}

impl EngineRequest {
    /// The engine: that of the process where nothing is asked for.
    ///
    /// # Errors
    /// As [`Engine::new`].
    pub fn engine(&self) -> NcResult<Engine> {
        let engine = match (self.threads, self.memory) {
            (None, None) => Engine::global(),
            (threads, memory) => Engine::new(EngineOptions { threads, memory: memory.map(|m| m.0) })?,
        };
        Ok(engine.following(self.follow))
    }
}
