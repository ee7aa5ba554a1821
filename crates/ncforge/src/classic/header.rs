//! Parses the header: the grammar of the NetCDF Classic format specification, for all three versions.
//!
//! Strict where a wrong byte would change the meaning of data: magic, tags, counts, types, dimension ids,
//! the position of the record dimension. Tolerant of harmless errors in real files, as netCDF-C is: padding that
//! is not zero, names that no writer would accept today, names followed by NUL bytes (which are removed, as in
//! netCDF-C), the tag of an empty list. `vsize` is ignored:
//! it is redundant, and wrong in files of more than 4 GiB.

use std::ops::Range;

use super::cursor::Cursor;
use super::order::swap_stored;
use super::version::Version;
use crate::error::{Error, Result};
use crate::model::{Atomic, Attribute, DimId, Dimension, Schema, Values, Variable, decode_name};
use crate::store::ReadStore;

const TAG_DIMENSION: u32 = 10;
const TAG_VARIABLE: u32 = 11;
const TAG_ATTRIBUTE: u32 = 12;

/// A parsed header.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) version: Version,
    /// The schema. The length of the record dimension is 0 until the record count is known.
    pub(super) schema: Schema,
    /// The record count of the header; `None` for a file that was being streamed.
    pub(super) records: Option<u64>,
    /// Byte offset of each variable's data.
    pub(super) begins: Vec<u64>,
    /// Bytes of the header.
    pub(super) len: u64,
    /// Length of the file when the header was read.
    pub(super) file_len: u64,
    /// Notes on harmless errors.
    pub(super) notes: Vec<String>,
}

impl Header {
    /// The record dimension, if there is one.
    pub(super) fn record_dim(&self) -> Option<DimId> {
        record_dim(&self.schema)
    }
}

/// The record dimension of a classic schema.
pub(super) fn record_dim(schema: &Schema) -> Option<DimId> {
    schema.dims.iter().position(|d| d.unlimited).map(DimId)
}

/// Reads the version from the first four bytes.
fn version(store: &dyn ReadStore, magic: &[u8]) -> Result<Version> {
    let not = |what: String| Err(Error::NotNetcdf { path: store.name().to_owned(), what });
    match magic {
        [b'C', b'D', b'F', byte] => match Version::from_byte(*byte) {
            Some(v) => Ok(v),
            None => not(format!("it begins as a classic file, with version {byte} (1, 2 and 5 exist)")),
        },
        [] => not("it is empty".into()),
        other => not(format!("it begins with {other:02x?}, not with \"CDF\"")),
    }
}

/// Parses the header of `store`.
pub(super) fn parse(store: &dyn ReadStore) -> Result<Header> {
    parse_noting(store, &mut |_| ())
}

/// As [`parse`]; calls `values` with the byte range of the values of each attribute, those of the file before those of the
/// variables.
pub(super) fn parse_noting(store: &dyn ReadStore, values: &mut dyn FnMut(Range<u64>)) -> Result<Header> {
    let mut cursor = Cursor::new(store);
    let magic = cursor.take(cursor.remaining().min(4), "the magic number")?.to_vec();
    let version = version(store, &magic)?;
    let mut p = Parser { c: cursor, version, notes: Vec::new(), padded_names: false, values };
    let stored = p.count("the record count")?;
    let streaming = stored == if version == Version::V5 { u64::MAX } else { u64::from(u32::MAX) };
    if !streaming && stored > version.max_records() {
        return Err(p.c.corrupt(4, format!("a record count of {stored}")));
    }
    let mut schema = Schema::new(version.format());
    schema.dims = p.dimensions()?;
    schema.groups[0].attrs = p.attributes("the global attribute list")?;
    let (vars, begins) = p.variables(&schema)?;
    schema.vars = vars;
    p.note_duplicates(&schema);
    if p.padded_names {
        p.notes.push("names are followed by NUL bytes, which are left out".into());
    }
    Ok(Header {
        version,
        schema,
        records: (!streaming).then_some(stored),
        begins,
        len: p.c.pos(),
        file_len: p.c.file_len(),
        notes: p.notes,
    })
}

