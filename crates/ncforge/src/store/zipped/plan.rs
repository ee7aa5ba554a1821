//! Assigns trees to the ranges of an image with a known layout.

use std::sync::Arc;

use super::format::{Column, Over, TreeHead, Window};
use super::image::Map;
use super::table::Table;
use super::tree::Tree;
use super::{Core, ZippedStore};
use crate::store::Part;

/// While records are appended, each column of a table has a block in memory: all of them together at most this much.
const COLUMN_BLOCKS: u64 = 4 << 20;
/// The smallest and largest limits on the number of columns.
const COLUMNS: (u64, u64) = (4, 256);

/// A range of the image that gets blocks of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    start: u64,
    /// Its contents; several are the columns of its records.
    columns: Vec<Kind>,
}

/// Some bytes and their kind of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind {
    /// Bytes: for a column, those of a record; else all bytes.
    bytes: u64,
    /// Bytes of an element.
    width: u16,
    /// Bytes from one element to the next of its kind; 0: they are adjacent.
    stride: u32,
}

/// The ranges of an image with this layout.
fn group(parts: &[Part], end: u64, block: u64) -> Vec<Group> {
    const MOST: usize = 512;
    let mut least = 4 * block;
    loop {
        let groups = group_from(parts, end, least, block);
        if groups.len() <= MOST || least > 1 << 60 {
            return groups;
        }
        least *= 2;
    }
}

/// Parts of `least` bytes, and records, are groups of their own; smaller neighbours are grouped.
fn group_from(parts: &[Part], end: u64, least: u64, block: u64) -> Vec<Group> {
    let mut groups: Vec<(Group, bool)> = Vec::new();
    let mut rest = parts;
    while let Some((part, others)) = rest.split_first() {
        rest = others;
        let next = rest.first().map_or(end, |p| p.start);
        let bytes = next.saturating_sub(part.start);
        if part.stride > 0 {
            let end = part.start.saturating_add(u64::from(part.stride));
            let of_record = |p: &&Part| p.stride == part.stride && p.start < end;
            let others = rest.iter().take_while(of_record).count();
            let own = &parts[parts.len() - rest.len() - 1..][..others + 1];
            groups.push((Group { start: part.start, columns: columns(own, end, block) }, true));
            rest = &rest[others..];
            continue;
        }
        let kind = Kind { bytes, width: part.width, stride: 0 };
        // The header changes with every record: it must not share blocks with data.
        let alone = bytes >= least || groups.is_empty();
        match groups.last_mut() {
            Some((Group { columns, .. }, false)) if !alone => {
                let known = &mut columns[0];
                if bytes > known.bytes {
                    *known = kind;
                }
            }
            _ => groups.push((Group { start: part.start, columns: vec![kind] }, alone)),
        }
    }
    let mut groups: Vec<Group> = groups.into_iter().map(|(group, _)| group).collect();
    // Of parts with the same offset, only the last has any bytes; and two windows cannot have the same offset.
    groups.dedup_by(|next, previous| {
        let same = next.start == previous.start;
        if same {
            std::mem::swap(next, previous);
        }
        same
    });
    groups
}

/// The columns of records with these parts; neighbours share one if there are too many.
fn columns(parts: &[Part], end: u64, block: u64) -> Vec<Kind> {
    let most = (COLUMN_BLOCKS / block).clamp(COLUMNS.0, COLUMNS.1) as usize;
    let bytes_of = |i: usize| parts.get(i + 1).map_or(end, |p| p.start) - parts[i].start;
    let each = parts.len().div_ceil(most);
    (0..parts.len())
        .step_by(each)
        .map(|first| {
            let own = first..(first + each).min(parts.len());
            let bytes: u64 = own.clone().map(bytes_of).sum();
            let widest = own.max_by_key(|&i| bytes_of(i)).map_or(1, |i| parts[i].width);
            // Records of one element each are contiguous elements.
            let stride = if bytes > u64::from(widest) { u32::try_from(bytes).unwrap_or(0) } else { 0 };
            Kind { bytes, width: widest, stride }
        })
        .collect()
}

