//! How often something is tried that may succeed the next time, and the waits in between, which double.

use std::time::Duration;

/// The attempts at one thing.
#[derive(Debug)]
pub(crate) struct Attempts {
    made: u32,
    most: u32,
    wait: Duration,
    longest: Duration,
}

/// The first wait after none.
const SHORTEST: Duration = Duration::from_millis(1);

impl Attempts {
    /// At a state of a file that another program writes: what is read may be half of one state and half of the next. The second
    /// attempt follows at once, the last after a second.
    pub(crate) const fn at_a_state() -> Self {
        Self { made: 0, most: 40, wait: Duration::ZERO, longest: Duration::from_millis(32) }
    }

    /// At a source of other files' values, which is opened in its present state each time: after a tenth of a second it may well
    /// be one that stays as it is, such as an object of which the server has another version.
    pub(crate) const fn at_a_source() -> Self {
        Self { most: 10, ..Self::at_a_state() }
    }

    /// At an answer of a server that ends before its end.
    #[cfg(any(test, feature = "remote"))]
    pub(crate) const fn at_an_answer() -> Self {
        let wait = Duration::from_millis(200);
        Self { made: 0, most: 3, wait, longest: Duration::from_millis(400) }
    }

    /// Whether a writer that never pauses is waited for no longer: a state that is whole by itself is good enough, though
    /// another one has followed.
    pub(crate) const fn settles(&self) -> bool {
        self.made >= Self::at_a_source().most
    }

    /// One attempt has failed: how long to wait before the next one; `None` if it was the last.
    pub(crate) fn next_wait(&mut self) -> Option<Duration> {
        self.made += 1;
        let wait = self.wait;
        self.wait = (2 * wait).max(SHORTEST).min(self.longest);
        (self.made < self.most).then_some(wait)
    }

    /// One attempt has failed: waits for the next one; false if it was the last.
    pub(crate) fn again(&mut self) -> bool {
        let wait = self.next_wait();
        wait.inspect(|&wait| std::thread::sleep(wait)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_and_end() {
        for (mut attempts, first, total) in [
            (Attempts::at_a_state(), 0, 1087),
            (Attempts::at_a_source(), 0, 127),
            (Attempts::at_an_answer(), 200, 600),
        ] {
            let most = attempts.most;
            let waits: Vec<_> = std::iter::from_fn(|| attempts.next_wait()).collect();
            assert_eq!(waits.len() as u32 + 1, most);
            assert_eq!(waits[0], Duration::from_millis(first));
            assert_eq!(waits.iter().sum::<Duration>(), Duration::from_millis(total));
        }
    }
}
