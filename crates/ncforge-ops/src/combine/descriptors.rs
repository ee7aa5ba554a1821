//! Files of which fewer are open than there are.

use std::collections::VecDeque;
use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use ncforge::store::remote::shown_path;
use ncforge::store::{Identity, Origin, ReadStore, open_to_read, past_end};
use ncforge::{Error, Op, Result};

/// Descriptors that are open at a time, at most.
const MOST_DESCRIPTORS: u64 = 2048;
/// The number of files from which on the descriptor table is enlarged beforehand.
const MANY: usize = 48;

/// The number of files of all sets that stay open.
static STAYING: AtomicUsize = AtomicUsize::new(0);

/// Half of what the process may open, for the sake of other users.
fn descriptor_limit() -> usize {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a plain system call that writes into our own structure.
    let rc = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) };
    let soft = if rc == 0 { limit.rlim_cur } else { 64 };
    (soft / 2).clamp(4, MOST_DESCRIPTORS) as usize
}

/// The number of open files, and those that take turns. Most files stay open once they are: a walk over all
/// tiles, variable after variable, would make a rule that closes the oldest close every file before it is read again. No lock
/// is needed to read these.
#[derive(Debug)]
pub(super) struct Descriptors {
    /// The number of files that stay open, of this set and others.
    staying: &'static AtomicUsize,
    /// At most this many of them.
    most: usize,
    /// The number of files that take turns.
    turns: usize,
    next: AtomicUsize,
    /// Files that take turns, by number; the first was opened first.
    turning: Mutex<VecDeque<(usize, Arc<File>)>>,
    /// The number of files that are going to be open.
    expected: usize,
}

impl Descriptors {
    /// Descriptors for `files` files.
    pub(super) fn of(files: usize) -> Self {
        Self::new(descriptor_limit(), &STAYING, files)
    }

    fn new(limit: usize, staying: &'static AtomicUsize, files: usize) -> Self {
        let turns = (limit / 8).max(2);
        Descriptors {
            staying,
            most: limit.saturating_sub(turns),
            turns,
            next: AtomicUsize::new(0),
            turning: Mutex::default(),
            expected: files.min(limit),
        }
    }

    /// Has the system make its table of descriptors large enough for all files at once, while the first one is opened.
    /// Linux lets a process of several threads wait for some 10 ms each time that the table grows, which it does at
    /// 64, 256, 512, … of them.
    fn enlarge_table(&self, first: &File) {
        if self.expected < MANY {
            return;
        }
        // Others have descriptors, too: a quarter more.
        let least = self.expected + self.expected / 4;
        // SAFETY: plain system calls; the descriptor that is made here is nobody else's, and closed at once. That there may
        // be no such descriptor is no harm.
        unsafe {
            let high = libc::fcntl(first.as_raw_fd(), libc::F_DUPFD_CLOEXEC, least as libc::c_int);
            if high >= 0 {
                libc::close(high);
            }
        }
    }

    fn turning(&self) -> MutexGuard<'_, VecDeque<(usize, Arc<File>)>> {
        self.turning.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether one more file may stay open.
    fn may_stay(&self) -> bool {
        let one_more = |n: usize| (n < self.most).then_some(n + 1);
        self.staying.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    fn get(&self, id: usize) -> Option<Arc<File>> {
        self.turning().iter().find(|(other, _)| *other == id).map(|(_, file)| Arc::clone(file))
    }

    fn put(&self, id: usize, file: &Arc<File>) {
        let mut turning = self.turning();
        if turning.len() >= self.turns {
            turning.pop_front();
        }
        turning.push_back((id, Arc::clone(file)));
    }
}

/// A file whose descriptor is closed when others need it, and opened again when it is read.
#[derive(Debug)]
pub(super) struct PooledFile {
    id: usize,
    path: PathBuf,
    name: String,
    identity: Identity,
    /// The open file, if it stays open.
    stays: OnceLock<File>,
    descriptors: Arc<Descriptors>,
}

impl PooledFile {
    pub(super) fn open(path: &Path, descriptors: &Arc<Descriptors>) -> Result<Self> {
        let name = shown_path(path);
        let (file, meta) = open_to_read(path)?;
        let id = descriptors.next.fetch_add(1, Ordering::Relaxed);
        if id == 0 {
            descriptors.enlarge_table(&file);
        }
        let identity = Identity::of(&meta);
        let descriptors = Arc::clone(descriptors);
        let pooled =
            PooledFile { id, path: path.to_owned(), name, identity, stays: OnceLock::new(), descriptors };
        pooled.put(file);
        Ok(pooled)
    }

