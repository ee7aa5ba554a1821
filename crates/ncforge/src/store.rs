//! Where bytes live: a file, memory, or the compressed blocks of a zipped file.
//!
//! Three traits, by what a user needs: [`ReadStore`] for readers, [`WriteStore`] for writers, and [`BlockStore`] for
//! what only zipped files offer, reached by [`ReadStore::blocks`].

pub(crate) mod attempts;
mod blocks;
mod durability;
mod file;
pub(crate) mod identity;
mod kept;
pub(crate) mod lock;
mod memory;
mod near;
pub(crate) mod neighbours;
mod open;
pub(crate) mod output;
mod process;
mod profile;
#[cfg(test)]
#[path = "../tests/random/mod.rs"]
mod random;
mod recorded;
pub mod remote;
mod replace;
pub mod requests;
mod warnings;
pub mod zipped;

use std::any::Any;
use std::fmt::Debug;
use std::ops::Range;
use std::path::Path;

use bytes::Bytes;

use crate::buffer::filled;
use crate::error::{Error, Result};

pub use blocks::{BlockStore, Part, RecordInsertion, Wider};
pub use durability::Durability;
pub use file::{FileStore, open_to_read};
pub use identity::Identity;
pub(crate) use kept::Kept;
pub use lock::Locking;
pub use memory::MemoryStore;
pub use open::open;
pub use output::{OutputFile, OutputOptions, companion_path, free_space, partial_path, place};
pub use process::{PerProcess, Process};
pub use profile::{FIRST_REQUEST, IoProfile};
pub use recorded::RecordedStore;
pub use remote::RemoteOptions;
pub(crate) use warnings::warn;
pub use warnings::{Warning, take_warnings};

/// A flat, random-access run of bytes that any number of threads may read at once.
///
/// Offsets and lengths are in bytes. Reads past the end are errors, never short.
pub trait ReadStore: Send + Sync + Debug {
    /// Current length.
    fn len(&self) -> u64;
    /// Name for messages: the path of a file.
    fn name(&self) -> &str;
    /// Fills `buf` from `offset`.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> Result<()>;
    /// The cost of requests to the store.
    fn io_profile(&self) -> IoProfile {
        IoProfile::LOCAL
    }
    /// The bytes of several ranges, in their order: a store with latency has as many requests under way as its profile
    /// says, and so must not leave this to the default, which asks for one after the other. It joins no ranges; that is its
    /// caller's work, by the same profile ([`crate::engine::fetch`]).
    fn read_ranges(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        ranges
            .iter()
            .map(|r| self.read_vec(r.start, r.end.saturating_sub(r.start)).map(Bytes::from))
            .collect()
    }
    /// The bytes of several ranges, each handed to `give` with its number as it comes, in any order, on the calling thread; no
    /// more of them are wanted when `give` returns false. `give` must not read from the store. The default asks for as many at a time as the profile says.
    ///
    /// # Errors
    /// The error of a range that could not be read, with the range's number.
    fn read_each(
        &self,
        ranges: &[Range<u64>],
        give: &mut dyn FnMut(usize, Bytes) -> bool,
    ) -> std::result::Result<(), (usize, Error)> {
        let most = self.io_profile().in_flight.max(1);
        for (n, batch) in ranges.chunks(most).enumerate() {
            let first = n * most;
            let all = match self.read_ranges(batch) {
                Ok(all) => all,
                // Which of them failed is found by asking once more for each; what fails no more is no error.
                Err(e) if batch.len() > 1 && !matches!(e, Error::Interrupted(_)) => {
                    let one = |(i, range)| {
                        self.read_ranges(std::slice::from_ref(range)).map_err(|e| (first + i, e))
                    };
                    batch.iter().enumerate().map(one).collect::<std::result::Result<Vec<_>, _>>()?.concat()
                }
                Err(e) => return Err((first, e)),
            };
            // Whoever counts on the bytes sees that some are absent.
            let absent = std::iter::repeat_n(Bytes::new(), batch.len().saturating_sub(all.len()));
            if !all.into_iter().chain(absent).zip(first..).all(|(bytes, i)| give(i, bytes)) {
                break;
            }
        }
        Ok(())
    }
    /// As [`ReadStore::read_at`], for values that a program reads one by one: a store may fetch more than that, and answer
    /// the next ones from memory. Writes of this process are seen at once; those of others, at most 10 milliseconds
    /// later.
    fn read_value(&self, buf: &mut [u8], offset: u64) -> Result<()> {
        self.read_at(buf, offset)
    }
    /// The whole store as one slice, where that costs nothing (mapped, or in memory).
    fn as_slice(&self) -> Option<&[u8]> {
        None
    }
    /// The functions beyond bytes at offsets, of a store that keeps compressed blocks.
    fn blocks(&self) -> Option<&dyn BlockStore> {
        None
    }
    /// The store itself, for code that serves one kind of store in a way of its own ([`FileStore::of`],
    /// [`zipped::ZippedStore::of`], [`RecordedStore::of`]). Stores that nobody needs to recognise give nothing.
    fn as_any(&self) -> Option<&dyn Any> {
        None
    }
    /// Where its bytes come from, as they are: what a file names is looked for beside it. A store that reads another one says what that
    /// one says.
    fn origin(&self) -> Origin<'_> {
        Origin::Nowhere
    }
    /// The path of the local file that it reads, if it reads one as it is.
    fn local_path(&self) -> Option<&Path> {
        match self.origin() {
            Origin::File(path) => Some(path),
            Origin::Url(_) | Origin::Nowhere => None,
        }
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
            return Err(past_end(self.name(), len, offset, self.len()));
        }
        let mut v = filled(0, usize::try_from(len).unwrap_or(usize::MAX))?;
        self.read_at(&mut v, offset)?;
        Ok(v)
    }
}

