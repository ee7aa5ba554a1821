//! The floats that are written: as a program has them in memory.

use crate::stats::Positions;

/// Floats in the machine's own order, all different as good as always, none of them special.
pub(super) struct Floats(Vec<f32>);

impl Floats {
    /// `count` floats between -1 and 1, from a seed.
    pub(super) fn new(count: u64, seed: u64) -> Self {
        let mut random = Positions::new(seed);
        // 24 bits are what a float holds.
        Floats((0..count).map(|_| (random.draw() >> 40) as f32 / 8_388_608.0 - 1.0).collect())
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The values, in blocks of `block`.
    pub(super) fn blocks(&self, block: usize) -> impl Iterator<Item = &[f32]> {
        self.0.chunks(block)
    }
}

/// Their bytes, as they lie in memory.
pub(super) fn bytes(values: &[f32]) -> &[u8] {
    // SAFETY: every float is four bytes that may be read as such; the lifetime is that of the floats.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_repeat_and_are_plain() {
        let a = Floats::new(10_000, 1);
        assert_eq!(a.0, Floats::new(10_000, 1).0);
        assert_ne!(a.0, Floats::new(10_000, 2).0);
        assert!(a.0.iter().all(|v| (-1.0..1.0).contains(v)));
        assert_eq!(bytes(&a.0[1..3]), [a.0[1].to_ne_bytes(), a.0[2].to_ne_bytes()].concat());
    }
}
