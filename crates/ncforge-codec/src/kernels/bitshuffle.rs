//! Bits into planes: bit `k` of byte `b` of every element goes to row `8 b + k`.
//!
//! Row `r` has `n / 8` bytes for `n` elements; element `i` is bit `i % 8` (least significant first) of byte
//! `i / 8`. This is the transposition of the bitshuffle library and of Blosc's bit shuffle. It is done as the
//! byte shuffle followed by a transposition of 8 × 8 bits.

use super::{shuffle, unshuffle};

/// Transposes an 8 × 8 bit matrix whose row `i` is byte `i`, bits counted from the least significant.
#[inline(always)]
fn transpose(mut x: u64) -> u64 {
    let t = (x ^ (x >> 7)) & 0x00aa_00aa_00aa_00aa;
    x ^= t ^ (t << 7);
    let t = (x ^ (x >> 14)) & 0x0000_cccc_0000_cccc;
    x ^= t ^ (t << 14);
    let t = (x ^ (x >> 28)) & 0x0000_0000_f0f0_f0f0;
    x ^ t ^ (t << 28)
}

multiversion! {
    fn split_bits(plane: &[[u8; 8]], rows: &mut [u8]) {
        let n = plane.len();
        let (r, _) = rows.split_at_mut(8 * n);
        for (g, group) in plane.iter().enumerate() {
            let bits = transpose(u64::from_le_bytes(*group)).to_le_bytes();
            for k in 0..8 {
                r[k * n + g] = bits[k];
            }
        }
    }
}

multiversion! {
    fn join_bits(rows: &[u8], plane: &mut [[u8; 8]]) {
        let n = plane.len();
        let p: [&[u8]; 8] = std::array::from_fn(|k| &rows[k * n..][..n]);
        for (g, group) in plane.iter_mut().enumerate() {
            let bits = [p[0][g], p[1][g], p[2][g], p[3][g], p[4][g], p[5][g], p[6][g], p[7][g]];
            *group = transpose(u64::from_le_bytes(bits)).to_le_bytes();
        }
    }
}

/// Shuffles the bits of elements of `size` bytes; `planes` is a buffer of the same length.
///
/// # Panics
/// If the lengths differ, or if there is not a multiple of eight elements.
pub fn bitshuffle(src: &[u8], dst: &mut [u8], planes: &mut [u8], size: usize) {
    let n = elements(src.len(), size);
    shuffle(src, &mut planes[..src.len()], size);
    if n > 0 {
        for (plane, rows) in planes[..src.len()].chunks_exact(n).zip(dst.chunks_exact_mut(n)) {
            split_bits(plane.as_chunks().0, rows);
        }
    }
}

/// Undoes [`bitshuffle`].
///
/// # Panics
/// If the lengths differ, or if there is not a multiple of eight elements.
pub fn bitunshuffle(src: &[u8], dst: &mut [u8], planes: &mut [u8], size: usize) {
    let n = elements(src.len(), size);
    if n > 0 {
        for (rows, plane) in src.chunks_exact(n).zip(planes[..src.len()].chunks_exact_mut(n)) {
            join_bits(rows, plane.as_chunks_mut().0);
        }
    }
    unshuffle(&planes[..src.len()], dst, size);
}

fn elements(bytes: usize, size: usize) -> usize {
    assert!(size > 0 && bytes.is_multiple_of(8 * size), "bits of a multiple of eight elements");
    bytes / size
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn equals_the_definition_and_comes_back(
            seed in prop::collection::vec(any::<u8>(), 1..64), size in 1usize..13, groups in 0usize..40
        ) {
            let n = groups * 8;
            let src: Vec<u8> = (0..n * size).map(|i| seed[i % seed.len()].wrapping_mul(i as u8 | 1)).collect();
            let mut want = vec![0u8; src.len()];
            for i in 0..n {
                for b in 0..size {
                    for k in 0..8 {
                        want[(b * 8 + k) * groups + i / 8] |= (src[i * size + b] >> k & 1) << (i % 8);
                    }
                }
            }
            let (mut got, mut planes) = (vec![0; src.len()], vec![0; src.len()]);
            bitshuffle(&src, &mut got, &mut planes, size);
            prop_assert_eq!(&got, &want);
            let mut back = vec![0; src.len()];
            bitunshuffle(&got, &mut back, &mut planes, size);
            prop_assert_eq!(back, src);
        }
    }
}
