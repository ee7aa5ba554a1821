//! Writes a header: the inverse of [`super::header`].

use super::layout::Extent;
use super::order::swap_stored;
use super::version::Version;
use crate::error::{Error, Result};
use crate::model::{Attribute, DType, Schema, encode_name};

/// The `vsize` of a variable that is too large for the field in CDF-1 and CDF-2.
const VSIZE_UNKNOWN: u64 = u32::MAX as u64;

/// The bytes of a header. `extents` has one entry a variable.
pub(super) fn header(schema: &Schema, version: Version, records: u64, extents: &[Extent]) -> Result<Vec<u8>> {
    let mut e = Emitter { out: Vec::with_capacity(1024), version };
    e.out.extend_from_slice(b"CDF");
    e.out.push(version.byte());
    e.count(records)?;
    e.list(10, schema.dims.len())?;
    for dim in &schema.dims {
        e.name(&dim.name)?;
        e.count(if dim.unlimited { 0 } else { dim.len })?;
    }
    e.attributes(&schema.groups[0].attrs)?;
    e.list(11, schema.vars.len())?;
    for (var, extent) in schema.vars.iter().zip(extents) {
        e.name(&var.name)?;
        e.count(var.dims.len() as u64)?;
        for dim in &var.dims {
            e.count(dim.0 as u64)?;
        }
        e.attributes(&var.attrs)?;
        e.dtype(var.dtype)?;
        let vsize = extent.padded();
        match version {
            Version::V1 | Version::V2 if vsize > Version::V2.max_var_size() => e.count(VSIZE_UNKNOWN)?,
            _ => e.count(vsize)?,
        }
        e.offset(extent.begin)?;
    }
    Ok(e.out)
}

/// Bytes that the header of a schema takes.
pub(super) fn header_len(schema: &Schema, version: Version) -> Result<u64> {
    let nothing = Extent { begin: 0, bytes: 0, record: false };
    Ok(header(schema, version, 0, &vec![nothing; schema.vars.len()])?.len() as u64)
}

struct Emitter {
    out: Vec<u8>,
    version: Version,
}

impl Emitter {
    fn word(&mut self, w: u32) {
        self.out.extend_from_slice(&w.to_be_bytes());
    }

    fn count(&mut self, n: u64) -> Result<()> {
        match (self.version, u32::try_from(n)) {
            (Version::V5, _) => self.out.extend_from_slice(&n.to_be_bytes()),
            (_, Ok(n)) => self.word(n),
            (version, Err(_)) => {
                return Err(version.cannot(format!("a count of {n}")));
            }
        }
        Ok(())
    }

    fn offset(&mut self, n: u64) -> Result<()> {
        if n > self.version.max_offset() {
            let what = format!("data that begin at byte {n}");
            return Err(self.version.cannot(what));
        }
        match self.version {
            Version::V1 => self.word(n as u32),
            Version::V2 | Version::V5 => self.out.extend_from_slice(&n.to_be_bytes()),
        }
        Ok(())
    }

    /// Tag and count; an empty list is absent: tag 0.
    fn list(&mut self, tag: u32, len: usize) -> Result<()> {
        self.word(if len == 0 { 0 } else { tag });
        self.count(len as u64)
    }

    fn name(&mut self, name: &str) -> Result<()> {
        let bytes = encode_name(name);
        self.count(bytes.len() as u64)?;
        self.out.extend_from_slice(&bytes);
        self.pad();
        Ok(())
    }

    fn pad(&mut self) {
        self.out.resize(self.out.len().next_multiple_of(4), 0);
    }

    fn dtype(&mut self, dtype: DType) -> Result<()> {
        match dtype {
            DType::Atomic(a) if a.in_classic() || self.version == Version::V5 => {
                self.word(a as u32);
                Ok(())
            }
            DType::Atomic(a) => self.cannot(a.cdl_name()),
            DType::String => self.cannot("string"),
            DType::User(_) => self.cannot("a user-defined type"),
        }
    }

    fn cannot(&self, what: &str) -> Result<()> {
        Err(self.version.cannot(format!("values of type {what}")))
    }

    fn attributes(&mut self, attrs: &[Attribute]) -> Result<()> {
        self.list(12, attrs.len())?;
        for attr in attrs {
            self.name(&attr.name)?;
            self.dtype(attr.dtype)?;
            let (DType::Atomic(atomic), Some(bytes)) = (attr.dtype, attr.values.bytes()) else {
                return self.cannot("string");
            };
            if !bytes.len().is_multiple_of(atomic.size()) {
                let (n, kind) = (bytes.len(), atomic.cdl_name());
                return Err(Error::BadType(format!(
                    "attribute `{}`: {n} bytes are no {kind} values",
                    attr.name
                )));
            }
            self.count((bytes.len() / atomic.size()) as u64)?;
            let from = self.out.len();
            self.out.extend_from_slice(bytes);
            swap_stored(&mut self.out[from..], atomic.size());
            self.pad();
        }
        Ok(())
    }
}
