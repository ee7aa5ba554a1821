//! Dense attribute storage, for objects with an attribute too large for a header message (64 KiB): a fractal heap
//! that holds the attribute messages, and two version 2 B-trees that find them by name and by creation order
//! (HDF5 File Format Specification III.G, III.A.2, VIII).
//!
//! Every attribute is a "huge" object of the heap (stored outside its blocks, found through a B-tree of its
//! own): legal at any size, and simple. Each B-tree is one leaf, with nodes large enough for it; libraries
//! that add attributes later make heap blocks and split nodes as they need.

use super::bytes::{Out, UNDEFINED, too_large};
use super::image::Attribute;
use super::messages::DenseAddresses;
use crate::error::Result;
use crate::hdf5::checksum::lookup3;

/// Bytes of a heap id, as the library uses for attributes.
const ID_LEN: usize = 8;
/// Bytes of a B-tree node, unless its records need more (the library's choice).
const NODE: u64 = 512;
const HEAP_HEADER: u64 = 146;
const TREE_HEADER: u64 = 38;
/// Signature, version, type and checksum of a leaf.
const LEAF_FRAME: u64 = 10;

const HUGE_RECORD: u16 = 24;
const NAME_RECORD: u16 = 17;
const ORDER_RECORD: u16 = 13;

/// The plan of one object's dense storage.
#[derive(Debug)]
pub(super) struct Dense {
    /// Length of each attribute message.
    lens: Vec<u64>,
    /// Checksum of each name.
    hashes: Vec<u32>,
    names: Vec<Vec<u8>>,
}

impl Dense {
    pub(super) fn new(attrs: &[Attribute], messages: &[Vec<u8>]) -> Result<Self> {
        if messages.len() > usize::from(u16::MAX) {
            return Err(too_large("an object with attributes", messages.len() as u64, 65535));
        }
        Ok(Dense {
            lens: messages.iter().map(|m| m.len() as u64).collect(),
            hashes: attrs.iter().map(|a| lookup3(&a.name)).collect(),
            names: attrs.iter().map(|a| a.name.clone()).collect(),
        })
    }

    fn node(&self, record: u16) -> u64 {
        (LEAF_FRAME + self.lens.len() as u64 * u64::from(record)).next_power_of_two().max(NODE)
    }

    /// The positions of the parts: the three trees' headers, their leaves, the attributes.
    fn parts(&self) -> Parts {
        let mut at = HEAP_HEADER;
        let mut take = |n: u64| {
            let start = at;
            at = (at + n).next_multiple_of(8);
            start
        };
        let headers = [(); 3].map(|()| take(TREE_HEADER));
        let leaves = [HUGE_RECORD, NAME_RECORD, ORDER_RECORD].map(|r| take(self.node(r)));
        let objects = self.lens.iter().map(|&n| take(n)).collect();
        Parts { headers, leaves, objects, end: at }
    }

    /// Bytes in all.
    pub(super) fn size(&self) -> u64 {
        self.parts().end
    }

    /// The addresses that the object header has.
    pub(super) fn addresses(&self, base: u64) -> DenseAddresses {
        let parts = self.parts();
        DenseAddresses { heap: base, by_name: base + parts.headers[1], by_order: base + parts.headers[2] }
    }
}

struct Parts {
    headers: [u64; 3],
    leaves: [u64; 3],
    objects: Vec<u64>,
    end: u64,
}

/// The bytes of dense storage at `base` for these attribute messages.
pub(super) fn encode(dense: &Dense, base: u64, messages: &[Vec<u8>]) -> Vec<u8> {
    let parts = dense.parts();
    let n = messages.len();
    let mut bytes = vec![0; parts.end as usize];
    let mut put = |at: u64, what: &[u8]| bytes[at as usize..at as usize + what.len()].copy_from_slice(what);
    put(0, &heap_header(dense, base + parts.headers[0]).0);
    let trees = [(1, HUGE_RECORD), (8, NAME_RECORD), (9, ORDER_RECORD)];
    for (k, &(kind, record)) in trees.iter().enumerate() {
        let leaf = base + parts.leaves[k];
        put(parts.headers[k], &tree_header(kind, record, dense.node(record), leaf, n).0);
    }
    put(
        parts.leaves[0],
        &leaf(
            1,
            (0..n).map(|i| {
                let mut o = Out::new();
                o.u64(base + parts.objects[i]).u64(dense.lens[i]).u64(i as u64 + 1);
                o
            }),
        )
        .0,
    );
    let mut by_name: Vec<usize> = (0..n).collect();
    by_name.sort_by_key(|&i| (dense.hashes[i], dense.names[i].clone()));
    put(
        parts.leaves[1],
        &leaf(
            8,
            by_name.into_iter().map(|i| {
                let mut o = heap_id(i);
                o.u8(0).u32(i as u32).u32(dense.hashes[i]);
                o
            }),
        )
        .0,
    );
    put(
        parts.leaves[2],
        &leaf(
            9,
            (0..n).map(|i| {
                let mut o = heap_id(i);
                o.u8(0).u32(i as u32);
                o
            }),
        )
        .0,
    );
    for (message, &at) in messages.iter().zip(&parts.objects) {
        put(at, message);
    }
    bytes
}

/// The id of huge object `i + 1`.
fn heap_id(i: usize) -> Out {
    let mut o = Out::new();
    o.u8(0x10).uint(i as u64 + 1, ID_LEN - 1);
    o
}

fn heap_header(dense: &Dense, huge_tree: u64) -> Out {
    let n = dense.lens.len() as u64;
    let mut o = Out::new();
    // Ids of 8 bytes, no filters, checksummed blocks, managed objects up to 4 KiB: the library's parameters.
    o.bytes(b"FRHP").u8(0).u16(ID_LEN as u16).u16(0).u8(2).u32(4096);
    // The last id given to a huge object, and their tree.
    o.u64(n).u64(huge_tree);
    // Free space in managed blocks, its manager; managed space, allocated, iterator, objects.
    o.u64(0).u64(UNDEFINED).u64(0).u64(0).u64(0).u64(0);
    // Huge objects: bytes, count. Tiny objects: bytes, count.
    o.u64(dense.lens.iter().sum()).u64(n).u64(0).u64(0);
    // Doubling table: width, first block, largest direct block, address bits, first rows, root, rows.
    o.u16(4).u64(1024).u64(65536).u16(40).u16(1).u64(UNDEFINED).u16(0);
    o.checksum();
    debug_assert_eq!(o.len() as u64, HEAP_HEADER);
    o
}

fn tree_header(kind: u8, record: u16, node: u64, leaf: u64, n: usize) -> Out {
    let mut o = Out::new();
    // Depth 0; split at 100 %, merge at 40 %: the library's parameters.
    o.bytes(b"BTHD").u8(0).u8(kind).u32(node as u32).u16(record).u16(0).u8(100).u8(40);
    o.u64(leaf).u16(n as u16).u64(n as u64).checksum();
    debug_assert_eq!(o.len() as u64, TREE_HEADER);
    o
}

fn leaf(kind: u8, records: impl Iterator<Item = Out>) -> Out {
    let mut o = Out::new();
    o.bytes(b"BTLF").u8(0).u8(kind);
    for r in records {
        o.bytes(&r.0);
    }
    o.checksum();
    o
}
