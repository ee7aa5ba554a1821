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
///
/// ```
/// assert_eq!(ncforge::hdf5::checksum::lookup3(b""), 0xdead_beef);
/// assert_eq!(ncforge::hdf5::checksum::lookup3(b"Four score and seven years ago"), 0x1777_0551);
/// ```
pub fn lookup3(bytes: &[u8]) -> u32 {
    let start = 0xdead_beef_u32.wrapping_add(bytes.len() as u32);
    let (mut a, mut b, mut c) = (start, start, start);
    let word = |w: &[u8], i: usize| -> u32 {
        let mut four = [0; 4];
        let from = (4 * i).min(w.len());
        let part = &w[from..(from + 4).min(w.len())];
        four[..part.len()].copy_from_slice(part);
        u32::from_le_bytes(four)
    };
    let mut rest = bytes;
    while rest.len() > 12 {
        let (block, tail) = rest.split_at(12);
        a = a.wrapping_add(word(block, 0));
        b = b.wrapping_add(word(block, 1));
        c = c.wrapping_add(word(block, 2));
        mix(&mut a, &mut b, &mut c);
        rest = tail;
    }
    if rest.is_empty() {
        return c;
    }
    a = a.wrapping_add(word(rest, 0));
    b = b.wrapping_add(word(rest, 1));
    c = c.wrapping_add(word(rest, 2));
    finish(&mut a, &mut b, &mut c);
    c
}

/// Whether `sum` is the checksum of `bytes`. Builds for fuzzing take any sum, so that a changed byte gets past
/// this gate and shows what lies behind it.
pub fn matches(bytes: &[u8], sum: u32) -> bool {
    cfg!(fuzzing) || lookup3(bytes) == sum
}