impl ZippedStore {
    /// Gives ranges of the image without stored bytes trees of their own, and records the kind of values of each tree.
    pub(super) fn plan(&self, described: &[Part], replacement: bool) {
        let mut core = self.core_mut();
        let Core { map, replacement: other, trees, tx: Some(tx), .. } = &mut *core else { return };
        let map = if replacement { other.as_mut().unwrap_or(map) } else { map };
        let Some(last) = described.last() else { return };
        let mut in_use: Vec<bool> = trees.iter().map(|t| !t.is_empty()).collect();
        tx.dirty_trees(&mut in_use);
        let groups = group(described, map.len.max(last.start), 1 << self.shift);
        tx.changed |= clear(map, trees, &mut in_use);
        let mut i = 0;
        while i < map.windows.len() {
            let w = map.windows[i];
            let end = map.end_of(i);
            let is_free = |over| matches!(over, Over::Tree(n) if !in_use[n as usize]);
            let mut cuts = Vec::new();
            if is_free(w.over) && w.offset == 0 {
                cuts.extend(groups.iter().map(|g| g.start).filter(|&s| s > w.start && s < end));
                map.cut(i, &cuts, trees.len() as u32);
                trees.extend(cuts.iter().map(|_| Tree::default()));
                in_use.resize(trees.len(), false);
                tx.changed |= !cuts.is_empty();
            }
            for k in i..=i + cuts.len() {
                let w = map.windows[k];
                let group = groups.iter().rev().find(|g| g.start <= w.start);
                let Some(group) = group else { continue };
                match (w.over, &group.columns[..]) {
                    (Over::Tree(n), [kind]) => record_kind(&mut trees[n as usize].head, kind),
                    (Over::Tree(n), kinds) if group.start == w.start && !in_use[n as usize] => {
                        let Some(over) = table(map, trees, kinds) else { continue };
                        map.windows[k] = Window { offset: 0, over, ..w };
                        in_use.resize(trees.len(), false);
                        tx.changed = true;
                    }
                    (Over::Tree(n), kinds) => {
                        let stride = kinds.iter().map(|k| k.bytes).sum::<u64>();
                        let widest = kinds.iter().max_by_key(|k| k.bytes).expect("several");
                        let stride = u32::try_from(stride).unwrap_or(0);
                        record_kind(&mut trees[n as usize].head, &Kind { stride, ..*widest });
                    }
                    (Over::Table(n), kinds) => {
                        for (c, kind) in map.tables[n as usize].columns.iter().zip(kinds) {
                            if c.bytes == kind.bytes {
                                record_kind(&mut trees[c.tree as usize].head, kind);
                            }
                        }
                    }
                }
            }
            i += cuts.len() + 1;
        }
    }
}

/// Records the kind of values of a tree, unless its split was already chosen.
fn record_kind(head: &mut TreeHead, kind: &Kind) {
    if head.choice == 0 {
        (head.width, head.stride) = (kind.width, kind.stride);
    }
}

/// A table of these columns, over new trees; `None` if records are too large for one.
fn table(map: &mut Map, trees: &mut Vec<Tree>, kinds: &[Kind]) -> Option<Over> {
    let mut columns = Vec::with_capacity(kinds.len());
    for (kind, tree) in kinds.iter().zip(trees.len() as u32..) {
        columns.push(Column { bytes: u32::try_from(kind.bytes).ok().filter(|&n| n > 0)?, tree });
    }
    for kind in kinds {
        trees.push(Tree::new(TreeHead { width: kind.width, stride: kind.stride, ..TreeHead::default() }));
    }
    map.tables.push(Arc::new(Table::new(&columns)));
    Some(Over::Table(map.tables.len() as u32 - 1))
}

