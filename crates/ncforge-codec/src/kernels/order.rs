//! Conversion of the byte order of whole elements, including compounds, as [`Order`] describes it.

use super::{swap_copy, swap_in_place};
use crate::element::{Element, Order, SwapField};

/// Turns stored elements into elements in memory, or back (it is its own inverse), in place.
///
/// Bytes after the last whole element are not changed.
#[inline]
pub fn order_in_place(bytes: &mut [u8], element: &Element) {
    match &element.order {
        Order::Keep => {}
        Order::Swap(unit) => swap_in_place(bytes, *unit),
        Order::Fields(fields) => {
            if element.size > 0 {
                for e in bytes.chunks_exact_mut(element.size) {
                    swap_fields(e, fields);
                }
            }
        }
    }
}

/// Copies stored elements to elements in memory, or back.
///
/// # Panics
/// If the lengths differ.
pub fn order_copy(src: &[u8], dst: &mut [u8], element: &Element) {
    match &element.order {
        Order::Swap(unit) => swap_copy(src, dst, *unit),
        Order::Keep => dst.copy_from_slice(src),
        Order::Fields(_) => {
            dst.copy_from_slice(src);
            order_in_place(dst, element);
        }
    }
}

/// Fields that reach beyond the element are ignored: the format that made the layout checks them, and a
/// kernel must not panic on the bytes of a file.
fn swap_fields(element: &mut [u8], fields: &[SwapField]) {
    for f in fields {
        let run = f.unit.checked_mul(f.count).and_then(|n| n.checked_add(f.offset));
        if let Some(bytes) = run.and_then(|end| element.get_mut(f.offset..end)) {
            if f.count == 1 { bytes.reverse() } else { swap_in_place(bytes, f.unit) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_numbers_of_a_compound_turn() {
        let fields =
            vec![SwapField { offset: 1, unit: 2, count: 1 }, SwapField { offset: 4, unit: 4, count: 2 }];
        let element = Element { size: 12, order: Order::Fields(fields), heap: false };
        let one: Vec<u8> = (0..12).collect();
        let mut bytes = [one.clone(), one.clone(), vec![7]].concat();
        let stored = bytes.clone();
        order_in_place(&mut bytes, &element);
        let turned = [0, 2, 1, 3, 7, 6, 5, 4, 11, 10, 9, 8];
        assert_eq!(bytes, [&turned[..], &turned[..], &[7]].concat());

        let mut back = vec![0; bytes.len()];
        order_copy(&bytes, &mut back, &element);
        assert_eq!(back, stored);
    }

    #[test]
    fn a_field_beyond_its_element_is_left_alone() {
        let fields = vec![SwapField { offset: 3, unit: 4, count: usize::MAX }];
        let element = Element { size: 4, order: Order::Fields(fields), heap: false };
        let mut bytes = [1, 2, 3, 4];
        order_in_place(&mut bytes, &element);
        assert_eq!(bytes, [1, 2, 3, 4]);
    }
}
