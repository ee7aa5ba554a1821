//! The engine's threads, and the two ways in which work is spread over them.
//!
//! The calling thread always works too: a caller makes progress however busy the pool is, and waits at its end only for helpers that
//! have begun to work for it. (One that has not may be behind another that waits for bytes which this caller brings.) Helpers take one
//! item at a time and queue up again behind others, so that no request waits for the whole of another.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuilder};

use super::signals::without_signals;
use super::stop;
use crate::error::{Error, Result};

/// Helpers are started for work that is this many times what is shared with those that run: a thread is there after
/// 75 to 170 µs (measured on two processors: chunks of 50 to 100 KB, shared by two).
const START: u64 = 4;
/// The number of smaller requests that are done alone before helpers are started for them, too.
const ONCE: usize = 4;

pub(super) struct Pool {
    threads: usize,
    /// Helpers are started on first use; `None` where the system refuses threads.
    helpers: OnceLock<Option<ThreadPool>>,
    /// Requests that have work for helpers now.
    busy: AtomicUsize,
    /// Jobs in the background.
    background: Arc<AtomicUsize>,
    /// Requests that were too small to start helpers for.
    alone: AtomicUsize,
}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pool({} threads)", self.threads)
    }
}

impl Pool {
    pub(super) fn new(threads: usize) -> Self {
        Self {
            threads: threads.max(1),
            helpers: OnceLock::new(),
            busy: AtomicUsize::new(0),
            background: Arc::default(),
            alone: AtomicUsize::new(0),
        }
    }

    pub(super) fn threads(&self) -> usize {
        self.threads
    }

    /// Whether work of `bytes` bytes is shared, which it usually is from `least` on. Helpers that do not run yet have
    /// to be started first: a program that reads little, once, is done sooner without them.
    pub(super) fn shares(&self, bytes: u64, least: u64) -> bool {
        bytes >= least
            && (self.helpers.get().is_some()
                || bytes >= least.saturating_mul(START)
                || self.alone.fetch_add(1, Ordering::Relaxed) >= ONCE)
    }

    fn helpers(&self) -> Option<&ThreadPool> {
        if self.threads == 1 {
            return None;
        }
        let build = || {
            let threads = ThreadPoolBuilder::new()
                .num_threads(self.threads - 1)
                .thread_name(|i| format!("ncforge-{i}"));
            without_signals(|| threads.build()).ok()
        };
        self.helpers.get_or_init(build).as_ref()
    }

