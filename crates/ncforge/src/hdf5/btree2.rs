//! B-trees of version 2: dense links and attributes, huge heap objects, shared messages, chunks.
//!
//! Format specification, "Version 2 B-trees". Records are of one size per tree; what they mean depends on the
//! tree's type and is left to the caller. A tree is read level by level, so that of a store with latency each level is
//! one round of requests.

use std::collections::HashSet;

use super::source::{Source, TOGETHER};
use super::span::Span;
use crate::error::Result;

/// Signature, version, type and checksum of every node.
const NODE_OVERHEAD: u64 = 10;

/// All records of a tree, in order.
#[derive(Clone, Debug)]
pub(crate) struct Records {
    /// The tree's type: what the records are.
    pub kind: u8,
    /// Bytes of one record.
    pub record_size: usize,
    bytes: Span,
}

impl Records {
    /// The records.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.record_size)
    }

    /// The number of records.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len() / self.record_size
    }
}

struct Shape {
    kind: u8,
    node_size: u64,
    record_size: u64,
    /// Bytes of the record count of a child.
    count_bytes: usize,
    /// Per depth: bytes of the count of all records below a child of that depth.
    total_bytes: Vec<usize>,
    /// Per depth: most records of a node.
    max_records: Vec<u64>,
}

/// Bytes needed to hold numbers up to `n`.
pub(crate) fn bytes_for(n: u64) -> usize {
    (n.max(1).ilog2() / 8 + 1) as usize
}

/// Reads a whole tree from the address of its header.
pub(crate) fn read(source: &Source, address: u64) -> Result<Records> {
    let (o, l) = (u64::from(source.sizes().offset), u64::from(source.sizes().length));
    let head = source.read_checked(address, 22 + o + l, "a v2 B-tree header")?;
    let mut c = source.cursor(&head, address);
    c.signature(b"BTHD")?;
    c.version("a v2 B-tree header", 0..=0)?;
    let kind = c.u8()?;
    let node_size = u64::from(c.u32()?);
    let record_size = u64::from(c.u16()?);
    let depth = c.u16()?;
    c.skip(2)?;
    let root = c.address()?;
    let root_records = u64::from(c.u16()?);
    if record_size == 0 || node_size < NODE_OVERHEAD + record_size || depth > 64 {
        return Err(c.fail(format!(
            "a v2 B-tree of depth {depth} with nodes of {node_size} and records of {record_size} bytes"
        )));
    }
    let records = |bytes: Vec<u8>| Records { kind, record_size: record_size as usize, bytes: bytes.into() };
    let Some(root) = root else { return Ok(records(Vec::new())) };
    let shape = Shape::new(kind, node_size, record_size, depth, o);
    let root = Child { address: root, count: root_records };
    if depth == 0 {
        let mut level = Level::default();
        shape.node(source, root, 0, &mut level, &mut Vec::new())?;
        return Ok(records(level.records));
    }
    let mut levels = shape.levels(source, root)?;
    let mut bytes = Vec::with_capacity(levels.iter().map(|l| l.records.len()).sum());
    shape.in_order(&mut levels, &mut bytes);
    Ok(records(bytes))
}

/// A node's entry for a child.
#[derive(Clone, Copy, Debug)]
struct Child {
    address: u64,
    /// Records in its own node.
    count: u64,
}

/// The nodes of one level, in order.
#[derive(Debug, Default)]
struct Level {
    /// The number of records of each.
    counts: Vec<u64>,
    /// The records of all.
    records: Vec<u8>,
    /// The node that comes next when the records of all levels are put in order, and the byte of its first record.
    next: (usize, usize),
}

impl Shape {
    fn new(kind: u8, node_size: u64, record_size: u64, depth: u16, offset: u64) -> Self {
        let leaf = (node_size - NODE_OVERHEAD) / record_size;
        let count_bytes = bytes_for(leaf);
        let (mut max_records, mut total_bytes, mut below) = (vec![leaf], vec![0], leaf);
        for d in 1..=usize::from(depth) {
            let pointer = offset + count_bytes as u64 + total_bytes[d - 1] as u64;
            let n = node_size.saturating_sub(NODE_OVERHEAD + pointer) / (record_size + pointer);
            below = (n + 1).saturating_mul(below).saturating_add(n);
            max_records.push(n);
            total_bytes.push(bytes_for(below));
        }
        Shape { kind, node_size, record_size, count_bytes, total_bytes, max_records }
    }

