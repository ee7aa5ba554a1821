//! Chunks in a fixed array: datasets of bounded size. Elements stand in row-major order of the largest grid,
//! in one block or, above a threshold, in pages with a bit each that says whether it was ever written
//! (format specification, "Fixed Array Index").

use super::loading::{ElementForm, Loading};
use super::table::Builder;
use crate::error::Result;
use crate::model::shape;
use crate::select::unravel;

/// A paged array up to this size is fetched whole, with the pages that were never written: that is cheaper than to
/// learn first which they are.
const WHOLE: u64 = 1 << 20;

/// Reads the array.
pub(super) fn load(dataset: &Loading<'_>, out: &mut Builder) -> Result<()> {
    let Loading { source, address, filtered, .. } = *dataset;
    let (o, l) = (u64::from(source.sizes().offset), u64::from(source.sizes().length));
    let head = source.read_checked(address, 8 + l + o + 4, "a fixed array header")?;
    let mut c = source.cursor(&head, address);
    c.signature(b"FAHD")?;
    c.version("a fixed array", 0..=0)?;
    let (client, size, page_bits) = (c.u8()?, c.u8()?, c.u8()?);
    let form = ElementForm::new(&c, client, size, filtered)?;
    let count = c.length()?;
    let Some(block) = c.address()? else { return Ok(()) };
    let grid = dataset.max_counts()?;
    if shape::checked(&grid, 1) != Some(count) {
        return Err(c.fail(format!("a fixed array of {count} elements for a grid of {grid:?} chunks")));
    }
    let mut push = |i: u64, at: u64, len: u64, mask: u32| {
        out.push(&unravel(i, &grid), dataset.record(at, len, mask));
    };
    let too_large = || source.fail(block, format!("a fixed array of {count} elements"));
    let page = 1u64.checked_shl(u32::from(page_bits)).ok_or_else(too_large)?;
    let bytes = |n: u64| n.checked_mul(form.size as u64).ok_or_else(too_large);
    let prefix = 6 + o;
    if count <= page {
        let len = prefix.saturating_add(bytes(count)?).saturating_add(4);
        source.want([(block, len)])?;
        let data = source.read_checked(block, len, "a fixed array")?;
        let mut c = source.cursor(&data, block);
        c.signature(b"FADB")?;
        c.skip(prefix as usize - 4)?;
        return dataset.elements(&mut c, form, count, 0, &mut push);
    }
    let pages = count.div_ceil(page);
    let head_len = prefix.saturating_add(pages.div_ceil(8)).saturating_add(4);
    let whole = head_len.saturating_add(bytes(count)?).saturating_add(pages.saturating_mul(4));
    source.want([(block, if whole <= WHOLE { whole } else { head_len })])?;
    let head = source.read_checked(block, head_len, "a fixed array")?;
    let mut c = source.cursor(&head, block);
    c.signature(b"FADB")?;
    c.skip(prefix as usize - 4)?;
    let written = c.rest();
    // Number, address and bytes of each page that was written.
    let page_len = bytes(page)?.saturating_add(4);
    let page_at = |p: u64| block.saturating_add(head_len).saturating_add(p.saturating_mul(page_len));
    let is_written = |p: &u64| written[(p / 8) as usize] >> (7 - p % 8) & 1 == 1;
    source.want((0..pages).filter(is_written).map(|p| (page_at(p), page_len)))?;
    for p in (0..pages).filter(is_written) {
        let n = page.min(count - p * page);
        let data = source.read_checked(page_at(p), bytes(n)?.saturating_add(4), "a page of a fixed array")?;
        dataset.elements(&mut source.cursor(&data, page_at(p)), form, n, p * page, &mut push)?;
    }
    Ok(())
}
