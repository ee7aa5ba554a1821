//! Where bytes live: a file, memory, or the compressed blocks of a packed file.

mod file;
pub(crate) mod lock;
mod memory;
mod near;
pub(crate) mod output;
pub mod packed;
mod profile;
mod replace;

use std::fmt::Debug;
use std::ops::Range;

use bytes::Bytes;

use crate::error::{Error, Result};

pub use file::FileStore;
pub use lock::{Locking, take_lock_warning};
pub use memory::MemoryStore;
pub use output::{OutputFile, partial_path};
pub use profile::IoProfile;

/// A stretch of a store, as the format sees it that writes there: what a store may know to keep it well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Byte offset of its first byte. It ends where the next one starts.
    pub start: u64,
    /// Bytes of an element; 1 for text and what has no elements.
    pub width: u16,
    /// Bytes of a record, if it stands in records of equal size that reach to the end of the store; else 0. Parts of the
    /// first record are followed by no others: each is the beginning of a column.
    pub stride: u32,
}

/// More room in every record of a store that holds records at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wider {
    /// Byte offset of the first record; the records reach to the end of the store.
    pub start: u64,
    /// Bytes of a record so far.
    pub stride: u64,
    /// The rooms, in the order of a record.
    pub rooms: Vec<RecordInsertion>,
}

/// Room in each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordInsertion {
    /// The byte of the old record that it is in front of; the record's size for its end.
    pub at: u64,
    /// Bytes.
    pub len: u64,
    /// What they hold: these bytes, over and over through the rooms of all records.
    pub fill: [u8; 8],
    /// Bytes of an element that will stand there.
    pub element: u16,
}

