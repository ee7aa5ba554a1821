//! Which file an open one is, in which state, and whether it may have changed since.
//!
//! All that a system tells of a file's contents without reading them is in one [`Identity`]: device and inode, length, the
//! times of the last change of contents and of the inode, the number of names. Whoever keeps something of a file (a
//! description, decoded chunks, what was read ahead, a handle that travels) keeps the identity that it was read under, and
//! compares.
//!
//! Times come from a clock with ticks. Of two changes in one tick the second one may not show, so an identity whose last
//! change is younger than a tick is not trusted ([`Identity::is_settled`]), as in git's index: what was read under it is
//! read again. The time of the inode counts, which nobody can set back. A writer that takes longer than a tick for one
//! request to the system may bring its last bytes after the time of its change.
//!
//! **Files that continue others.** An update that needs more room than a classic file has builds a new file, which takes
//! the name of the old one. It notes the inodes that it continues in an extended attribute ([`continue_from`]), so that readers
//! of the old one go on with it, and know it from a file that somebody else put in its place.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Everything that the system says about the contents of a file without reading them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    links: u64,
    size: u64,
    /// In nanoseconds since 1970: of its contents, …
    modified: i128,
    /// … and of the inode.
    changed: i128,
}

/// The longest tick of the clock that times of files are taken from (100 Hz, the slowest that Linux can be built with).
const TICK: Duration = Duration::from_millis(10);
/// [`TICK`] where times are whole seconds.
const WHOLE_SECONDS: Duration = Duration::from_secs(2);
/// Clocks of file servers that are ahead of ours are by less.
const AHEAD: Duration = Duration::from_secs(60);
const SECOND: i128 = 1_000_000_000;

impl Identity {
    /// The identity that these metadata give.
    pub fn of(meta: &Metadata) -> Self {
        let time = |seconds: i64, nanoseconds: i64| i128::from(seconds) * SECOND + i128::from(nanoseconds);
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            links: meta.nlink(),
            size: meta.len(),
            modified: time(meta.mtime(), meta.mtime_nsec()),
            changed: time(meta.ctime(), meta.ctime_nsec()),
        }
    }

    /// The identity of the file at a path; `None` if it is no regular file.
    pub fn at(path: &Path) -> Option<Self> {
        let meta = std::fs::metadata(path).ok()?;
        meta.is_file().then(|| Self::of(&meta))
    }

    /// The identity of an open file; `None` if the system does not say.
    pub fn of_file(file: &File) -> Option<Self> {
        file.metadata().ok().map(|meta| Self::of(&meta))
    }

    /// Device and inode: which file it is, whatever it contains.
    pub fn file(&self) -> (u64, u64) {
        (self.device, self.inode)
    }

    /// Its length in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The time of the last change of its contents, in nanoseconds since 1970.
    pub fn modified_ns(&self) -> i128 {
        self.modified
    }

    /// Whether the same file has the same contents, as far as length and time show: another name, owner or permission is no
    /// other content.
    pub fn has_contents_of(&self, other: &Self) -> bool {
        let contents = |i: &Self| (i.file(), i.size, i.modified);
        contents(self) == contents(other)
    }

    /// Whether a change from now on gives another identity.
    pub fn is_settled(&self) -> bool {
        self.is_settled_at(SystemTime::now())
    }

    fn is_settled_at(&self, now: SystemTime) -> bool {
        let now = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
        let whole = self.modified % SECOND == 0 && self.changed % SECOND == 0;
        let tick = if whole { WHOLE_SECONDS } else { TICK };
        let age = now - self.changed;
        age > tick.as_nanos() as i128 || age < -(AHEAD.as_nanos() as i128)
    }

    /// Waits until a change gives another identity.
    pub fn settle(&self) {
        while !self.is_settled() {
            std::thread::sleep(TICK);
        }
    }
}

/// Whether an open file is the one that has this name.
pub(crate) fn is_file_at(file: &File, path: &Path) -> bool {
    let (own, named) = (Identity::of_file(file), path.metadata().ok().map(|meta| Identity::of(&meta)));
    own.zip(named).is_some_and(|(own, named)| own.file() == named.file())
}

/// Inodes that a file remembers at most, 8 bytes each: a reader that looks away for longer stays with what it has.
const REMEMBERED: usize = 16;

/// Notes in `new`, which is about to take the name of `old`, that it is a later state of it. Where that cannot be noted,
/// readers of the old file stay with it.
pub(crate) fn continue_from(new: &File, old: &File) {
    let Some(own) = Identity::of_file(old) else { return };
    let mut inodes = attribute::get(old).unwrap_or_default();
    inodes.extend(own.inode.to_le_bytes());
    let surplus = inodes.len().saturating_sub(8 * REMEMBERED);
    attribute::set(new, &inodes[surplus..]);
}

