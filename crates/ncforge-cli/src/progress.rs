//! How far work has come: a bar on a terminal, a line every few seconds in a log, JSON for programs.
//!
//! All of it goes to stderr, from a thread of its own: work that is busy with one large piece is seen to be alive, too. Short
//! work says nothing. Until the work says how much there is to do (and where it never does), a terminal shows what is done and
//! since when; logs and programs hear of what can be counted only. Ctrl-C, once caught ([`crate::interrupt::catch`]), is handed
//! to the work through [`Progress::stop`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ncforge_ops::progress::Progress;
use ncforge_tune::words::bytes;

use crate::args::ProgressKind;
use crate::interrupt;
use crate::stderr::to_stderr;

/// Time until a terminal shows something: people begin to wonder after a second.
const BAR_AFTER: Duration = Duration::from_millis(500);
/// Time between two looks of a bar.
const BAR_EVERY: Duration = Duration::from_millis(200);
/// Time between two looks while a benchmark measures, which the bar must not disturb.
const CLOCK_EVERY: Duration = Duration::from_secs(1);
/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Time between two JSON objects.
const JSON_EVERY: Duration = Duration::from_millis(500);

/// The template of a bar (in 80 columns, with the object in work where there is room), and of the line before anything can be counted.
const BAR: &str = "{prefix} [{bar:16}] {percent:>3} %  {bytes}/{total_bytes}  {binary_bytes_per_sec}  {eta} left  {wide_msg}";
/// [`BAR`] before a rate means something.
const EARLY: &str = "{prefix} [{bar:16}] {percent:>3} %  {bytes}/{total_bytes}  {elapsed}  {wide_msg}";
/// A rate, and the time that it promises, mean something after this many seconds, and this part of the work.
const SETTLED: f64 = 2.0;
const SETTLED_PART: f64 = 0.01;
const CLOCK: &str = "{prefix}  {elapsed}  {wide_msg}";

/// Shows progress in one of the ways of `--progress`, until it is dropped or [finished](Reporter::finish).
#[derive(Debug)]
pub(crate) struct Reporter {
    shared: Arc<Shared>,
    teller: Mutex<Option<JoinHandle<()>>>,
}

/// State shared by the work and the thread that reports it.
#[derive(Debug)]
struct Shared {
    kind: ProgressKind,
    bar: Option<ProgressBar>,
    done: AtomicU64,
    state: Mutex<State>,
    finished: Condvar,
}

/// State that changes seldom.
#[derive(Debug)]
struct State {
    stage: String,
    item: String,
    /// Unknown until the work says it.
    total: Option<u64>,
    since: Instant,
    /// Whether the bar shows a rate.
    settled: bool,
    spoke: bool,
    finished: bool,
}

impl Reporter {
    /// A reporter of a kind that is not [`ProgressKind::Auto`], of work that begins now under this name.
    pub(crate) fn new(kind: ProgressKind, work: &str) -> Self {
        let bar = (kind == ProgressKind::Bar).then(|| {
            let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
            bar.set_style(style(CLOCK));
            bar.with_prefix(work.to_owned())
        });
        let state = State {
            stage: work.to_owned(),
            item: String::new(),
            total: None,
            since: Instant::now(),
            settled: false,
            spoke: false,
            finished: false,
        };
        let shared = Arc::new(Shared {
            kind,
            bar,
            done: AtomicU64::new(0),
            state: Mutex::new(state),
            finished: Condvar::new(),
        });
        let reporter = Reporter { shared, teller: Mutex::new(None) };
        // A terminal shows that something goes on. The others hear nothing before something can be counted, and a process of one
        // thread calls the system and the allocator faster: a benchmark must not pay for a thread that says nothing.
        if kind == ProgressKind::Bar {
            reporter.start();
        }
        reporter
    }

    /// Starts the thread that tells, unless there is one.
    fn start(&self) {
        if self.shared.kind == ProgressKind::None {
            return;
        }
        let mut teller = self.teller.lock().unwrap_or_else(PoisonError::into_inner);
        if teller.is_none() {
            let shared = Arc::clone(&self.shared);
            // A process that may not have one more thread works without.
            *teller = std::thread::Builder::new()
                .name("progress".into())
                .spawn(move || shared.tell_until_finished())
                .ok();
        }
    }

    /// Clears the bar; tells the last state in a log that heard of earlier ones.
    pub(crate) fn finish(&self) {
        let Some(teller) = self.teller.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        self.shared.state().finished = true;
        self.shared.finished.notify_all();
        // A thread that panicked has reported so.
        let _ = teller.join();
        if let Some(bar) = &self.shared.bar {
            bar.finish_and_clear();
        }
        let state = self.shared.state();
        if state.spoke {
            self.shared.tell(&state);
        }
    }

    /// Prints something while the bar is out of the way.
    pub(crate) fn aside<T>(&self, print: impl FnOnce() -> T) -> T {
        match &self.shared.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }
}