/// Merges windows at the end of the image without stored bytes, which an earlier layout may have left, into one over a
/// tree. Returns true if there were others than that one.
fn clear(map: &mut Map, trees: &mut Vec<Tree>, in_use: &mut Vec<bool>) -> bool {
    let is_used = |over: Over| match over {
        Over::Tree(n) => in_use[n as usize],
        Over::Table(n) => map.tables[n as usize].columns.iter().any(|c| in_use[c.tree as usize]),
    };
    let shown_before = |i: usize, over: Over| map.windows[..i].iter().any(|w| w.over == over);
    let empty = |&i: &usize| {
        let w = map.windows[i];
        !is_used(w.over) && w.offset == 0 && !shown_before(i, w.over)
    };
    let Some(first) = (0..map.windows.len()).rev().take_while(empty).last() else { return false };
    if first + 1 == map.windows.len() && matches!(map.windows[first].over, Over::Tree(_)) {
        return false;
    }
    map.windows.truncate(first + 1);
    map.windows[first].over = Over::Tree(trees.len() as u32);
    trees.push(Tree::default());
    in_use.push(false);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(start: u64, width: u16, stride: u32) -> Part {
        Part { start, width, stride }
    }

    fn kind(bytes: u64, width: u16, stride: u32) -> Kind {
        Kind { bytes, width, stride }
    }

    #[test]
    fn parts_are_grouped_by_size() {
        let parts = [part(0, 1, 0), part(100, 8, 0), part(200, 4, 0), part(900, 2, 0), part(100_000, 4, 0)];
        let groups = group(&parts, 200_000, 4096);
        let kinds: Vec<(u64, &[Kind])> = groups.iter().map(|g| (g.start, &g.columns[..])).collect();
        let one = |k| [k];
        assert_eq!(kinds[0], (0, &one(kind(100, 1, 0))[..]));
        assert_eq!(kinds[1], (100, &one(kind(700, 4, 0))[..]));
        assert_eq!(kinds[2], (900, &one(kind(99_100, 2, 0))[..]));
        assert_eq!(kinds[3], (100_000, &one(kind(100_000, 4, 0))[..]));
    }

    #[test]
    fn no_two_groups_have_the_same_offset() {
        // Even for the variables of a damaged header.
        for parts in [
            vec![part(0, 1, 0), part(50_000, 1, 5), part(50_000, 2, 0)],
            vec![
                part(0, 1, 0),
                part(50_000, 1, 5),
                part(50_000, 2, 0),
                part(50_000, 2, 7),
                part(50_000, 4, 0),
            ],
            vec![part(0, 1, 0), part(0, 2, 5), part(0, 4, 0)],
        ] {
            let groups = group(&parts, 100_000, 4096);
            assert!(groups.windows(2).all(|g| g[0].start < g[1].start), "{groups:?}");
            let last = &groups.last().unwrap().columns[0];
            assert_eq!((last.width, last.stride), (parts.last().unwrap().width, 0), "{groups:?}");
        }
    }

    #[test]
    fn records_are_columns_and_many_share_some() {
        let parts = [part(0, 1, 0), part(100, 4, 32), part(104, 8, 32), part(112, 2, 32)];
        let groups = group(&parts, 4000, 4096);
        assert_eq!(groups.len(), 2);
        assert_eq!(groups[1].columns, [kind(4, 4, 0), kind(8, 8, 0), kind(20, 2, 20)]);
        let alone = group(&[part(0, 1, 0), part(100, 4, 40)], 4000, 4096);
        assert_eq!(alone[1].columns, [kind(40, 4, 40)]);
        let many: Vec<Part> = (0..1000).map(|i| part(100 + i * 4, 4, 4000)).collect();
        let groups = group(&many, 100_000, 65_536);
        assert_eq!(groups[0].columns.len(), 63);
        assert_eq!(groups[0].columns[0], kind(64, 4, 64));
        assert_eq!(groups[0].columns[62], kind(32, 4, 32));
    }
}