/// Whether `new` is a later state of the file with the identity `old`, which somebody has open: its inode has not become
/// another file's.
pub(crate) fn continues(new: &File, old: &Identity) -> bool {
    let same_device = Identity::of_file(new).is_some_and(|new| new.device == old.device);
    let inodes = attribute::get(new).unwrap_or_default();
    same_device && inodes.chunks_exact(8).any(|inode| inode == old.inode.to_le_bytes())
}

/// The extended attribute.
#[cfg(target_os = "linux")]
mod attribute {
    use std::ffi::CStr;
    use std::fs::File;
    use std::os::fd::AsRawFd;

    const NAME: &CStr = c"user.ncforge.continues";

    pub(super) fn get(file: &File) -> Option<Vec<u8>> {
        let mut value = vec![0; 8 * super::REMEMBERED];
        // SAFETY: a plain system call on an open descriptor, which writes at most as many bytes as `value` has.
        let len = unsafe {
            libc::fgetxattr(file.as_raw_fd(), NAME.as_ptr(), value.as_mut_ptr().cast(), value.len())
        };
        value.truncate(usize::try_from(len).ok()?);
        Some(value)
    }

    pub(super) fn set(file: &File, value: &[u8]) {
        // SAFETY: a plain system call on an open descriptor, which reads `value`.
        unsafe {
            libc::fsetxattr(file.as_raw_fd(), NAME.as_ptr(), value.as_ptr().cast(), value.len(), 0);
        }
    }
}

/// Other systems' calls differ.
#[cfg(not(target_os = "linux"))]
mod attribute {
    use std::fs::File;

    pub(super) fn get(_: &File) -> Option<Vec<u8>> {
        None
    }

    pub(super) fn set(_: &File, _: &[u8]) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_shows_unless_it_is_as_young_as_the_last_one() {
        let mut file = tempfile::tempfile().unwrap();
        let young = Identity::of_file(&file).unwrap();
        // Nobody sets the time of the inode back.
        file.set_modified(SystemTime::now() - Duration::from_secs(100)).unwrap();
        let old = Identity::of_file(&file).unwrap();
        assert!(old.changed >= young.changed && !old.has_contents_of(&young));
        old.settle();
        assert!(old.is_settled());
        std::io::Write::write_all(&mut file, b"x").unwrap();
        assert_ne!(old, Identity::of_file(&file).unwrap());
    }

    #[test]
    fn ticks_are_those_of_the_file_system() {
        let file = tempfile::tempfile().unwrap();
        let of = |nanoseconds: i128| {
            let changed = 1000 * SECOND + nanoseconds;
            Identity { modified: changed, changed, ..Identity::of_file(&file).unwrap() }
        };
        let at = |milliseconds: u64| SystemTime::UNIX_EPOCH + Duration::from_millis(milliseconds);
        assert!(!of(1).is_settled_at(at(1_000_010)));
        assert!(of(1).is_settled_at(at(1_000_011)));
        assert!(!of(0).is_settled_at(at(1_002_000)), "whole seconds");
        assert!(of(0).is_settled_at(at(1_002_001)));
        assert!(!of(1).is_settled_at(at(995_000)), "the clock of a server");
        assert!(of(1).is_settled_at(at(900_000)), "a clock that was wrong");
    }

    #[test]
    fn a_file_knows_what_it_continues() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: &str| File::create(dir.path().join(name)).unwrap();
        let (first, second, third, other) = (make("1"), make("2"), make("3"), make("4"));
        continue_from(&second, &first);
        if attribute::get(&second).is_none() {
            return; // This file system has no such attributes.
        }
        continue_from(&third, &second);
        for old in [&first, &second] {
            let old = Identity::of_file(old).unwrap();
            assert!(continues(&third, &old) && !continues(&other, &old));
        }
        assert!(!continues(&second, &Identity::of_file(&third).unwrap()));
        let (mut last, mut files) = (third, Vec::new());
        for n in 0..2 * REMEMBERED {
            let next = make(&format!("n{n}"));
            continue_from(&next, &last);
            files.push(std::mem::replace(&mut last, next));
        }
        assert!(continues(&last, &Identity::of_file(&files[files.len() - 1]).unwrap()));
        assert!(!continues(&last, &Identity::of_file(&first).unwrap()), "too long ago");
    }
}
