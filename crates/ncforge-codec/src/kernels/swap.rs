//! Reversing the bytes of numbers, in place or while copying.

multiversion! {
    fn swap2(bytes: &mut [[u8; 2]]) {
        for b in bytes {
            *b = u16::from_ne_bytes(*b).swap_bytes().to_ne_bytes();
        }
    }
}

multiversion! {
    fn swap4(bytes: &mut [[u8; 4]]) {
        for b in bytes {
            *b = u32::from_ne_bytes(*b).swap_bytes().to_ne_bytes();
        }
    }
}

multiversion! {
    fn swap8(bytes: &mut [[u8; 8]]) {
        for b in bytes {
            *b = u64::from_ne_bytes(*b).swap_bytes().to_ne_bytes();
        }
    }
}

// Copies use blocks of 32 bytes: rows of tiles are often no longer, and the set-up of a loop over single numbers
// takes longer than such a row.

multiversion! {
    fn copy2(src: &[[u8; 2]], dst: &mut [[u8; 2]]) {
        let one = |s: &[u8; 2]| u16::from_ne_bytes(*s).swap_bytes().to_ne_bytes();
        let ((s_blocks, s_rest), (d_blocks, d_rest)) = (src.as_chunks::<16>(), dst.as_chunks_mut::<16>());
        for (d, s) in d_blocks.iter_mut().zip(s_blocks) {
            *d = s.each_ref().map(one);
        }
        for (d, s) in d_rest.iter_mut().zip(s_rest) {
            *d = one(s);
        }
    }
}

multiversion! {
    fn copy4(src: &[[u8; 4]], dst: &mut [[u8; 4]]) {
        let one = |s: &[u8; 4]| u32::from_ne_bytes(*s).swap_bytes().to_ne_bytes();
        let ((s_blocks, s_rest), (d_blocks, d_rest)) = (src.as_chunks::<8>(), dst.as_chunks_mut::<8>());
        for (d, s) in d_blocks.iter_mut().zip(s_blocks) {
            *d = s.each_ref().map(one);
        }
        for (d, s) in d_rest.iter_mut().zip(s_rest) {
            *d = one(s);
        }
    }
}

multiversion! {
    fn copy8(src: &[[u8; 8]], dst: &mut [[u8; 8]]) {
        let one = |s: &[u8; 8]| u64::from_ne_bytes(*s).swap_bytes().to_ne_bytes();
        let ((s_blocks, s_rest), (d_blocks, d_rest)) = (src.as_chunks::<4>(), dst.as_chunks_mut::<4>());
        for (d, s) in d_blocks.iter_mut().zip(s_blocks) {
            *d = s.each_ref().map(one);
        }
        for (d, s) in d_rest.iter_mut().zip(s_rest) {
            *d = one(s);
        }
    }
}

/// Reverses every run of `unit` bytes. Bytes after the last whole run are not changed; units of 0 and 1 change nothing.
///
/// ```
/// let mut bytes = [1, 2, 3, 4, 5, 6, 7, 8];
/// ncforge_codec::kernels::swap_in_place(&mut bytes, 4);
/// assert_eq!(bytes, [4, 3, 2, 1, 8, 7, 6, 5]);
/// ```
pub fn swap_in_place(bytes: &mut [u8], unit: usize) {
    match unit {
        0 | 1 => {}
        2 => swap2(bytes.as_chunks_mut().0),
        4 => swap4(bytes.as_chunks_mut().0),
        8 => swap8(bytes.as_chunks_mut().0),
        _ => bytes.chunks_exact_mut(unit).for_each(<[u8]>::reverse),
    }
}

/// Copies `src` to `dst`, reversing every run of `unit` bytes; bytes that [`swap_in_place`] does not change are copied.
///
/// # Panics
/// If the lengths differ.
pub fn swap_copy(src: &[u8], dst: &mut [u8], unit: usize) {
    assert_eq!(src.len(), dst.len(), "swap_copy needs equal lengths");
    match unit {
        2 | 4 | 8 => {
            let whole = src.len() / unit * unit;
            let (s, rest) = src.split_at(whole);
            let (d, d_rest) = dst.split_at_mut(whole);
            match unit {
                2 => copy2(s.as_chunks().0, d.as_chunks_mut().0),
                4 => copy4(s.as_chunks().0, d.as_chunks_mut().0),
                _ => copy8(s.as_chunks().0, d.as_chunks_mut().0),
            }
            d_rest.copy_from_slice(rest);
        }
        _ => {
            dst.copy_from_slice(src);
            swap_in_place(dst, unit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(bytes: &[u8], unit: usize) -> Vec<u8> {
        let mut out = bytes.to_vec();
        if unit > 1 {
            out.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
        }
        out
    }

    proptest! {
        #[test]
        fn equals_the_naive_loop(bytes in prop::collection::vec(any::<u8>(), 0..700), unit in 0usize..18) {
            let want = naive(&bytes, unit);
            let mut got = bytes.clone();
            swap_in_place(&mut got, unit);
            prop_assert_eq!(&got, &want);
            let mut copied = vec![0; bytes.len()];
            swap_copy(&bytes, &mut copied, unit);
            prop_assert_eq!(&copied, &want);
        }
    }
}
