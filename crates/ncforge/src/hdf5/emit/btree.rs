//! Version 1 B-trees that index chunks (HDF5 File Format Specification III.A.1, node type 1), built bottom-up.
//!
//! A node holds up to 64 children (K = 32, what a superblock without the "B-tree K values" message means) and
//! always takes its full size. A node's keys are the first chunks of its children and one more key: the first
//! chunk of its right neighbour, or, at the right edge, one step past the last chunk on every dimension.

use super::bytes::{Out, UNDEFINED, to_u32};
use super::chunks::ChunkSource;
use crate::error::Result;
use crate::layout::ChunkRecord;

const CHILDREN: u64 = 64;

/// The shape of a tree: enough to know its size before any chunk has a place.
#[derive(Clone, Debug)]
pub(super) struct TreePlan {
    rank: usize,
    /// Nodes per level, leaves first; empty without chunks.
    levels: Vec<u64>,
}

impl TreePlan {
    pub(super) fn new(rank: usize, chunks: u64) -> Self {
        let mut levels = Vec::new();
        let mut n = chunks;
        while n > 0 {
            n = n.div_ceil(CHILDREN);
            levels.push(n);
            if n == 1 {
                break;
            }
        }
        Self { rank, levels }
    }

    fn node_size(&self) -> u64 {
        24 + (CHILDREN + 1) * self.key_size() + CHILDREN * 8
    }

    fn key_size(&self) -> u64 {
        8 + 8 * (self.rank as u64 + 1)
    }

    /// Bytes of the whole tree.
    pub(super) fn size(&self) -> u64 {
        self.levels.iter().fold(0u64, |a, &n| a.saturating_add(n.saturating_mul(self.node_size())))
    }

    /// Address of the root node of a tree that starts at `base`: the last node.
    pub(super) fn root(&self, base: u64) -> u64 {
        if self.levels.is_empty() { UNDEFINED } else { base + self.size() - self.node_size() }
    }
}

/// One key, encoded.
type Key = Vec<u8>;

fn key(record: ChunkRecord, at: &[u64], chunk: &[u64], past: u64, element: u64) -> Result<Key> {
    let mut o = Out::new();
    o.u32(to_u32(record.len, "an encoded chunk with bytes")?).u32(record.mask);
    for (&i, &c) in at.iter().zip(chunk) {
        o.u64((i + past).saturating_mul(c));
    }
    o.u64(element * past);
    Ok(o.0)
}

/// Writes one level, node by node, as its children come in.
struct Level<'a> {
    plan: &'a TreePlan,
    height: u8,
    base: u64,
    nodes: u64,
    done: u64,
    keys: Vec<Key>,
    children: Vec<u64>,
    /// First keys and addresses of the nodes written, for the level above.
    above: Vec<(Key, u64)>,
}

impl<'a> Level<'a> {
    fn new(plan: &'a TreePlan, height: usize, base: u64) -> Self {
        Level {
            plan,
            height: height as u8,
            base,
            nodes: plan.levels[height],
            done: 0,
            keys: Vec::new(),
            children: Vec::new(),
            above: Vec::new(),
        }
    }

    fn push(&mut self, key: Key, child: u64, out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        if self.children.len() as u64 == CHILDREN {
            self.flush(&key, out)?;
        }
        self.keys.push(key);
        self.children.push(child);
        Ok(())
    }

    fn flush(&mut self, right: &[u8], out: &mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let size = self.plan.node_size();
        let address = |n: u64| self.base + n * size;
        let mut o = Out::new();
        o.bytes(b"TREE").u8(1).u8(self.height).u16(self.children.len() as u16);
        o.u64(if self.done == 0 { UNDEFINED } else { address(self.done - 1) });
        o.u64(if self.done + 1 == self.nodes { UNDEFINED } else { address(self.done + 1) });
        for (key, child) in self.keys.iter().zip(&self.children) {
            o.bytes(key).u64(*child);
        }
        o.bytes(right);
        o.0.resize(size as usize, 0);
        out(&o.0)?;
        self.above.push((std::mem::take(&mut self.keys[0]), address(self.done)));
        self.done += 1;
        self.keys.clear();
        self.children.clear();
        Ok(())
    }
}

/// Writes a tree that starts at `base`, exactly as planned.
pub(super) fn write(
    plan: &TreePlan,
    base: u64,
    chunk: &[u64],
    element: u32,
    source: &dyn ChunkSource,
    out: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    if plan.levels.is_empty() {
        return Ok(());
    }
    let element = u64::from(element);
    let mut level = Level::new(plan, 0, base);
    let mut last: Option<(Vec<u64>, ChunkRecord)> = None;
    source.each(&mut |at, record| {
        level.push(key(record, at, chunk, 0, element)?, record.offset, out)?;
        last = Some((at.to_vec(), record));
        Ok(())
    })?;
    let Some((at, _)) = last else { return Ok(()) };
    let right = key(ChunkRecord { offset: 0, len: 0, mask: 0 }, &at, chunk, 1, element)?;
    level.flush(&right, out)?;
    let mut base = base + plan.levels[0] * plan.node_size();
    for height in 1..plan.levels.len() {
        let below = std::mem::take(&mut level.above);
        level = Level::new(plan, height, base);
        for (key, address) in below {
            level.push(key, address, out)?;
        }
        level.flush(&right, out)?;
        base += plan.levels[height] * plan.node_size();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdf5::emit::chunks::ChunkTable;

    #[test]
    fn written_size_is_the_planned_one() {
        for n in [0u64, 1, 64, 65, 4096, 4097, 5000] {
            let mut table = ChunkTable::new(&[n.max(1)]).unwrap();
            for i in 0..n {
                table.insert(&[i], ChunkRecord { offset: 1000 + i, len: 8, mask: 0 }).unwrap();
            }
            let plan = TreePlan::new(1, n);
            let mut bytes = Vec::new();
            write(&plan, 4096, &[10], 4, &table, &mut |b| {
                bytes.extend_from_slice(b);
                Ok(())
            })
            .unwrap();
            assert_eq!(bytes.len() as u64, plan.size(), "{n} chunks");
            if n > 0 {
                let root = (plan.root(4096) - 4096) as usize;
                assert_eq!(&bytes[root..root + 4], b"TREE");
                assert_eq!(usize::from(bytes[root + 5]), plan.levels.len() - 1);
            } else {
                assert_eq!(plan.root(4096), UNDEFINED);
            }
        }
    }
}
