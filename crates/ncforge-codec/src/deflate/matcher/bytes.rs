//! Bytes of a buffer as words, and how many of them are equal at two places.

#[inline(always)]
pub(super) fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[inline(always)]
pub(super) fn word8(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// The number of equal bytes from `a` and from `b` on, at most `most`; `a` lies before `b`.
#[inline(always)]
pub(super) fn common(bytes: &[u8], a: usize, b: usize, most: usize) -> usize {
    let (left, right) = (&bytes[a..a + most], &bytes[b..b + most]);
    let mut done = 0;
    while done + 8 <= most {
        let diff = word8(left, done) ^ word8(right, done);
        if diff != 0 {
            return done + diff.trailing_zeros() as usize / 8;
        }
        done += 8;
    }
    done + left[done..].iter().zip(&right[done..]).take_while(|(l, r)| l == r).count()
}

/// As [`common`], where eight bytes follow both positions; usually the first comparison suffices.
#[inline(always)]
pub(super) fn common8(bytes: &[u8], here: u64, a: usize, b: usize, most: usize) -> usize {
    let diff = word8(bytes, a) ^ here;
    if diff != 0 {
        return diff.trailing_zeros() as usize / 8;
    }
    8 + common(bytes, a + 8, b + 8, most - 8)
}

/// Whether a position lies inside a run: the four bytes before it and the four from it on are the same. All such positions are equivalent:
/// of a run, the first and the last positions suffice.
#[inline(always)]
pub(super) fn inside_run(bytes: &[u8], at: usize) -> bool {
    at >= 4 && {
        let eight = word8(bytes, at - 4);
        eight == eight.rotate_left(8)
    }
}
