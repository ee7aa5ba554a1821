//! The engine that reads the source of a copy.

use super::planned::Memory;
use ncforge::{Engine, EngineOptions, Result};

/// The engine under a copy: for the chunks it has in hand; the boxes are the copy's own.
pub(crate) fn engine_below(engine: &Engine) -> Result<Engine> {
    let memory = Memory::of(engine.memory());
    let options = EngineOptions { threads: Some(engine.threads()), memory: Some(memory.engine) };
    Ok(Engine::without_read_ahead(options)?.following(engine.follow()))
}
