//! Local heaps: the names of old groups.

use super::source::Source;
use super::span::Span;
use crate::error::Result;

/// A local heap's data segment.
#[derive(Clone, Debug)]
pub(crate) struct LocalHeap {
    address: u64,
    bytes: Span,
}

impl LocalHeap {
    /// Reads the heap at an address.
    pub(crate) fn read(source: &Source, address: u64) -> Result<Self> {
        let sizes = source.sizes();
        let head = source.read(address, 8 + 2 * u64::from(sizes.length) + u64::from(sizes.offset))?;
        let mut c = source.cursor(&head, address);
        c.signature(b"HEAP")?;
        c.version("a local heap", 0..=0)?;
        c.skip(3)?;
        let size = c.length()?;
        c.length()?;
        let data = c.defined_address("a local heap's data")?;
        Ok(LocalHeap { address: data, bytes: source.read(data, size)? })
    }

    /// The NUL-terminated text at an offset.
    pub(crate) fn text(&self, source: &Source, offset: u64) -> Result<&[u8]> {
        let rest = usize::try_from(offset).ok().and_then(|o| self.bytes.get(o..));
        let text = rest.and_then(|r| Some(&r[..r.iter().position(|&b| b == 0)?]));
        text.ok_or_else(|| {
            let size = self.bytes.len();
            source.fail(self.address, format!("no text at offset {offset} of a local heap of {size} bytes"))
        })
    }
}
