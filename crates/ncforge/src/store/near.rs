//! Blocks of a file out of which small reads in a row are answered.
//!
//! A program that takes one value after the other from a file of small records would pay a system call for each of
//! a few bytes, ten times what the bytes cost. So the third small read in a row fetches a block, and those that follow are
//! answered from it, until they leave it or it is too old. Reads that are scattered fetch nothing more than they ask for.
//! Several values of one record, then of another one far away, are rows that end early: once a few rows in a row went on, the
//! next one is believed to go on, too, and its first read fetches a block.
//!
//! How old an answer may be:
//! * what this process writes to the file, by whatever handle of this library, is seen at once ([`writes`]);
//! * what others write is seen at the next tick of the system's clock, at most 10 milliseconds later (the longest tick
//!   that Linux can be built with), and in the meantime by no other read of the same open file: a block is forgotten
//!   when a longer read takes any of its bytes from the file.

mod writes;

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

pub(super) use writes::{Moment, Writes};

use super::PerProcess;

/// Longer reads are worth a request of their own.
const SMALL: usize = 1 << 10;
/// Reads that begin at most this far from the end of the one before are in a row. A block then saves enough of them
/// (measured: a request of 4 bytes 0.6 µs, of 8 KiB 1.0 µs, of 32 KiB 2.7 µs).
const STEP: u64 = 2 << 10;
/// Length of the first block of a row, and of those after it.
const FIRST: u64 = 8 << 10;
const NEXT: u64 = 32 << 10;
const PAGE: u64 = 4 << 10;
/// The block before must have answered this many reads for the next one to be a long one.
const WORTH: u32 = 3;
/// The number of reads in a row before a block is fetched.
const RUN: u32 = 2;
/// Rows that are followed at the same time: variables that lie far apart, read in turn.
const ROWS: usize = 4;
/// The number of new rows, one after the other, that went on before the next one is believed to; …
const BELIEVED: u32 = 3;
/// … and this many that did not are forgiven at most, however many went on before them.
const MOST_BELIEF: u32 = 12;
/// Blocks of all files of the process, 16 MiB; whoever comes later reads without.
const MOST: usize = 512;

/// Blocks that exist.
static BLOCKS: AtomicUsize = AtomicUsize::new(0);

/// The rows of small reads of one file.
#[derive(Debug, Default)]
pub(super) struct Near {
    rows: PerProcess<Mutex<Rows>>,
    /// Blocks that were fetched.
    requests: AtomicU64,
}

#[derive(Debug, Default)]
struct Rows {
    rows: [Row; ROWS],
    /// The row of the latest read.
    latest: usize,
    /// Reads that were in no row; the one that saw the oldest is given up for a new one.
    reads: u64,
    /// Whether a read went on with a row since the latest new one.
    went_on: bool,
    /// The number of new rows that went on lately.
    belief: u32,
}

/// Reads that follow each other.
#[derive(Debug, Default)]
struct Row {
    /// The beginning and the end of the latest read.
    from: u64,
    to: u64,
    /// Reads in a row so far.
    run: u32,
    /// Its beginning, by [`Rows::reads`]; 0: never.
    since: u64,
    /// The block: its place in the file, how many reads it answered, when it was fetched.
    start: u64,
    len: usize,
    answers: u32,
    moment: u64,
    block: Option<Block>,
}

impl Near {
    /// Answers a read from a block, if it is one of a row; whether it did. `false` says nothing about the file.
    pub(super) fn read(&self, file: &File, writes: &Writes, buf: &mut [u8], offset: u64) -> bool {
        if buf.len() > SMALL {
            return false;
        }
        let Some(end) = offset.checked_add(buf.len() as u64) else { return false };
        // Threads that read one file at the same time do not wait for each other.
        let Ok(mut rows) = self.rows.try_lock() else { return false };
        let rows = &mut *rows;
        let latest = rows.latest;
        if rows.rows[latest].answer(writes, buf, offset, end) {
            rows.went_on = true;
            return true;
        }
        let Some(n) = rows.find(offset, end) else { return false };
        let row = &mut rows.rows[n];
        if row.answer(writes, buf, offset, end) {
            return true;
        }
        let answered = row.fetch(file, writes, buf, offset, end);
        self.requests.fetch_add(1, Ordering::Release);
        answered
    }

    /// Forgets blocks of which bytes were read from the file.
    pub(super) fn forget(&self, offset: u64, len: u64) {
        if self.requests() == 0 {
            return;
        }
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        for row in &mut rows.rows {
            if offset < row.start.saturating_add(row.len as u64) && row.start < offset.saturating_add(len) {
                row.len = 0;
            }
        }
    }

    /// Blocks that were fetched so far.
    pub(super) fn requests(&self) -> u64 {
        self.requests.load(Ordering::Acquire)
    }
}