    /// Runs `work` for every index below `n`, begun in order. Of several errors the one of the lowest index is
    /// returned; what stands behind it may not have run.
    pub(super) fn run(
        &self,
        n: usize,
        parallel: bool,
        work: impl Fn(usize) -> Result<()> + Sync,
    ) -> Result<()> {
        let helpers = if parallel && n > 1 { self.helpers() } else { None };
        let Some(pool) = helpers else {
            return (0..n).try_for_each(|i| stop::check().and_then(|()| guarded(|| work(i))));
        };
        let _busy = Busy::new(&self.busy);
        let next = AtomicUsize::new(0);
        let last = AtomicUsize::new(usize::MAX);
        let failure: Mutex<Option<(usize, Error)>> = Mutex::new(None);
        let step = || {
            let i = next.fetch_add(1, Ordering::Relaxed);
            if i >= n || i > last.load(Ordering::Relaxed) {
                return false;
            }
            if let Err(e) = guarded(|| work(i)) {
                last.fetch_min(i, Ordering::Relaxed);
                let mut slot = lock(&failure);
                if slot.as_ref().is_none_or(|(first, _)| i < *first) {
                    *slot = Some((i, e));
                }
            }
            true
        };
        with_help(pool, &step, |call| {
            call((self.threads - 1).min(n - 1));
            loop {
                if let Err(e) = stop::check() {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    last.fetch_min(i, Ordering::Relaxed);
                    if i < n {
                        lock(&failure).get_or_insert((i, e));
                    }
                    break;
                }
                if !step() {
                    break;
                }
            }
        });
        match failure.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, e)) => Err(e),
            None => Ok(()),
        }
    }

    /// Whether helpers have nothing to do, as far as is known.
    pub(super) fn is_idle(&self) -> bool {
        self.threads > 1
            && self.busy.load(Ordering::Relaxed) == 0
            && self.background.load(Ordering::Relaxed) == 0
    }

    /// Has idle helpers call `step` until it is false, which it is after about `n` calls; each queues up again
    /// behind others after every call. Returns at once; false when no helper is idle. `step` must not panic.
    pub(super) fn background(&self, n: usize, step: impl Fn() -> bool + Send + Sync + 'static) -> bool {
        if !self.is_idle() {
            return false;
        }
        let Some(pool) = self.helpers() else { return false };
        let counted = Counted::new(&self.background);
        let step = Arc::new(move || {
            let _ = &counted;
            step()
        });
        call(pool, &step, (self.threads - 1).min(n));
        true
    }

    /// Runs `produce` for every index below `n` on all threads and gives the results to `consume` in order on
    /// this one; at most `window` results are in the making or waiting.
    pub(super) fn ordered<T: Send>(
        &self,
        n: usize,
        window: usize,
        produce: impl Fn(usize) -> Result<T> + Sync,
        mut consume: impl FnMut(usize, T) -> Result<()>,
    ) -> Result<()> {
        let helpers = if n > 1 && window > 1 { self.helpers() } else { None };
        let Some(pool) = helpers else {
            return (0..n).try_for_each(|i| {
                stop::check()?;
                consume(i, guarded(|| produce(i))?)
            });
        };
        let _busy = Busy::new(&self.busy);
        let line = Line { n, window, state: Mutex::new(LineState::default()), changed: Condvar::new() };
        let produce = |i| guarded(|| produce(i));
        let step = || {
            let claimed = {
                let mut state = lock(&line.state);
                let claimed = line.claim(&mut state);
                if claimed.is_none() {
                    state.helpers -= 1;
                }
                claimed
            };
            let Some(i) = claimed else { return false };
            let result = produce(i);
            lock(&line.state).ready.insert(i, result);
            line.changed.notify_one();
            true
        };
        with_help(pool, &step, |call| {
            let result = loop {
                if let Err(e) = stop::check() {
                    break Err(e);
                }
                let mut state = lock(&line.state);
                let wanted = line.claimable(&state).min(self.threads - 1);
                let spawn = wanted.saturating_sub(state.helpers);
                state.helpers += spawn;
                let ready = {
                    let first = state.consumed;
                    state.ready.remove(&first)
                };
                let claimed = if ready.is_none() { line.claim(&mut state) } else { None };
                if let Some(result) = ready {
                    let i = state.consumed;
                    state.consumed += 1;
                    drop(state);
                    call(spawn);
                    if let Err(e) = result.and_then(|t| consume(i, t)) {
                        break Err(e);
                    }
                } else if let Some(i) = claimed {
                    drop(state);
                    call(spawn);
                    let result = produce(i);
                    lock(&line.state).ready.insert(i, result);
                } else if state.consumed == n {
                    break Ok(());
                } else {
                    // Somebody is producing the next one.
                    drop(line.changed.wait(state).unwrap_or_else(PoisonError::into_inner));
                }
            };
            lock(&line.state).stopped = true;
            result
        })
    }
}

/// Has `n` threads of a pool call `step` until it is false; each queues up again behind others after every call.
fn call<F: Fn() -> bool + Send + Sync + 'static>(pool: &ThreadPool, step: &Arc<F>, n: usize) {
    fn go_on<F: Fn() -> bool + Send + Sync + 'static>(step: Arc<F>) {
        if step() {
            rayon::spawn_fifo(move || go_on(step));
        }
    }
    for _ in 0..n {
        let step = Arc::clone(step);
        pool.spawn_fifo(move || go_on(step));
    }
}

