//! Filter pipeline messages (type 11), versions 1 and 2.

use super::cursor::Cursor;
use crate::error::Result;
use crate::model::Filter;

/// The number of filters that HDF5 allows.
pub(crate) const MAX_FILTERS: usize = 32;

/// Reads a filter pipeline: the filters in the order in which they are applied on writing.
pub(crate) fn parse(c: &mut Cursor<'_>) -> Result<Vec<Filter>> {
    let version = c.version("a filter pipeline message", 1..=2)?;
    let count = usize::from(c.u8()?);
    if count > MAX_FILTERS {
        return Err(c.fail(format!("{count} filters (at most {MAX_FILTERS} are allowed)")));
    }
    if version == 1 {
        c.skip(6)?;
    }
    let mut filters = Vec::with_capacity(count);
    for _ in 0..count {
        let id = c.u16()?;
        // Version 2 leaves out the name of the filters that the library itself defines.
        let name_len = if version == 1 || id >= 256 { usize::from(c.u16()?) } else { 0 };
        let flags = c.u16()?;
        let params = usize::from(c.u16()?);
        c.skip(if version == 1 { name_len.next_multiple_of(8) } else { name_len })?;
        let params = (0..params).map(|_| c.u32()).collect::<Result<Vec<_>>>()?;
        if version == 1 && params.len() % 2 == 1 {
            c.skip_up_to(4);
        }
        filters.push(Filter { id, params, optional: flags & 1 != 0 });
    }
    Ok(filters)
}
