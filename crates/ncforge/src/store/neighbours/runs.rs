//! Runs of reads that go forward through a file, and how much is fetched ahead of them.

use super::super::IoProfile;
use super::super::requests::EVEN;

/// Runs that are followed at the same time: variables that lie far apart, read in turn.
const RUNS: usize = 32;

/// The runs of one file, and what came of following them.
#[derive(Debug, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    /// Calls so far.
    calls: u64,
    /// Bytes that were asked for.
    asked: u64,
    /// Bytes that came and were not asked for so far.
    unasked: u64,
}

#[derive(Debug)]
struct Run {
    /// The end of the latest read.
    to: u64,
    reads: u32,
    /// The call of the latest read.
    latest: u64,
}

impl Runs {
    /// Notes a read of the bytes from `from` to `to`, of which `bytes` are asked for. Returns the bytes behind it that are worth fetching.
    pub(super) fn read(&mut self, from: u64, to: u64, bytes: u64, profile: &IoProfile) -> u64 {
        self.calls += 1;
        self.asked = self.asked.saturating_add(bytes);
        let gap = profile.read_gap;
        let calls = self.calls;
        let goes_on = |run: &&mut Run| run.to < to && from.abs_diff(run.to) <= gap;
        let reads = match self.runs.iter_mut().filter(goes_on).min_by_key(|run| from.abs_diff(run.to)) {
            Some(run) => {
                (run.to, run.reads, run.latest) = (to, run.reads.saturating_add(1), calls);
                run.reads
            }
            None => {
                if self.runs.len() >= RUNS {
                    let oldest = (0..RUNS).min_by_key(|&i| self.runs[i].latest).unwrap_or(0);
                    self.runs.swap_remove(oldest);
                }
                self.runs.push(Run { to, reads: 1, latest: calls });
                1
            }
        };
        if reads < 2 {
            return 0;
        }
        let growth = gap.saturating_mul(1 << (reads - 2).min(20));
        // A little is ventured before anything is known of the program.
        let venture = if self.unasked < EVEN { gap } else { 0 };
        growth.min(profile.read_ahead()).min(self.asked.saturating_sub(self.unasked).max(venture))
    }

    /// Notes bytes that are fetched though nobody has asked for them.
    pub(super) fn fetches(&mut self, unasked: u64) {
        self.unasked += unasked;
    }

    /// Notes that such bytes were asked for.
    pub(super) fn used(&mut self, bytes: u64) {
        self.unasked = self.unasked.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROFILE: IoProfile = IoProfile::OBJECT;
    const GAP: u64 = PROFILE.read_gap;

    #[test]
    fn what_is_fetched_ahead_grows_with_the_run_and_with_what_was_asked_for() {
        let mut runs = Runs::default();
        let ahead: Vec<u64> = (0..9).map(|i| runs.read(i << 20, (i + 1) << 20, 1 << 20, &PROFILE)).collect();
        assert_eq!(ahead[..4], [0, GAP, 2 * GAP, 4 * GAP]);
        assert_eq!(ahead[6], 7 << 20, "as many as were asked for");
        let far = 1 << 40;
        let most =
            (0..99).map(|i| runs.read(far + (i << 20), far + ((i + 1) << 20), 1 << 20, &PROFILE)).max();
        assert_eq!(most, Some(PROFILE.read_ahead()));
        // Nobody asked for what came: nothing more is ventured.
        runs.fetches(u64::MAX / 2);
        assert_eq!(runs.read(far + (99 << 20), far + (100 << 20), 1 << 20, &PROFILE), 0);
    }

    #[test]
    fn reads_that_are_scattered_or_go_backwards_fetch_nothing_ahead() {
        let mut runs = Runs::default();
        for i in 0..100 {
            assert_eq!(runs.read(i * 10 * GAP, i * 10 * GAP + 100, 100, &PROFILE), 0);
        }
        let mut runs = Runs::default();
        for i in (1..100).rev() {
            assert_eq!(runs.read(i * 10 * GAP, (i + 1) * 10 * GAP, 10 * GAP, &PROFILE), 0);
        }
    }

    #[test]
    fn several_runs_are_followed_in_turn() {
        let mut runs = Runs::default();
        for i in 0..3 {
            for run in 0..RUNS as u64 {
                let from = (run << 40) + i * GAP;
                assert_eq!(runs.read(from, from + GAP, GAP, &PROFILE) > 0, i > 0);
            }
        }
    }
}
