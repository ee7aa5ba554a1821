//! Object headers, version 2 (HDF5 File Format Specification IV.A.1.b), in one chunk: no continuation blocks, no
//! times.

use super::bytes::{Out, too_large};
use super::messages::{COMPACT_DEFAULT, COMPACT_MAX, DENSE_MIN};
use crate::error::Result;

/// Most bytes of one message body: its length is a 16-bit number.
pub(super) const MAX_MESSAGE: usize = u16::MAX as usize;

/// One message.
pub(super) struct Message {
    pub(super) kind: u8,
    pub(super) flags: u8,
    /// Creation order, of attributes.
    pub(super) order: u16,
    pub(super) body: Vec<u8>,
}

impl Message {
    pub(super) fn new(kind: u8, flags: u8, body: Vec<u8>) -> Self {
        Message { kind, flags, order: 0, body }
    }
}

/// The storage of an object's attributes.
#[derive(Clone, Copy)]
pub(super) enum Attributes {
    /// Their creation order is tracked and indexed; this many stand in the header.
    Ordered(usize),
    /// Nothing is said.
    Plain,
}

/// The bytes of a header.
pub(super) fn encode(messages: &[Message], attributes: Attributes) -> Result<Vec<u8>> {
    let ordered = matches!(attributes, Attributes::Ordered(_));
    let head = if ordered { 6 } else { 4 };
    let size: usize = messages.iter().map(|m| head + m.body.len()).sum();
    let (code, width) = match size {
        0..=0xFF => (0, 1),
        0x100..=0xFFFF => (1, 2),
        _ => (2, 4),
    };
    if u32::try_from(size).is_err() {
        return Err(too_large("an object header of bytes", size as u64, u64::from(u32::MAX)));
    }
    // A header with more compact attributes than the library's default says that it may have them.
    let many = matches!(attributes, Attributes::Ordered(n) if n > COMPACT_DEFAULT);
    let flags = code | if ordered { 0x0C } else { 0 } | if many { 0x10 } else { 0 };
    let mut o = Out::new();
    o.bytes(b"OHDR").u8(2).u8(flags);
    if many {
        o.u16(COMPACT_MAX).u16(DENSE_MIN);
    }
    o.uint(size as u64, width);
    for m in messages {
        if m.body.len() > MAX_MESSAGE {
            return Err(too_large(message_name(m.kind), m.body.len() as u64, MAX_MESSAGE as u64));
        }
        o.u8(m.kind).u16(m.body.len() as u16).u8(m.flags);
        if ordered {
            o.u16(m.order);
        }
        o.bytes(&m.body);
    }
    o.checksum();
    Ok(o.0)
}

fn message_name(kind: u8) -> &'static str {
    use super::messages::kind::{ATTRIBUTE, DATATYPE, FILL, LAYOUT};
    match kind {
        DATATYPE => "a type description of bytes",
        FILL => "a fill value of bytes",
        LAYOUT => "compact data of bytes",
        ATTRIBUTE => "an attribute of bytes",
        _ => "a header message of bytes",
    }
}