/// Runs `work`, which may call so many helpers for `step`. When it ends, no helper is in `step`, and none enters any more.
fn with_help<R>(
    pool: &ThreadPool,
    step: &(dyn Fn() -> bool + Sync),
    work: impl FnOnce(&dyn Fn(usize)) -> R,
) -> R {
    let lent = Arc::new(Lent::new(step));
    let _over = Over(&lent);
    let job = Arc::new({
        let lent = Arc::clone(&lent);
        move || lent.step()
    });
    work(&|n| call(pool, &job, n))
}

/// A closure that threads may be in until it is over.
struct Lent {
    step: *const (dyn Fn() -> bool + Sync),
    /// The number of threads that are in it, and [`OVER`].
    inside: AtomicUsize,
    lock: Mutex<()>,
    left: Condvar,
}

/// A bit of [`Lent::inside`]: nobody enters any more.
const OVER: usize = 1 << (usize::BITS - 1);

// SAFETY: the closure is `Sync`, and is called as `step` says.
unsafe impl Send for Lent {}
// SAFETY: as above.
unsafe impl Sync for Lent {}

impl Lent {
    fn new(step: &(dyn Fn() -> bool + Sync)) -> Self {
        // SAFETY: only the lifetime is another one; see `step`.
        let step = unsafe {
            std::mem::transmute::<*const (dyn Fn() -> bool + Sync + '_), *const (dyn Fn() -> bool + Sync)>(
                step,
            )
        };
        Self { step, inside: AtomicUsize::new(0), lock: Mutex::new(()), left: Condvar::new() }
    }

    /// Calls the closure, unless it is over.
    fn step(&self) -> bool {
        let before = self.inside.fetch_add(1, Ordering::Acquire);
        let _out = Out(self);
        // SAFETY: the closure lives until it is over and everybody has left, as `Over` waits for: this thread is counted.
        before & OVER == 0 && unsafe { (*self.step)() }
    }
}

/// A thread that is in a closure; leaves when dropped.
struct Out<'a>(&'a Lent);

impl Drop for Out<'_> {
    fn drop(&mut self) {
        if self.0.inside.fetch_sub(1, Ordering::AcqRel) == OVER | 1 {
            drop(lock(&self.0.lock));
            self.0.left.notify_all();
        }
    }
}

/// Ends a closure when dropped, and waits for those that are in it.
struct Over<'a>(&'a Lent);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.inside.fetch_or(OVER, Ordering::AcqRel);
        let mut guard = lock(&self.0.lock);
        while self.0.inside.load(Ordering::Acquire) != OVER {
            guard = self.0.left.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// Counts itself while it lives.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts a request as active while it lasts.
struct Busy<'a>(&'a AtomicUsize);

impl<'a> Busy<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Busy<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An assembly line: items are claimed in order, finished in any order, consumed in order.
struct Line<T> {
    n: usize,
    window: usize,
    state: Mutex<LineState<T>>,
    changed: Condvar,
}

struct LineState<T> {
    claimed: usize,
    consumed: usize,
    helpers: usize,
    stopped: bool,
    ready: HashMap<usize, Result<T>>,
}

impl<T> Default for LineState<T> {
    fn default() -> Self {
        Self { claimed: 0, consumed: 0, helpers: 0, stopped: false, ready: HashMap::new() }
    }
}

impl<T> Line<T> {
    fn claimable(&self, state: &LineState<T>) -> usize {
        if state.stopped { 0 } else { self.n.min(state.consumed.saturating_add(self.window)) - state.claimed }
    }

