//! Filter 3, fletcher32: four checksum bytes after the data.
//!
//! Specification: HDF5's Fletcher-32 over the bytes taken as big-endian 16-bit words (an odd last byte is the
//! high half of a word), stored as a little-endian 32-bit number. Libraries before HDF5 1.6.3 stored each half
//! with its bytes swapped; such chunks are accepted on reading and never written.
//!
//! Guarantee: a chunk whose checksum does not agree is an error, never data.

use super::damaged;
use crate::error::Result;

const NAME: &str = "fletcher32";

/// Words summed in parallel; the lanes are combined at the end of each block.
const LANES: usize = 16;
/// Rows of lanes before the 32-bit sums could overflow: `360 * 361 / 2 * 0xffff < 2^32`.
const ROWS: usize = 256;

/// The checksum of some bytes.
///
/// ```
/// assert_eq!(ncforge_codec::fletcher32::checksum(&[1, 2, 3]), 0x0504_0402);
/// ```
pub fn checksum(bytes: &[u8]) -> u32 {
    let (mut s1, mut s2) = (0u64, 0u64);
    let (words, odd) = bytes.as_chunks::<2>();
    for block in words.chunks(ROWS * LANES) {
        let (rows, rest) = block.as_chunks::<LANES>();
        // A word in row r, lane l counts LANES * (R - r) - l times in the second sum; `b` counts R - r.
        let (mut a, mut b) = ([0u32; LANES], [0u32; LANES]);
        for row in rows {
            for l in 0..LANES {
                a[l] += u32::from(u16::from_be_bytes(row[l]));
                b[l] += a[l];
            }
        }
        s2 += s1 * (rows.len() * LANES) as u64;
        for l in 0..LANES {
            s1 += u64::from(a[l]);
            s2 += LANES as u64 * u64::from(b[l]) - l as u64 * u64::from(a[l]);
        }
        for w in rest {
            s1 += u64::from(u16::from_be_bytes(*w));
            s2 += s1;
        }
        (s1, s2) = (fold(s1), fold(s2));
    }
    if let [last] = odd {
        s1 = fold(s1 + (u64::from(*last) << 8));
        s2 = fold(s2 + s1);
    }
    (s2 as u32) << 16 | s1 as u32
}

/// The sum modulo 65535 as repeated folding of the high half gives it: zero only for a sum of zero.
fn fold(sum: u64) -> u64 {
    if sum == 0 { 0 } else { (sum - 1) % 0xffff + 1 }
}

/// Checks the sum at the end of `encoded` and returns the data before it.
pub fn verify(encoded: &[u8]) -> Result<&[u8]> {
    let Some((data, sum)) = encoded.split_last_chunk::<4>() else {
        return Err(damaged(NAME, format!("{} bytes, too few for a checksum", encoded.len())));
    };
    let stored = u32::from_le_bytes(*sum);
    let want = checksum(data);
    let old_bug = (want & 0x00ff_00ff) << 8 | (want >> 8) & 0x00ff_00ff;
    if stored != want && stored != old_bug {
        return Err(damaged(NAME, format!("the chunk's checksum is {want:08x}, stored is {stored:08x}")));
    }
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The textbook loop.
    fn naive(bytes: &[u8]) -> u32 {
        let (mut a, mut b) = (0u32, 0u32);
        let step = |w: u32, a: &mut u32, b: &mut u32| {
            *a += w;
            *a = (*a & 0xffff) + (*a >> 16);
            *b += *a;
            *b = (*b & 0xffff) + (*b >> 16);
        };
        for w in bytes.chunks(2) {
            let word = u32::from(w[0]) << 8 | w.get(1).map_or(0, |x| u32::from(*x));
            step(word, &mut a, &mut b);
        }
        b << 16 | a
    }

    #[test]
    fn sums_of_extremes() {
        for n in [0usize, 1, 2, 3, 719, 720, 721, 8192, 8193, 20_000, 100_001] {
            for v in [0u8, 1, 0x7f, 0xff] {
                assert_eq!(checksum(&vec![v; n]), naive(&vec![v; n]), "{n} bytes of {v}");
            }
        }
    }

    #[test]
    fn the_old_librarys_checksum_is_accepted() {
        let data = [5u8, 6, 7, 8, 9];
        let c = checksum(&data).to_le_bytes();
        let old = [&data[..], &[c[1], c[0], c[3], c[2]]].concat();
        assert_eq!(verify(&old).unwrap(), data);
        let wrong = [&data[..], &[c[2], c[3], c[0], c[1]]].concat();
        assert!(verify(&wrong).is_err());
    }

    proptest! {
        #[test]
        fn equals_the_textbook(bytes in prop::collection::vec(any::<u8>(), 0..20_000)) {
            prop_assert_eq!(checksum(&bytes), naive(&bytes));
        }
    }
}
