//! HDF5's shuffle: byte `k` of every element goes to plane `k`; planes follow each other.
//!
//! Specification: filter 2 of the HDF5 file format ("Shuffle"): with `n = bytes / size` elements, byte `k` of
//! element `i` lies at `k * n + i`; the bytes after the last whole element follow the planes unchanged.

/// Elements processed at a time by the general loops, so that all planes of a block fit into the first-level cache.
const BLOCK: usize = 256;

// The loops below use an index on purpose: rows of a chunk are short, and the compiler's vector loop for
// an iterator is faster only from a few hundred elements on (measured: 64 floats 19 against 6 GB/s).

// They take numbers rather than slices, and make the slices themselves: an array of slices would be passed in memory,
// which took as long as the joining for rows of a hundred elements.

multiversion! {
    fn join2(bytes: &[u8], total: usize, first: usize, dst: &mut [[u8; 2]], swap: bool) {
        let n = dst.len();
        let [a, b] = planes(bytes, total, first, n, swap);
        for i in 0..n {
            dst[i] = [a[i], b[i]];
        }
    }
}

multiversion! {
    fn join4(bytes: &[u8], total: usize, first: usize, dst: &mut [[u8; 4]], swap: bool) {
        let n = dst.len();
        let [a, b, c, d] = planes(bytes, total, first, n, swap);
        for i in 0..n {
            dst[i] = [a[i], b[i], c[i], d[i]];
        }
    }
}

multiversion! {
    fn join8(bytes: &[u8], total: usize, first: usize, dst: &mut [[u8; 8]], swap: bool) {
        let p: [&[u8]; 8] = planes(bytes, total, first, dst.len(), swap);
        #[cfg(target_arch = "aarch64")]
        let (p, dst) = {
            let done = super::neon::join8(p, dst);
            (p.map(|p| &p[done..]), &mut dst[done..])
        };
        // Blocks of fixed length: the compiler then holds eight planes in registers also for short rows.
        let (blocks, rest) = dst.as_chunks_mut::<32>();
        let done = blocks.len() * 32;
        let q = p.map(|q| q.as_chunks::<32>().0);
        for (i, block) in blocks.iter_mut().enumerate() {
            let [a, b, c, d, e, f, g, h] = q.map(|q| &q[i]);
            for j in 0..32 {
                block[j] = [a[j], b[j], c[j], d[j], e[j], f[j], g[j], h[j]];
            }
        }
        let n = rest.len();
        let [a, b, c, d, e, f, g, h] = p.map(|q| &q[done..][..n]);
        for i in 0..n {
            rest[i] = [a[i], b[i], c[i], d[i], e[i], f[i], g[i], h[i]];
        }
    }
}

multiversion! {
    fn split2(src: &[[u8; 2]], a: &mut [u8], b: &mut [u8]) {
        for ((s, a), b) in src.iter().zip(a).zip(b) {
            [*a, *b] = *s;
        }
    }
}

multiversion! {
    fn split4(src: &[[u8; 4]], a: &mut [u8], b: &mut [u8], c: &mut [u8], d: &mut [u8]) {
        for ((((s, a), b), c), d) in src.iter().zip(a).zip(b).zip(c).zip(d) {
            [*a, *b, *c, *d] = *s;
        }
    }
}

/// The `S` planes of `total` elements, each from element `first` for `count` elements; reversed for the other
/// byte order.
#[inline(always)]
fn planes<const S: usize>(bytes: &[u8], total: usize, first: usize, count: usize, swap: bool) -> [&[u8]; S] {
    std::array::from_fn(
        #[inline(always)]
        |k| {
            let plane = if swap { S - 1 - k } else { k };
            &bytes[plane * total + first..][..count]
        },
    )
}

/// Joins planes of `total` elements of `size` bytes into the elements `first..` that fill `dst`, reversing
/// each element's bytes if `swap`. A row of a chunk is thus copied from an inflated chunk directly to its
/// destination, without a second buffer and a second pass.
///
/// ```
/// // three elements of two bytes: low bytes first, then high bytes
/// let planes = [1, 2, 3, 10, 20, 30];
/// let mut row = [0; 4];
/// ncforge_codec::kernels::unshuffle_into(&planes, 3, 1, &mut row, 2, false);
/// assert_eq!(row, [2, 20, 3, 30]);
/// ncforge_codec::kernels::unshuffle_into(&planes, 3, 1, &mut row, 2, true);
/// assert_eq!(row, [20, 2, 30, 3]);
/// ```
///
/// # Panics
/// If `planes` holds fewer than `total * size` bytes, if `dst` is not a whole number of elements, or if it
/// reaches beyond `total`.
pub fn unshuffle_into(bytes: &[u8], total: usize, first: usize, dst: &mut [u8], size: usize, swap: bool) {
    if size <= 1 {
        return dst.copy_from_slice(&bytes[first..first + dst.len()]);
    }
    let count = dst.len() / size;
    assert_eq!(count * size, dst.len(), "the destination is not a whole number of elements");
    assert!(first <= total && count <= total - first, "elements beyond the chunk");
    match size {
        2 => join2(bytes, total, first, dst.as_chunks_mut().0, swap),
        4 => join4(bytes, total, first, dst.as_chunks_mut().0, swap),
        8 => join8(bytes, total, first, dst.as_chunks_mut().0, swap),
        _ => {
            for (b, block) in dst.chunks_mut(BLOCK * size).enumerate() {
                for k in 0..size {
                    let plane = &bytes[k * total + first + b * BLOCK..][..block.len() / size];
                    let at = if swap { size - 1 - k } else { k };
                    for (d, s) in block[at..].iter_mut().step_by(size).zip(plane) {
                        *d = *s;
                    }
                }
            }
        }
    }
}

