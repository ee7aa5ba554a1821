//! Jenkins' lookup3 ("hashlittle"), the checksum of all newer HDF5 metadata.
//!
//! Format specification, "Metadata checksum": every structure since 1.8 ends with this hash of the bytes
//! before it, initial value 0. The same hash orders names in dense groups.

fn mix(a: &mut u32, b: &mut u32, c: &mut u32) {
    *a = a.wrapping_sub(*c) ^ c.rotate_left(4);
    *c = c.wrapping_add(*b);
    *b = b.wrapping_sub(*a) ^ a.rotate_left(6);
    *a = a.wrapping_add(*c);
    *c = c.wrapping_sub(*b) ^ b.rotate_left(8);
    *b = b.wrapping_add(*a);
    *a = a.wrapping_sub(*c) ^ c.rotate_left(16);
    *c = c.wrapping_add(*b);
    *b = b.wrapping_sub(*a) ^ a.rotate_left(19);
    *a = a.wrapping_add(*c);
    *c = c.wrapping_sub(*b) ^ b.rotate_left(4);
    *b = b.wrapping_add(*a);
}

fn finish(a: &mut u32, b: &mut u32, c: &mut u32) {
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
    *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
    *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
    *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
}

/// The lookup3 hash of `bytes`, with initial value 0.
pub(crate) fn lookup3(bytes: &[u8]) -> u32 {
    lookup3_without(bytes, bytes.len())
}

/// The lookup3 hash of `bytes` with the four at `hole` taken for zero: of structures that carry their checksum
/// in their midst.
pub(crate) fn lookup3_without(bytes: &[u8], hole: usize) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let mut sums = [start; 3];
    // All blocks of twelve but the last, which may be short and is finished in another way.
    let whole = bytes.len().saturating_sub(1) / 12;
    let end = hole.saturating_add(4).min(bytes.len());
    let (first, after) = if hole < end { (hole / 12, end.div_ceil(12)) } else { (whole, whole) };
    let (blocks, _) = bytes.as_chunks::<12>();
    let patched = |i: usize, block: &[u8]| {
        let mut twelve = [0; 12];
        twelve[..block.len()].copy_from_slice(block);
        for (k, byte) in twelve.iter_mut().enumerate() {
            if (hole..end).contains(&(12 * i + k)) {
                *byte = 0;
            }
        }
        twelve
    };
    let (first, after) = (first.min(whole), after.min(whole));
    blocks[..first].iter().for_each(|b| add(&mut sums, b));
    (first..after).for_each(|i| add(&mut sums, &patched(i, &blocks[i])));
    blocks[after..whole].iter().for_each(|b| add(&mut sums, b));
    if bytes.is_empty() {
        return sums[2];
    }
    let [mut a, mut b, mut c] = sums;
    let [x, y, z] = words(&patched(whole, &bytes[12 * whole..]));
    (a, b, c) = (a.wrapping_add(x), b.wrapping_add(y), c.wrapping_add(z));
    finish(&mut a, &mut b, &mut c);
    c
}

#[inline]
fn words(block: &[u8; 12]) -> [u32; 3] {
    let word = |i: usize| u32::from_le_bytes([block[i], block[i + 1], block[i + 2], block[i + 3]]);
    [word(0), word(4), word(8)]
}

#[inline]
fn add([a, b, c]: &mut [u32; 3], block: &[u8; 12]) {
    let [x, y, z] = words(block);
    (*a, *b, *c) = (a.wrapping_add(x), b.wrapping_add(y), c.wrapping_add(z));
    mix(a, b, c);
}

/// Whether `sum` is the checksum of `bytes`. Builds for fuzzing take any sum, so that a changed byte gets past
/// this gate and shows what lies behind it.
pub(crate) fn matches(bytes: &[u8], sum: u32) -> bool {
    matches_without(bytes, bytes.len(), sum)
}

/// As [`matches()`], with the four bytes at `hole` taken for zero.
pub(crate) fn matches_without(bytes: &[u8], hole: usize, sum: u32) -> bool {
    cfg!(fuzzing) || lookup3_without(bytes, hole) == sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_those_of_the_reference() {
        assert_eq!(lookup3(b""), 0xdead_beef);
        assert_eq!(lookup3(b"Four score and seven years ago"), 0x1777_0551);
    }

    #[test]
    fn a_hole_reads_as_zeros() {
        let bytes: Vec<u8> = (1..=64).collect();
        for len in 0..=bytes.len() {
            for hole in 0..=len {
                let mut zeroed = bytes[..len].to_vec();
                zeroed[hole..(hole + 4).min(len)].fill(0);
                assert_eq!(
                    lookup3_without(&bytes[..len], hole),
                    lookup3(&zeroed),
                    "{len} bytes, hole at {hole}"
                );
            }
        }
    }
}
