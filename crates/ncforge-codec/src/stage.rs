//! A chunk that is decoded up to the point from which its bytes can be copied to their destination in one pass.

use super::kernels::{order_copy, order_in_place, unshuffle_into};
use crate::element::{Element, Order};

/// The result of [`CodecChain::decode_staged`](super::CodecChain::decode_staged).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage<'a> {
    /// The chunk's elements in stored byte order.
    Plain(&'a [u8]),
    /// The chunk's elements in planes, and the element size: everything but the shuffle is decoded.
    Shuffled(&'a [u8], usize),
}

impl Stage<'_> {
    /// Bytes of the chunk.
    pub fn len(&self) -> usize {
        match self {
            Stage::Plain(bytes) | Stage::Shuffled(bytes, _) => bytes.len(),
        }
    }

    /// Whether the chunk has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Writes the elements `first..` that fill `dst` in their native form: unshuffled and in native
    /// byte order, in one pass if the element is a plain number.
    ///
    /// ```
    /// use ncforge_codec::Stage;
    /// use ncforge_codec::{Element, Order};
    ///
    /// let big_endian = Element { size: 2, order: Order::Swap(2), heap: false };
    /// let mut row = [0; 4];
    /// Stage::Shuffled(&[0, 0, 0, 7, 8, 9], 2).read(&big_endian, 1, &mut row);
    /// assert_eq!(row, [8, 0, 9, 0]);
    /// ```
    ///
    /// # Panics
    /// If `dst` reaches beyond the chunk.
    pub fn read(&self, element: &Element, first: usize, dst: &mut [u8]) {
        match *self {
            Stage::Plain(bytes) => {
                order_copy(&bytes[first * element.size..][..dst.len()], dst, element);
            }
            Stage::Shuffled(bytes, size) if size == element.size => {
                let total = bytes.len() / size;
                let fused = element.order == Order::Swap(size);
                unshuffle_into(bytes, total, first, dst, size, fused);
                if !fused {
                    order_in_place(dst, element);
                }
            }
            Stage::Shuffled(bytes, size) => {
                // Planes of another width than the element's are rare: one byte at a time.
                let total = bytes.len() / size;
                for (i, d) in dst.iter_mut().enumerate() {
                    let at = first * element.size + i;
                    *d = if at < total * size { bytes[at % size * total + at / size] } else { bytes[at] };
                }
                order_in_place(dst, element);
            }
        }
    }
}
