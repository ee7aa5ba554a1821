//! Data layout messages (type 8), versions 1 to 5: where a dataset's bytes are, or the index that knows.

use super::cursor::Cursor;
use super::dataspace::MAX_RANK;
use crate::error::Result;
use crate::model::shape;

/// The place of a dataset's bytes. Addresses are relative to the file's base address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Layout {
    /// The message itself.
    Compact(Vec<u8>),
    /// One run.
    Contiguous {
        /// The address; `None` if nothing was written.
        address: Option<u64>,
        /// Bytes; versions 1 and 2 do not say.
        size: Option<u64>,
    },
    /// Chunks.
    Chunked(Chunked),
    /// Other datasets ([`super::mappings`]).
    Virtual {
        /// The object of the global heap that says which: the address of its collection and its number there; `None` if there are none.
        heap: Option<(u64, u32)>,
    },
}

/// A chunked layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chunked {
    /// Chunk lengths, slowest first, without the element size that the message lists last.
    pub chunk: Vec<u64>,
    /// Bytes of an element as the message says.
    pub element_size: u64,
    /// Whether chunks that stick out of the dataset are stored without filters.
    pub edge_unfiltered: bool,
    /// The kind of index.
    pub index: IndexKind,
    /// The address of the index (or the single chunk, or the array of chunks); `None` if nothing was written.
    pub address: Option<u64>,
}

/// The six kinds of chunk index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IndexKind {
    /// The B-tree of version 1, for layout messages up to version 3.
    BtreeV1,
    /// There is one chunk only.
    Single {
        /// Its stored length and filter mask, when there are filters.
        filtered: Option<(u64, u32)>,
    },
    /// All chunks one after the other, unfiltered.
    Implicit,
    /// A fixed array.
    FixedArray,
    /// An extensible array: one unlimited dimension.
    ExtensibleArray,
    /// The B-tree of version 2: several unlimited dimensions.
    BtreeV2,
}

impl Layout {
    /// Reads a layout message.
    pub(crate) fn parse(c: &mut Cursor<'_>) -> Result<Self> {
        let start = *c;
        match c.version("a data layout message", 1..=5)? {
            1 | 2 => parse_old(c),
            version => {
                let class = c.u8()?;
                match class {
                    0 => {
                        let size = c.u16()?;
                        Ok(Layout::Compact(c.bytes(usize::from(size))?.to_vec()))
                    }
                    1 => Ok(Layout::Contiguous { address: c.address()?, size: Some(c.length()?) }),
                    2 if version == 3 => chunked_v3(c),
                    2 => chunked_v4(c),
                    3 if version >= 4 => {
                        let (address, index) = (c.address()?, c.u32()?);
                        Ok(Layout::Virtual { heap: address.map(|address| (address, index)) })
                    }
                    n => Err(start.fail(format!("data layout class {n} is not known"))),
                }
            }
        }
    }
}

fn parse_old(c: &mut Cursor<'_>) -> Result<Layout> {
    let rank = usize::from(c.u8()?);
    let class = c.u8()?;
    c.skip(5)?;
    if rank > MAX_RANK + 1 {
        return Err(c.fail(format!("a data layout of {rank} dimensions")));
    }
    let address = if class == 0 { None } else { c.address()? };
    let dims = (0..rank).map(|_| c.u32().map(u64::from)).collect::<Result<Vec<_>>>()?;
    match class {
        0 => {
            let size = c.u32()?;
            Ok(Layout::Compact(c.bytes(size as usize)?.to_vec()))
        }
        1 => Ok(Layout::Contiguous { address, size: None }),
        2 => chunked(c, dims, false, IndexKind::BtreeV1, address),
        n => Err(c.fail(format!("data layout class {n} is not known"))),
    }
}

fn chunked_v3(c: &mut Cursor<'_>) -> Result<Layout> {
    let rank = rank(c)?;
    let address = c.address()?;
    let dims = (0..rank).map(|_| c.u32().map(u64::from)).collect::<Result<Vec<_>>>()?;
    chunked(c, dims, false, IndexKind::BtreeV1, address)
}