    /// Bytes of a child's pointer in a node of a depth.
    fn pointer(&self, source: &Source, depth: usize) -> u64 {
        match depth {
            0 => 0,
            _ => u64::from(source.sizes().offset) + (self.count_bytes + self.total_bytes[depth - 1]) as u64,
        }
    }

    /// Bytes of a node that are in use: the checksum follows them, not the end of the node.
    fn node_len(&self, source: &Source, child: Child, depth: usize) -> Result<u64> {
        let children = if depth == 0 { 0 } else { child.count.saturating_add(1) };
        let fits = child.count <= self.max_records[depth];
        let len = fits
            .then(|| NODE_OVERHEAD + child.count * self.record_size + children * self.pointer(source, depth));
        len.filter(|&n| n <= self.node_size)
            .ok_or_else(|| source.fail(child.address, format!("a v2 B-tree node of {} records", child.count)))
    }

    /// All levels, that of the root first.
    fn levels(&self, source: &Source, root: Child) -> Result<Vec<Level>> {
        let (mut seen, mut levels) = (HashSet::from([root.address]), Vec::new());
        let mut nodes = vec![root];
        for depth in (0..self.max_records.len()).rev() {
            let (mut level, mut below) = (Level::default(), Vec::new());
            for (i, &child) in nodes.iter().enumerate() {
                if i % TOGETHER == 0 {
                    let next = &nodes[i..nodes.len().min(i + TOGETHER)];
                    source.want(next.iter().map(|c| (c.address, self.node_size)))?;
                }
                self.node(source, child, depth, &mut level, &mut below)?;
            }
            if let Some(twice) = below.iter().find(|c| !seen.insert(c.address)) {
                return Err(source.fail(twice.address, "a v2 B-tree node is reached twice"));
            }
            levels.push(level);
            nodes = below;
        }
        Ok(levels)
    }

    /// Reads a node: its records go to its level, its children to those of the level below.
    fn node(
        &self,
        source: &Source,
        child: Child,
        depth: usize,
        level: &mut Level,
        below: &mut Vec<Child>,
    ) -> Result<()> {
        let len = self.node_len(source, child, depth)?;
        let bytes = source.read_checked(child.address, len, "a v2 B-tree node")?;
        let mut c = source.cursor(&bytes, child.address);
        c.signature(if depth == 0 { b"BTLF" } else { b"BTIN" })?;
        c.version("a v2 B-tree node", 0..=0)?;
        if c.u8()? != self.kind {
            return Err(c.fail("a v2 B-tree node of another type than its tree"));
        }
        level.counts.push(child.count);
        level.records.extend_from_slice(c.bytes((child.count * self.record_size) as usize)?);
        if depth > 0 {
            for _ in 0..=child.count {
                let address = c.defined_address("a v2 B-tree node")?;
                let count = c.uint(self.count_bytes)?;
                c.skip(self.total_bytes[depth - 1])?;
                below.push(Child { address, count });
            }
        }
        Ok(())
    }

    /// Adds the records of the next node of the first level, each behind those of the child in front of it. A node's
    /// children are the next ones of the level below.
    fn in_order(&self, levels: &mut [Level], out: &mut Vec<u8>) {
        let Some((level, below)) = levels.split_first_mut() else { return };
        let (node, from) = level.next;
        let Some(&count) = level.counts.get(node) else { return };
        let size = self.record_size as usize;
        let to = from + count as usize * size;
        level.next = (node + 1, to);
        if below.is_empty() {
            out.extend_from_slice(&level.records[from..to]);
            return;
        }
        for record in level.records[from..to].chunks_exact(size) {
            self.in_order(below, out);
            out.extend_from_slice(record);
        }
        self.in_order(below, out);
    }
}

#[cfg(test)]
mod tests {
    use super::bytes_for;

    #[test]
    fn counts_take_as_few_bytes_as_they_need() {
        assert_eq!([0, 1, 255, 256, 65535, 65536].map(bytes_for), [1, 1, 1, 2, 2, 3]);
    }
}
