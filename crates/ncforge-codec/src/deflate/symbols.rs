//! The alphabets of deflate: how lengths and distances become symbols and extra bits (RFC 1951 §3.2.5).

/// Literals and lengths: 0–255 literals, 256 end of block, 257–285 lengths.
pub(super) const LITLEN: usize = 286;
/// Distances.
pub(super) const DISTANCES: usize = 30;
/// The symbol that ends a block.
pub(super) const END: usize = 256;
/// Longest match of the format.
pub(super) const MAX_MATCH: usize = 258;
/// Furthest distance of the format.
pub(super) const WINDOW: usize = 32768;

/// Extra bits of each length symbol, from 257.
pub(super) const LENGTH_EXTRA: [u8; 29] =
    [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0];

/// Extra bits of each distance symbol.
pub(super) const DISTANCE_EXTRA: [u8; DISTANCES] =
    [0, 0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8, 9, 9, 10, 10, 11, 11, 12, 12, 13, 13];

/// Smallest length of each length symbol.
pub(super) const LENGTH_BASE: [u16; 29] = {
    let mut base = [0; 29];
    let mut next = 3;
    let mut i = 0;
    while i < 28 {
        base[i] = next;
        next += 1 << LENGTH_EXTRA[i];
        i += 1;
    }
    base[28] = 258;
    base
};

/// Smallest distance of each distance symbol.
pub(super) const DISTANCE_BASE: [u16; DISTANCES] = {
    let mut base = [0; DISTANCES];
    let mut next = 1;
    let mut i = 0;
    while i < DISTANCES {
        base[i] = next;
        next += 1 << DISTANCE_EXTRA[i];
        i += 1;
    }
    base
};

/// Length symbol (less 257) of each length less 3.
const LENGTH_SYMBOL: [u8; 256] = {
    let mut table = [0; 256];
    let mut s = 0;
    while s < 29 {
        let mut k = 0;
        while k < 1 << LENGTH_EXTRA[s] {
            let length = LENGTH_BASE[s] as usize + k;
            if length <= MAX_MATCH {
                table[length - 3] = s as u8;
            }
            k += 1;
        }
        s += 1;
    }
    table
};

/// Distance symbol of each distance less 1 below 256, then of each 128th distance.
const DISTANCE_SYMBOL: [u8; 512] = {
    let mut table = [0; 512];
    let mut s = 0;
    while s < DISTANCES {
        let first = DISTANCE_BASE[s] as usize - 1;
        let mut k = 0;
        while k < 1 << DISTANCE_EXTRA[s] {
            let d = first + k;
            if d < 256 {
                table[d] = s as u8;
            } else if d.is_multiple_of(128) {
                table[256 + (d >> 7)] = s as u8;
            }
            k += 1;
        }
        s += 1;
    }
    table
};

/// Symbol (257–285), extra bits' value and their number, for a match length of 3 to 258.
#[inline(always)]
pub(super) fn length_symbol(length: usize) -> (usize, u32, u32) {
    let s = LENGTH_SYMBOL[length - 3] as usize;
    (257 + s, length as u32 - u32::from(LENGTH_BASE[s]), u32::from(LENGTH_EXTRA[s]))
}

/// Symbol, extra bits' value and their number, for a distance of 1 to 32768.
#[inline(always)]
pub(super) fn distance_symbol(distance: usize) -> (usize, u32, u32) {
    let d = distance - 1;
    let s = DISTANCE_SYMBOL[if d < 256 { d } else { 256 + (d >> 7) }] as usize;
    (s, distance as u32 - u32::from(DISTANCE_BASE[s]), u32::from(DISTANCE_EXTRA[s]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_and_extra_bits_give_every_length_and_distance() {
        for length in 3..=MAX_MATCH {
            let (s, value, bits) = length_symbol(length);
            assert_eq!(LENGTH_BASE[s - 257] as usize + value as usize, length);
            assert!(value < 1 << bits);
        }
        assert_eq!(length_symbol(258), (285, 0, 0));
        for distance in 1..=WINDOW {
            let (s, value, bits) = distance_symbol(distance);
            assert_eq!(DISTANCE_BASE[s] as usize + value as usize, distance);
            assert!(value < 1 << bits);
        }
    }
}