/// Where the bytes of a store come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin<'a> {
    /// A local file.
    File(&'a Path),
    /// An object of a server.
    Url(&'a str),
    /// Memory, or something that has no place.
    Nowhere,
}

/// A store that is written.
pub trait WriteStore: ReadStore {
    /// Ok if the store can be changed now. Asked before values are taken that wait for others in memory.
    ///
    /// # Errors
    /// [`Error::Inherited`] in a forked child of the process that opened it, [`Error::Lost`] after a sync that failed.
    fn check(&self) -> Result<()> {
        Ok(())
    }
    /// Writes all of `buf` at `offset`; the store grows as needed.
    fn write_at(&self, buf: &[u8], offset: u64) -> Result<()>;
    /// Sets the length; new bytes are zero.
    fn set_len(&self, len: u64) -> Result<()>;
    /// Reserves space on disk for `len` bytes from `offset` on, where the system can: what is written there
    /// later cannot fail for want of space, and is written faster. Changes neither the length nor what is read.
    /// A full disk is an error, a system that cannot do it is none.
    fn reserve(&self, offset: u64, len: u64) -> Result<()> {
        let _ = (offset, len);
        Ok(())
    }
    /// Makes everything written so far outlive what its [`Durability`] says; what is written later comes to disk later.
    fn sync(&self) -> Result<()> {
        Ok(())
    }
    /// Replaces everything in one step: `build` writes the new contents into an empty store, which then takes this
    /// one's place. Whatever happens in between, who opens the name sees either all of the old bytes or all of the new
    /// ones. Needs space for both.
    fn replace(&self, build: &mut dyn FnMut(&dyn WriteStore) -> Result<()>) -> Result<()> {
        let _ = build;
        Err(Error::Unsupported { path: self.name().to_owned(), what: "replacing this kind of store".into() })
    }
}

/// Fills `buf` with the bytes from `offset` on of a store that is one slice; whether it has them.
pub(crate) fn copy_from(all: &[u8], buf: &mut [u8], offset: u64) -> bool {
    let bytes = usize::try_from(offset).ok().and_then(|from| all.get(from..)?.get(..buf.len()));
    bytes.map(|bytes| buf.copy_from_slice(bytes)).is_some()
}

/// The bytes of several ranges, in their order, by [`ReadStore::read_each`].
pub(crate) fn in_order(store: &(impl ReadStore + ?Sized), ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
    let mut all = vec![Bytes::new(); ranges.len()];
    let give = &mut |i: usize, bytes| {
        all[i] = bytes;
        true
    };
    store.read_each(ranges, give).map_err(|(_, e)| e)?;
    Ok(all)
}

/// A read of `len` bytes at `offset` of a store that ends at byte `end`.
pub fn past_end(name: &str, len: u64, offset: u64, end: u64) -> Error {
    Error::corrupt(name, offset, format!("{len} bytes are needed here, the file ends at byte {end}"))
}
