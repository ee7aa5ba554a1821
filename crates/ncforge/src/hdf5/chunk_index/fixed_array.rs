//! Chunks in a fixed array: datasets of bounded size. Elements stand in row-major order of the largest grid,
//! in one block or, above a threshold, in pages with a bit each that says whether it was ever written.

use super::{Builder, DatasetChunks};
use crate::error::Result;
use crate::hdf5::cursor::Cursor;
use crate::select::unravel;

/// How one element of a fixed or extensible array is stored.
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

impl DatasetChunks {
    /// Reads array elements and adds those that are defined. `number` is the number of the first.
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

    pub(super) fn load_fixed_array(&self, address: u64, out: &mut Builder) -> Result<()> {
        let source = &self.file.source;
        let (o, l) = (u64::from(source.sizes().offset), u64::from(source.sizes().length));
        let head = source.read_checked(address, 8 + l + o + 4, "a fixed array header")?;
        let mut c = source.cursor(&head, address);
        c.signature(b"FAHD")?;
        c.version("a fixed array", 0..=0)?;
        let (client, size, page_bits) = (c.u8()?, c.u8()?, c.u8()?);
        let form = ElementForm::new(&c, client, size, self.filtered)?;
        let count = c.length()?;
        let Some(block) = c.address()? else { return Ok(()) };
        let grid = self.max_counts()?;
        if grid.iter().try_fold(1u64, |a, &n| a.checked_mul(n)) != Some(count) {
            return Err(c.fail(format!("a fixed array of {count} elements for a grid of {grid:?} chunks")));
        }
        let mut push = |i: u64, at: u64, len: u64, mask: u32| {
            out.push(&unravel(i, &grid), self.record(at, len, mask));
        };
        let too_large = || source.fail(block, format!("a fixed array of {count} elements"));
        let page = 1u64.checked_shl(u32::from(page_bits)).ok_or_else(too_large)?;
        let bytes = |n: u64| n.checked_mul(form.size as u64).ok_or_else(too_large);
        let prefix = 6 + o;
        if count <= page {
            let data = source.read_checked(
                block,
                prefix.saturating_add(bytes(count)?).saturating_add(4),
                "a fixed array",
            )?;
            let mut c = source.cursor(&data, block);
            c.signature(b"FADB")?;
            c.skip(prefix as usize - 4)?;
            return self.elements(&mut c, form, count, 0, &mut push);
        }
        let pages = count.div_ceil(page);
        let head_len = prefix.saturating_add(pages.div_ceil(8)).saturating_add(4);
        let head = source.read_checked(block, head_len, "a fixed array")?;
        let mut c = source.cursor(&head, block);
        c.signature(b"FADB")?;
        c.skip(prefix as usize - 4)?;
        let written = c.rest();
        let mut at = block.saturating_add(head_len);
        for p in 0..pages {
            let n = page.min(count - p * page);
            let len = bytes(n)?.saturating_add(4);
            if written[(p / 8) as usize] >> (7 - p % 8) & 1 == 1 {
                let data = source.read_checked(at, len, "a page of a fixed array")?;
                self.elements(&mut source.cursor(&data, at), form, n, p * page, &mut push)?;
            }
            at = at.saturating_add(len);
        }
        Ok(())
    }
}
