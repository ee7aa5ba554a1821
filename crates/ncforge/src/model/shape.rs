//! Products of lengths: elements of an array, bytes of a chunk, chunks of a grid.
//!
//! Lengths come from files: their product may be larger than any number of bytes. The saturating forms are for what is compared
//! with a limit, or shown; [`checked`] is for what is allocated or added to an offset.

/// Elements of an array of these lengths; `u64::MAX` where they are more than that.
///
/// ```
/// use ncforge::model::shape;
/// assert_eq!(shape::elements(&[12, 180, 360]), 12 * 180 * 360);
/// assert_eq!(shape::elements(&[]), 1);
/// assert_eq!(shape::elements(&[u64::MAX, 2]), u64::MAX);
/// assert_eq!(shape::elements(&[u64::MAX, 2, 0]), 0);
/// ```
pub fn elements(lens: &[u64]) -> u64 {
    product(lens.iter().copied())
}

/// Bytes of an array of these lengths, whose elements have `element` bytes; `u64::MAX` where they are more than that.
pub fn bytes(lens: &[u64], element: u64) -> u64 {
    elements(lens).saturating_mul(element)
}

/// The product of lengths that stand in no list; `u64::MAX` where it is more than that.
pub fn product(lens: impl IntoIterator<Item = u64>) -> u64 {
    lens.into_iter().fold(1, u64::saturating_mul)
}

/// The product of `element` and the lengths; `None` where it is 2^64 or more, or becomes so on the way to a length of 0.
///
/// ```
/// use ncforge::model::shape;
/// assert_eq!(shape::checked(&[180, 360], 4), Some(180 * 360 * 4));
/// assert_eq!(shape::checked(&[u64::MAX, 2], 1), None);
/// ```
pub fn checked(lens: &[u64], element: u64) -> Option<u64> {
    lens.iter().try_fold(element, |n, &len| n.checked_mul(len))
}
