//! How far work has come: a bar on a terminal, a line every few seconds in a log, JSON for programs.
//!
//! All of it goes to stderr. Plain lines begin after some seconds, so that short work says nothing. Ctrl-C,
//! once caught ([`crate::interrupt::catch`]), is handed to the work through [`Progress::stop`].

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use ncforge::ops::progress::Progress;
use ncforge::words::bytes;

use crate::args::ProgressKind;
use crate::interrupt;

/// Time between two plain lines.
const LINE_EVERY: Duration = Duration::from_secs(5);
/// Time between two JSON objects.
const JSON_EVERY: Duration = Duration::from_millis(500);

/// Shows progress in one of the ways of `--progress`.
#[derive(Debug)]
pub(crate) struct Reporter {
    kind: ProgressKind,
    bar: Option<ProgressBar>,
    done: AtomicU64,
    state: Mutex<State>,
}

/// What changes seldom.
#[derive(Debug)]
struct State {
    stage: String,
    item: String,
    total: u64,
    since: Instant,
    last: Instant,
    spoke: bool,
}

impl Reporter {
    /// A reporter of a kind that is not [`ProgressKind::Auto`].
    pub(crate) fn new(kind: ProgressKind) -> Self {
        let bar = (kind == ProgressKind::Bar).then(|| {
            let bar = ProgressBar::new(0);
            let template = "{prefix} [{bar:30}] {percent:>3} %  {bytes} of {total_bytes}  \
                            {binary_bytes_per_sec}  {eta} left  {wide_msg}";
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar
        });
        let now = Instant::now();
        let state = State {
            stage: String::new(),
            item: String::new(),
            total: 0,
            since: now,
            last: now,
            spoke: false,
        };
        Reporter { kind, bar, done: AtomicU64::new(0), state: Mutex::new(state) }
    }

    /// Clears the bar; tells the last state in a log that heard of earlier ones.
    pub(crate) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.spoke {
            self.tell(&state);
        }
    }

    fn tell(&self, s: &State) {
        let done = self.done.load(Ordering::Relaxed);
        let seconds = s.since.elapsed().as_secs_f64();
        let rate = if seconds > 0.0 { done as f64 / seconds } else { 0.0 };
        let left = (rate > 0.0).then(|| s.total.saturating_sub(done) as f64 / rate);
        match self.kind {
            ProgressKind::Plain => eprintln!("ncforge: {}", plain(s, done, rate, left)),
            ProgressKind::Json => eprintln!(
                "{}",
                serde_json::json!({
                    "stage": s.stage,
                    "item": s.item,
                    "done_bytes": done,
                    "total_bytes": s.total,
                    "bytes_per_second": rate.round(),
                    "seconds_left": left.map(f64::round),
                })
            ),
            ProgressKind::Auto | ProgressKind::Bar | ProgressKind::None => {}
        }
    }
}

fn plain(s: &State, done: u64, rate: f64, left: Option<f64>) -> String {
    let percent = if s.total > 0 { 100 * u128::from(done) / u128::from(s.total) } else { 100 };
    let mut text = format!("{} {percent} %", s.stage);
    text += &format!(", {} of {}, {}/s", bytes(done), bytes(s.total), bytes(rate as u64));
    if let Some(left) = left {
        text += &format!(", {left:.0} s left");
    }
    if !s.item.is_empty() {
        text += &format!(" ({})", s.item);
    }
    text
}

impl Progress for Reporter {
    fn begin(&self, stage: &str, total: u64) {
        self.done.store(0, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            bar.set_prefix(stage.to_owned());
            bar.set_length(total);
            bar.reset();
        }
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        stage.clone_into(&mut state.stage);
        state.total = total;
        state.since = now;
        state.last = now;
        if self.kind == ProgressKind::Json {
            state.spoke = true;
            self.tell(&state);
        }
    }

    fn advance(&self, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        if let Some(bar) = &self.bar {
            return bar.inc(bytes);
        }
        let every = match self.kind {
            ProgressKind::Plain => LINE_EVERY,
            ProgressKind::Json => JSON_EVERY,
            ProgressKind::Auto | ProgressKind::Bar | ProgressKind::None => return,
        };
        // Who finds the lock taken leaves the telling to the one who has it.
        if let Ok(mut state) = self.state.try_lock()
            && state.last.elapsed() >= every
        {
            state.last = Instant::now();
            state.spoke = true;
            self.tell(&state);
        }
    }

    fn item(&self, name: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(name.to_owned());
        }
        name.clone_into(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner).item);
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
        let now = Instant::now();
        let state = State {
            stage: "copy".into(),
            item: "sst".into(),
            total: 4 << 20,
            since: now,
            last: now,
            spoke: false,
        };
        let text = plain(&state, 1 << 20, f64::from(1 << 20), Some(3.0));
        assert_eq!(text, "copy 25 %, 1.00 MiB of 4.00 MiB, 1.00 MiB/s, 3 s left (sst)");
    }
}