impl Rows {
    /// The row that a read belongs to; if it begins a new one that need not go on, there is nothing to answer it from.
    fn find(&mut self, offset: u64, end: u64) -> Option<usize> {
        if let Some(n) = self.rows.iter().position(|row| row.goes_on(offset, end)) {
            self.latest = n;
            self.went_on = true;
            return Some(n);
        }
        self.reads += 1;
        self.belief = if self.went_on { (self.belief + 1).min(MOST_BELIEF) } else { self.belief / 2 };
        self.went_on = false;
        let believed = self.belief >= BELIEVED;
        let run = if believed { RUN - 1 } else { 0 };
        let oldest = self.rows.iter().enumerate().min_by_key(|(_, row)| row.since).map_or(0, |(n, _)| n);
        let row = &mut self.rows[oldest];
        (row.from, row.to, row.run, row.len, row.answers, row.since) = (offset, end, run, 0, 0, self.reads);
        self.latest = oldest;
        believed.then_some(oldest)
    }
}

impl Row {
    fn goes_on(&self, offset: u64, end: u64) -> bool {
        self.since > 0
            && (self.holds(offset, end) || offset.abs_diff(self.to).min(end.abs_diff(self.from)) <= STEP)
    }

    fn holds(&self, offset: u64, end: u64) -> bool {
        offset >= self.start && end - self.start <= self.len as u64
    }

    /// Answers from the block, if it is there and of now.
    fn answer(&mut self, writes: &Writes, buf: &mut [u8], offset: u64, end: u64) -> bool {
        if !self.holds(offset, end) || self.moment != Moment::now(writes) {
            return false;
        }
        let Some(block) = &self.block else { return false };
        let at = (offset - self.start) as usize;
        buf.copy_from_slice(&block.bytes[at..at + buf.len()]);
        (self.from, self.to) = (offset, end);
        self.answers = self.answers.saturating_add(1);
        true
    }

    /// Fetches a block around a read that went on with the row, if the row is long enough, and answers from it.
    fn fetch(&mut self, file: &File, writes: &Writes, buf: &mut [u8], offset: u64, end: u64) -> bool {
        let backwards = offset < self.from;
        (self.from, self.to, self.run) = (offset, end, self.run + 1);
        if self.run < RUN {
            return false;
        }
        let Some(mut block) = self.block.take().or_else(Block::new) else { return false };
        let len = if self.answers >= WORTH { NEXT } else { FIRST };
        // Backwards, the block ends with the page of the read; else it begins with it.
        let page = offset / PAGE * PAGE;
        self.start = if backwards { end.next_multiple_of(PAGE).saturating_sub(len).min(page) } else { page };
        (self.len, self.answers) = (0, 0);
        // Later writes and events are newer than the block.
        self.moment = Moment::now(writes);
        // One request: what a block lacks at the end of a file, or by a signal, is asked for in the ordinary way.
        self.len = file.read_at(&mut block.bytes[..len as usize], self.start).unwrap_or(0);
        let answered = self.holds(offset, end);
        if answered {
            let at = (offset - self.start) as usize;
            buf.copy_from_slice(&block.bytes[at..at + buf.len()]);
        }
        self.block = Some(block);
        answered
    }
}

/// Memory of a block, counted in [`BLOCKS`].
struct Block {
    bytes: Box<[u8]>,
}

impl Block {
    fn new() -> Option<Self> {
        if BLOCKS.fetch_add(1, Ordering::Relaxed) >= MOST {
            BLOCKS.fetch_sub(1, Ordering::Relaxed);
            return None;
        }
        Some(Self { bytes: vec![0; NEXT as usize].into() })
    }
}

impl Drop for Block {
    fn drop(&mut self) {
        BLOCKS.fetch_sub(1, Ordering::Relaxed);
    }
}

impl std::fmt::Debug for Block {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Block({} bytes)", self.bytes.len())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::store::ReadStore;
    use crate::store::{FileStore, WriteStore};

