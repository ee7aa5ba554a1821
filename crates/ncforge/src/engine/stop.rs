//! Stopping long work between two items of it.
//!
//! A box of a large copy is read, encoded and written in thousands of items. Whoever asked for it may want to
//! stop sooner than at its end; the thread that called the engine, which works on items itself, asks before each.

use std::cell::Cell;

use crate::error::{Error, Result};

thread_local! {
    static STOP: Cell<Option<&'static dyn Fn() -> bool>> = const { Cell::new(None) };
}

/// Runs `work`; whatever it makes an engine do on this thread's behalf ends with [`Error::Interrupted`] soon
/// after `stop` says so. Begun work is then half done: results are incomplete, and of what a writer held,
/// some is lost.
pub fn with_stop<R>(stop: &dyn Fn() -> bool, work: impl FnOnce() -> R) -> R {
    struct Restore(Option<&'static dyn Fn() -> bool>);
    impl Drop for Restore {
        fn drop(&mut self) {
            STOP.set(self.0);
        }
    }
    // SAFETY: only the lifetime changes. The reference is reachable on this thread alone and only until this
    // function returns or unwinds, when `Restore` takes it away; the borrow outlives that.
    let stop = unsafe { std::mem::transmute::<&dyn Fn() -> bool, &'static dyn Fn() -> bool>(stop) };
    let _restore = Restore(STOP.replace(Some(stop)));
    work()
}

/// An error when the work of this thread shall stop.
pub(super) fn check() -> Result<()> {
    match STOP.get() {
        Some(stop) if stop() => Err(Error::Interrupted("stopped in the midst of it".to_owned())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::super::pool::Pool;
    use super::*;

    #[test]
    fn work_stops_between_items_and_only_inside() {
        for threads in [1, 2, 4] {
            let pool = Pool::new(threads);
            for ordered in [false, true] {
                let done = AtomicUsize::new(0);
                let item = |_| {
                    done.fetch_add(1, Ordering::Relaxed);
                    std::thread::sleep(std::time::Duration::from_micros(200));
                    Ok(())
                };
                let run = || match ordered {
                    true => pool.ordered(10_000, 8, item, |_, ()| Ok(())),
                    false => pool.run(10_000, true, item),
                };
                let stop = || done.load(Ordering::Relaxed) >= 20;
                let result = with_stop(&stop, run);
                assert!(matches!(result, Err(Error::Interrupted(_))), "{result:?}");
                assert!((20..200).contains(&done.load(Ordering::Relaxed)));
                assert!(check().is_ok(), "the question is gone with the work");
            }
        }
    }
}
