//! The superblock, version 2 (HDF5 File Format Specification II.A): 48 bytes in one sector, so that replacing it is
//! the one step that commits a new state of a file.

use super::bytes::{Out, UNDEFINED};

/// Bytes of a superblock.
pub(crate) const SUPERBLOCK_SIZE: u64 = 48;

/// A superblock for a file that ends at `end` and whose root group's header is at `root`.
pub(crate) fn superblock(end: u64, root: u64) -> Vec<u8> {
    let mut o = Out::new();
    o.bytes(b"\x89HDF\r\n\x1a\n").bytes(&[2, 8, 8, 0]);
    // Base address, superblock extension (none), end of file, root group.
    o.u64(0).u64(UNDEFINED).u64(end).u64(root).checksum();
    o.0
}
