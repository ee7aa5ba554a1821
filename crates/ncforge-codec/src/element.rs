//! One stored element: its size, and what happens to its bytes between store and memory.
//!
//! Formats describe their elements by it, and codecs turn stored bytes into elements.

use crate::types::{Atomic, Endian};

/// How a stored element relates to the element in memory (native byte order).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Element {
    /// Bytes of one stored element. In memory it has the same size, except for heap types.
    pub size: usize,
    /// What to do with its bytes.
    pub order: Order,
    /// Whether the stored bytes are references or strings to be resolved by the container
    /// of the file; the engine then moves the stored form untouched.
    pub heap: bool,
}

/// What happens to the bytes of an element between store and memory. Its own inverse.
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
    /// How many numbers stand there.
    pub count: usize,
}

impl Element {
    /// The same element as it is in memory.
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
