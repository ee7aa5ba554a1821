//! The map: where the ranges of the image are stored.

use super::entry::{ENTRY, Entry, Kind};

/// Bytes of a root.
pub(in super::super) const ROOT: usize = 512;
/// The largest height of a tree: it addresses more blocks than fit into a file.
pub(in super::super) const MAX_HEIGHT: u8 = 7;
/// Bytes of a window, of a tree, of a table, and of a column, in the map.
const WINDOW: usize = 24;
const TREE: usize = 24;
const TABLE: usize = 8;
const COLUMN: usize = 8;
/// Bytes of a root before the map, and additional ones if there are tables.
const ROOT_HEAD: usize = 64;
const ROOT_TABLES: usize = 8;
const _: () = assert!(TREE == ENTRY + 8);

/// A range of the image: bytes from `start` on are stored in a tree, or in a table, from its byte `offset` on, until the
/// next window starts; the last one has no end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Window {
    pub(in super::super) start: u64,
    pub(in super::super) offset: u64,
    pub(in super::super) over: Over,
}

/// The tree or table that a window maps, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Over {
    /// A tree of blocks.
    Tree(u32),
    /// A table: records whose columns are stored in trees of their own.
    Table(u32),
}

/// A column of a table: some bytes of each record, stored one after the other in a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) struct Column {
    pub(in super::super) bytes: u32,
    pub(in super::super) tree: u32,
}

/// The numbers of the parts of a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Counts {
    pub(in super::super) windows: u32,
    pub(in super::super) trees: u32,
    pub(in super::super) tables: u32,
    /// The columns of all tables.
    pub(in super::super) columns: u32,
}

impl Counts {
    /// Bytes of the map; more than any file has if the counts are not plausible.
    pub(super) fn bytes(&self) -> usize {
        [(self.windows, WINDOW), (self.trees, TREE), (self.tables, TABLE), (self.columns, COLUMN)]
            .iter()
            .fold(0, |n: usize, &(count, size)| n.saturating_add((count as usize).saturating_mul(size)))
    }

    /// Bytes of a root before the map.
    pub(super) fn head(&self) -> usize {
        if self.tables > 0 { ROOT_HEAD + ROOT_TABLES } else { ROOT_HEAD }
    }

    /// Whether the map fits into the root.
    pub(in super::super) fn fit_root(&self) -> bool {
        self.bytes() <= ROOT - 4 - self.head()
    }
}

/// The contents of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Contents {
    pub(in super::super) windows: Vec<Window>,
    pub(in super::super) trees: Vec<TreeHead>,
    /// The columns of each table.
    pub(in super::super) tables: Vec<Vec<Column>>,
}

/// A tree in the map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct TreeHead {
    /// Block 0 if the height is 0, else the topmost index page; empty if there is no block.
    pub(in super::super) top: Entry,
    /// Index pages on the way to a block.
    pub(in super::super) height: u8,
    /// 0: not chosen; else 1 + the number of the way of splitting elements, see [`super::choice`].
    pub(in super::super) choice: u8,
    /// Bytes of an element, if its writer knew them.
    pub(in super::super) width: u16,
    /// Bytes of a record, if its writer knew them.
    pub(in super::super) stride: u32,
}

/// The bytes of a map, and the numbers of its parts.
pub(in super::super) fn emit_map(map: &Contents) -> (Vec<u8>, Counts) {
    let counts = Counts {
        windows: map.windows.len() as u32,
        trees: map.trees.len() as u32,
        tables: map.tables.len() as u32,
        columns: map.tables.iter().map(Vec::len).sum::<usize>() as u32,
    };
    let mut out = Vec::with_capacity(counts.bytes());
    for w in &map.windows {
        let (number, is_table) = match w.over {
            Over::Tree(n) => (n, 0u32),
            Over::Table(n) => (n, 1),
        };
        out.extend_from_slice(&w.start.to_le_bytes());
        out.extend_from_slice(&w.offset.to_le_bytes());
        out.extend_from_slice(&number.to_le_bytes());
        out.extend_from_slice(&is_table.to_le_bytes());
    }
    for t in &map.trees {
        t.top.put(&mut out);
        out.extend_from_slice(&[t.height, t.choice]);
        out.extend_from_slice(&t.width.to_le_bytes());
        out.extend_from_slice(&t.stride.to_le_bytes());
    }
    for columns in &map.tables {
        out.extend_from_slice(&(columns.len() as u32).to_le_bytes());
        out.extend_from_slice(&[0; 4]);
    }
    for column in map.tables.iter().flatten() {
        out.extend_from_slice(&column.bytes.to_le_bytes());
        out.extend_from_slice(&column.tree.to_le_bytes());
    }
    (out, counts)
}

