//! Changes the header of a file that is in use.
//!
//! A header cannot be replaced in one atomic step. Therefore:
//!
//! * a transactional store, which discards changes that were not synced, needs no precautions;
//! * a change within one page of 4 KiB (a record count always; most attribute values) is one write of that
//!   page's bytes, which disks and kernels do not tear;
//! * a larger change to a file of moderate size is made in a new file that replaces the old one;
//! * a larger change to a large file is written in place, in one request, between two syncs. A crash of the
//!   machine inside that request can leave a torn header: the one moment that is not covered.

use crate::error::{Error, Result};
use crate::store::{ReadStore, WriteStore};

/// The unit that is written atomically.
const PAGE: usize = 4096;
/// Files up to this size are copied rather than changed in place.
const COPY_UP_TO: u64 = 64 << 20;
/// Bytes moved at once.
const BLOCK: u64 = 4 << 20;

/// Replaces the header `old` of the file by `new`. The data after it do not move; data that the
/// new header describes must be durable already. Durable on return. Without `protect`, a crash may destroy the file.
pub(super) fn header(store: &dyn WriteStore, old: &[u8], new: &[u8], protect: bool) -> Result<()> {
    // The rest of a longer old header becomes zeros.
    let mut image = new.to_vec();
    image.resize(new.len().max(old.len()), 0);
    let Some(first) = (0..image.len()).find(|&i| old.get(i) != Some(&image[i])) else { return Ok(()) };
    let last = (0..image.len()).rfind(|&i| old.get(i) != Some(&image[i])).unwrap_or(first);
    let protect = protect && store.blocks().is_none();
    if protect && first / PAGE != last / PAGE && store.len() <= COPY_UP_TO {
        match store.replace(&mut |replacement| copy_with(store, &image, replacement)) {
            // A store that cannot be replaced, or a folder that may not be written.
            Err(Error::Unsupported { .. } | Error::Io { .. }) => {}
            other => return other,
        }
    }
    store.write_at(&image[first..=last], first as u64)?;
    store.sync()
}

fn copy_with(store: &dyn ReadStore, header: &[u8], replacement: &dyn WriteStore) -> Result<()> {
    replacement.write_at(header, 0)?;
    let from = header.len() as u64;
    copy(store, from, replacement, from, store.len().saturating_sub(from))
}

/// Copies bytes from store to store; zeros where the source has ended.
pub(super) fn copy(from: &dyn ReadStore, at: u64, to: &dyn WriteStore, to_at: u64, len: u64) -> Result<()> {
    let mut buf = vec![0; len.min(BLOCK) as usize];
    let mut done = 0;
    while done < len {
        let part = &mut buf[..(len - done).min(BLOCK) as usize];
        super::fill::read_or_zero(from, part, at + done)?;
        to.write_at(part, to_at + done)?;
        done += part.len() as u64;
    }
    Ok(())
}
