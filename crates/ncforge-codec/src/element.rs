//! One stored element: its size, and the conversion of its bytes between store and memory.
//!
//! Formats describe their elements with it, and codecs convert stored bytes to elements.

use crate::types::{Atomic, Endian};

/// The relation of a stored element to the element in memory (native byte order).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Bytes of one stored element. In memory it has the same size, except for heap types.
    pub size: usize,
    /// The conversion of its bytes.
    pub order: Order,
    /// Whether the stored bytes are references or strings to be resolved by the container
    /// of the file; the engine then moves the stored form untouched.
    pub heap: bool,
}

/// The conversion of the bytes of an element between store and memory. It is its own inverse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Bytes stay as they are.
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
    /// The element in native form.
    pub fn in_memory(&self) -> Element {
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
