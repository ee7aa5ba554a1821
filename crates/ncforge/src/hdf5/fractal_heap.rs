//! Fractal heaps: where groups with many links and objects with many attributes store them.
//!
//! Format specification, "Fractal Heap". Objects are managed (in direct blocks, found through indirect blocks
//! of doubling sizes), huge (on their own, found directly or through a v2 B-tree) or tiny (inside their id).
//! Heaps whose blocks are filtered are reported as unsupported: no library makes them for metadata by default.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::btree2::{self, bytes_for};
use super::source::Source;
use super::span::Span;
use crate::error::Result;

/// Bytes of direct blocks that are cached while a heap is read.
const CACHE: usize = 8 << 20;

/// A direct block: where its bytes stand in the heap's address space and in the file.
#[derive(Clone, Copy, Debug)]
struct Block {
    offset: u64,
    size: u64,
    address: u64,
}

/// An indirect block: where the bytes below it begin in the heap's address space.
#[derive(Clone, Copy, Debug)]
struct Indirect {
    address: u64,
    rows: u64,
    offset: u64,
}

/// A fractal heap, ready to find objects.
#[derive(Debug)]
pub(crate) struct FractalHeap {
    address: u64,
    id_len: usize,
    max_managed: u64,
    offset_bytes: usize,
    length_bytes: usize,
    checksummed: bool,
    huge_tree: Option<u64>,
    blocks: Vec<Block>,
    cache: RefCell<Cache>,
    huge: RefCell<Option<HashMap<u64, (u64, u64)>>>,
}

/// Direct blocks that were read: one slot for each of the heap's blocks.
#[derive(Debug, Default)]
struct Cache {
    blocks: Vec<Option<Span>>,
    bytes: usize,
}

/// The doubling table: sizes of blocks by row.
#[derive(Clone, Copy, Debug)]
struct Table {
    width: u64,
    start: u64,
    max_direct: u64,
    offset_bytes: usize,
}

impl Table {
    fn row_size(&self, row: u64) -> Option<u64> {
        if row == 0 { Some(self.start) } else { self.start.checked_mul(1u64.checked_shl(row as u32 - 1)?) }
    }

    /// Bytes of an indirect block of some rows.
    fn indirect_len(&self, source: &Source, rows: u64) -> u64 {
        let o = u64::from(source.sizes().offset);
        let addresses = rows.saturating_mul(self.width).saturating_mul(o);
        (5 + o + self.offset_bytes as u64 + 4).saturating_add(addresses)
    }

    fn direct_rows(&self) -> u64 {
        u64::from(self.max_direct.ilog2() - self.start.ilog2()) + 2
    }

    /// Rows of an indirect block that covers `size` bytes.
    fn rows(&self, size: u64) -> u64 {
        let first = self.start.ilog2() + self.width.ilog2();
        u64::from(size.max(1).ilog2().saturating_sub(first)) + 1
    }
}

