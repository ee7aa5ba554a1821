//! Chunks in an extensible array: datasets with one unlimited dimension (format specification, "Extensible Array
//! Index").
//!
//! The array grows in super blocks: number `u` has `2^(u/2)` data blocks of `2^((u+1)/2)` times the smallest
//! number of elements (both exponents rounded down). The first elements stand in the index block; the data
//! blocks of the first super blocks are named there too; later super blocks are blocks of their own, which also
//! say which pages of their data blocks were written. Chunks are numbered row-major in the largest grid with the
//! unlimited dimension moved to the front.
//!
//! Blocks are read level by level: header, index block, super blocks, data blocks with their pages.

use super::loading::{ElementForm, Loading};
use super::table::Builder;
use crate::error::Result;
use crate::hdf5::dataspace::UNLIMITED;
use crate::hdf5::source::TOGETHER;
use crate::select::unravel;

/// The fields of the array's header, and lengths that follow from them.
struct Array<'a> {
    dataset: Loading<'a>,
    form: ElementForm,
    /// Bytes of an element number in block headers.
    number_bytes: u64,
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

/// A super block: which one, and the number of its first element.
#[derive(Clone, Copy)]
struct SuperBlock {
    address: u64,
    u: u64,
    number: u64,
}

struct DataBlock {
    address: u64,
    elements: u64,
    /// Number of its first element.
    number: u64,
    /// A bit for each page that was written.
    written: Vec<u8>,
}

/// Turns element numbers into grid coordinates.
struct Numbering {
    grid: Vec<u64>,
    unlimited: usize,
}

impl Numbering {
    /// The order of elements: the unlimited dimension first, then the others; row-major.
    fn new(dataset: &Loading<'_>) -> Result<Self> {
        let Loading { source, address, max, chunk, .. } = *dataset;
        let mut open = (0..max.len()).filter(|&d| max[d] == UNLIMITED);
        let (Some(unlimited), None) = (open.next(), open.next()) else {
            return Err(source.fail(address, "an extensible array where not one dimension is unlimited"));
        };
        let mut grid: Vec<u64> =
            (0..max.len()).filter(|&d| d != unlimited).map(|d| max[d].div_ceil(chunk[d])).collect();
        grid.insert(0, u64::MAX);
        Ok(Numbering { grid, unlimited })
    }

    fn coordinates(&self, i: u64) -> Vec<u64> {
        let mut at = unravel(i, &self.grid);
        let first = at.remove(0);
        at.insert(self.unlimited, first);
        at
    }
}

/// Reads the array.
pub(super) fn load(dataset: &Loading<'_>, out: &mut Builder) -> Result<()> {
    let Some((array, index_block)) = Array::read(dataset)? else { return Ok(()) };
    let numbering = Numbering::new(dataset)?;
    let mut push = |i: u64, at: u64, len: u64, mask: u32| {
        out.push(&numbering.coordinates(i), dataset.record(at, len, mask));
    };
    let (mut blocks, supers) = array.index_block(index_block, &mut push)?;
    array.super_blocks(&supers, &mut blocks)?;
    array.data_blocks(&blocks, &mut push)
}

/// Data blocks of a super block.
fn blocks_of(u: u64) -> u64 {
    1 << (u / 2)
}

