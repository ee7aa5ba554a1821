//! Filling a window: cut into parts that any thread may take.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::super::Engine;
use super::super::how::{How, Keep};
use super::super::policy::DECODE_PARALLEL;
use super::super::pool::{guarded, lock};
use super::super::shared::SharedOut;
use super::super::source::Source;
use super::filled::Window;
use crate::layout::VarLayout;
use crate::model::VarId;
use crate::store::ReadStore;

/// Whose window it is, to fill it.
#[derive(Clone)]
pub(super) struct Work {
    pub(super) engine: Engine,
    pub(super) store: Arc<dyn ReadStore>,
    pub(super) var: VarId,
    pub(super) layout: Arc<VarLayout>,
    pub(super) window: Arc<Window>,
    /// The number of the read that made it.
    pub(super) number: u64,
}

impl Work {
    /// Fills one part; false when none is left to take.
    fn step(&self, keep: Keep) -> bool {
        let w = &*self.window;
        let i = w.taken.fetch_add(1, Ordering::Relaxed);
        let Some((part, at)) = w.parts.get(i) else { return false };
        if !w.failed.load(Ordering::Relaxed) && !w.dropped.load(Ordering::Relaxed) {
            let filled = guarded(|| {
                // SAFETY: the memory lives as long as the window, which we hold, and is used in no other way
                // until all parts have ended.
                let out = unsafe { SharedOut::from_raw(w.memory.ptr, w.len) };
                let source = Source {
                    engine: &self.engine,
                    store: &self.store,
                    var: self.var,
                    layout: &self.layout,
                    newer: None,
                };
                let how = How::new(self.number, w.shared, keep);
                // SAFETY: parts are disjoint, and each is taken once.
                unsafe { source.read(part, &w.steps, &out.from(*at), how) }
            });
            if filled.is_err() {
                w.failed.store(true, Ordering::Relaxed);
            }
        } else {
            w.failed.store(true, Ordering::Relaxed);
        }
        let mut ended = lock(&w.ended);
        *ended += 1;
        if *ended == w.parts.len() {
            w.ready.store(!w.failed.load(Ordering::Relaxed), Ordering::Release);
            w.changed.notify_all();
        }
        true
    }

    /// Sees to it that the window is filled, working along. False if it cannot be: then the caller reads for
    /// itself, and finds out why.
    pub(super) fn finish(&self, keep: Keep) -> bool {
        let w = &*self.window;
        let left = w.parts.len().saturating_sub(w.taken.load(Ordering::Relaxed));
        let parallel = w.bytes >= DECODE_PARALLEL;
        let _ = self.engine.inner.pool.run(left, parallel, |_| {
            self.step(keep);
            Ok(())
        });
        let mut ended = lock(&w.ended);
        while *ended < w.parts.len() {
            ended = w.changed.wait(ended).unwrap_or_else(std::sync::PoisonError::into_inner);
        }
        drop(ended);
        w.is_ready()
    }

    /// Begins to fill the window on the pool's idle threads; false if none is idle.
    pub(super) fn begin(&self) -> bool {
        let work = self.clone();
        self.engine.inner.pool.background(self.window.parts.len(), move || work.step(Keep::Nothing))
    }
}
