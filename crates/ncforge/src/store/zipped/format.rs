//! The bytes of a zipped file: roots, the map of the image, index pages, entries. `docs/reference/zipped-format.md` specifies
//! them; all numbers are little-endian.

mod entry;
mod map;

use crate::error::{Error, Result};

pub(super) use entry::{ENTRY, Entry, Kind, SLOT};
pub(super) use map::{
    Column, Contents, Counts, MAX_HEIGHT, Over, ROOT, TreeHead, Window, emit_map, parse_map,
};

/// The first bytes of every root.
pub(crate) const MAGIC: [u8; 8] = *b"\x89NCZ\r\n\x1a\n";
/// The version of files without tables; all readers know it.
const VERSION_PLAIN: u16 = 1;
/// The version of files with tables, the newest that this code reads.
const VERSION_TABLES: u16 = 2;
/// Byte offsets of the two places for roots. A place has two copies, one after the other; the places are 4 KiB
/// apart, so that the loss of a sector of that size destroys only one of them.
pub(super) const ROOT_PLACES: [u64; 2] = [0, 4096];
/// Entries of an index page, at most.
pub(super) const FANOUT: u64 = 255;
/// Bytes of an index page before its entries.
const PAGE_HEADER: usize = 16;
const PAGE_MAGIC: [u8; 4] = *b"NCZP";
/// The largest number of windows, trees, tables or columns.
pub(super) const MAX_PARTS: usize = 1 << 16;

/// The contents of a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Root {
    pub(super) sequence: u64,
    /// log2 of the block size.
    pub(super) shift: u8,
    /// Codec and level for new blocks, in the form of [`super::Codec`].
    pub(super) codec: u8,
    pub(super) level: i32,
    /// Bytes of the image.
    pub(super) len: u64,
    /// One past the last slot in use.
    pub(super) end: u64,
    /// The place of the map; empty if it is in the root itself.
    pub(super) map: Entry,
    pub(super) counts: Counts,
    /// The map, if it fits.
    pub(super) inline: Vec<u8>,
}

impl Root {
    pub(super) fn emit(&self) -> [u8; ROOT] {
        let mut b = Vec::with_capacity(ROOT);
        b.extend_from_slice(&MAGIC);
        let version = if self.counts.tables > 0 { VERSION_TABLES } else { VERSION_PLAIN };
        b.extend_from_slice(&version.to_le_bytes());
        b.extend_from_slice(&[self.shift, self.codec]);
        b.extend_from_slice(&self.level.to_le_bytes());
        b.extend_from_slice(&self.sequence.to_le_bytes());
        b.extend_from_slice(&self.len.to_le_bytes());
        b.extend_from_slice(&self.end.to_le_bytes());
        self.map.put(&mut b);
        b.extend_from_slice(&self.counts.windows.to_le_bytes());
        b.extend_from_slice(&self.counts.trees.to_le_bytes());
        if version == VERSION_TABLES {
            b.extend_from_slice(&self.counts.tables.to_le_bytes());
            b.extend_from_slice(&self.counts.columns.to_le_bytes());
        }
        b.extend_from_slice(&self.inline);
        b.resize(ROOT - 4, 0);
        b.extend_from_slice(&crc32c::crc32c(&b).to_le_bytes());
        b.try_into().expect("a root has its size")
    }

    /// `None` for bytes that are not a complete root. The error is a sentence, for a root of another version.
    pub(super) fn parse(bytes: &[u8; ROOT]) -> Result<Option<Self>, String> {
        let (body, crc) = bytes.split_at(ROOT - 4);
        if body[..8] != MAGIC || crc32c::crc32c(body).to_le_bytes() != crc {
            return Ok(None);
        }
        let u16_at = |i: usize| u16::from_le_bytes([body[i], body[i + 1]]);
        let u32_at = |i: usize| u32::from_le_bytes(body[i..i + 4].try_into().expect("four bytes"));
        let u64_at = |i: usize| u64::from_le_bytes(body[i..i + 8].try_into().expect("eight bytes"));
        let mut counts = Counts { windows: u32_at(56), trees: u32_at(60), ..Counts::default() };
        match u16_at(8) {
            VERSION_PLAIN => {}
            VERSION_TABLES => (counts.tables, counts.columns) = (u32_at(64), u32_at(68)),
            other => return Err(format!("version {other} of the zipped format")),
        }
        if u16_at(8) == VERSION_TABLES && counts.tables == 0 {
            return Ok(None);
        }
        let Ok(map) = Entry::parse(&body[40..56]) else { return Ok(None) };
        let bytes = counts.bytes();
        let inline = match map.kind {
            Kind::Zero if counts.fit_root() => body[counts.head()..counts.head() + bytes].to_vec(),
            Kind::Raw if map.len as usize == bytes => Vec::new(),
            _ => return Ok(None),
        };
        let root = Root {
            sequence: u64_at(16),
            shift: body[10],
            codec: body[11],
            level: u32_at(12).cast_signed(),
            len: u64_at(24),
            end: u64_at(32),
            map,
            counts,
            inline,
        };
        let sane = (12..=20).contains(&root.shift)
            && root.len <= i64::MAX as u64
            && root.end <= (i64::MAX as u64) / SLOT
            && [counts.windows, counts.trees, counts.tables, counts.columns]
                .iter()
                .all(|&n| n as usize <= MAX_PARTS);
        Ok(sane.then_some(root))
    }
}

