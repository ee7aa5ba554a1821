//! Links: the names in a group, and what they point to. Link messages (type 6).

use super::cursor::Cursor;
use crate::error::Result;

/// A name in a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    /// The name, as stored.
    pub name: Vec<u8>,
    /// Its number in the order of creation, where the group tracks it.
    pub order: Option<i64>,
    pub target: Target,
}

/// The target of a link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// The object whose header is at this address.
    Hard(u64),
    /// A path in the same file.
    Soft(Vec<u8>),
    /// A path in another file.
    External {
        /// The file.
        file: Vec<u8>,
        /// The path in it.
        path: Vec<u8>,
    },
    /// A user-defined link of this number.
    Other(u8),
}

impl Link {
    /// Reads a link message.
    pub(crate) fn parse(c: &mut Cursor<'_>) -> Result<Self> {
        c.version("a link message", 1..=1)?;
        let flags = c.u8()?;
        let kind = if flags & 8 != 0 { c.u8()? } else { 0 };
        let order = if flags & 4 != 0 { Some(c.u64()? as i64) } else { None };
        if flags & 16 != 0 {
            c.skip(1)?;
        }
        let len = c.uint(1 << (flags & 3))?;
        let len = usize::try_from(len).map_err(|_| c.fail("a link name longer than memory"))?;
        if len == 0 {
            return Err(c.fail("a link without a name"));
        }
        let name = c.bytes(len)?.to_vec();
        let target = match kind {
            0 => Target::Hard(c.defined_address("a linked object")?),
            1 => {
                let n = c.u16()?;
                Target::Soft(c.bytes(usize::from(n))?.to_vec())
            }
            64 => {
                let n = c.u16()?;
                let mut value = c.sub(usize::from(n))?;
                value.skip(1)?;
                Target::External { file: value.cstr()?.to_vec(), path: value.cstr()?.to_vec() }
            }
            n => Target::Other(n),
        };
        Ok(Link { name, order, target })
    }
}
