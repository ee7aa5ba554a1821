//! B-trees of version 2: dense links and attributes, huge heap objects, shared messages, chunks.
//!
//! Format specification, "Version 2 B-trees". Records are of one size per tree; what they mean depends on the
//! tree's type and is left to the caller.

use std::collections::HashSet;

use super::source::Source;
use super::span::Span;
use crate::error::Result;

/// Signature, version, type and checksum of every node.
const NODE_OVERHEAD: u64 = 10;

/// All records of a tree, in order.
#[derive(Clone, Debug)]
pub struct Records {
    /// The tree's type: what the records are.
    pub kind: u8,
    /// Bytes of one record.
    pub record_size: usize,
    bytes: Span,
}

impl Records {
    /// The records.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.record_size)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.bytes.len() / self.record_size
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
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
pub fn bytes_for(n: u64) -> usize {
    (n.max(1).ilog2() / 8 + 1) as usize
}

/// Reads a whole tree from the address of its header.
pub fn read(source: &Source, address: u64) -> Result<Records> {
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
    let (mut seen, mut bytes) = (HashSet::new(), Vec::new());
    shape.node(source, root, root_records, usize::from(depth), &mut seen, &mut bytes)?;
    Ok(records(bytes))
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

    fn node(
        &self,
        source: &Source,
        address: u64,
        count: u64,
        depth: usize,
        seen: &mut HashSet<u64>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        // A tree that is one leaf has no circles.
        if self.max_records.len() > 1 && !seen.insert(address) {
            return Err(source.fail(address, "a v2 B-tree node is reached twice"));
        }
        if count > self.max_records[depth] {
            return Err(source.fail(address, format!("a v2 B-tree node of {count} records")));
        }
        // The checksum follows what is used, not the end of the node.
        let pointer = match depth {
            0 => 0,
            _ => u64::from(source.sizes().offset) + (self.count_bytes + self.total_bytes[depth - 1]) as u64,
        };
        let children = if depth == 0 { 0 } else { count + 1 };
        let len = NODE_OVERHEAD + count * self.record_size + children * pointer;
        if len > self.node_size {
            return Err(source.fail(address, format!("a v2 B-tree node of {count} records")));
        }
        let bytes = source.read_checked(address, len, "a v2 B-tree node")?;
        let mut c = source.cursor(&bytes, address);
        c.signature(if depth == 0 { b"BTLF" } else { b"BTIN" })?;
        c.version("a v2 B-tree node", 0..=0)?;
        if c.u8()? != self.kind {
            return Err(c.fail("a v2 B-tree node of another type than its tree"));
        }
        let records = c.bytes((count * self.record_size) as usize)?;
        if depth == 0 {
            out.extend_from_slice(records);
            return Ok(());
        }
        let mut records = records.chunks_exact(self.record_size as usize);
        for _ in 0..children {
            let child = c.defined_address("a v2 B-tree node")?;
            let child_count = c.uint(self.count_bytes)?;
            c.skip(self.total_bytes[depth - 1])?;
            self.node(source, child, child_count, depth - 1, seen, out)?;
            out.extend_from_slice(records.next().unwrap_or(&[]));
        }
        Ok(())
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
