//! Values in memory.
//!
//! Types of fixed size (atomic, enum, opaque, compounds of those) are plain bytes in the machine's byte order,
//! one element after the other, without an allocation for each. Types that contain strings or
//! ragged rows ("heap types") are trees of [`Value`].

use crate::buffer::Buffer;

/// The values of a selection or an attribute, in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// Elements of a fixed-size type: native byte order, no gaps except those inside compounds.
    Fixed(Buffer),
    /// Elements of a type that contains strings or ragged rows.
    Heap(Vec<Value>),
}

/// One element of a heap type.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A fixed-size leaf: native byte order.
    Fixed(Vec<u8>),
    /// A string's bytes without its terminator; `None` is a null pointer (which netCDF prints as `NIL`).
    String(Option<Vec<u8>>),
    /// A ragged row of fixed-size elements, one after the other, native byte order.
    Row(Vec<u8>),
    /// A ragged row of elements that are heap values.
    HeapRow(Vec<Value>),
    /// A compound: one entry for each field, in order. A field with a shape has one entry for each element, flattened.
    Compound(Vec<Value>),
}

impl Values {
    /// No values at all.
    pub fn empty() -> Self {
        Values::Fixed(Buffer::zeroed(0))
    }

    /// Values of fixed size, from bytes in native order.
    pub fn fixed(bytes: &[u8]) -> Self {
        Values::Fixed(Buffer::from(bytes))
    }

    /// The bytes of fixed-size values; `None` for heap values.
    pub fn bytes(&self) -> Option<&[u8]> {
        match self {
            Values::Fixed(b) => Some(b),
            Values::Heap(_) => None,
        }
    }
}
