//! Object headers, versions 1 and 2: the list of messages that describe a group, a dataset or a type.
//!
//! Format specification, "Data Object Headers". A header is a chain of blocks; continuation messages name the
//! next ones. Messages of unknown kind are ignored unless they say that a reader which does not know them must
//! give up.

use super::cursor::Cursor;
use super::source::Source;
use super::span::Span;
use crate::error::Result;

/// Kinds of messages, by the names of the format specification ("IV.A.2, Data Object Header Messages").
pub(crate) mod kind {
    /// Nothing: space to be used.
    pub(crate) const NIL: u16 = 0x00;
    pub(crate) const DATASPACE: u16 = 0x01;
    pub(crate) const LINK_INFO: u16 = 0x02;
    pub(crate) const DATATYPE: u16 = 0x03;
    /// Fill value, old.
    pub(crate) const FILL_OLD: u16 = 0x04;
    /// Fill value.
    pub(crate) const FILL: u16 = 0x05;
    pub(crate) const LINK: u16 = 0x06;
    /// External data files.
    pub(crate) const EXTERNAL_FILES: u16 = 0x07;
    /// Data layout.
    pub(crate) const LAYOUT: u16 = 0x08;
    /// Filter pipeline.
    pub(crate) const PIPELINE: u16 = 0x0B;
    pub(crate) const ATTRIBUTE: u16 = 0x0C;
    /// Object comment.
    pub(crate) const COMMENT: u16 = 0x0D;
    /// Shared message table.
    pub(crate) const SHARED_TABLE: u16 = 0x0F;
    /// Object header continuation.
    pub(crate) const CONTINUATION: u16 = 0x10;
    pub(crate) const SYMBOL_TABLE: u16 = 0x11;
    pub(crate) const DRIVER_INFO: u16 = 0x14;
    pub(crate) const ATTRIBUTE_INFO: u16 = 0x15;
    /// Metadata cache image.
    pub(crate) const CACHE_IMAGE: u16 = 0x18;
}

/// What an attribute info message or a link info message says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DenseInfo {
    /// Whether the order of creation is tracked.
    pub tracked: bool,
    /// Where attributes or links are when they are many: the fractal heap, and the v2 B-tree that sorts them by name.
    pub place: Option<(u64, u64)>,
}

impl DenseInfo {
    /// Reads the message, in which the largest order of creation takes `bytes` bytes.
    pub(crate) fn parse(c: &mut Cursor<'_>, what: &str, bytes: usize) -> Result<Self> {
        c.version(what, 0..=0)?;
        let flags = c.u8()?;
        if flags & 1 != 0 {
            c.skip(bytes)?;
        }
        let (heap, names) = (c.address()?, c.address()?);
        if flags & 2 != 0 {
            // The v2 B-tree that sorts them by order of creation is not needed.
            c.address()?;
        }
        Ok(DenseInfo { tracked: flags & 1 != 0, place: heap.zip(names) })
    }
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// Its kind, see [`kind`].
    pub kind: u16,
    /// Its flags: bit 1 shared, bit 3 and 7 "fail if unknown".
    pub flags: u8,
    /// Number in the order of creation (version 2 headers that track attributes).
    pub order: Option<u16>,
    /// Address of its body.
    pub address: u64,
    /// Its body.
    pub body: Span,
}