struct Parser<'s> {
    c: Cursor<'s>,
    version: Version,
    notes: Vec<String>,
    padded_names: bool,
    /// Called with the byte range of the values of each attribute.
    values: &'s mut dyn FnMut(Range<u64>),
}

impl Parser<'_> {
    fn count(&mut self, what: &str) -> Result<u64> {
        match self.version {
            Version::V5 => self.c.u64(what),
            Version::V1 | Version::V2 => self.c.u32(what).map(u64::from),
        }
    }

    /// Tag and count of a list whose elements take at least `least` bytes each.
    fn list(&mut self, tag: u32, least: u64, what: &str) -> Result<u64> {
        let at = self.c.pos();
        let found = self.c.u32(what)?;
        let count = self.count(what)?;
        if count == 0 {
            if found != 0 && found != tag {
                self.notes.push(format!("the empty list at byte {at} has tag {found}, not 0 or {tag}"));
            }
            return Ok(0);
        }
        if found != tag {
            let names = |t| match t {
                TAG_DIMENSION => " (dimensions)",
                TAG_VARIABLE => " (variables)",
                TAG_ATTRIBUTE => " (attributes)",
                _ => "",
            };
            return Err(self.c.corrupt(
                at,
                format!("{what} begins with tag {found}{}, not {tag}{}", names(found), names(tag)),
            ));
        }
        self.fits(count, least, at + 4, what)?;
        Ok(count)
    }

    /// An error unless `count` entries of at least `least` bytes fit into the rest of the file.
    fn fits(&self, count: u64, least: u64, at: u64, what: &str) -> Result<()> {
        if count > self.c.remaining() / least.max(1) {
            let left = self.c.remaining();
            return Err(self.c.corrupt(at, format!("{what}: {count} entries do not fit in {left} bytes")));
        }
        Ok(())
    }

    fn name(&mut self, what: &str) -> Result<String> {
        let len = self.count(what)?;
        let stored = self.c.take(len, what)?;
        // Old writers included the NUL that ends a C string, or several NULs.
        let end = stored.iter().rposition(|&b| b != 0).map_or(0, |last| last + 1);
        let (name, is_padded) = (decode_name(&stored[..end]), end < stored.len());
        self.padded_names |= is_padded;
        self.padding(len)?;
        Ok(name)
    }

    /// Skips to the next multiple of four. The padding is zero by the specification; old netCDF-C wrote arbitrary bytes.
    fn padding(&mut self, len: u64) -> Result<()> {
        let n = len.next_multiple_of(4) - len;
        self.c.take(n, "padding").map(|_| ())
    }

    fn atomic(&mut self, what: &str) -> Result<Atomic> {
        let at = self.c.pos();
        let code = self.c.u32(what)?;
        match Atomic::from_code(code) {
            Some(a) if a.in_classic() || self.version == Version::V5 => Ok(a),
            _ => {
                let version = self.version.name();
                Err(self.c.corrupt(at, format!("{what} is {code}, which is no type of {version}")))
            }
        }
    }

    fn dimensions(&mut self) -> Result<Vec<Dimension>> {
        let width = self.version.count_bytes();
        let count = self.list(TAG_DIMENSION, 2 * width, "the dimension list")?;
        let mut dims = Vec::new();
        let mut record: Option<String> = None;
        for _ in 0..count {
            let name = self.name("a dimension's name")?;
            let at = self.c.pos();
            let len = self.count("a dimension's length")?;
            if len > i64::MAX as u64 {
                return Err(self.c.corrupt(at, format!("dimension `{name}` has length {len}")));
            }
            if len == 0 {
                if let Some(first) = record {
                    let both = format!("dimensions `{first}` and `{name}` are both record dimensions");
                    return Err(self.c.corrupt(at, both));
                }
                record = Some(name.clone());
            }
            dims.push(Dimension { name, group: Schema::ROOT, len, unlimited: len == 0 });
        }
        Ok(dims)
    }

    fn attributes(&mut self, what: &str) -> Result<Vec<Attribute>> {
        let width = self.version.count_bytes();
        let count = self.list(TAG_ATTRIBUTE, 2 * width + 4, what)?;
        let mut attrs = Vec::new();
        for _ in 0..count {
            let name = self.name("an attribute's name")?;
            let dtype = self.atomic("an attribute's type")?;
            let at = self.c.pos();
            let n = self.count("an attribute's length")?;
            self.fits(n, dtype.size() as u64, at, "an attribute's values")?;
            let bytes = n * dtype.size() as u64;
            (self.values)(self.c.pos()..self.c.pos() + bytes);
            let mut values = Values::fixed(self.c.take(bytes, "an attribute's values")?);
            self.padding(bytes)?;
            if let Values::Fixed(b) = &mut values {
                swap_stored(b, dtype.size());
            }
            attrs.push(Attribute { name, dtype: dtype.into(), values });
        }
        Ok(attrs)
    }

    fn variables(&mut self, schema: &Schema) -> Result<(Vec<Variable>, Vec<u64>)> {
        let width = self.version.count_bytes();
        // Name length, rank, empty attribute list, type, vsize, begin.
        let least = width + width + (4 + width) + 4 + width + self.version.offset_bytes();
        let count = self.list(TAG_VARIABLE, least, "the variable list")?;
        let (mut vars, mut begins) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let name = self.name("a variable's name")?;
            let dims = self.dim_ids(schema, &name)?;
            let attrs = self.attributes(&format!("the attribute list of variable `{name}`"))?;
            let dtype = self.atomic("a variable's type")?;
            self.count("a variable's size")?;
            let at = self.c.pos();
            let begin = match self.version.offset_bytes() {
                4 => u64::from(self.c.u32("a variable's begin")?),
                _ => self.c.u64("a variable's begin")?,
            };
            if begin > self.version.max_offset() {
                return Err(self.c.corrupt(at, format!("the data of `{name}` begin at byte {begin}")));
            }
            begins.push(begin);
            let mut var = Variable::new(name, dtype, dims);
            var.attrs = attrs;
            vars.push(var);
        }
        Ok((vars, begins))
    }

    fn dim_ids(&mut self, schema: &Schema, var: &str) -> Result<Vec<DimId>> {
        let width = self.version.count_bytes();
        let at = self.c.pos();
        let rank = self.count("a variable's rank")?;
        self.fits(rank, width, at, "a variable's dimension ids")?;
        let mut dims = Vec::new();
        for i in 0..rank {
            let at = self.c.pos();
            let id = self.count("a dimension id")?;
            let Some(dim) = usize::try_from(id).ok().and_then(|i| schema.dims.get(i)) else {
                let n = schema.dims.len();
                return Err(self
                    .c
                    .corrupt(at, format!("`{var}` has dimension id {id}, the file has {n} dimensions")));
            };
            if dim.unlimited && i > 0 {
                let place = format!("the record dimension `{}` is dimension {i} of `{var}`, not 0", dim.name);
                return Err(self.c.corrupt(at, place));
            }
            dims.push(DimId(id as usize));
        }
        Ok(dims)
    }

    fn note_duplicates(&mut self, schema: &Schema) {
        let mut check = |kind: &str, names: &mut dyn Iterator<Item = &String>| {
            let mut seen = std::collections::HashSet::new();
            for name in names {
                if !seen.insert(name) {
                    self.notes.push(format!("there are two {kind}s called `{name}`"));
                }
            }
        };
        check("dimension", &mut schema.dims.iter().map(|d| &d.name));
        check("variable", &mut schema.vars.iter().map(|v| &v.name));
        check("global attribute", &mut schema.groups[0].attrs.iter().map(|a| &a.name));
    }
}
