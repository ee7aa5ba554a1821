//! Fill value messages: the old one (type 4) and versions 1 to 3 of the new (type 5).

use super::cursor::Cursor;
use crate::error::Result;

/// The fill value message of a dataset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FillValue {
    /// The time at which storage is allocated: 1 early, 2 late, 3 incrementally (0: not said).
    pub alloc_time: u8,
    /// The time at which the fill value is written: 0 on allocation, 1 never, 2 if it was set by the user.
    pub write_time: u8,
    /// The value.
    pub value: FillKind,
}

/// The fill value itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum FillKind {
    /// HDF5's default: all bytes zero.
    #[default]
    Default,
    /// Explicitly none.
    Undefined,
    /// Set by the user: one element in stored form.
    User(Vec<u8>),
}

impl FillValue {
    /// Whether HDF5 reads this value wherever nothing is stored: one that was set, unless elements are references into the heap (`heap`).
    /// Those HDF5 (1.10.8 and 2.0.0) does not read of a dataset that has some of its chunks, but for references to nothing.
    pub(crate) fn is_read(&self, heap: bool) -> bool {
        matches!(&self.value, FillKind::User(bytes) if !heap || bytes.iter().all(|&b| b == 0))
    }

    /// Reads the old message (type 4): only a value.
    pub(crate) fn parse_old(c: &mut Cursor<'_>) -> Result<Self> {
        let size = c.u32()?;
        let value = match size {
            0 => FillKind::Default,
            n => FillKind::User(c.bytes(n as usize)?.to_vec()),
        };
        Ok(FillValue { alloc_time: 0, write_time: 2, value })
    }

    /// Reads the new message (type 5).
    pub(crate) fn parse(c: &mut Cursor<'_>) -> Result<Self> {
        let version = c.version("a fill value message", 1..=3)?;
        if version == 3 {
            let flags = c.u8()?;
            let value = match (flags & 0x10 != 0, flags & 0x20 != 0) {
                (true, true) => return Err(c.fail("a fill value that is both defined and undefined")),
                (true, false) => FillKind::Undefined,
                (false, true) => Self::sized(c)?,
                (false, false) => FillKind::Default,
            };
            return Ok(FillValue { alloc_time: flags & 3, write_time: flags >> 2 & 3, value });
        }
        let (alloc_time, write_time, defined) = (c.u8()?, c.u8()?, c.u8()?);
        // Version 1 holds a size in any case, version 2 only when a value is defined.
        let value = match (version, defined) {
            (1, _) | (_, 1..) => Self::sized(c)?,
            _ => FillKind::Undefined,
        };
        Ok(FillValue { alloc_time, write_time, value })
    }

    fn sized(c: &mut Cursor<'_>) -> Result<FillKind> {
        Ok(match c.u32()? {
            0 => FillKind::Default,
            u32::MAX => FillKind::Undefined,
            n => FillKind::User(c.bytes(n as usize)?.to_vec()),
        })
    }
}
