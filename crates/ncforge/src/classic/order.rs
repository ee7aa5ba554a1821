//! Byte order of attribute values and fill elements: classic files are big-endian.

use crate::codec::kernels::swap_in_place;
use crate::layout::is_swapped;
use crate::model::Endian;

/// Turns numbers of `unit` bytes from native into stored order, or back.
pub(super) fn swap_stored(bytes: &mut [u8], unit: usize) {
    if unit > 1 && is_swapped(Endian::Big) {
        swap_in_place(bytes, unit);
    }
}