impl Message {
    /// Whether the body is only a pointer to the real message.
    pub(crate) fn is_shared(&self) -> bool {
        self.flags & 2 != 0
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ObjectHeader {
    /// Its address, which identifies the object.
    pub address: u64,
    /// 1 or 2.
    pub version: u8,
    /// Flags of version 2 (bit 2: order of attributes tracked); 0 in version 1.
    pub flags: u8,
    /// Its messages, in the order of the file; continuations and gaps left out.
    pub messages: Vec<Message>,
}

impl ObjectHeader {
    /// The first message of a kind.
    pub(crate) fn find(&self, kind: u16) -> Option<&Message> {
        self.messages.iter().find(|m| m.kind == kind)
    }

    /// True if the header has a message of a kind.
    pub(crate) fn has(&self, kind: u16) -> bool {
        self.find(kind).is_some()
    }

    /// Whether the order of creation of attributes is tracked.
    pub(crate) fn attributes_tracked(&self) -> bool {
        self.flags & 4 != 0
    }

    /// Reads the header at an address.
    pub(crate) fn read(source: &Source, address: u64) -> Result<Self> {
        let head = source.peek_up_to(address, HEAD)?;
        if head.starts_with(b"OHDR") {
            read_v2(source, address, &head)
        } else {
            read_v1(source, address, &head)
        }
    }
}

/// The longest prefix of a header: version 2 with times, attribute limits and a size of 8 bytes takes 34 bytes.
const HEAD: u64 = 40;

/// Blocks to come: address and length. No block may be visited twice, so a chain that bites its tail ends.
struct Blocks {
    todo: std::collections::VecDeque<(u64, u64)>,
    seen: Vec<u64>,
}

impl Blocks {
    fn push(&mut self, source: &Source, address: u64, len: u64) -> Result<()> {
        if self.seen.contains(&address) {
            return Err(
                source.fail(address, "an object header continues in a block that it has been through")
            );
        }
        if self.seen.len() >= 1 << 16 {
            return Err(source.fail(address, "an object header of more than 65536 blocks"));
        }
        self.seen.push(address);
        self.todo.push_back((address, len));
        Ok(())
    }

    /// The next block. All that are known are announced.
    fn next(&mut self, source: &Source) -> Result<Option<(u64, u64)>> {
        source.want(self.todo.iter().copied())?;
        Ok(self.todo.pop_front())
    }
}

fn read_v1(source: &Source, address: u64, head: &[u8]) -> Result<ObjectHeader> {
    let mut c = source.cursor(head, address);
    let here = c;
    let version = c.u8()?;
    if version != 1 {
        return Err(here.fail(format!("an object header is expected here, found byte {version}")));
    }
    c.skip(1)?;
    let count = usize::from(c.u16()?);
    c.skip(4)?;
    let size = u64::from(c.u32()?);
    source.note(address, 16);
    let mut header = ObjectHeader { address, version: 1, flags: 0, messages: Vec::with_capacity(8) };
    let mut blocks = Blocks { todo: [(address.saturating_add(16), size)].into(), seen: vec![address + 16] };
    let mut left = count;
    while let Some((at, len)) = blocks.next(source)? {
        let bytes = source.read(at, len)?;
        let mut c = source.cursor(&bytes, at);
        while c.remaining() >= 8 && left > 0 {
            left -= 1;
            let kind = c.u16()?;
            let size = usize::from(c.u16()?);
            let flags = c.u8()?;
            c.skip(3)?;
            let address = at + c.pos() as u64;
            let from = c.pos();
            c.skip(size)?;
            let body = bytes.slice(from..from + size);
            add(source, &mut header, &mut blocks, Message { kind, flags, order: None, address, body })?;
        }
    }
    Ok(header)
}

fn read_v2(source: &Source, address: u64, head: &[u8]) -> Result<ObjectHeader> {
    let mut c = source.cursor(head, address);
    c.signature(b"OHDR")?;
    c.version("an object header", 2..=2)?;
    let flags = c.u8()?;
    c.skip(if flags & 0x20 != 0 { 16 } else { 0 } + if flags & 0x10 != 0 { 4 } else { 0 })?;
    let size = c.uint(1 << (flags & 3))?;
    let prefix = c.pos() as u64;
    let total = size.checked_add(prefix + 4).ok_or_else(|| c.fail("an object header of impossible size"))?;
    let mut header = ObjectHeader { address, version: 2, flags, messages: Vec::with_capacity(8) };
    let mut blocks = Blocks { todo: [(address, total)].into(), seen: vec![address] };
    let mut first = true;
    while let Some((at, len)) = blocks.next(source)? {
        let bytes = source.read_checked(at, len, "an object header")?;
        let body = bytes.len() - 4;
        let mut c = source.cursor(&bytes[..body], at);
        if first {
            c.skip(prefix as usize)?;
        } else {
            c.signature(b"OCHK")?;
        }
        first = false;
        let head = if flags & 4 != 0 { 6 } else { 4 };
        // A rest that is too short for a message is a gap.
        while c.remaining() >= head {
            let kind = u16::from(c.u8()?);
            let size = usize::from(c.u16()?);
            let message_flags = c.u8()?;
            let order = if flags & 4 != 0 { Some(c.u16()?) } else { None };
            let address = at + c.pos() as u64;
            let from = c.pos();
            c.skip(size)?;
            let body = bytes.slice(from..from + size);
            add(
                source,
                &mut header,
                &mut blocks,
                Message { kind, flags: message_flags, order, address, body },
            )?;
        }
    }
    Ok(header)
}

/// Adds a message to its header, or the block that it names to those to come.
fn add(source: &Source, header: &mut ObjectHeader, blocks: &mut Blocks, message: Message) -> Result<()> {
    match message.kind {
        kind::NIL => {}
        kind::CONTINUATION => {
            let mut c = source.cursor(&message.body, message.address);
            let (at, len) = (c.defined_address("a continuation")?, c.length()?);
            if header.version == 2 && len < 8 {
                return Err(c.fail(format!("an object header block of {len} bytes")));
            }
            blocks.push(source, at, len)?;
        }
        kind::DATASPACE..=kind::CACHE_IMAGE => header.messages.push(message),
        n if message.flags & 0x80 != 0 => {
            return Err(source.unsupported(format!("an object with a message of kind {n}")));
        }
        _ => {}
    }
    Ok(())
}

/// A cursor over a message's body.
pub(crate) fn cursor<'a>(source: &'a Source, message: &'a Message) -> Cursor<'a> {
    source.cursor(&message.body, message.address)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::hdf5::cursor::Sizes;
    use crate::store::MemoryStore;

    fn source(bytes: Vec<u8>) -> Source {
        Source::new(Arc::new(MemoryStore::new("m.h5", bytes)), 0, Sizes::default())
    }

    /// A version 1 header at byte 0: one continuation message to `to`, then a block of `len` bytes.
    fn continued(to: u64, len: u64) -> Vec<u8> {
        let mut bytes = vec![1, 0, 9, 0, 1, 0, 0, 0, 24, 0, 0, 0, 0, 0, 0, 0];
        bytes.extend([0x10, 0, 16, 0, 0, 0, 0, 0]);
        bytes.extend(to.to_le_bytes());
        bytes.extend(len.to_le_bytes());
        // The block at byte 40: a comment of 8 bytes, then what is unknown.
        bytes.extend([0x0D, 0, 8, 0, 0, 0, 0, 0]);
        bytes.extend(*b"comment\0");
        bytes.extend([0xEE, 0, 0, 0, 0, 0, 0, 0]);
        bytes
    }

    #[test]
    fn continuations_are_followed_and_unknown_messages_ignored() {
        let header = ObjectHeader::read(&source(continued(40, 24)), 0).unwrap();
        assert_eq!(header.messages.iter().map(|m| m.kind).collect::<Vec<_>>(), [kind::COMMENT]);
        assert_eq!(&header.find(kind::COMMENT).unwrap().body[..], b"comment\0");
    }

    #[test]
    fn a_chain_that_bites_its_tail_is_damage() {
        let error = ObjectHeader::read(&source(continued(16, 24)), 0).unwrap_err();
        assert!(error.to_string().contains("been through"), "{error}");
    }

    #[test]
    fn a_block_past_the_end_is_damage() {
        let error = ObjectHeader::read(&source(continued(40, u64::MAX)), 0).unwrap_err();
        assert!(error.to_string().contains("the file ends"), "{error}");
    }

    #[test]
    fn a_message_that_must_be_known_is_unsupported() {
        let mut bytes = continued(40, 24);
        let at = bytes.len() - 8;
        bytes[at + 4] = 0x80;
        assert!(matches!(ObjectHeader::read(&source(bytes), 0), Err(crate::Error::Unsupported { .. })));
    }
}