impl<'a> Array<'a> {
    /// The header, and the address of the index block; nothing if no chunk was ever stored.
    fn read(dataset: &Loading<'a>) -> Result<Option<(Self, u64)>> {
        let Loading { source, address, filtered, .. } = *dataset;
        let (o, l) = (u64::from(source.sizes().offset), u64::from(source.sizes().length));
        let head = source.read_checked(address, 12 + 6 * l + o + 4, "an extensible array header")?;
        let mut c = source.cursor(&head, address);
        c.signature(b"EAHD")?;
        c.version("an extensible array", 0..=0)?;
        let (client, size, max_bits) = (c.u8()?, c.u8()?, c.u8()?);
        let form = ElementForm::new(&c, client, size, filtered)?;
        let (in_index, smallest, min_pointers, page_bits) =
            (u64::from(c.u8()?), u64::from(c.u8()?), u64::from(c.u8()?), c.u8()?);
        c.skip(4 * l as usize)?;
        let used = c.length()?;
        c.length()?;
        let Some(index_block) = c.address()? else { return Ok(None) };
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
            dataset: *dataset,
            form,
            number_bytes: u64::from(max_bits).div_ceil(8),
            in_index,
            smallest,
            page: 1 << page_bits,
            direct_supers: direct_supers.min(supers),
            supers,
            used,
        };
        Ok(Some((array, index_block)))
    }

    fn elements_of(&self, u: u64) -> u64 {
        self.smallest << u.div_ceil(2)
    }

    /// Bytes of signature, version, client, header address and element number, which super and data blocks begin with.
    fn prefix(&self) -> u64 {
        6 + u64::from(self.dataset.source.sizes().offset) + self.number_bytes
    }

    /// Reads the index block: its elements, and the blocks that it names.
    fn index_block(
        &self,
        address: u64,
        push: &mut impl FnMut(u64, u64, u64, u32),
    ) -> Result<(Vec<DataBlock>, Vec<SuperBlock>)> {
        let source = self.dataset.source;
        let o = u64::from(source.sizes().offset);
        let direct_blocks: u64 = (0..self.direct_supers).map(blocks_of).sum();
        let super_addresses = self.supers - self.direct_supers;
        let elements = self.in_index * self.form.size as u64;
        let len = 6 + o + elements + (direct_blocks + super_addresses) * o + 4;
        let bytes = source.read_checked(address, len, "an extensible array's index block")?;
        let mut c = source.cursor(&bytes, address);
        c.signature(b"EAIB")?;
        c.skip(2 + o as usize)?;
        self.dataset.elements(&mut c, self.form, self.in_index, 0, push)?;
        let (mut blocks, mut supers) = (Vec::new(), Vec::new());
        let mut number = self.in_index;
        for u in 0..self.supers {
            if number >= self.used {
                break;
            }
            let (count, elements) = (blocks_of(u), self.elements_of(u));
            if u < self.direct_supers {
                for _ in 0..count {
                    if let Some(address) = c.address()? {
                        blocks.push(DataBlock { address, elements, number, written: Vec::new() });
                    }
                    number = number.saturating_add(elements);
                }
            } else {
                if let Some(address) = c.address()? {
                    supers.push(SuperBlock { address, u, number });
                }
                number = number.saturating_add(count.saturating_mul(elements));
            }
        }
        Ok((blocks, supers))
    }

    /// Bytes of one data block's bits for pages in a super block.
    fn mask_bytes(&self, u: u64) -> u64 {
        let elements = self.elements_of(u);
        if elements > self.page { (elements / self.page).div_ceil(8) } else { 0 }
    }

    fn super_len(&self, block: SuperBlock) -> Result<u64> {
        let source = self.dataset.source;
        let each = self.mask_bytes(block.u) + u64::from(source.sizes().offset);
        let len = blocks_of(block.u).checked_mul(each).and_then(|n| n.checked_add(self.prefix() + 4));
        len.ok_or_else(|| source.fail(block.address, "an extensible array's super block of impossible size"))
    }

    /// Reads super blocks: the data blocks that they name.
    fn super_blocks(&self, supers: &[SuperBlock], out: &mut Vec<DataBlock>) -> Result<()> {
        let source = self.dataset.source;
        source.want(supers.iter().filter_map(|&s| Some((s.address, self.super_len(s).ok()?))))?;
        for &block in supers {
            let len = self.super_len(block)?;
            let bytes = source.read_checked(block.address, len, "an extensible array's super block")?;
            let mut c = source.cursor(&bytes, block.address);
            c.signature(b"EASB")?;
            c.skip(self.prefix() as usize - 4)?;
            let (count, elements) = (blocks_of(block.u), self.elements_of(block.u));
            let mask_bytes = self.mask_bytes(block.u);
            let mut masks = c.sub((count * mask_bytes) as usize)?;
            let mut number = block.number;
            for _ in 0..count {
                let written = masks.bytes(mask_bytes as usize)?;
                if let Some(address) = c.address()? {
                    out.push(DataBlock { address, elements, number, written: written.to_vec() });
                }
                number = number.saturating_add(elements);
                if number >= self.used {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Bytes of a data block without its pages, and of one of its pages (0 if it has none).
    fn data_len(&self, block: &DataBlock) -> Result<(u64, u64)> {
        let size = self.form.size as u64;
        let lens = if block.elements > self.page {
            self.page.checked_mul(size).and_then(|n| n.checked_add(4)).map(|page| (self.prefix() + 4, page))
        } else {
            let len = block.elements.checked_mul(size).and_then(|n| n.checked_add(self.prefix() + 4));
            len.map(|len| (len, 0))
        };
        let what = || format!("an extensible array's block of {} elements", block.elements);
        lens.ok_or_else(|| self.dataset.source.fail(block.address, what()))
    }

    /// The pages of a data block that were written, if it has pages: each one's number and address.
    fn pages<'b>(&self, block: &'b DataBlock, lens: (u64, u64)) -> impl Iterator<Item = (u64, u64)> + 'b {
        let (len, page_len) = lens;
        let pages = if page_len > 0 { block.elements / self.page } else { 0 };
        let is_written =
            |p: &u64| block.written.get((p / 8) as usize).is_some_and(|b| b >> (7 - p % 8) & 1 == 1);
        (0..pages.min(8 * block.written.len() as u64))
            .filter(is_written)
            .map(move |p| (p, block.address.saturating_add(len).saturating_add(p.saturating_mul(page_len))))
    }

    /// Everything that a data block consists of: addresses and lengths.
    fn parts<'b>(&self, block: &'b DataBlock) -> impl Iterator<Item = (u64, u64)> + 'b {
        let lens = self.data_len(block).unwrap_or_default();
        std::iter::once((block.address, lens.0))
            .chain(self.pages(block, lens).map(move |(_, at)| (at, lens.1)))
    }

    /// Reads data blocks.
    fn data_blocks(&self, blocks: &[DataBlock], push: &mut impl FnMut(u64, u64, u64, u32)) -> Result<()> {
        let source = self.dataset.source;
        for together in blocks.chunks(TOGETHER) {
            source.want(together.iter().flat_map(|b| self.parts(b)))?;
            for block in together {
                let lens = self.data_len(block)?;
                let bytes = source.read_checked(block.address, lens.0, "an extensible array's data block")?;
                let mut c = source.cursor(&bytes, block.address);
                c.signature(b"EADB")?;
                c.skip(self.prefix() as usize - 4)?;
                if lens.1 == 0 {
                    self.dataset.elements(&mut c, self.form, block.elements, block.number, &mut *push)?;
                }
                for (p, at) in self.pages(block, lens) {
                    let bytes = source.read_checked(at, lens.1, "a page of an extensible array")?;
                    let number = block.number.saturating_add(p * self.page);
                    self.dataset.elements(
                        &mut source.cursor(&bytes, at),
                        self.form,
                        self.page,
                        number,
                        &mut *push,
                    )?;
                }
            }
        }
        Ok(())
    }
}
