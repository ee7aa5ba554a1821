//! Finding some chunks in a tree of version 1 that lies in a store with latency: only nodes on the way to them are read, each level of the
//! tree in one round of requests.
//!
//! A tree of 100,000 chunks has 1,600 leaves or more, between the chunks: all of it is most of some files.

use std::collections::HashMap;
use std::ops::Range;

use super::loading::Loading;
use super::trees::{key_len, parse_key};
use crate::error::Result;
use crate::hdf5::btree1;
use crate::hdf5::source::TOGETHER;
use crate::layout::ChunkRecord;

/// After so many times that nodes were missing, all of the tree is read: whoever reads on in it would wait once more each time.
const MOST_ROUNDS: usize = 4;

/// The nodes that were read.
#[derive(Debug, Default)]
pub(super) struct Descent {
    nodes: HashMap<u64, Node>,
    rounds: usize,
}

#[derive(Debug)]
struct Node {
    level: u8,
    /// The first chunk of each child, in rising order, and the child; of a leaf, the chunk itself.
    children: Vec<(Vec<u64>, ChunkRecord)>,
}

/// What the nodes say of a chunk.
enum Step {
    Found(Option<ChunkRecord>),
    /// Nothing: one that was not read, or that is not as it should be.
    Missing,
}

impl Descent {
    /// Reads the nodes for a box of chunks; false: all of the tree is to be read.
    pub(super) fn prepare(&mut self, dataset: &Loading<'_>, touched: &[Range<u64>]) -> Result<bool> {
        let (mut level, mut expected) = (vec![dataset.address], None);
        let mut is_missing = false;
        while !level.is_empty() {
            let absent: Vec<u64> = level.iter().copied().filter(|n| !self.nodes.contains_key(n)).collect();
            if !absent.is_empty() && !std::mem::replace(&mut is_missing, true) {
                self.rounds += 1;
            }
            if self.rounds > MOST_ROUNDS {
                return Ok(false);
            }
            for part in absent.chunks(TOGETHER) {
                dataset.source.want(part.iter().map(|&n| dataset.source.guess(n)))?;
                for &address in part {
                    if !self.read(dataset, address, expected)? {
                        return Ok(false);
                    }
                }
            }
            let mut below = Vec::new();
            for node in level.iter().filter_map(|n| self.nodes.get(n)) {
                expected = node.level.checked_sub(1);
                let next = |i: usize| node.children.get(i + 1).map(|(first, _)| &first[..]);
                let met = node
                    .children
                    .iter()
                    .enumerate()
                    .filter(|(i, (first, _))| meets(first, next(*i), touched));
                if node.level > 0 {
                    below.extend(met.map(|(_, (_, child))| child.offset));
                }
            }
            // A damaged tree may lead to a node many times.
            below.sort_unstable();
            below.dedup();
            level = below;
        }
        Ok(true)
    }

    /// A chunk, if it was written. `None`: all of the tree is to be read.
    pub(super) fn find(&mut self, dataset: &Loading<'_>, at: &[u64]) -> Result<Option<Option<ChunkRecord>>> {
        if let Step::Found(found) = self.step(dataset.address, at) {
            return Ok(Some(found));
        }
        let here: Vec<Range<u64>> = at.iter().map(|&i| i..i.saturating_add(1)).collect();
        if !self.prepare(dataset, &here)? {
            return Ok(None);
        }
        Ok(match self.step(dataset.address, at) {
            Step::Found(found) => Some(found),
            Step::Missing => None,
        })
    }

    /// The way to a chunk in the nodes that were read.
    fn step(&self, root: u64, at: &[u64]) -> Step {
        let (mut address, mut begins): (u64, Option<&[u64]>) = (root, None);
        while let Some(node) = self.nodes.get(&address) {
            // A child begins with the chunk that its parent says.
            if begins.is_some_and(|begins| node.children.first().is_none_or(|(first, _)| first != begins)) {
                break;
            }
            let behind = node.children.partition_point(|(first, _)| first[..] <= *at);
            let Some((first, record)) = behind.checked_sub(1).map(|i| &node.children[i]) else {
                return Step::Found(None);
            };
            if node.level == 0 {
                return Step::Found((first[..] == *at).then_some(*record));
            }
            (address, begins) = (record.offset, Some(&first[..]));
        }
        Step::Missing
    }

    /// Reads a node; false if its children are in no order.
    fn read(&mut self, dataset: &Loading<'_>, address: u64, expected: Option<u8>) -> Result<bool> {
        let Loading { source, chunk, .. } = *dataset;
        let key = key_len(chunk.len());
        let read = btree1::Node::read(source, address, btree1::CHUNK, key, expected)?;
        let mut c = read.entries(source)?;
        let mut children: Vec<(Vec<u64>, ChunkRecord)> = Vec::with_capacity(read.used);
        for _ in 0..read.used {
            let mut at = vec![0; chunk.len()];
            let (len, mask) = parse_key(c.sub(key)?, chunk, &mut at)?;
            let child = c.defined_address("a B-tree child")?;
            let record = match read.level {
                0 => dataset.record(child, len, mask),
                _ => ChunkRecord { offset: child, len: 0, mask: 0 },
            };
            if children.last().is_some_and(|(before, _)| *before >= at) {
                return Ok(false);
            }
            children.push((at, record));
        }
        self.nodes.insert(address, Node { level: read.level, children });
        match self.nodes.len() as u64 > btree1::most_nodes(source) {
            true => Err(source.fail(address, "a B-tree of more nodes than the file can hold")),
            false => Ok(true),
        }
    }
}

/// Whether a box may have chunks from `first` on, in row-major order, and before `next`.
fn meets(first: &[u64], next: Option<&[u64]>, touched: &[Range<u64>]) -> bool {
    for (d, range) in touched.iter().enumerate() {
        let (low, high) = (first[d], next.map_or(u64::MAX, |next| next[d]));
        if low != high {
            return low < range.end && range.start <= high;
        }
        if !range.contains(&low) {
            return false;
        }
    }
    true
}
