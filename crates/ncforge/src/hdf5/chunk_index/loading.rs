//! The facts about a dataset that the readers of all kinds of index need, and the making of records.

use crate::error::Result;
use crate::hdf5::cursor::Cursor;
use crate::hdf5::dataspace::UNLIMITED;
use crate::hdf5::source::Source;
use crate::layout::ChunkRecord;

/// A dataset whose index is read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Loading<'a> {
    pub(super) source: &'a Source,
    /// Byte of the file that address 0 means.
    pub(super) base: u64,
    /// Address of the index.
    pub(super) address: u64,
    /// Chunk lengths.
    pub(super) chunk: &'a [u64],
    /// Largest lengths of the dataset.
    pub(super) max: &'a [u64],
    /// Whether chunks have filters, and records therefore lengths and masks.
    pub(super) filtered: bool,
    /// Bytes of an unfiltered chunk.
    pub(super) chunk_bytes: u64,
}

impl Loading<'_> {
    /// A record of a chunk that lies at a file address (relative to the superblock).
    pub(super) fn record(&self, address: u64, len: u64, mask: u32) -> ChunkRecord {
        ChunkRecord { offset: self.base.saturating_add(address), len, mask }
    }

    /// Chunks along each dimension of the largest shape; an error if one is unlimited.
    pub(super) fn max_counts(&self) -> Result<Vec<u64>> {
        if self.max.contains(&UNLIMITED) {
            return Err(self
                .source
                .fail(self.address, "an index for datasets of bounded size under an unlimited dimension"));
        }
        Ok(self.max.iter().zip(self.chunk).map(|(&n, &c)| n.div_ceil(c)).collect())
    }

    /// Reads elements of a fixed or extensible array and gives those that are defined to `push`: number, address,
    /// length, mask. `number` is that of the first.
    pub(super) fn elements(
        &self,
        c: &mut Cursor<'_>,
        form: ElementForm,
        count: u64,
        number: u64,
        mut push: impl FnMut(u64, u64, u64, u32),
    ) -> Result<()> {
        let offset = usize::from(c.sizes().offset);
        for i in 0..count {
            let address = c.address()?;
            let (len, mask) = if form.filtered {
                (c.uint(form.size - offset - 4)?, c.u32()?)
            } else {
                (self.chunk_bytes, 0)
            };
            if let Some(address) = address {
                push(number + i, address, len, mask);
            }
        }
        Ok(())
    }
}

/// The stored form of an element of a fixed or extensible array.
#[derive(Clone, Copy, Debug)]
pub(super) struct ElementForm {
    /// Whether length and mask are stored (client 1) or not (client 0).
    filtered: bool,
    /// Bytes of one element.
    pub(super) size: usize,
}

impl ElementForm {
    /// Checks the client id and the element size of an array's header.
    pub(super) fn new(c: &Cursor<'_>, client: u8, size: u8, filtered: bool) -> Result<Self> {
        let (size, offset) = (usize::from(size), usize::from(c.sizes().offset));
        let fits = if filtered { (offset + 5..=offset + 12).contains(&size) } else { size == offset };
        if client != u8::from(filtered) || !fits {
            return Err(c.fail(format!("a chunk array of client {client} with elements of {size} bytes")));
        }
        Ok(ElementForm { filtered, size })
    }
}