    fn claim(&self, state: &mut LineState<T>) -> Option<usize> {
        (self.claimable(state) > 0).then(|| {
            state.claimed += 1;
            state.claimed - 1
        })
    }
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Turns a panic, which would be a defect of this crate, into an error: it must not cross into the caller.
pub(super) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|payload| {
        let text = payload
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| payload.downcast_ref::<&str>().copied())
            .unwrap_or("a panic");
        Err(Error::Internal(format!("the engine: {text}")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_index_runs_once_and_the_first_error_wins() {
        for threads in [1, 2, 3, 8] {
            let pool = Pool::new(threads);
            let sum = AtomicUsize::new(0);
            pool.run(1000, true, |i| {
                sum.fetch_add(i, Ordering::Relaxed);
                Ok(())
            })
            .unwrap();
            assert_eq!(sum.into_inner(), 499_500);
            for _ in 0..20 {
                let e = pool.run(500, true, |i| match i {
                    _ if i % 100 == 99 => Err(Error::Invalid(i.to_string())),
                    _ => Ok(()),
                });
                assert_eq!(e.unwrap_err().to_string(), "99");
            }
        }
    }

    #[test]
    fn results_come_in_order_within_the_window() {
        for threads in [1, 2, 3, 8] {
            let pool = Pool::new(threads);
            for window in [1, 2, 5] {
                let (alive, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
                let mut seen = Vec::new();
                pool.ordered(
                    200,
                    window,
                    |i| {
                        most.fetch_max(alive.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        Ok(i * 2)
                    },
                    |i, twice| {
                        alive.fetch_sub(1, Ordering::SeqCst);
                        assert_eq!(twice, i * 2);
                        seen.push(i);
                        Ok(())
                    },
                )
                .unwrap();
                assert_eq!(seen, (0..200).collect::<Vec<_>>());
                assert!(most.into_inner() <= window + 1);
            }
        }
    }

    #[test]
    fn errors_and_panics_of_producers_and_consumers_come_back() {
        let pool = Pool::new(3);
        let fail = |at: usize| move |i| if i == at { Err(Error::Invalid("no".into())) } else { Ok(i) };
        assert!(pool.ordered(50, 4, fail(10), |_, _| Ok(())).is_err());
        assert!(pool.ordered(50, 4, Ok, |i, _| fail(20)(i).map(drop)).is_err());
        let e = pool.run(10, true, |i| if i == 5 { panic!("five") } else { Ok(()) }).unwrap_err();
        assert!(e.to_string().contains("five"));
    }

    #[test]
    fn little_work_starts_no_threads_until_it_comes_often() {
        let pool = Pool::new(2);
        assert!(!pool.shares(99, 100));
        for _ in 0..ONCE {
            assert!(!pool.shares(100, 100) && pool.helpers.get().is_none());
        }
        assert!(pool.shares(100, 100) && !pool.shares(99, 100));
        let pool = Pool::new(2);
        assert!(pool.shares(400, 100));
        pool.run(2, true, |_| Ok(())).unwrap();
        assert!(pool.shares(100, 100), "they run");
    }

    #[test]
    fn a_caller_waits_for_no_helper_that_works_for_another() {
        let pool = Pool::new(2);
        let (held, hold) = std::sync::mpsc::channel::<()>();
        let hold = Mutex::new(hold);
        assert!(pool.background(1, move || lock(&hold).recv().is_ok()));
        let (done, ended) = std::sync::mpsc::channel();
        let all = std::thread::scope(|scope| {
            scope.spawn(|| {
                pool.run(8, true, |_| Ok(())).unwrap();
                pool.ordered(8, 4, Ok, |_, _| Ok(())).unwrap();
                done.send(()).unwrap();
            });
            let all = ended.recv_timeout(std::time::Duration::from_secs(60));
            drop(held);
            all
        });
        assert!(all.is_ok(), "it waits for the helper");
    }

    #[test]
    fn nested_work_does_not_lock_up() {
        let pool = Pool::new(2);
        pool.run(8, true, |_| pool.run(8, true, |_| pool.ordered(4, 2, Ok, |_, _| Ok(())))).unwrap();
    }
}
