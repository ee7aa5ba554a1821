//! Headers that are the same except for values of attributes.
//!
//! The processes of a model write files whose headers differ in a few numbers, such as the process and its part of the whole.
//! After one of them is parsed, the others need not be: comparing their bytes shows which values differ, and that
//! everything else is the same.
//!
//! Files count as alike only if they have the same length, too: the meaning of a header may depend on it (undefined record
//! counts, files shorter than their header says).

use std::ops::Range;

use super::header::parse_noting;
use super::order::swap_stored;
use crate::error::Result;
use crate::model::{Attribute, DType, Schema, Values, VarId};
use crate::store::ReadStore;

/// A header that others are compared with.
#[derive(Debug)]
pub struct CommonHeader {
    bytes: Vec<u8>,
    file_len: u64,
    /// The values, in the order of their bytes.
    places: Vec<ValuePlace>,
}

/// The position of an attribute's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValuePlace {
    /// The variable with the attribute; `None`: the file.
    pub var: Option<VarId>,
    /// The position of the attribute in its list.
    pub attr: usize,
    bytes: Range<usize>,
    /// Bytes of a number.
    unit: usize,
    /// Whether other properties depend on the attribute.
    is_fill: bool,
}

impl CommonHeader {
    /// The header of a classic file.
    pub fn of(store: &dyn ReadStore) -> Result<CommonHeader> {
        let mut found = Vec::new();
        let header = parse_noting(store, &mut |range| found.push(range.start as usize..range.end as usize))?;
        let schema = &header.schema;
        let of_file = schema.groups[0].attrs.iter().enumerate().map(|(i, a)| (None, i, a));
        let of_vars = schema
            .var_ids()
            .flat_map(|v| schema.var(v).attrs.iter().enumerate().map(move |(i, a)| (Some(v), i, a)));
        let places = of_file.chain(of_vars).zip(found).map(|((var, attr, a), bytes)| ValuePlace {
            var,
            attr,
            bytes,
            unit: unit(a),
            is_fill: var.is_some() && a.name == "_FillValue",
        });
        Ok(CommonHeader {
            places: places.collect(),
            bytes: store.read_vec(0, header.len)?,
            file_len: header.file_len,
        })
    }

    /// Bytes of the header.
    pub fn header_bytes(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Bytes of its file.
    pub fn file_len(&self) -> u64 {
        self.file_len
    }

    /// The attributes whose values differ in the file of the same length that begins with `first`; `None` if anything
    /// else does.
    pub fn differing(&self, first: &[u8]) -> Option<Vec<&ValuePlace>> {
        let first = first.get(..self.bytes.len())?;
        let mut out = Vec::new();
        let mut at = 0;
        for place in &self.places {
            let Range { start, end } = place.bytes;
            if self.bytes[at..start] != first[at..start] {
                return None;
            }
            if self.bytes[start..end] != first[start..end] {
                if place.is_fill {
                    return None;
                }
                out.push(place);
            }
            at = end;
        }
        (self.bytes[at..] == first[at..]).then_some(out)
    }
}

impl ValuePlace {
    /// The values at this position in another file.
    pub fn values(&self, first: &[u8]) -> Values {
        let mut values = Values::fixed(&first[self.bytes.clone()]);
        if let Values::Fixed(bytes) = &mut values {
            swap_stored(bytes, self.unit);
        }
        values
    }

    /// The attribute in a schema.
    pub fn of<'a>(&self, schema: &'a Schema) -> &'a Attribute {
        match self.var {
            Some(v) => &schema.var(v).attrs[self.attr],
            None => &schema.groups[0].attrs[self.attr],
        }
    }

    /// As [`Self::of`], mutable.
    pub fn of_mut<'a>(&self, schema: &'a mut Schema) -> &'a mut Attribute {
        let attrs = match self.var {
            Some(v) => &mut schema.vars[v.0].attrs,
            None => &mut schema.groups[0].attrs,
        };
        &mut attrs[self.attr]
    }
}

fn unit(a: &Attribute) -> usize {
    match a.dtype {
        DType::Atomic(kind) => kind.size(),
        DType::String | DType::User(_) => 1,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::model::{Atomic, Dimension, Format, Variable};
    use crate::store::MemoryStore;

    fn attr(name: &str, kind: Atomic, bytes: &[u8]) -> Attribute {
        Attribute { name: name.into(), dtype: kind.into(), values: Values::fixed(bytes) }
    }

    /// A file with a number, a title, a variable with units and a fill value, and its length.
    fn file(number: i32, title: &str, units: &str, fill: i16, len: u64) -> Arc<MemoryStore> {
        let mut schema = Schema::new(Format::Cdf2);
        schema.dims.push(Dimension::new("x", len, false));
        let of_file = &mut schema.groups[0].attrs;
        of_file.push(attr("number", Atomic::Int, &number.to_ne_bytes()));
        of_file.push(attr("title", Atomic::Char, title.as_bytes()));
        let mut v = Variable::new("v", Atomic::Short, vec![crate::model::DimId(0)]);
        v.attrs.push(attr("units", Atomic::Char, units.as_bytes()));
        v.attrs.push(attr("_FillValue", Atomic::Short, &fill.to_ne_bytes()));
        schema.vars.push(v);
        let store = Arc::new(MemoryStore::new("t.nc", Vec::new()));
        let mut made = super::super::create(store.clone(), schema, &Default::default()).unwrap();
        made.sync().unwrap();
        store
    }

    fn differing(other: &MemoryStore) -> Option<Vec<(Option<VarId>, usize)>> {
        let common = CommonHeader::of(&*file(7, "one", "K", -1, 4)).unwrap();
        let bytes = other.to_vec();
        assert!(bytes.len() as u64 >= common.header_bytes());
        common.differing(&bytes).map(|d| d.iter().map(|p| (p.var, p.attr)).collect())
    }

    #[test]
    fn values_of_attributes_may_differ() {
        assert_eq!(differing(&file(7, "one", "K", -1, 4)), Some(vec![]));
        assert_eq!(differing(&file(8, "two", "K", -1, 4)), Some(vec![(None, 0), (None, 1)]));
        assert_eq!(differing(&file(7, "one", "m", -1, 4)), Some(vec![(Some(VarId(0)), 0)]));
    }

    #[test]
    fn nothing_else_may() {
        assert_eq!(differing(&file(7, "three", "K", -1, 4)), None, "a longer text");
        assert_eq!(differing(&file(7, "one", "K", -1, 3)), None, "another length");
        assert_eq!(
            differing(&file(7, "one", "K", -2, 4)),
            None,
            "values that were not written read as something else"
        );
    }

    #[test]
    fn values_are_those_that_parsing_gives() {
        let (one, other) = (file(7, "one", "K", -1, 4), file(-123_456, "two", "m", -1, 4));
        let common = CommonHeader::of(&*one).unwrap();
        let mut schema = super::super::open(one).unwrap().schema().clone();
        let bytes = other.to_vec();
        for place in common.differing(&bytes).unwrap() {
            place.of_mut(&mut schema).values = place.values(&bytes);
        }
        assert_eq!(&schema, super::super::open(other).unwrap().schema());
    }
}
