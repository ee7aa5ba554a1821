//! B-trees of version 1: the names of old groups (node type 0) and the chunks of datasets (node type 1).
//!
//! A tree is read level by level, so that of a store with latency each level is one round of requests. Levels fall by
//! one from a node to its children and no node is visited twice, so a damaged tree ends.

use std::collections::HashSet;

use super::cursor::Cursor;
use super::source::{Source, TOGETHER};
use super::span::Span;
use crate::error::Result;

/// The node type of group trees.
pub(crate) const GROUP: u8 = 0;
/// The node type of chunk trees.
pub(crate) const CHUNK: u8 = 1;

/// A node of a tree.
pub(crate) struct Node {
    address: u64,
    /// 0: a leaf.
    pub(crate) level: u8,
    /// Children.
    pub(crate) used: usize,
    bytes: Span,
    head: u64,
}

impl Node {
    /// Reads a node, whose level must be the one `expected`. `key` is the length of a key in bytes.
    pub(crate) fn read(
        source: &Source,
        address: u64,
        node_type: u8,
        key: usize,
        expected: Option<u8>,
    ) -> Result<Node> {
        let offset = usize::from(source.sizes().offset);
        let head_len = head_len(source);
        let head = source.peek(address, head_len)?;
        let mut c = source.cursor(&head, address);
        c.signature(b"TREE")?;
        let (kind, level, used) = (c.u8()?, c.u8()?, usize::from(c.u16()?));
        if kind != node_type {
            return Err(c.fail(format!("a B-tree node of type {kind} where type {node_type} belongs")));
        }
        if let Some(belongs) = expected.filter(|belongs| *belongs != level) {
            return Err(c.fail(format!("a B-tree node of level {level} where level {belongs} belongs")));
        }
        let body = used * (key + offset) + key;
        let bytes = source.read(address, head_len + body as u64)?;
        Ok(Node { address, level, used, bytes, head: head_len })
    }

    /// A cursor at the first key; behind each key is the address of a child.
    pub(crate) fn entries<'a>(&'a self, source: &'a Source) -> Result<Cursor<'a>> {
        let mut c = source.cursor(&self.bytes, self.address);
        c.skip(self.head as usize)?;
        Ok(c)
    }
}

/// Bytes in front of the first key of a node.
fn head_len(source: &Source) -> u64 {
    8 + 2 * u64::from(source.sizes().offset)
}

/// The number of nodes that a file can hold.
pub(crate) fn most_nodes(source: &Source) -> u64 {
    source.len() / head_len(source)
}

/// Calls `leaf` with the key and the address of everything that the leaves of a tree point to, in order.
/// `key` is the length of a key in bytes.
pub(crate) fn walk(
    source: &Source,
    root: u64,
    node_type: u8,
    key: usize,
    mut leaf: impl FnMut(Cursor<'_>, u64) -> Result<()>,
) -> Result<()> {
    let mut seen = HashSet::from([root]);
    // The nodes of a level, in order; and the level that each must have.
    let (mut nodes, mut expected) = (vec![root], None);
    while !nodes.is_empty() {
        let mut below = Vec::new();
        for (i, &address) in nodes.iter().enumerate() {
            if i % TOGETHER == 0 {
                let next = &nodes[i..nodes.len().min(i + TOGETHER)];
                source.want(next.iter().map(|&n| source.guess(n)))?;
            }
            let node = Node::read(source, address, node_type, key, expected)?;
            expected = Some(node.level);
            let mut c = node.entries(source)?;
            for _ in 0..node.used {
                let k = c.sub(key)?;
                let child = c.defined_address("a B-tree child")?;
                if node.level == 0 {
                    leaf(k, child)?;
                } else if seen.insert(child) {
                    below.push(child);
                } else {
                    return Err(source.fail(child, "a B-tree node is reached twice"));
                }
            }
            if below.len() as u64 > most_nodes(source) {
                return Err(source.fail(address, "a B-tree of more nodes than the file can hold"));
            }
        }
        (nodes, expected) = (below, expected.and_then(|level| level.checked_sub(1)));
    }
    Ok(())
}