/// Bytes of an index page with this number of entries.
pub(super) fn page_len(entries: usize) -> usize {
    PAGE_HEADER + entries * ENTRY
}

/// The bytes of an index page. `level` is 0 if its entries are blocks; `first` is the first block below it.
pub(super) fn emit_page(level: u8, first: u64, entries: &[Entry]) -> Vec<u8> {
    let mut out = Vec::with_capacity(page_len(entries.len()));
    out.extend_from_slice(&PAGE_MAGIC);
    out.extend_from_slice(&[level, 0]);
    out.extend_from_slice(&(entries.len() as u16).to_le_bytes());
    out.extend_from_slice(&first.to_le_bytes());
    for e in entries {
        e.put(&mut out);
    }
    out
}

/// Parses an index page that should be at `level` and begin with block `first`. The error is a sentence.
pub(super) fn parse_page(bytes: &[u8], level: u8, first: u64) -> Result<Vec<Entry>, String> {
    let Some((head, rest)) = bytes.split_first_chunk::<PAGE_HEADER>() else {
        return Err("an index page is cut short".into());
    };
    let count = u16::from_le_bytes([head[6], head[7]]);
    let stored = u64::from_le_bytes(head[8..16].try_into().expect("eight bytes"));
    if head[..4] != PAGE_MAGIC || head[4] != level || stored != first {
        return Err(format!("an index page of level {level} from block {first} is another one"));
    }
    if u64::from(count) > FANOUT || rest.len() != count as usize * ENTRY {
        return Err(format!("an index page of {count} entries in {} bytes", bytes.len()));
    }
    let entries: Vec<Entry> = rest.chunks_exact(ENTRY).map(Entry::parse).collect::<Result<_, String>>()?;
    let page = |e: &Entry| e.kind == Kind::Page;
    let right = entries.iter().all(|e| e.kind == Kind::Zero || page(e) == (level > 0));
    right.then_some(entries).ok_or_else(|| "an index page mixes blocks and pages".into())
}

/// Whether the location of an entry is not possible: it overlaps a root, or is beyond all offsets.
pub(super) fn is_beyond(entry: &Entry) -> bool {
    super::space::is_reserved(entry.slot, entry.slots())
}

/// An [`Error::Corrupt`] of a zipped file.
pub(super) fn corrupt(name: &str, at: impl Into<Option<u64>>, what: impl Into<String>) -> Error {
    Error::corrupt(name, at, what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry { kind: Kind::Zstd, slot: 0x1234_5678_9ABC, len: 0x0A_0B0C, width: 116, crc: 0xDEAD_BEEF }
    }

    #[test]
    fn entries_come_back() {
        let pattern = *b"\x7c\xf0\0\0\x7c\xf0\0\0";
        let filled =
            Entry { kind: Kind::Pattern(pattern), crc: crc32c::crc32c(&pattern), ..Entry::default() };
        for e in [Entry::default(), entry(), filled, Entry { kind: Kind::Page, ..entry() }] {
            let mut b = Vec::new();
            e.put(&mut b);
            assert_eq!(b.len(), ENTRY);
            assert_eq!(Entry::parse(&b), Ok(e));
        }
        assert!(Entry::parse(&[9; 16]).is_err());
    }

    #[test]
    fn roots_come_back_and_damaged_ones_do_not() {
        let (map, counts) = emit_map(&Contents {
            windows: vec![Window { start: 0, offset: 0, over: Over::Tree(0) }],
            trees: vec![TreeHead { top: entry(), ..TreeHead::default() }],
            tables: vec![vec![Column { bytes: 4, tree: 0 }]],
        });
        assert!(counts.fit_root());
        let root = Root {
            sequence: 7,
            shift: 16,
            codec: 4,
            level: -3,
            len: 1 << 33,
            end: 99,
            map: Entry::default(),
            counts,
            inline: map,
        };
        let bytes = root.emit();
        assert_eq!(Root::parse(&bytes), Ok(Some(root)));
        for i in 0..ROOT {
            let mut bad = bytes;
            bad[i] ^= 0x10;
            assert_eq!(Root::parse(&bad), Ok(None), "byte {i}");
        }
    }

    #[test]
    fn pages_come_back_and_belong_to_their_position() {
        let page = emit_page(0, 510, &[entry(), Entry::default(), entry()]);
        assert_eq!(page.len(), page_len(3));
        assert_eq!(parse_page(&page, 0, 510).unwrap(), [entry(), Entry::default(), entry()]);
        assert!(parse_page(&page, 0, 255).is_err());
        assert!(parse_page(&page, 1, 510).is_err());
        assert!(parse_page(&page[..page.len() - 1], 0, 510).is_err());
    }
}