/// Undoes [`shuffle`].
///
/// # Panics
/// If the lengths differ.
pub fn unshuffle(src: &[u8], dst: &mut [u8], size: usize) {
    assert_eq!(src.len(), dst.len(), "unshuffle needs equal lengths");
    let total = if size > 1 { src.len() / size } else { 0 };
    if total <= 1 {
        // One element, or none: planes and elements are the same bytes.
        return dst.copy_from_slice(src);
    }
    let (whole, rest) = dst.split_at_mut(total * size);
    unshuffle_into(src, total, 0, whole, size, false);
    rest.copy_from_slice(&src[total * size..]);
}

/// Shuffles elements of `size` bytes into planes.
///
/// # Panics
/// If the lengths differ.
pub fn shuffle(src: &[u8], dst: &mut [u8], size: usize) {
    assert_eq!(src.len(), dst.len(), "shuffle needs equal lengths");
    let total = if size > 1 { src.len() / size } else { 0 };
    if total <= 1 {
        return dst.copy_from_slice(src);
    }
    let (whole, rest) = dst.split_at_mut(total * size);
    let (elements, tail) = src.split_at(total * size);
    rest.copy_from_slice(tail);
    match size {
        2 => {
            let (a, b) = whole.split_at_mut(total);
            split2(elements.as_chunks().0, a, b);
        }
        4 => {
            let (low, high) = whole.split_at_mut(total * 2);
            let (a, b) = low.split_at_mut(total);
            let (c, d) = high.split_at_mut(total);
            split4(elements.as_chunks().0, a, b, c, d);
        }
        8 => shuffle8(elements.as_chunks().0, whole),
        _ => {
            for (b, block) in elements.chunks(BLOCK * size).enumerate() {
                let count = block.len() / size;
                for k in 0..size {
                    let plane = &mut whole[k * total + b * BLOCK..][..count];
                    for (d, s) in plane.iter_mut().zip(block[k..].iter().step_by(size)) {
                        *d = *s;
                    }
                }
            }
        }
    }
}

#[cfg(target_arch = "aarch64")]
fn shuffle8(elements: &[[u8; 8]], whole: &mut [u8]) {
    let total = elements.len();
    let mut rest = whole;
    let mut planes = std::array::from_fn(|_| {
        let (plane, after) = std::mem::take(&mut rest).split_at_mut(total);
        rest = after;
        plane
    });
    let done = super::neon::split8(elements, &mut planes);
    for (i, element) in elements.iter().enumerate().skip(done) {
        for (plane, byte) in planes.iter_mut().zip(element) {
            plane[i] = *byte;
        }
    }
}

/// Eight-byte elements are split into four-byte halves in a small block first: the compiler vectorises a split into four
/// planes well, but not one into eight.
#[cfg(not(target_arch = "aarch64"))]
fn shuffle8(elements: &[[u8; 8]], whole: &mut [u8]) {
    let total = elements.len();
    let mut halves = [[[0u8; 4]; BLOCK]; 2];
    for (b, block) in elements.chunks(BLOCK).enumerate() {
        let [low, high] = &mut halves;
        for ((e, l), h) in block.iter().zip(low.iter_mut()).zip(high.iter_mut()) {
            let v = u64::from_le_bytes(*e);
            *l = (v as u32).to_le_bytes();
            *h = ((v >> 32) as u32).to_le_bytes();
        }
        let mut at = b * BLOCK;
        for half in &halves {
            let (p0, rest) = whole[at..].split_at_mut(total);
            let (p1, rest) = rest.split_at_mut(total);
            let (p2, p3) = rest.split_at_mut(total);
            let n = block.len();
            split4(&half[..n], &mut p0[..n], &mut p1[..n], &mut p2[..n], &mut p3[..n]);
            at += 4 * total;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::swap_in_place;
    use proptest::prelude::*;

    fn naive(bytes: &[u8], size: usize) -> Vec<u8> {
        let n = bytes.len() / size;
        let mut out = bytes.to_vec();
        for i in 0..n {
            for k in 0..size {
                out[k * n + i] = bytes[i * size + k];
            }
        }
        out
    }

    fn sizes() -> impl Strategy<Value = usize> {
        prop_oneof![Just(2usize), Just(4), Just(8), 1usize..20]
    }

    proptest! {
        #[test]
        fn shuffle_is_the_naive_loop_and_unshuffle_its_inverse(
            bytes in prop::collection::vec(any::<u8>(), 0..6000), size in sizes()
        ) {
            let mut planes = vec![0; bytes.len()];
            shuffle(&bytes, &mut planes, size);
            prop_assert_eq!(&planes, &naive(&bytes, size));
            let mut back = vec![0; bytes.len()];
            unshuffle(&planes, &mut back, size);
            prop_assert_eq!(back, bytes);
        }

        #[test]
        fn rows_are_joined_from_planes(
            bytes in prop::collection::vec(any::<u8>(), 0..6000), size in sizes(),
            a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()
        ) {
            let total = bytes.len() / size;
            let (a, b) = (a.index(total + 1), b.index(total + 1));
            let (first, end) = (a.min(b), a.max(b));
            let mut planes = vec![0; bytes.len()];
            shuffle(&bytes, &mut planes, size);
            let mut row = vec![0; (end - first) * size];
            unshuffle_into(&planes, total, first, &mut row, size, false);
            prop_assert_eq!(&row[..], &bytes[first * size..end * size]);
            let mut want = vec![0; row.len()];
            unshuffle_into(&planes, total, first, &mut want, size, false);
            swap_in_place(&mut want, size);
            unshuffle_into(&planes, total, first, &mut row, size, true);
            prop_assert_eq!(row, want);
        }
    }
}