/// Parses a map. The error is a sentence.
pub(in super::super) fn parse_map(bytes: &[u8], counts: &Counts) -> Result<Contents, String> {
    if bytes.len() != counts.bytes() || counts.windows == 0 {
        let Counts { windows, trees, tables, columns } = counts;
        return Err(format!(
            "a map of {} bytes for {windows} windows, {trees} trees of blocks, {tables} tables and {columns} columns",
            bytes.len()
        ));
    }
    let (w, rest) = bytes.split_at(counts.windows as usize * WINDOW);
    let (t, rest) = rest.split_at(counts.trees as usize * TREE);
    let (tables, columns) = rest.split_at(counts.tables as usize * TABLE);
    let windows = w.chunks_exact(WINDOW).map(|b| parse_window(b, counts)).collect::<Result<Vec<_>, _>>()?;
    if windows[0].start != 0 || !windows.windows(2).all(|w| w[0].start < w[1].start) {
        return Err("the windows of the map are out of order".into());
    }
    let trees = t.chunks_exact(TREE).map(parse_tree).collect::<Result<_, String>>()?;
    Ok(Contents { windows, trees, tables: parse_tables(tables, columns, counts)? })
}

fn u32_of(b: &[u8], i: usize) -> u32 {
    u32::from_le_bytes(b[i..i + 4].try_into().expect("four bytes"))
}

fn parse_window(b: &[u8], counts: &Counts) -> Result<Window, String> {
    let u64_at = |i: usize| u64::from_le_bytes(b[i..i + 8].try_into().expect("eight bytes"));
    let number = u32_of(b, 16);
    let over = match u32_of(b, 20) {
        0 if number < counts.trees => Over::Tree(number),
        1 if number < counts.tables => Over::Table(number),
        kind => return Err(format!("a window of the map over number {number} of kind {kind}")),
    };
    let w = Window { start: u64_at(0), offset: u64_at(8), over };
    if w.start > i64::MAX as u64 || w.offset > i64::MAX as u64 {
        return Err("the windows of the map are out of order".into());
    }
    Ok(w)
}

fn parse_tree(b: &[u8]) -> Result<TreeHead, String> {
    let top = Entry::parse(b)?;
    let (height, choice) = (b[16], b[17]);
    let fits = match top.kind {
        Kind::Zero => true,
        Kind::Page => (1..=MAX_HEIGHT).contains(&height),
        _ => height == 0,
    };
    if !fits {
        return Err(format!("a tree of height {height} whose top is {:?}", top.kind));
    }
    let width = u16::from_le_bytes([b[18], b[19]]);
    Ok(TreeHead { top, height, choice, width, stride: u32_of(b, 20) })
}

fn parse_tables(tables: &[u8], columns: &[u8], counts: &Counts) -> Result<Vec<Vec<Column>>, String> {
    let mut rest = columns.chunks_exact(COLUMN).map(|b| Column { bytes: u32_of(b, 0), tree: u32_of(b, 4) });
    let mut out = Vec::with_capacity(counts.tables as usize);
    for b in tables.chunks_exact(TABLE) {
        let columns: Vec<Column> = rest.by_ref().take(u32_of(b, 0) as usize).collect();
        if columns.len() != u32_of(b, 0) as usize || columns.is_empty() {
            return Err("a table of the map without its columns".into());
        }
        if columns.iter().any(|c| c.bytes == 0 || c.tree >= counts.trees) {
            return Err("a column of the map that is empty or lies nowhere".into());
        }
        out.push(columns);
    }
    if rest.next().is_some() { Err("columns of the map that belong to no table".into()) } else { Ok(out) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Contents {
        let top = Entry { kind: Kind::Zstd, slot: 77, len: 300, width: 4, crc: 9 };
        Contents {
            windows: vec![
                Window { start: 0, offset: 0, over: Over::Tree(0) },
                Window { start: 8192, offset: 56, over: Over::Table(1) },
            ],
            trees: vec![
                TreeHead { top, ..TreeHead::default() },
                TreeHead { width: 4, ..TreeHead::default() },
            ],
            tables: vec![
                vec![Column { bytes: 4, tree: 1 }],
                vec![Column { bytes: 8, tree: 0 }, Column { bytes: 20, tree: 1 }],
            ],
        }
    }

    #[test]
    fn a_map_comes_back() {
        let map = sample();
        let (bytes, counts) = emit_map(&map);
        assert_eq!(counts, Counts { windows: 2, trees: 2, tables: 2, columns: 3 });
        assert_eq!(bytes.len(), counts.bytes());
        assert_eq!(parse_map(&bytes, &counts), Ok(map));
    }

    #[test]
    fn maps_that_make_no_sense_are_refused() {
        let refused = |change: &dyn Fn(&mut Contents)| {
            let mut map = sample();
            change(&mut map);
            let (bytes, counts) = emit_map(&map);
            assert!(parse_map(&bytes, &counts).is_err(), "{map:?}");
        };
        refused(&|m| m.windows[0].start = 1);
        refused(&|m| m.windows[1].start = 0);
        refused(&|m| m.windows[1].over = Over::Tree(2));
        refused(&|m| m.windows[1].over = Over::Table(2));
        refused(&|m| m.tables[0].clear());
        refused(&|m| m.tables[0][0].tree = 2);
        refused(&|m| m.tables[0][0].bytes = 0);
        refused(&|m| m.trees[0].height = 1);
        let (bytes, counts) = emit_map(&sample());
        assert!(parse_map(&bytes, &Counts { tables: 1, ..counts }).is_err());
        assert!(parse_map(&bytes, &Counts { columns: 2, tables: 3, ..counts }).is_err());
        assert!(parse_map(&bytes[1..], &counts).is_err());
    }
}