impl Drop for Reporter {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The loop of the thread.
    fn tell_until_finished(&self) {
        let mut state = self.state();
        let mut pause = match self.kind {
            ProgressKind::Bar => BAR_AFTER,
            ProgressKind::Json => JSON_EVERY,
            ProgressKind::Plain | ProgressKind::Auto | ProgressKind::None => LINE_EVERY,
        };
        loop {
            let waited = self.finished.wait_timeout_while(state, pause, |s| !s.finished);
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            if state.finished {
                return;
            }
            if let Some(bar) = &self.bar {
                if bar.is_hidden() {
                    bar.set_draw_target(ProgressDrawTarget::stderr());
                }
                if state.total.is_some() {
                    let done = self.done.load(Ordering::Relaxed);
                    bar.set_position(done);
                    if !state.settled && settled(&state, done) {
                        state.settled = true;
                        bar.set_style(style(BAR));
                    }
                    pause = BAR_EVERY;
                } else {
                    bar.tick();
                    pause = CLOCK_EVERY;
                }
            } else if state.total.is_some() {
                state.spoke = true;
                self.tell(&state);
            }
        }
    }

    fn tell(&self, s: &State) {
        let done = self.done.load(Ordering::Relaxed);
        let seconds = s.since.elapsed().as_secs_f64();
        let rate = if seconds > 0.0 { done as f64 / seconds } else { 0.0 };
        let total = s.total.unwrap_or(0);
        let left = (rate > 0.0 && (settled(s, done) || done >= total))
            .then(|| total.saturating_sub(done) as f64 / rate);
        match self.kind {
            ProgressKind::Plain => to_stderr(format_args!("ncforge: {}\n", plain(s, done, rate, left))),
            ProgressKind::Json => to_stderr(format_args!(
                "{}\n",
                serde_json::json!({
                    "stage": s.stage,
                    "item": s.item,
                    "done_bytes": done,
                    "total_bytes": total,
                    "bytes_per_second": rate.round(),
                    "seconds_left": left.map(f64::round),
                })
            )),
            ProgressKind::Auto | ProgressKind::Bar | ProgressKind::None => {}
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    // The templates are ours and right; a bar in another style is no reason to fail.
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

/// Whether enough is done for a rate.
fn settled(s: &State, done: u64) -> bool {
    let part = done as f64 / s.total.unwrap_or(0).max(1) as f64;
    s.since.elapsed().as_secs_f64() >= SETTLED && part >= SETTLED_PART
}

fn plain(s: &State, done: u64, rate: f64, left: Option<f64>) -> String {
    let total = s.total.unwrap_or(0);
    let percent = if total > 0 { 100 * u128::from(done) / u128::from(total) } else { 100 };
    let mut text = format!("{} {percent} %", s.stage);
    text += &format!(", {} of {}", bytes(done), bytes(total));
    if let Some(left) = left {
        text += &format!(", {}/s, {left:.0} s left", bytes(rate as u64));
    }
    if !s.item.is_empty() {
        text += &format!(" ({})", s.item);
    }
    text
}

impl Progress for Reporter {
    fn begin(&self, stage: &str, total: u64) {
        self.shared.done.store(0, Ordering::Relaxed);
        let mut state = self.shared.state();
        if let Some(bar) = &self.shared.bar {
            bar.set_style(style(EARLY));
            bar.set_prefix(stage.to_owned());
            bar.set_length(total);
            bar.reset();
        }
        stage.clone_into(&mut state.stage);
        state.total = Some(total);
        state.since = Instant::now();
        state.settled = false;
        if self.shared.kind == ProgressKind::Json {
            state.spoke = true;
            self.shared.tell(&state);
        }
        drop(state);
        self.start();
    }

    fn advance(&self, bytes: u64) {
        self.shared.done.fetch_add(bytes, Ordering::Relaxed);
    }

    fn item(&self, name: &str) {
        if let Some(bar) = &self.shared.bar {
            bar.set_message(name.to_owned());
        }
        name.clone_into(&mut self.shared.state().item);
    }

    fn stop(&self) -> bool {
        interrupt::requested()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_lines_tell_rate_and_time_left() {
        let state = State {
            stage: "copy".into(),
            item: "sst".into(),
            total: Some(4 << 20),
            since: Instant::now(),
            settled: false,
            spoke: false,
            finished: false,
        };
        assert!(!settled(&state, 1 << 20), "nothing is known in the first moment");
        assert_eq!(plain(&state, 1 << 20, 0.0, None), "copy 25 %, 1.00 MiB of 4.00 MiB (sst)");
        let text = plain(&state, 1 << 20, f64::from(1 << 20), Some(3.0));
        assert_eq!(text, "copy 25 %, 1.00 MiB of 4.00 MiB, 1.00 MiB/s, 3 s left (sst)");
    }
}
