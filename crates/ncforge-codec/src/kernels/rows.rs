//! Copying many short rows: a call for each row would take longer than copying its bytes.

use super::order_copy;
use crate::element::{Element, Order};

/// A row and its destination.
pub type Row<'a> = (&'a [u8], &'a mut [u8]);

/// Numbers of this size, in blocks of 32 bytes, as in `swap`.
macro_rules! swapped_rows {
    ($name:ident, $number:ty, $unit:literal, $block:literal) => {
        multiversion! {
            fn $name(rows: &mut [Row<'_>]) {
                let one = |s: &[u8; $unit]| <$number>::from_ne_bytes(*s).swap_bytes().to_ne_bytes();
                for (src, dst) in rows {
                    let (s_blocks, s_rest) = src.as_chunks::<$unit>().0.as_chunks::<$block>();
                    let (d_blocks, d_rest) = dst.as_chunks_mut::<$unit>().0.as_chunks_mut::<$block>();
                    for (d, s) in d_blocks.iter_mut().zip(s_blocks) {
                        *d = s.each_ref().map(one);
                    }
                    for (d, s) in d_rest.iter_mut().zip(s_rest) {
                        *d = one(s);
                    }
                }
            }
        }
    };
}

swapped_rows!(rows2, u16, 2, 16);
swapped_rows!(rows4, u32, 4, 8);
swapped_rows!(rows8, u64, 8, 4);

/// Copies rows of stored elements to rows of elements in memory, or back. Bytes after the last whole element of a row
/// of numbers may not be copied.
///
/// # Panics
/// If the lengths of a row and of its destination differ.
pub fn order_copy_rows(rows: &mut [Row<'_>], element: &Element) {
    for (src, dst) in &*rows {
        assert_eq!(src.len(), dst.len(), "a row and its destination have the same length");
    }
    match element.order {
        Order::Swap(2) => rows2(rows),
        Order::Swap(4) => rows4(rows),
        Order::Swap(8) => rows8(rows),
        _ => rows.iter_mut().for_each(|(src, dst)| order_copy(src, dst, element)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_row_after_row(bytes in prop::collection::vec(any::<u8>(), 0..400), n in 1usize..20, unit in 0usize..5) {
            let unit = [0, 1, 2, 4, 8][unit];
            let order = if unit == 0 { Order::Keep } else { Order::Swap(unit) };
            let element = Element { size: unit.max(1), order, heap: false };
            let len = bytes.len() / n / element.size * element.size;
            let mut want = vec![0; n * len];
            let mut got = want.clone();
            if len > 0 {
                for (s, d) in bytes.chunks_exact(len).zip(want.chunks_exact_mut(len)) {
                    order_copy(s, d, &element);
                }
                let mut rows: Vec<Row<'_>> = bytes.chunks_exact(len).zip(got.chunks_exact_mut(len)).collect();
                order_copy_rows(&mut rows, &element);
            }
            prop_assert_eq!(got, want);
        }
    }
}
