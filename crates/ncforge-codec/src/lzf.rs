//! Filter 32000, LZF (h5py's): a byte-wise Lempel-Ziv stream without header or length.
//!
//! A control byte below 32 precedes that many literals plus one. Any other starts a match: its upper three
//! bits are the length minus two (7: a byte follows that is added), its lower five bits and the next byte are
//! the distance minus one, at most 8192.

use super::damaged;
use super::scratch::grow;
use crate::error::Result;

const NAME: &str = "lzf";

/// A match of 264 bytes takes three.
pub(super) const MAX_EXPANSION: usize = 88;

const MAX_DISTANCE: usize = 1 << 13;
const MAX_MATCH: usize = 264;
const MAX_LITERALS: usize = 32;
const HASH_BITS: u32 = 14;

/// Decodes into `dst`; returns the number of bytes, which may be smaller than `dst`.
pub fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let cut = || damaged(NAME, "the stream ends in a match or a run of literals");
    let expected = dst.len();
    let long = || damaged(NAME, format!("the stream holds more than {expected} bytes"));
    let (mut at, mut out) = (0, 0);
    while let Some(&control) = src.get(at) {
        at += 1;
        let control = usize::from(control);
        if control < MAX_LITERALS {
            let literals = src.get(at..at + control + 1).ok_or_else(cut)?;
            dst.get_mut(out..out + control + 1).ok_or_else(long)?.copy_from_slice(literals);
            at += control + 1;
            out += control + 1;
        } else {
            let mut len = control >> 5;
            if len == 7 {
                len += usize::from(*src.get(at).ok_or_else(cut)?);
                at += 1;
            }
            let distance = ((control & 31) << 8 | usize::from(*src.get(at).ok_or_else(cut)?)) + 1;
            at += 1;
            out = copy_match(dst, out, distance, len + 2).ok_or_else(|| {
                damaged(NAME, format!("a match before the start or beyond {expected} bytes"))
            })?;
        }
    }
    Ok(out)
}

/// Repeats `len` bytes from `distance` before `at`; source and destination may overlap. Returns the new end.
pub(super) fn copy_match(dst: &mut [u8], at: usize, distance: usize, len: usize) -> Option<usize> {
    let start = at.checked_sub(distance)?;
    let end = at.checked_add(len)?;
    if distance == 0 || end > dst.len() {
        return None;
    }
    if distance >= len {
        dst.copy_within(start..start + len, at);
    } else if distance == 1 {
        let value = dst[start];
        dst[at..end].fill(value);
    } else {
        // Each round doubles what can be copied at once.
        let mut done = at;
        while done < end {
            let n = (done - start).min(end - done);
            dst.copy_within(start..start + n, done);
            done += n;
        }
    }
    Some(end)
}

/// Encodes into the front of `out`; returns the number of bytes, or `None` if they are not fewer than in `src`
/// (the filter then does not change the chunk).
pub fn encode(src: &[u8], out: &mut Vec<u8>) -> Result<Option<usize>> {
    // Space for the longest step beyond the size of the source.
    grow(out, src.len() + MAX_LITERALS + 8)?;
    Ok(compress(src, out))
}

fn compress(src: &[u8], out: &mut [u8]) -> Option<usize> {
    let mut heads = vec![u32::MAX; 1 << HASH_BITS];
    let hash = |at: usize| {
        let v = u32::from_be_bytes([0, src[at], src[at + 1], src[at + 2]]);
        (v.wrapping_mul(0x9e37_79b1) >> (32 - HASH_BITS)) as usize
    };
    let (mut at, mut literals, mut end) = (0, 0, 0);
    while at + 2 < src.len() {
        let slot = &mut heads[hash(at)];
        let candidate = std::mem::replace(slot, at as u32) as usize;
        let found = candidate < at
            && at - candidate <= MAX_DISTANCE
            && src[candidate..candidate + 3] == src[at..at + 3];
        if !found {
            at += 1;
            continue;
        }
        end = put_literals(&src[literals..at], out, end, src.len())?;
        let most = MAX_MATCH.min(src.len() - at);
        let len =
            3 + src[candidate + 3..].iter().zip(&src[at + 3..at + most]).take_while(|(a, b)| a == b).count();
        let distance = at - candidate - 1;
        let coded = len - 2;
        out[end] = (coded.min(7) << 5 | distance >> 8) as u8;
        end += 1;
        if coded >= 7 {
            out[end] = (coded - 7) as u8;
            end += 1;
        }
        out[end] = distance as u8;
        end += 1;
        if end >= src.len() {
            return None;
        }
        at += len;
        literals = at;
    }
    end = put_literals(&src[literals..], out, end, src.len())?;
    (end < src.len()).then_some(end)
}

fn put_literals(bytes: &[u8], out: &mut [u8], mut end: usize, limit: usize) -> Option<usize> {
    for run in bytes.chunks(MAX_LITERALS) {
        if end + run.len() + 1 > limit {
            return None;
        }
        out[end] = (run.len() - 1) as u8;
        out[end + 1..=end + run.len()].copy_from_slice(run);
        end += run.len() + 1;
    }
    Some(end)
}