/// A flat, random-access run of bytes that any number of threads may use at once.
///
/// Offsets and lengths are in bytes. Reads past the end are errors, never short.
pub trait Store: Send + Sync + Debug {
    /// Current length.
    fn len(&self) -> u64;
    /// Name for messages: the path of a file.
    fn name(&self) -> &str;
    /// Fills `buf` from `offset`.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()>;
    /// What requests cost here.
    fn io_profile(&self) -> IoProfile {
        IoProfile::LOCAL
    }
    /// The bytes of several ranges, in their order: a store with latency has as many requests under way as its profile
    /// says. It joins no ranges; that is its caller's work, by the same profile.
    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        ranges
            .iter()
            .map(|r| self.read_vec(r.start, r.end.saturating_sub(r.start)).map(Bytes::from))
            .collect()
    }
    /// As [`Store::read_at`], for values that a program asks for one by one: a store may fetch more than that, and answer
    /// the next ones from memory. What this process writes is seen at once; what others write, a file shows at most 10
    /// milliseconds later.
    fn read_value(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read_at(buf, offset)
    }
    /// The whole store as one slice, where that costs nothing (mapped, or in memory).
    fn as_slice(&self) -> Option<&[u8]> {
        None
    }
    /// Writes all of `buf` at `offset`; the store grows as needed.
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()> {
        let _ = (buf, offset);
        Err(Error::ReadOnly { path: self.name().to_owned() })
    }
    /// Sets the length; new bytes are zero.
    fn set_len(&self, len: u64) -> Result<()> {
        let _ = len;
        Err(Error::ReadOnly { path: self.name().to_owned() })
    }
    /// Reserves space on disk for `len` bytes from `offset` on, where the system can: what is written there
    /// later cannot fail for want of space, and is written faster. Changes neither the length nor what is read.
    /// A full disk is an error, a system that cannot do it is none.
    fn reserve(&self, offset: u64, len: u64) -> Result<()> {
        let _ = (offset, len);
        Ok(())
    }
    /// Makes everything written so far durable.
    fn sync(&self) -> Result<()> {
        Ok(())
    }
    /// Replaces everything in one step: `build` writes the new contents into an empty store beside this one,
    /// which then takes this one's place. Whatever happens in between, who opens the name sees either all of
    /// the old bytes or all of the new ones. Needs room for both.
    fn replace(&self, build: &mut dyn FnMut(&dyn Store) -> Result<()>) -> Result<()> {
        let _ = build;
        Err(Error::Unsupported { path: self.name().to_owned(), what: "replacing this kind of store".into() })
    }
    /// Told of every structure of metadata that a format read (first byte, bytes): for stores that watch what
    /// is read from another one.
    fn note_metadata(&self, offset: u64, len: u64) {
        let _ = (offset, len);
    }
    /// Whether all that is written between two syncs takes effect together or not at all. What is written to
    /// such a store is best written by one thread, in order; the store does its own work in parallel.
    fn is_transactional(&self) -> bool {
        false
    }
    /// Makes room in front of bytes, which all later bytes move behind: for each pair, in rising order, so many
    /// bytes in front of the byte that was at that offset before. What the room holds is zero. False, and nothing
    /// has changed, if the store cannot do that more cheaply than its caller.
    fn insert(&self, rooms: &[(u64, u64)]) -> Result<bool> {
        let _ = rooms;
        Ok(false)
    }
    /// Like [`Store::insert`], and makes room in every record as well, in one step. The offsets of `rooms` and `wider`
    /// are those from before.
    fn widen(&self, rooms: &[(u64, u64)], wider: &Wider) -> Result<bool> {
        let _ = (rooms, wider);
        Ok(false)
    }
    /// How many of the `len` bytes from `offset` on are as cheap to read as the first of them: fewer than all where others
    /// lie elsewhere. At least 1 if there is one.
    fn together(&self, offset: u64, len: u64) -> u64 {
        let _ = offset;
        len
    }
    /// Whether `n` runs of `run` bytes, the first at `offset`, each `step` bytes behind the one before, are (or would
    /// be, behind the end) kept together, so that [`Store::read_column`] and [`Store::write_column`] need not touch
    /// what is between them.
    fn has_column(&self, offset: u64, run: u64, step: u64, n: u64) -> bool {
        let _ = (offset, run, step, n);
        false
    }
    /// Reads runs of `run` bytes, `step` bytes apart from `offset` on, into `out`, one behind the other, as many as it
    /// holds. Only where [`Store::has_column`] says so.
    fn read_column(&self, out: &mut [u8], offset: u64, run: usize, step: u64) -> Result<()> {
        let _ = (out, offset, run, step);
        Err(Error::WrongKind { name: self.name().to_owned(), what: "has no columns" })
    }
    /// Writes such runs; the store grows as needed.
    fn write_column(&self, bytes: &[u8], offset: u64, run: usize, step: u64) -> Result<()> {
        let _ = (bytes, offset, run, step);
        Err(Error::WrongKind { name: self.name().to_owned(), what: "has no columns" })
    }
    /// Tells what will stand where, from byte 0 on, in rising order. Changes no byte.
    fn describe(&self, parts: &[Part]) {
        let _ = parts;
    }
    /// The file that the bytes live in, if it is one.
    fn as_file(&self) -> Option<&std::fs::File> {
        None
    }
    /// The packed file that the bytes live in, if it is one.
    fn as_packed(&self) -> Option<&packed::PackedStore> {
        None
    }
    /// Whether the store holds no byte.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Reads `len` bytes at `offset` into a new vector. `len` is checked against the store first, so that a
    /// damaged length never allocates more than the file holds.
    fn read_vec(&self, offset: u64, len: u64) -> Result<Vec<u8>> {
        let end = offset.checked_add(len);
        if end.is_none_or(|e| e > self.len()) {
            return Err(Error::corrupt(
                self.name(),
                offset,
                format!("{len} bytes are needed here, the file ends at byte {}", self.len()),
            ));
        }
        let mut v = vec![0; usize::try_from(len).expect("a length within the store fits memory")];
        self.read_at(&mut v, offset)?;
        Ok(v)
    }
}