    /// Lets the file stay open, or take turns: then it is given back.
    fn put(&self, file: File) -> Option<Arc<File>> {
        if self.descriptors.may_stay() {
            if self.stays.set(file).is_err() {
                // Another thread was quicker.
                self.descriptors.staying.fetch_sub(1, Ordering::Relaxed);
            }
            return None;
        }
        let file = Arc::new(file);
        self.descriptors.put(self.id, &file);
        Some(file)
    }

    /// Has the open file.
    fn with<T>(&self, use_it: impl FnOnce(&File) -> T) -> Result<T> {
        if let Some(file) = self.stays.get() {
            return Ok(use_it(file));
        }
        if let Some(file) = self.descriptors.get(self.id) {
            return Ok(use_it(&file));
        }
        let (file, meta) = open_to_read(&self.path)?;
        if !Identity::of(&meta).has_contents_of(&self.identity) {
            return Err(Error::Changed { path: self.name.clone() });
        }
        match self.put(file) {
            Some(file) => Ok(use_it(&file)),
            None => self.with(use_it),
        }
    }
}

impl Drop for PooledFile {
    fn drop(&mut self) {
        // It is closed before another may be opened.
        if self.stays.take().is_some() {
            self.descriptors.staying.fetch_sub(1, Ordering::Relaxed);
        }
        self.descriptors.turning().retain(|(id, _)| *id != self.id);
    }
}

impl ReadStore for PooledFile {
    fn len(&self) -> u64 {
        self.identity.size()
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn origin(&self) -> Origin<'_> {
        Origin::File(&self.path)
    }

    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        let end = offset.checked_add(buf.len() as u64);
        let len = self.len();
        if end.is_none_or(|end| end > len) {
            return Err(past_end(&self.name, buf.len() as u64, offset, len));
        }
        self.with(|file| file.read_exact_at(buf, offset))?
            .map_err(|e| Error::io(Op::ReadAt { len: buf.len() as u64, offset }, &self.name, e))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descriptors_are_few_and_come_back() {
        let dir = tempfile::tempdir().unwrap();
        static HERE: AtomicUsize = AtomicUsize::new(0);
        let pool = Arc::new(Descriptors::new(3, &HERE, 10));
        let open = || HERE.load(Ordering::Relaxed) + pool.turning().len();
        let files: Vec<PooledFile> = (0..10)
            .map(|i| {
                let path = dir.path().join(i.to_string());
                std::fs::write(&path, [i as u8; 4]).unwrap();
                PooledFile::open(&path, &pool).unwrap()
            })
            .collect();
        for round in 0..2 {
            for (i, f) in files.iter().enumerate() {
                let mut buf = [0; 2];
                f.read_at(&mut buf, 2).unwrap();
                assert_eq!(buf, [i as u8; 2], "{round}");
                assert!(open() <= 3);
            }
        }
        assert!(files[0].read_at(&mut [0; 2], 3).is_err());
        // The first one stayed open; of one that takes turns it is noticed that the file is another now.
        std::fs::write(dir.path().join("1"), b"changed").unwrap();
        assert_eq!(files[1].read_at(&mut [0; 2], 0).unwrap_err().kind(), ncforge::ErrorKind::Input);
        // When the first one is let go, another stays in its place.
        drop(files);
        assert_eq!(open(), 0);
        let again = PooledFile::open(&dir.path().join("7"), &pool).unwrap();
        assert!(again.stays.get().is_some());
    }
}
