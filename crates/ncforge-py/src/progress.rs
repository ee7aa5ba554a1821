//! Progress of the library, reported to a Python function.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ncforge::Result;
use ncforge_ops::progress::Progress;
use pyo3::prelude::*;

use crate::errors::outside;

/// Calls are at least this far apart: each one waits for the interpreter.
const CALL_EVERY: Duration = Duration::from_millis(100);

/// Calls a Python function with (stage, bytes done, bytes in all), if there is one, and looks for Ctrl-C; what is
/// raised stops the work.
pub(crate) struct Callback {
    call: Option<Py<PyAny>>,
    state: Mutex<CallbackState>,
}

#[derive(Default)]
struct CallbackState {
    stage: String,
    done: u64,
    total: u64,
    last: Option<Instant>,
    error: Option<PyErr>,
}

impl Callback {
    /// Stops the work with what Python raised.
    pub(crate) fn raise(&self, error: PyErr) {
        self.lock().error.get_or_insert(error);
    }

    fn update(&self, change: impl FnOnce(&mut CallbackState), now: bool) {
        let news = {
            let mut s = self.lock();
            change(&mut s);
            let due = now || s.done >= s.total || s.last.is_none_or(|t| t.elapsed() >= CALL_EVERY);
            if !due || s.error.is_some() {
                return;
            }
            s.last = Some(Instant::now());
            (s.stage.clone(), s.done, s.total)
        };
        // The lock is not held while the interpreter is waited for.
        let result = Python::attach(|py| {
            if let Some(call) = &self.call {
                call.call1(py, news)?;
            }
            py.check_signals()
        });
        if let Err(error) = result {
            self.raise(error);
        }
    }

    fn lock(&self) -> MutexGuard<'_, CallbackState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Callback {
    fn begin(&self, stage: &str, total: u64) {
        self.update(
            |s| {
                *s = CallbackState { stage: stage.into(), total, error: s.error.take(), ..Default::default() }
            },
            true,
        );
    }

    fn advance(&self, bytes: u64) {
        self.update(|s| s.done = s.done.saturating_add(bytes), false);
    }

    fn stop(&self) -> bool {
        // Between two boxes nothing advances, and Ctrl-C would not be heard.
        if self.lock().last.is_some_and(|t| t.elapsed() >= CALL_EVERY) {
            self.update(|_| (), true);
        }
        self.lock().error.is_some()
    }
}

/// Runs work that reports its progress to a Python function, if there is one. What that function raised, or
/// `KeyboardInterrupt`, is what the caller sees.
pub(crate) fn reporting<T: Send>(
    py: Python<'_>,
    callback: Option<Py<PyAny>>,
    work: impl FnOnce(&Callback) -> Result<T> + Send,
) -> PyResult<T> {
    let callback = Callback { call: callback, state: Mutex::default() };
    let result = outside(py, || work(&callback));
    let raised = callback.lock().error.take();
    match (result, raised) {
        (Err(_), Some(raised)) => Err(raised),
        (result, _) => result,
    }
}
