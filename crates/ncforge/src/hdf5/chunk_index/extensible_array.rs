//! Chunks in an extensible array: datasets with one unlimited dimension.
//!
//! The array grows in super blocks: number `u` has `2^(u/2)` data blocks of `2^((u+1)/2)` times the smallest
//! number of elements (both exponents rounded down). The first elements stand in the index block; the data
//! blocks of the first super blocks are named there too; later super blocks are blocks of their own, which also
//! say which pages of their data blocks were written. Chunks are numbered row-major in the largest grid with the
//! unlimited dimension moved to the front.

use super::fixed_array::ElementForm;
use super::{Builder, DatasetChunks};
use crate::error::Result;
use crate::hdf5::dataspace::UNLIMITED;
use crate::select::unravel;

/// What the array's header says, and what follows from it.
struct Array {
    form: ElementForm,
    /// Bytes of an element number in block headers.
    number_bytes: usize,
    /// Elements in the index block.
    in_index: u64,
    /// Elements of the smallest data block.
    smallest: u64,
    /// Elements of a page; larger data blocks are paged.
    page: u64,
    /// Data blocks of this many super blocks are named in the index block.
    direct_supers: u64,
    /// Super blocks in all.
    supers: u64,
    /// Elements in use.
    used: u64,
}

impl Array {
    fn data_blocks(u: u64) -> u64 {
        1 << (u / 2)
    }

    fn block_elements(&self, u: u64) -> u64 {
        self.smallest << u.div_ceil(2)
    }
}

/// Turns element numbers into grid coordinates.
struct Numbering {
    grid: Vec<u64>,
    unlimited: usize,
}

impl Numbering {
    fn coordinates(&self, i: u64) -> Vec<u64> {
        let mut at = unravel(i, &self.grid);
        let first = at.remove(0);
        at.insert(self.unlimited, first);
        at
    }
}

impl DatasetChunks {
    pub(super) fn load_extensible_array(&self, address: u64, out: &mut Builder) -> Result<()> {
        let source = &self.file.source;
        let (o, l) = (u64::from(source.sizes().offset), u64::from(source.sizes().length));
        let head = source.read_checked(address, 12 + 6 * l + o + 4, "an extensible array header")?;
        let mut c = source.cursor(&head, address);
        c.signature(b"EAHD")?;
        c.version("an extensible array", 0..=0)?;
        let (client, size, max_bits) = (c.u8()?, c.u8()?, c.u8()?);
        let form = ElementForm::new(&c, client, size, self.filtered)?;
        let (in_index, smallest, min_pointers, page_bits) =
            (u64::from(c.u8()?), u64::from(c.u8()?), u64::from(c.u8()?), c.u8()?);
        c.skip(4 * l as usize)?;
        let used = c.length()?;
        c.length()?;
        let Some(index_block) = c.address()? else { return Ok(()) };
        let fine =
            (1..=64).contains(&max_bits) && smallest.is_power_of_two() && min_pointers.is_power_of_two();
        if !fine || page_bits > 32 || u32::from(max_bits) < smallest.ilog2() {
            return Err(c.fail(format!(
                "an extensible array of {max_bits} bits, blocks from {smallest} elements, {min_pointers} pointers"
            )));
        }
        let direct_supers = 2 * u64::from(min_pointers.ilog2());
        let supers = 1 + u64::from(max_bits) - u64::from(smallest.ilog2());
        let array = Array {
            form,
            number_bytes: usize::from(max_bits).div_ceil(8),
            in_index,
            smallest,
            page: 1 << page_bits,
            direct_supers: direct_supers.min(supers),
            supers,
            used,
        };
        let numbering = self.numbering(address)?;
        let mut push = |i: u64, at: u64, len: u64, mask: u32| {
            out.push(&numbering.coordinates(i), self.record(at, len, mask));
        };

        let direct_blocks: u64 = (0..array.direct_supers).map(Array::data_blocks).sum();
        let super_addresses = supers - array.direct_supers;
        let len = 6 + o + in_index * form.size as u64 + (direct_blocks + super_addresses) * o + 4;
        let bytes = source.read_checked(index_block, len, "an extensible array's index block")?;
        let mut c = source.cursor(&bytes, index_block);
        c.signature(b"EAIB")?;
        c.skip(2 + o as usize)?;
        self.elements(&mut c, form, in_index, 0, &mut push)?;
        let mut number = array.in_index;
        for u in 0..array.supers {
            if number >= array.used {
                break;
            }
            let (blocks, elements) = (Array::data_blocks(u), array.block_elements(u));
            if u < array.direct_supers {
                for _ in 0..blocks {
                    if let Some(block) = c.address()? {
                        self.data_block(&array, block, elements, number, None, &mut push)?;
                    }
                    number = number.saturating_add(elements);
                }
            } else {
                if let Some(block) = c.address()? {
                    self.super_block(&array, block, u, number, &mut push)?;
                }
                number = number.saturating_add(blocks.saturating_mul(elements));
            }
        }
        Ok(())
    }

