//! Stored elements as values: byte order, strings and ragged rows from the global heap.

use std::sync::Arc;

use crate::buffer::reserved;
use crate::codec::kernels::order_in_place;
use crate::error::Result;
use crate::hdf5::datatype::{Class, Datatype, StringPadding};
use crate::hdf5::file::File;
use crate::hdf5::global_heap::{Collection, HeapId};
use crate::model::Value;

use super::heap_refs::want_objects;
use super::types::{element, holds_heap, order};

/// Elements of a heap type whose collections are fetched together from a store with latency. A collection of the usual
/// size holds about a hundred.
const TOGETHER: usize = 1 << 14;

/// Decodes elements of a dataset or an attribute, within a budget: an object of the heap belongs to one
/// element, so all that are read together are no larger than the file. (Only the fill value is shared, by any
/// number of elements; hence some bytes for each, too.) A damaged file cannot use one object over and over.
pub(crate) struct Decoder<'a> {
    file: &'a File,
    left: u64,
    /// The collection of the last object, and its address: the next object is usually there, too.
    last: Option<(u64, Arc<Collection>)>,
}

/// Whether a datatype holds strings or ragged rows (fixed-length text is a string too, standing alone).
pub(crate) fn is_heap(d: &Datatype) -> bool {
    match &d.class {
        Class::String { .. } => d.size > 1,
        _ => holds_heap(d),
    }
}

impl<'a> Decoder<'a> {
    /// A decoder for `stored` bytes of elements.
    pub(crate) fn new(file: &'a File, stored: &[u8]) -> Self {
        let shared = 64 * stored.len() as u64 + (8 << 20);
        Decoder { file, left: file.source.len().saturating_add(shared), last: None }
    }

    /// The elements of fixed-size type in native order.
    pub(crate) fn fixed(&self, d: &Datatype, stored: &[u8]) -> Result<Vec<u8>> {
        let Some(element) = element(d, false) else {
            return Err(self.file.source.unsupported("a datatype of more than 65536 numbers"));
        };
        let mut bytes = stored.to_vec();
        order_in_place(&mut bytes, &element);
        Ok(bytes)
    }

    /// The elements of a heap type.
    pub(crate) fn heap(&mut self, d: &Datatype, stored: &[u8]) -> Result<Vec<Value>> {
        if !self.file.source.has_latency() {
            return self.values(d, stored);
        }
        let mut out = reserved(stored.len() / d.size as usize)?;
        for part in stored.chunks(TOGETHER * d.size as usize) {
            want_objects(self.file, &[(d, part)])?;
            out.extend(self.values(d, part)?);
        }
        Ok(out)
    }

    fn values(&mut self, d: &Datatype, stored: &[u8]) -> Result<Vec<Value>> {
        let mut out = reserved(stored.len() / d.size as usize)?;
        for one in stored.chunks_exact(d.size as usize) {
            out.push(self.value(d, one)?);
        }
        Ok(out)
    }

    fn value(&mut self, d: &Datatype, stored: &[u8]) -> Result<Value> {
        match &d.class {
            Class::String { padding, .. } => Ok(Value::String(Some(text(stored, *padding).to_vec()))),
            Class::VlenString { .. } => {
                let (count, bytes) = self.object(stored, 1)?;
                Ok(Value::String(bytes.map(|b| {
                    let text = &b[..count.min(b.len())];
                    text[..text.iter().position(|&c| c == 0).unwrap_or(text.len())].to_vec()
                })))
            }
            Class::Vlen { base } => {
                let (count, bytes) = self.object(stored, base.size as usize)?;
                let bytes = bytes.unwrap_or_default();
                let row = &bytes[..count * base.size as usize];
                if holds_heap(base) {
                    Ok(Value::HeapRow(self.values(base, row)?))
                } else {
                    Ok(Value::Row(self.fixed(base, row)?))
                }
            }
            Class::Compound { members } => {
                let mut values = Vec::with_capacity(members.len());
                for m in members {
                    let from = m.offset as usize;
                    self.member(&m.datatype, &stored[from..from + m.datatype.size as usize], &mut values)?;
                }
                Ok(Value::Compound(values))
            }
            _ => Ok(Value::Fixed(self.fixed(d, stored)?)),
        }
    }

    /// One entry an element of the member's shape.
    fn member(&mut self, d: &Datatype, stored: &[u8], out: &mut Vec<Value>) -> Result<()> {
        match &d.class {
            Class::Array { base, .. } => {
                stored.chunks_exact(base.size as usize).try_for_each(|one| self.member(base, one, out))
            }
            Class::String { .. } => {
                out.extend(stored.iter().map(|&b| Value::Fixed(vec![b])));
                Ok(())
            }
            _ if holds_heap(d) => {
                out.push(self.value(d, stored)?);
                Ok(())
            }
            _ => {
                out.push(Value::Fixed(self.fixed(d, stored)?));
                Ok(())
            }
        }
    }

    /// The count of a stored pointer and the bytes of its object (`None` for a null pointer); there are at
    /// least count × `unit`.
    fn object(&mut self, stored: &[u8], unit: usize) -> Result<(usize, Option<Vec<u8>>)> {
        let source = &self.file.source;
        let id = HeapId::parse(&mut source.cursor(stored, 0))?;
        let Some(address) = id.address else { return Ok((0, None)) };
        let count = id.count as usize;
        if count == 0 && id.index == 0 {
            return Ok((0, Some(Vec::new())));
        }
        let collection = match &self.last {
            Some((at, collection)) if *at == address => collection,
            _ => &self.last.insert((address, self.file.heap.collection(source, address)?)).1,
        };
        let Some(bytes) = collection.get(id.index) else {
            return Err(source.fail(address, format!("no object {} in this heap collection", id.index)));
        };
        if count.checked_mul(unit).is_none_or(|n| n > bytes.len()) {
            let what = format!("a heap object of {} bytes for {count} elements of {unit}", bytes.len());
            return Err(source.fail(address, what));
        }
        let cost = bytes.len() as u64;
        self.left = self.left.checked_sub(cost).ok_or_else(|| {
            source.fail(address, "heap objects that are used over and over: more bytes than the file has")
        })?;
        Ok((count, Some(bytes.to_vec())))
    }
}

/// Fixed-length text without its padding. Blanks stay, as netCDF-C leaves them.
fn text(stored: &[u8], padding: StringPadding) -> &[u8] {
    match padding {
        StringPadding::SpacePadded => stored,
        StringPadding::NullTerminated | StringPadding::NullPadded => {
            &stored[..stored.iter().position(|&b| b == 0).unwrap_or(stored.len())]
        }
    }
}

/// The integers of an attribute of hidden conventions (`_Netcdf4Dimid`, `_Netcdf4Coordinates`).
pub(crate) fn integers(d: &Datatype, data: &[u8]) -> Option<Vec<i64>> {
    let Class::Fixed { signed, .. } = d.class else { return None };
    let size = d.size as usize;
    if !matches!(size, 1 | 2 | 4 | 8) {
        return None;
    }
    let big = order(d) == Some(crate::hdf5::datatype::ByteOrder::Big);
    let one = |bytes: &[u8]| {
        let mut eight = [0u8; 8];
        eight[..size].copy_from_slice(bytes);
        if big {
            eight[..size].reverse();
        }
        let raw = i64::from_le_bytes(eight);
        let unused = 64 - 8 * size as u32;
        if signed { raw << unused >> unused } else { raw }
    };
    Some(data.chunks_exact(size).map(one).collect())
}