fn chunked_v4(c: &mut Cursor<'_>) -> Result<Layout> {
    let flags = c.u8()?;
    let rank = rank(c)?;
    let width = usize::from(c.u8()?);
    if !(1..=8).contains(&width) {
        return Err(c.fail(format!("chunk lengths of {width} bytes")));
    }
    let dims = (0..rank).map(|_| c.uint(width)).collect::<Result<Vec<_>>>()?;
    let index = match c.u8()? {
        1 if flags & 2 != 0 => IndexKind::Single { filtered: Some((c.length()?, c.u32()?)) },
        1 => IndexKind::Single { filtered: None },
        2 => IndexKind::Implicit,
        // The creation parameters stand in the arrays' and the tree's own headers again.
        3 => {
            c.skip(1)?;
            IndexKind::FixedArray
        }
        4 => {
            c.skip(5)?;
            IndexKind::ExtensibleArray
        }
        5 => {
            c.skip(6)?;
            IndexKind::BtreeV2
        }
        n => return Err(c.fail(format!("chunk index type {n} is not known"))),
    };
    let address = c.address()?;
    chunked(c, dims, flags & 1 != 0, index, address)
}

fn rank(c: &mut Cursor<'_>) -> Result<usize> {
    let rank = usize::from(c.u8()?);
    if !(2..=MAX_RANK + 1).contains(&rank) {
        return Err(c.fail(format!("a chunked layout of {rank} dimensions (element size included)")));
    }
    Ok(rank)
}

fn chunked(
    c: &Cursor<'_>,
    mut dims: Vec<u64>,
    edge_unfiltered: bool,
    index: IndexKind,
    address: Option<u64>,
) -> Result<Layout> {
    let element_size = dims.pop().unwrap_or(0);
    let bytes = shape::checked(&dims, element_size);
    if dims.is_empty() || bytes.is_none_or(|b| b == 0 || b > i64::MAX as u64) {
        return Err(c.fail(format!("chunks of shape {dims:?} of {element_size} bytes")));
    }
    Ok(Layout::Chunked(Chunked { chunk: dims, element_size, edge_unfiltered, index, address }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hdf5::cursor::Sizes;

    fn parse(bytes: &[u8]) -> Result<Layout> {
        Layout::parse(&mut Cursor::new("l.h5", bytes, 0, Sizes::default()))
    }

    #[test]
    fn chunks_of_old_and_new_messages_say_the_same() {
        let v3 = [&[3, 2, 2][..], &99u64.to_le_bytes(), &5u32.to_le_bytes(), &8u32.to_le_bytes()].concat();
        let v4 = [&[4, 2, 0, 2, 1, 5, 8, 3, 10][..], &99u64.to_le_bytes()].concat();
        for (bytes, kind) in [(v3, IndexKind::BtreeV1), (v4, IndexKind::FixedArray)] {
            let Layout::Chunked(c) = parse(&bytes).unwrap() else { panic!("chunks") };
            assert_eq!((c.chunk, c.element_size, c.address, c.index), (vec![5], 8, Some(99), kind));
        }
    }

    #[test]
    fn chunks_without_elements_are_damage() {
        let v4 = [&[4, 2, 0, 2, 1, 0, 8, 3, 10][..], &99u64.to_le_bytes()].concat();
        assert!(parse(&v4).is_err());
    }

    #[test]
    fn virtual_datasets_are_recognised() {
        let message = |address: u64| [&[4, 3][..], &address.to_le_bytes(), &7u32.to_le_bytes()].concat();
        assert_eq!(parse(&message(90)).unwrap(), Layout::Virtual { heap: Some((90, 7)) });
        assert_eq!(parse(&message(u64::MAX)).unwrap(), Layout::Virtual { heap: None });
    }
}