    /// The order of elements: the unlimited dimension first, then the others; row-major.
    fn numbering(&self, address: u64) -> Result<Numbering> {
        let source = &self.file.source;
        let mut open = (0..self.max.len()).filter(|&d| self.max[d] == UNLIMITED);
        let (Some(unlimited), None) = (open.next(), open.next()) else {
            return Err(source.fail(address, "an extensible array where not one dimension is unlimited"));
        };
        let mut grid: Vec<u64> = (0..self.max.len())
            .filter(|&d| d != unlimited)
            .map(|d| self.max[d].div_ceil(self.layout.chunk[d]))
            .collect();
        grid.insert(0, u64::MAX);
        Ok(Numbering { grid, unlimited })
    }

    fn super_block(
        &self,
        array: &Array,
        address: u64,
        u: u64,
        mut number: u64,
        push: &mut impl FnMut(u64, u64, u64, u32),
    ) -> Result<()> {
        let source = &self.file.source;
        let o = u64::from(source.sizes().offset);
        let (blocks, elements) = (Array::data_blocks(u), array.block_elements(u));
        let mask_bytes = if elements > array.page { (elements / array.page).div_ceil(8) } else { 0 };
        let prefix = 6 + o + array.number_bytes as u64;
        let len = blocks.checked_mul(mask_bytes + o).and_then(|n| n.checked_add(prefix + 4));
        let len =
            len.ok_or_else(|| source.fail(address, "an extensible array's super block of impossible size"))?;
        let bytes = source.read_checked(address, len, "an extensible array's super block")?;
        let mut c = source.cursor(&bytes, address);
        c.signature(b"EASB")?;
        c.skip(prefix as usize - 4)?;
        let mut masks = c.sub((blocks * mask_bytes) as usize)?;
        for _ in 0..blocks {
            let mask = masks.bytes(mask_bytes as usize)?;
            if let Some(block) = c.address()? {
                self.data_block(array, block, elements, number, Some(mask), push)?;
            }
            number = number.saturating_add(elements);
            if number >= array.used {
                break;
            }
        }
        Ok(())
    }

    fn data_block(
        &self,
        array: &Array,
        address: u64,
        elements: u64,
        number: u64,
        written: Option<&[u8]>,
        push: &mut impl FnMut(u64, u64, u64, u32),
    ) -> Result<()> {
        let source = &self.file.source;
        let size = array.form.size as u64;
        let prefix = 6 + u64::from(source.sizes().offset) + array.number_bytes as u64;
        let impossible =
            || source.fail(address, format!("an extensible array's block of {elements} elements"));
        let paged = elements > array.page;
        let len = if paged { Some(0) } else { elements.checked_mul(size) };
        let len = len.and_then(|n| n.checked_add(prefix + 4)).ok_or_else(impossible)?;
        let bytes = source.read_checked(address, len, "an extensible array's data block")?;
        let mut c = source.cursor(&bytes, address);
        c.signature(b"EADB")?;
        c.skip(prefix as usize - 4)?;
        if !paged {
            return self.elements(&mut c, array.form, elements, number, push);
        }
        let page_len = array.page.checked_mul(size).and_then(|n| n.checked_add(4)).ok_or_else(impossible)?;
        for p in 0..elements / array.page {
            let bit =
                written.and_then(|w| w.get((p / 8) as usize)).is_some_and(|b| b >> (7 - p % 8) & 1 == 1);
            if bit {
                let at = p.checked_mul(page_len).and_then(|n| n.checked_add(address.checked_add(len)?));
                let at = at.ok_or_else(impossible)?;
                let bytes = source.read_checked(at, page_len, "a page of an extensible array")?;
                let mut c = source.cursor(&bytes, at);
                self.elements(&mut c, array.form, array.page, number + p * array.page, &mut *push)?;
            }
        }
        Ok(())
    }
}
