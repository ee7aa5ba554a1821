//! Counters of the process's engine.

use ncforge::Engine;
use pyo3::prelude::*;

/// The counters of the engine that everything in this process shares, by name, with its limits.
#[pyfunction]
pub(crate) fn engine_stats() -> Vec<(&'static str, u64)> {
    let engine = Engine::global();
    let s = engine.stats();
    vec![
        ("hits", s.hits),
        ("misses", s.misses),
        ("ahead_hits", s.ahead_hits),
        ("bytes_decoded", s.bytes_decoded),
        ("bytes_prefetched", s.bytes_prefetched),
        ("bytes_fetched", s.bytes_fetched),
        ("bytes_delivered", s.bytes_delivered),
        ("bytes_kept", s.bytes_kept),
        ("bytes_ahead", s.bytes_ahead),
        ("memory", engine.memory()),
        ("threads", engine.threads() as u64),
    ]
}

/// Lets go of all decoded chunks, of what was read ahead, and of the memory of results that were dropped.
#[pyfunction]
pub(crate) fn clear_cache(py: Python<'_>) {
    py.detach(|| Engine::global().clear_cache());
}
