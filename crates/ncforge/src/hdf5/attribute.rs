//! Attributes: messages of type 12 (versions 1 to 3), in object headers or in dense storage.

use super::dataspace::Dataspace;
use super::datatype::Datatype;
use super::file::{Body, File};
use super::fractal_heap::FractalHeap;
use super::message::{DenseInfo, ObjectHeader, cursor, kind};
use super::span::Span;
use crate::error::Result;

/// An attribute with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attribute {
    /// Its name, as stored.
    pub name: Span,
    /// Its number in the order of creation.
    pub order: Option<u32>,
    /// Its type.
    pub datatype: Datatype,
    /// The committed type that it has.
    pub committed: Option<u64>,
    /// Its shape.
    pub space: Dataspace,
    /// Its elements in stored form: exactly as many bytes as shape and type say.
    pub data: Span,
}

impl Attribute {
    /// The attribute, holding on to no more of the file than it needs.
    #[must_use]
    pub(crate) fn detach(&self) -> Self {
        Attribute { name: self.name.detach(), data: self.data.detach(), ..self.clone() }
    }
}

impl File {
    /// All attributes of an object: in order of creation where that is tracked; else in the order in which
    /// they stand in the header or in the index of dense ones (which libhdf5 gives out, too).
    pub(crate) fn attributes(&self, header: &ObjectHeader) -> Result<Vec<Attribute>> {
        let (mut out, mut first) = (Vec::new(), Ok(()));
        for m in header.messages.iter().filter(|m| m.kind == kind::ATTRIBUTE) {
            match self.body(m).and_then(|body| self.attribute(&body)) {
                Ok(mut attr) => {
                    attr.order = m.order.map(u32::from);
                    out.push(attr);
                }
                Err(e) => self.source.postpone(&mut first, e)?,
            }
        }
        first?;
        let mut tracked = header.attributes_tracked();
        if let Some(m) = header.find(kind::ATTRIBUTE_INFO) {
            let info = DenseInfo::parse(&mut cursor(&self.source, m), "an attribute info message", 2)?;
            tracked |= info.tracked;
            if let Some((heap, names)) = info.place {
                self.dense_attributes(heap, names, &mut out)?;
            }
        }
        if tracked {
            out.sort_by_key(|a| a.order);
        }
        Ok(out)
    }

    fn dense_attributes(&self, heap: u64, names: u64, out: &mut Vec<Attribute>) -> Result<()> {
        let (heap, records) = FractalHeap::with_index(&self.source, heap, names, 8, "attributes")?;
        let mut first = Ok(());
        out.reserve(records.len());
        for r in records.iter() {
            match self.dense_attribute(&heap, names, r) {
                Ok(attr) => out.push(attr),
                Err(e) => self.source.postpone(&mut first, e)?,
            }
        }
        first
    }

    /// The attribute of a record of the index of names: heap id, message flags, order of creation, hash of the name.
    fn dense_attribute(&self, heap: &FractalHeap, names: u64, record: &[u8]) -> Result<Attribute> {
        let source = &self.source;
        let mut c = source.cursor(record, names);
        let id = c.bytes(8)?;
        let flags = c.u8()?;
        let order = c.u32()?;
        let body = if flags & 2 != 0 {
            self.in_shared_heap(id, kind::ATTRIBUTE)?
        } else {
            Body { bytes: heap.get(source, id)?, address: names, owner: None }
        };
        let mut attr = self.attribute(&body)?;
        attr.order = Some(order);
        Ok(attr)
    }

    fn attribute(&self, body: &Body) -> Result<Attribute> {
        let mut c = self.cursor(body);
        let version = c.version("an attribute message", 1..=3)?;
        let flags = c.u8()?;
        let flags = if version == 1 { 0 } else { flags };
        let (name_len, type_len, space_len) =
            (usize::from(c.u16()?), usize::from(c.u16()?), usize::from(c.u16()?));
        if version == 3 {
            c.skip(1)?;
        }
        // Only version 1 pads its parts.
        let padded = |n: usize| if version == 1 { n.next_multiple_of(8) } else { n };
        let from = c.pos();
        let name = c.bytes(padded(name_len))?;
        let end = name.iter().position(|&b| b == 0).unwrap_or(name.len());
        let name = body.bytes.slice(from..from + end);
        let mut part = c.sub(padded(type_len))?;
        let (datatype, committed) = if flags & 1 != 0 {
            let body = self.pointed(&mut part, kind::DATATYPE)?;
            (Datatype::parse(&mut self.cursor(&body))?, body.owner)
        } else {
            (Datatype::parse(&mut part)?, None)
        };
        let mut part = c.sub(padded(space_len))?;
        let space = if flags & 2 != 0 {
            let body = self.pointed(&mut part, kind::DATASPACE)?;
            Dataspace::parse(&mut self.cursor(&body))?
        } else {
            Dataspace::parse(&mut part)?
        };
        let bytes = space.count().and_then(|n| n.checked_mul(u64::from(datatype.size)));
        let bytes = bytes.and_then(|n| usize::try_from(n).ok());
        let bytes = bytes.ok_or_else(|| c.fail("an attribute of more bytes than memory can hold"))?;
        let from = c.pos();
        c.skip(bytes)?;
        let data = body.bytes.slice(from..from + bytes);
        Ok(Attribute { name, order: None, datatype, committed, space, data })
    }
}