    /// A file whose bytes depend on their place, open for reading, and its path.
    fn file(len: u64) -> (tempfile::TempDir, std::path::PathBuf, FileStore) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let bytes: Vec<u8> = (0..len).map(expected).collect();
        std::fs::write(&path, bytes).unwrap();
        let store = FileStore::open(&path).unwrap();
        (dir, path, store)
    }

    fn expected(at: u64) -> u8 {
        (at % 251) as u8
    }

    fn check(store: &FileStore, at: u64, len: usize) {
        let mut buf = vec![0; len];
        store.read_value(&mut buf, at).unwrap();
        assert!(buf.iter().zip(at..).all(|(&b, at)| b == expected(at)), "{len} bytes at {at}");
    }

    #[test]
    fn rows_of_any_step_and_direction_read_what_is_there() {
        let len = 200_000;
        let (_dir, _, store) = file(len);
        for (size, step) in [(4, 4), (4, 124), (1, 2048), (1000, 1000), (8, 5000), (4, 0)] {
            let starts: Vec<u64> = (0..2000).map(|n| n * step).filter(|at| at + size as u64 <= len).collect();
            starts.iter().for_each(|&at| check(&store, at, size));
            starts.iter().rev().for_each(|&at| check(&store, at, size));
            // Several variables in turn: near each other, and far apart.
            for &at in starts.iter().filter(|&&at| at + 160_000 + size as u64 <= len) {
                for apart in [0, 60, 40, 50_000, 100_000, 160_000] {
                    check(&store, at + apart, size);
                }
            }
        }
    }

    #[test]
    fn random_reads_read_what_is_there_and_past_the_end_is_an_error() {
        let len = 50_000;
        let (_dir, _, store) = file(len);
        let mut state = 1u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            check(&store, (state >> 33) % (len - 8), 8);
        }
        let mut buf = [0; 8];
        for n in 0..100 {
            assert_eq!(store.read_value(&mut buf, len - 108 + n).is_ok(), n <= 100);
            assert!(store.read_value(&mut buf, len - 7).is_err());
            assert!(store.read_value(&mut buf, u64::MAX - 3).is_err());
        }
    }

    #[test]
    fn a_row_is_answered_from_a_block() {
        let (_dir, _, store) = file(100_000);
        for n in 0..50 {
            check(&store, n * 4, 4);
        }
        let rows = store.near().rows.lock().unwrap();
        let row = &rows.rows[rows.latest];
        assert!(row.block.is_some() && row.len as u64 >= FIRST);
        drop(rows);
        for n in 0..50 {
            check(&store, n * 1999 % 90_000, 4);
        }
    }

    #[test]
    fn records_of_several_values_are_believed_in_and_single_values_are_not() {
        let (_dir, _, store) = file(400_000);
        let is_in_block = |at| {
            let rows = store.near().rows.lock().unwrap();
            let row = &rows.rows[rows.latest];
            row.block.is_some() && row.holds(at, at + 4)
        };
        // Two values of each record: the first one fetches the second, too.
        for n in 0..50 {
            let record = n * 27_017 % 390_000;
            check(&store, record, 4);
            assert_eq!(is_in_block(record), n >= 3, "record {n}");
            check(&store, record + 60, 4);
        }
        for n in 0..50 {
            let at = n * 31_013 % 390_000;
            check(&store, at, 4);
            assert_eq!(is_in_block(at), n < 3, "value {n}");
        }
    }

    #[test]
    fn what_this_process_writes_is_seen_at_once() {
        let (_dir, path, store) = file(100_000);
        let writer = FileStore::open_rw(&path).unwrap();
        let mut buf = [0; 4];
        for n in 0..200u64 {
            store.read_value(&mut buf, n * 4).unwrap();
            let next = [(n + 7) as u8; 4];
            writer.write_at(&next, (n + 1) * 4).unwrap();
            store.read_value(&mut buf, (n + 1) * 4).unwrap();
            assert_eq!(buf, next);
        }
        writer.set_len(1000).unwrap();
        assert!(store.read_value(&mut buf, 1200).is_err());
    }

    #[test]
    fn what_follows_a_replacement_is_seen_at_once() {
        let (_dir, path, _) = file(100_000);
        let writer = FileStore::open_rw(&path).unwrap();
        writer.replace(&mut |new| new.write_at(&[1; 10_000], 0)).unwrap();
        let store = FileStore::open(&path).unwrap();
        let mut buf = [0; 4];
        for n in 0..100u64 {
            store.read_value(&mut buf, n * 4).unwrap();
            assert_eq!(buf, [1; 4]);
        }
        writer.write_at(&[2; 1000], 0).unwrap();
        store.read_value(&mut buf, 404).unwrap();
        assert_eq!(buf, [2; 4]);
    }

    #[test]
    fn what_others_write_is_seen_after_a_tick() {
        let (_dir, path, store) = file(100_000);
        let mut buf = [0; 4];
        for n in 0..100u64 {
            store.read_value(&mut buf, n * 4).unwrap();
        }
        // Not by this library: like another process.
        let other = File::options().write(true).open(&path).unwrap();
        other.write_all_at(&[9; 1000], 0).unwrap();
        std::thread::sleep(Duration::from_millis(20));
        store.read_value(&mut buf, 404).unwrap();
        assert_eq!(buf, [9; 4]);
    }

    #[test]
    fn what_a_longer_read_has_brought_is_not_followed_by_older_bytes() {
        let (_dir, path, store) = file(100_000);
        let (mut buf, mut long) = ([0; 4], [0; 5000]);
        let other = File::options().write(true).open(&path).unwrap();
        for generation in 0..50 {
            for n in 0..100u64 {
                store.read_value(&mut buf, n * 4).unwrap();
            }
            other.write_all_at(&[generation; 1000], 0).unwrap();
            store.read_at(&mut long, 300).unwrap();
            store.read_value(&mut buf, 404).unwrap();
            assert_eq!((buf, long[104]), ([generation; 4], generation));
        }
    }

    #[test]
    fn threads_share_a_file() {
        let (_dir, _, store) = file(100_000);
        std::thread::scope(|s| {
            for t in 0..4u64 {
                let store = &store;
                s.spawn(move || (0..3000).for_each(|n| check(store, t * 20_000 + n * 4, 4)));
            }
        });
    }
}