impl FractalHeap {
    /// Reads the header and the directory of blocks.
    pub(crate) fn read(source: &Source, address: u64) -> Result<Self> {
        let (o, l) = (u64::from(source.sizes().offset), u64::from(source.sizes().length));
        let head = source.peek(address, 9)?;
        let mut c = source.cursor(&head, address);
        c.signature(b"FRHP")?;
        c.version("a fractal heap", 0..=0)?;
        let (id_len, filter_len) = (usize::from(c.u16()?), u64::from(c.u16()?));
        if filter_len > 0 {
            return Err(source.unsupported("a fractal heap with filters"));
        }
        // 9 bytes were read; then flags, sizes, statistics, the doubling table, the checksum.
        let len = 9 + 1 + 4 + 12 * l + 3 * o + 2 + 2 + 2 + 2 + 4;
        let head = source.read_checked(address, len, "a fractal heap header")?;
        let mut c = source.cursor(&head, address);
        c.skip(9)?;
        let flags = c.u8()?;
        let max_managed = u64::from(c.u32()?);
        c.length()?;
        let huge_tree = c.address()?;
        c.length()?;
        c.address()?;
        c.skip(8 * l as usize)?;
        let width = u64::from(c.u16()?);
        let (start, max_direct) = (c.length()?, c.length()?);
        let max_bits = u32::from(c.u16()?);
        c.skip(2)?;
        let root = c.address()?;
        let rows = u64::from(c.u16()?);
        let powers = [width, start, max_direct].iter().all(|n| n.is_power_of_two());
        if !powers
            || start > max_direct
            || max_direct > 1 << 32
            || max_bits == 0
            || max_bits > 64
            || id_len < 4
        {
            return Err(c.fail(format!(
                "a fractal heap of width {width}, blocks of {start} to {max_direct} bytes, {max_bits} bits, ids of \
                 {id_len} bytes"
            )));
        }
        let offset_bytes = max_bits.div_ceil(8) as usize;
        let length_bytes = (max_direct.ilog2().div_ceil(8) as usize).min(bytes_for(max_managed));
        let table = Table { width, start, max_direct, offset_bytes };
        let mut heap = FractalHeap {
            address,
            id_len,
            max_managed,
            offset_bytes,
            length_bytes,
            checksummed: flags & 2 != 0,
            huge_tree,
            blocks: Vec::new(),
            cache: RefCell::default(),
            huge: RefCell::default(),
        };
        match root {
            None => {}
            Some(root) if rows == 0 => heap.blocks.push(Block { offset: 0, size: start, address: root }),
            Some(root) => heap.directory(source, &table, Indirect { address: root, rows, offset: 0 })?,
        }
        heap.blocks.sort_by_key(|b| b.offset);
        Ok(heap)
    }

    /// A heap and the records of a v2 B-tree of type `kind` that index all of its objects, which are read next.
    pub(crate) fn with_index(
        source: &Source,
        heap: u64,
        tree: u64,
        kind: u8,
        what: &str,
    ) -> Result<(Self, btree2::Records)> {
        // Both are tried before an error counts, so that absent bytes of both become known.
        let heap = Self::read(source, heap).and_then(|heap| {
            source.want(heap.blocks.iter().map(|b| (b.address, b.size)))?;
            Ok(heap)
        });
        let records = btree2::read(source, tree);
        let (heap, records) = (heap?, records?);
        if records.kind != kind {
            let found = records.kind;
            return Err(source.fail(tree, format!("a B-tree of type {found} where {what} ({kind}) belong")));
        }
        Ok((heap, records))
    }

    /// Finds the direct blocks below an indirect block, level by level.
    fn directory(&mut self, source: &Source, table: &Table, root: Indirect) -> Result<()> {
        let mut seen = HashSet::from([root.address]);
        let mut level = vec![root];
        while !level.is_empty() {
            source.want(level.iter().map(|b| (b.address, table.indirect_len(source, b.rows))))?;
            let mut below = Vec::new();
            for block in level {
                self.indirect(source, table, block, &mut below)?;
            }
            if let Some(twice) = below.iter().find(|b| !seen.insert(b.address)) {
                return Err(source.fail(twice.address, "a fractal heap block is reached twice"));
            }
            level = below;
        }
        Ok(())
    }

    /// Reads an indirect block.
    fn indirect(
        &mut self,
        source: &Source,
        table: &Table,
        block: Indirect,
        below: &mut Vec<Indirect>,
    ) -> Result<()> {
        let len = table.indirect_len(source, block.rows);
        let bytes = source.read_checked(block.address, len, "an indirect heap block")?;
        let mut c = source.cursor(&bytes, block.address);
        c.signature(b"FHIB")?;
        c.skip(1 + usize::from(source.sizes().offset) + table.offset_bytes)?;
        let mut offset = block.offset;
        for row in 0..block.rows {
            let size = table.row_size(row).ok_or_else(|| c.fail("a fractal heap of too many rows"))?;
            for _ in 0..table.width {
                match c.address()? {
                    None => {}
                    Some(address) if row < table.direct_rows() => {
                        self.blocks.push(Block { offset, size, address });
                    }
                    Some(address) => below.push(Indirect { address, rows: table.rows(size), offset }),
                }
                offset = offset.checked_add(size).ok_or_else(|| c.fail("a fractal heap of too many rows"))?;
            }
        }
        Ok(())
    }

