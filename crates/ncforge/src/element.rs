//! One stored element: its size, and the conversion of its bytes between store and memory.
//!
//! Formats describe their elements with it ([`crate::layout::VarLayout`]), and codecs convert stored bytes to elements.

use crate::model::{Atomic, DType, Endian, Schema, UserKind};

/// The relation of a stored element to the element in memory (native byte order).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Bytes of one stored element. In memory it has the same size, except for heap types.
    pub size: usize,
    /// The conversion of its bytes.
    pub order: Order,
    /// Whether the stored bytes are references or strings to be resolved by the container
    /// ([`crate::Container::decode_heap`]); the engine then moves the stored form untouched.
    pub heap: bool,
}

/// The conversion of the bytes of an element between store and memory. It is its own inverse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// The same bytes.
    Keep,
    /// Every run of `size` bytes (2, 4 or 8) is reversed.
    Swap(usize),
    /// Inside a compound: at each offset, `count` numbers of `unit` bytes are reversed.
    Fields(Vec<SwapField>),
}

/// One run of numbers inside a compound whose bytes are reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwapField {
    /// Byte offset in the element.
    pub offset: usize,
    /// Bytes of one number: 2, 4 or 8.
    pub unit: usize,
    /// Number of numbers.
    pub count: usize,
}

impl Element {
    /// The element of a fixed-size type that is stored with the same size and offsets as in memory, in byte
    /// order `endian`; `None` for heap types.
    pub fn of(schema: &Schema, dtype: DType, endian: Endian) -> Option<Element> {
        let size = schema.fixed_size(dtype)?;
        let mut fields = Vec::new();
        if is_swapped(endian) {
            collect_swaps(schema, dtype, 0, 1, &mut fields);
        }
        let order = match fields.as_slice() {
            [] => Order::Keep,
            [one] if one.offset == 0 && one.count == 1 && one.unit == size => Order::Swap(size),
            _ => Order::Fields(fields),
        };
        Some(Element { size, order, heap: false })
    }

    /// The same element in native form.
    pub(crate) fn in_memory(&self) -> Element {
        Element { order: Order::Keep, ..self.clone() }
    }

    /// The element of an atomic type.
    pub fn atomic(a: Atomic, endian: Endian) -> Element {
        let order = if a.size() > 1 && is_swapped(endian) { Order::Swap(a.size()) } else { Order::Keep };
        Element { size: a.size(), order, heap: false }
    }
}

/// Whether numbers stored in this byte order are reversed on this machine.
pub fn is_swapped(endian: Endian) -> bool {
    match endian {
        Endian::Native => false,
        Endian::Little => cfg!(target_endian = "big"),
        Endian::Big => cfg!(target_endian = "little"),
    }
}

fn collect_swaps(schema: &Schema, dtype: DType, offset: usize, count: usize, out: &mut Vec<SwapField>) {
    let number = |a: Atomic| (a.size() > 1).then_some(SwapField { offset, unit: a.size(), count });
    match dtype {
        DType::Atomic(a) => out.extend(number(a)),
        DType::String => {}
        DType::User(t) => match &schema.user_type(t).kind {
            UserKind::Enum { base, .. } => out.extend(number(*base)),
            UserKind::Opaque { .. } | UserKind::Vlen { .. } => {}
            UserKind::Compound { size, fields } => {
                for i in 0..count {
                    for f in fields {
                        collect_swaps(schema, f.dtype, offset + i * size + f.offset, f.count(), out);
                    }
                }
            }
        },
    }
}
