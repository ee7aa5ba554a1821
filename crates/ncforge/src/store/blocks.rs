//! Functions of zipped files beyond bytes at offsets: columns of records, insertion, and the description of what lies
//! where. All that is written to such a store between two syncs takes effect together or not at all.

use crate::error::{Error, Result};

/// A stretch of a store, as the format sees it that writes there: for stores that lay out what they hold by it.
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

/// An insertion into every record of a store that holds records at its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wider {
    /// Byte offset of the first record; the records reach to the end of the store.
    pub start: u64,
    /// Bytes of a record so far.
    pub stride: u64,
    /// The insertions, in the order of a record.
    pub rooms: Vec<RecordInsertion>,
}

/// An insertion into each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordInsertion {
    /// The byte of the old record that it is in front of; the record's size for its end.
    pub at: u64,
    /// Bytes.
    pub len: u64,
    /// The contents: these bytes, over and over through the insertions of all records.
    pub fill: [u8; 8],
    /// Bytes of an element that will stand there.
    pub element: u16,
}

/// A store of compressed blocks. Every operation has a fallback in terms of bytes at offsets, which the defaults ask
/// the caller to take.
///
/// It is transactional: all that is written between two syncs takes effect together or not at all. Data are
/// best written by one thread, in order; the store does its own work in parallel.
pub trait BlockStore: Send + Sync {
    /// Inserts zeros in front of bytes, which all later bytes move behind: for each pair, in rising order, a number of
    /// bytes in front of the byte that was at that offset before. False, and nothing has changed, if the store cannot
    /// do that more cheaply than its caller.
    fn insert(&self, rooms: &[(u64, u64)]) -> Result<bool> {
        let _ = rooms;
        Ok(false)
    }
    /// Like [`BlockStore::insert`], and inserts in every record as well, in one step. The offsets of `rooms` and
    /// `wider` are those from before.
    fn widen(&self, rooms: &[(u64, u64)], wider: &Wider) -> Result<bool> {
        let _ = (rooms, wider);
        Ok(false)
    }
    /// The number of the `len` bytes from `offset` on that are as cheap to read as the first of them: fewer than all where
    /// others lie elsewhere. At least 1 if there is one.
    fn together(&self, offset: u64, len: u64) -> u64 {
        let _ = offset;
        len
    }
    /// Whether `n` runs of `run` bytes, the first at `offset`, each `step` bytes behind the one before, are (or would
    /// be, behind the end) stored together, so that [`BlockStore::read_column`] and [`BlockStore::write_column`] need
    /// not touch what is between them.
    fn has_column(&self, offset: u64, run: u64, step: u64, n: u64) -> bool {
        let _ = (offset, run, step, n);
        false
    }
    /// Reads runs of `run` bytes, `step` bytes apart from `offset` on, into `out`, one behind the other, as many as it
    /// holds. Only where [`BlockStore::has_column`] says so.
    fn read_column(&self, out: &mut [u8], offset: u64, run: usize, step: u64) -> Result<()> {
        let _ = (out, offset, run, step);
        Err(no_columns())
    }
    /// Writes such runs; the store grows as needed.
    fn write_column(&self, bytes: &[u8], offset: u64, run: usize, step: u64) -> Result<()> {
        let _ = (bytes, offset, run, step);
        Err(no_columns())
    }
    /// Says what will stand where, from byte 0 on, in rising order. Changes no byte.
    fn describe(&self, parts: &[Part]) {
        let _ = parts;
    }
}

fn no_columns() -> Error {
    Error::Invalid("a column of a store that has none".into())
}