    /// The bytes of an object. `id` may be longer than the heap's ids; what is beyond is ignored.
    pub(crate) fn get(&self, source: &Source, id: &[u8]) -> Result<Span> {
        let mut c = source.cursor(id, self.address);
        let head = c.u8()?;
        match head >> 4 & 3 {
            0 => {
                let (offset, len) = (c.uint(self.offset_bytes)?, c.uint(self.length_bytes)?);
                self.managed(source, offset, len)
            }
            1 => self.huge(source, &mut c),
            2 => {
                let len = if self.id_len <= 17 {
                    usize::from(head & 15) + 1
                } else {
                    (usize::from(head & 15) << 8 | usize::from(c.u8()?)) + 1
                };
                Ok(c.bytes(len)?.to_vec().into())
            }
            n => Err(source.fail(self.address, format!("a heap object of kind {n}"))),
        }
    }

    fn managed(&self, source: &Source, offset: u64, len: u64) -> Result<Span> {
        let i = self.blocks.partition_point(|b| b.offset <= offset);
        let bad = || source.fail(self.address, format!("no heap object of {len} bytes at offset {offset}"));
        let i = i.checked_sub(1).ok_or_else(bad)?;
        let from = (offset - self.blocks[i].offset) as usize;
        if len > self.max_managed.max(1) {
            return Err(bad());
        }
        let bytes = self.block(source, i)?;
        let end = from.checked_add(len as usize).filter(|&end| end <= bytes.len()).ok_or_else(bad)?;
        Ok(bytes.slice(from..end))
    }

    fn block(&self, source: &Source, i: usize) -> Result<Span> {
        let mut cache = self.cache.borrow_mut();
        if let Some(Some(known)) = cache.blocks.get(i) {
            return Ok(known.clone());
        }
        if cache.bytes > CACHE || cache.blocks.is_empty() {
            cache.blocks.clear();
            cache.blocks.resize(self.blocks.len(), None);
            cache.bytes = 0;
        }
        let bytes = self.read_block(source, &self.blocks[i])?;
        cache.bytes += bytes.len();
        cache.blocks[i] = Some(bytes.clone());
        Ok(bytes)
    }

    fn read_block(&self, source: &Source, block: &Block) -> Result<Span> {
        let bytes = source.read(block.address, block.size)?;
        let mut c = source.cursor(&bytes, block.address);
        c.signature(b"FHDB")?;
        if self.checksummed {
            let at = 5 + usize::from(source.sizes().offset) + self.offset_bytes;
            c.skip(at - 4)?;
            // The sum is over the block with the sum's own bytes zeroed.
            if !super::checksum::matches_without(&bytes, at, c.u32()?) {
                return Err(source.fail(block.address, "the checksum of a heap block does not match"));
            }
        }
        Ok(bytes)
    }

    fn huge(&self, source: &Source, c: &mut super::cursor::Cursor<'_>) -> Result<Span> {
        let sizes = source.sizes();
        if usize::from(sizes.offset) + usize::from(sizes.length) < self.id_len {
            let (address, len) = (c.defined_address("a huge heap object")?, c.length()?);
            return source.read(address, len);
        }
        let key = c.uint((self.id_len - 1).min(usize::from(sizes.length)))?;
        if self.huge.borrow().is_none() {
            let mut map = HashMap::new();
            if let Some(tree) = self.huge_tree {
                let records = btree2::read(source, tree)?;
                if records.kind != 1 {
                    return Err(source.unsupported(format!("huge heap objects of kind {}", records.kind)));
                }
                for r in records.iter() {
                    let mut c = source.cursor(r, tree);
                    let (address, len) = (c.defined_address("a huge heap object")?, c.length()?);
                    map.insert(c.length()?, (address, len));
                }
            }
            *self.huge.borrow_mut() = Some(map);
        }
        let found = self.huge.borrow().as_ref().and_then(|m| m.get(&key).copied());
        let (address, len) =
            found.ok_or_else(|| source.fail(self.address, format!("no huge heap object {key}")))?;
        source.read(address, len)
    }
}
