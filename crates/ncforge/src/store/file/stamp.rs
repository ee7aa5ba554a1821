//! Whether a file was written to since it was opened.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, SystemTime};

/// Length and time of the last change of a file, as the system reports them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stamp {
    len: u64,
    seconds: i64,
    nanoseconds: i64,
}

/// Systems take times of change from a clock whose ticks are at most this long (100 Hz, the slowest that Linux can be
/// built with): of two changes in one tick the second one does not show.
const TICK: Duration = Duration::from_millis(10);

impl Stamp {
    pub(super) fn of(meta: &Metadata) -> Self {
        Self { len: meta.len(), seconds: meta.mtime(), nanoseconds: meta.mtime_nsec() }
    }

    /// Whether a change from now on gives another stamp.
    pub(crate) fn shows_changes(&self) -> bool {
        let since = Duration::new(self.seconds.max(0) as u64, self.nanoseconds.clamp(0, 999_999_999) as u32);
        let changed = SystemTime::UNIX_EPOCH + since;
        // A time in the future says nothing.
        SystemTime::now().duration_since(changed).is_ok_and(|age| age > TICK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_shows_unless_it_is_as_young_as_the_last_one() {
        let file = tempfile::tempfile().unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(1)).unwrap();
        let old = Stamp::of(&file.metadata().unwrap());
        assert!(old.shows_changes());
        file.set_modified(SystemTime::now() + Duration::from_secs(1)).unwrap();
        let young = Stamp::of(&file.metadata().unwrap());
        assert!(!young.shows_changes());
        assert_ne!(old, young);
        file.set_len(1).unwrap();
        assert_ne!(young, Stamp::of(&file.metadata().unwrap()));
    }
}
