//! B-trees of version 1: the names of old groups (node type 0) and the chunks of datasets (node type 1).
//!
//! Levels fall by one from a node to its children and no node is visited twice, so a damaged tree ends.

use std::collections::HashSet;

use super::cursor::Cursor;
use super::source::Source;
use crate::error::Result;

/// The node type of group trees.
pub const GROUP: u8 = 0;
/// The node type of chunk trees.
pub const CHUNK: u8 = 1;

/// Calls `leaf` with the key and the address of everything that the leaves of a tree point to, in order.
/// `key` is the length of a key in bytes.
pub fn walk(
    source: &Source,
    root: u64,
    node_type: u8,
    key: usize,
    mut leaf: impl FnMut(Cursor<'_>, u64) -> Result<()>,
) -> Result<()> {
    let offset = usize::from(source.sizes().offset);
    let mut seen = HashSet::new();
    // Nodes to visit, the next one last; with the level that each must have.
    let mut todo: Vec<(u64, Option<u8>)> = vec![(root, None)];
    while let Some((address, expected)) = todo.pop() {
        if !seen.insert(address) {
            return Err(source.fail(address, "a B-tree node is reached twice"));
        }
        let head_len = (8 + 2 * offset) as u64;
        let head = source.peek(address, head_len)?;
        let mut c = source.cursor(&head, address);
        c.signature(b"TREE")?;
        let (kind, level, used) = (c.u8()?, c.u8()?, usize::from(c.u16()?));
        if kind != node_type {
            return Err(c.fail(format!("a B-tree node of type {kind} where type {node_type} belongs")));
        }
        if expected.is_some_and(|e| e != level) {
            return Err(c.fail(format!("a B-tree node of level {level} below one of level {}", level + 1)));
        }
        let body = used * (key + offset) + key;
        let bytes = source.read(address, head_len + body as u64)?;
        let mut c = source.cursor(&bytes, address);
        c.skip(head_len as usize)?;
        let mut children = Vec::new();
        for _ in 0..used {
            let k = c.sub(key)?;
            let child = c.defined_address("a B-tree child")?;
            if level == 0 {
                leaf(k, child)?;
            } else {
                children.push((child, Some(level - 1)));
            }
        }
        todo.extend(children.into_iter().rev());
    }
    Ok(())
}
