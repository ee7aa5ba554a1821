//! Values in stored form: bytes, and for strings and ragged rows the objects to which those bytes refer.

use crate::codec::kernels::order_in_place;
use crate::error::{Error, Result};
use crate::hdf5::datatype::{Class, Datatype};
use crate::hdf5::emit::Blob;
use crate::model::{DType, Endian, Schema, UserKind, Value, Values, element_of};

/// Encodes values of one type.
pub(super) struct Encoder<'a> {
    pub(super) schema: &'a Schema,
    /// Byte order of stored numbers.
    pub(super) endian: Endian,
}

impl Encoder<'_> {
    /// Elements of a type, one after the other.
    pub(super) fn values(&self, dtype: DType, stored: &Datatype, values: &Values) -> Result<Blob> {
        match values {
            Values::Fixed(bytes) => Ok(Blob::from(self.fixed(dtype, bytes)?)),
            Values::Heap(list) => self.list(dtype, stored, list),
        }
    }

    /// Elements of a heap type, one after the other.
    pub(super) fn list(&self, dtype: DType, stored: &Datatype, list: &[Value]) -> Result<Blob> {
        let size = stored.size as usize;
        let mut blob = Blob::from(vec![0; list.len() * size]);
        for (i, value) in list.iter().enumerate() {
            self.put(dtype, stored, value, &mut blob, i * size)?;
        }
        Ok(blob)
    }

    fn fixed(&self, dtype: DType, bytes: &[u8]) -> Result<Vec<u8>> {
        let element = element_of(self.schema, dtype, self.endian).filter(|e| e.size > 0);
        let element = element.ok_or_else(|| self.mismatch(dtype))?;
        if !bytes.len().is_multiple_of(element.size) {
            return Err(self.mismatch(dtype));
        }
        let mut bytes = bytes.to_vec();
        order_in_place(&mut bytes, &element);
        Ok(bytes)
    }

    fn put(&self, dtype: DType, stored: &Datatype, value: &Value, blob: &mut Blob, at: usize) -> Result<()> {
        match (value, &stored.class) {
            (Value::Fixed(bytes), _) => {
                let bytes = self.fixed(dtype, bytes)?;
                if bytes.len() != stored.size as usize {
                    return Err(self.mismatch(dtype));
                }
                blob.bytes[at..at + bytes.len()].copy_from_slice(&bytes);
                Ok(())
            }
            (Value::String(None), Class::VlenString { .. }) => Ok(()),
            (Value::String(Some(s)), Class::VlenString { .. }) => {
                refer(blob, at, s.len(), Blob::from(s.clone()))
            }
            (Value::String(s), Class::String { .. }) => {
                // Text of fixed length, which netCDF shows as strings: padded with NULs, an error if it is too long.
                let s = s.as_deref().unwrap_or_default();
                let size = stored.size as usize;
                if s.len() > size {
                    return Err(Error::Length(format!(
                        "a string of {} bytes does not fit the {size} bytes that the file has for it",
                        s.len()
                    )));
                }
                blob.bytes[at..at + s.len()].copy_from_slice(s);
                Ok(())
            }
            (Value::Row(_) | Value::HeapRow(_), Class::Vlen { base }) => {
                let inner = self.row_base(dtype)?;
                let row = match value {
                    Value::Row(bytes) => Blob::from(self.fixed(inner, bytes)?),
                    Value::HeapRow(list) => self.list(inner, base, list)?,
                    _ => return Err(self.mismatch(dtype)),
                };
                if row.bytes.is_empty() {
                    return Ok(());
                }
                let count = row.bytes.len() / (base.size as usize).max(1);
                refer(blob, at, count, row)
            }
            (Value::Compound(entries), Class::Compound { members }) => {
                self.compound(dtype, members, entries, blob, at)
            }
            _ => Err(self.mismatch(dtype)),
        }
    }

    fn compound(
        &self,
        dtype: DType,
        members: &[crate::hdf5::datatype::Member],
        entries: &[Value],
        blob: &mut Blob,
        at: usize,
    ) -> Result<()> {
        let DType::User(id) = dtype else { return Err(self.mismatch(dtype)) };
        let UserKind::Compound { fields, .. } = &self.schema.user_type(id).kind else {
            return Err(self.mismatch(dtype));
        };
        let mut entries = entries.iter();
        for (field, member) in fields.iter().zip(members) {
            let (element, count) = match &member.datatype.class {
                Class::Array { base, dims } => (&**base, dims.iter().map(|&n| n as usize).product()),
                _ => (&member.datatype, 1),
            };
            for i in 0..count {
                let value = entries.next().ok_or_else(|| self.mismatch(dtype))?;
                let at = at + member.offset as usize + i * element.size as usize;
                self.put(field.dtype, element, value, blob, at)?;
            }
        }
        if entries.next().is_some() {
            return Err(self.mismatch(dtype));
        }
        Ok(())
    }

    fn row_base(&self, dtype: DType) -> Result<DType> {
        match dtype {
            DType::User(t) => match &self.schema.user_type(t).kind {
                UserKind::Vlen { base } => Ok(*base),
                _ => Err(self.mismatch(dtype)),
            },
            _ => Err(self.mismatch(dtype)),
        }
    }

    fn mismatch(&self, dtype: DType) -> Error {
        Error::BadType(format!("values that are not of type {}", self.schema.type_name(dtype)))
    }
}

fn refer(blob: &mut Blob, at: usize, count: usize, target: Blob) -> Result<()> {
    let count = u32::try_from(count)
        .map_err(|_| Error::NotRepresentable { format: "HDF5", what: format!("a row of {count} values") })?;
    blob.bytes[at..at + 4].copy_from_slice(&count.to_le_bytes());
    blob.heap.push((at + 4, target));
    Ok(())
}
