//! The last positions of the same four bytes.

use super::bytes::{common8, word, word8};
use super::entries::{AT_ONCE, Entries};
use super::search::{Range, push};
use crate::deflate::block::Sequence;
use crate::deflate::symbols::{MAX_MATCH, WINDOW};

/// Buckets of two positions: as many positions as the window has.
const PAIR_BITS: u32 = 14;
/// Without a match for 2^SKIP bytes, the step between tries grows by one, up to `SKIP_MOST`.
const SKIP: u32 = 8;
const SKIP_MOST: usize = 3;
/// A match of this length is not compared with another.
const ENOUGH: usize = 32;
/// Inside longer matches, only some positions are entered besides the first and the last: a later match that begins between two of them is
/// found at the second, and extended to its begin. Inside runs none is, as all are equivalent.
const ENTER_ALL: usize = 64;
const ENTER_EACH: usize = 8;

/// The last positions of each hash, newest first: two in each word, the newer one low. Words, because a load just after a
/// store is slow if it combines the bytes of two stores.
pub(super) type Buckets<const WORDS: usize> = [[u64; WORDS]; 1 << PAIR_BITS];

#[inline(always)]
fn shift<const WORDS: usize>(bucket: &mut [u64; WORDS], place: u32) {
    for i in (1..WORDS).rev() {
        bucket[i] = bucket[i] << 32 | bucket[i - 1] >> 32;
    }
    bucket[0] = bucket[0] << 32 | u64::from(place);
}

/// Enters a position as the newest of its bucket.
#[inline(always)]
pub(super) fn enter<const WORDS: usize>(
    table: &mut Buckets<WORDS>,
    entries: Entries,
    bytes: &[u8],
    at: usize,
) {
    shift(&mut table[entries.hash::<PAIR_BITS>(word(bytes, at))], entries.place(at));
}

/// Enters some positions, at most [`AT_ONCE`]; `bytes` begin at the first.
#[inline(always)]
fn enter_few<const WORDS: usize>(
    table: &mut Buckets<WORDS>,
    entries: Entries,
    bytes: &[u8; AT_ONCE + 3],
    from: usize,
    count: usize,
) {
    for i in 0..AT_ONCE {
        let bucket = &mut table[entries.hash::<PAIR_BITS>(word(bytes, i))];
        let mut with = *bucket;
        shift(&mut with, entries.place(from + i));
        *bucket = if i < count { with } else { *bucket };
    }
}

/// The longest match among the last positions of the same hash, and its distance; enters the position. `here` is the
/// word at the position.
#[inline(always)]
fn longest_in_bucket<const WORDS: usize>(
    table: &mut Buckets<WORDS>,
    entries: Entries,
    bytes: &[u8],
    at: usize,
    most: usize,
) -> (usize, usize) {
    let here = word8(bytes, at);
    let place = entries.place(at);
    let bucket = &mut table[entries.hash::<PAIR_BITS>(here as u32)];
    let earlier = *bucket;
    shift(bucket, place);
    let (mut length, mut distance) = (0, 0);
    for pair in earlier {
        let back = place.wrapping_sub(pair as u32) as usize;
        if back > WINDOW {
            break;
        }
        let first = common8(bytes, here, at - back, at, most);
        if first > length {
            (length, distance) = (first, back);
        }
        let back = place.wrapping_sub((pair >> 32) as u32) as usize;
        if back > WINDOW || length >= ENOUGH {
            break;
        }
        let second = common8(bytes, here, at - back, at, most);
        if second > length {
            (length, distance) = (second, back);
        }
    }
    (length, distance)
}

/// Tries the last positions of the same hash; returns the first position that no sequence covers.
pub(super) fn find<const WORDS: usize, const LAZY: bool>(
    table: &mut Buckets<WORDS>,
    entries: Entries,
    bytes: &[u8],
    range: Range,
    out: &mut Vec<Sequence>,
) -> usize {
    let Range { from, stop, end } = range;
    let bytes = &bytes[..end];
    let (mut start, mut at) = (from, from);
    while at < stop && at + 8 <= end {
        let (mut length, mut distance) =
            longest_in_bucket(table, entries, bytes, at, MAX_MATCH.min(end - at));
        if length < 4 {
            at += 1 + ((at - start) >> SKIP).min(SKIP_MOST);
            continue;
        }
        let mut entered = at + 1;
        while LAZY && length < ENOUGH && at + 9 <= end {
            let (longer, d) = longest_in_bucket(table, entries, bytes, at + 1, MAX_MATCH.min(end - at - 1));
            entered = at + 2;
            // A byte more is worth about four bits; a shorter distance, the difference of its bits.
            let nearer = d.leading_zeros() as i32 - distance.leading_zeros() as i32;
            if longer < 4 || longer < length || 4 * (longer - length) as i32 + nearer <= 2 {
                break;
            }
            at += 1;
            (length, distance) = (longer, d);
        }
        // Bytes that were skipped over may match too.
        let mut first = at;
        while first > start
            && first > distance
            && length < MAX_MATCH
            && bytes[first - 1] == bytes[first - 1 - distance]
        {
            first -= 1;
            length += 1;
        }
        push(out, first - start, length, distance);
        start = first + length;
        let last = start.min(end.saturating_sub(3));
        let inside = entered..last;
        match bytes[entered..].first_chunk() {
            Some(few) if inside.len() <= AT_ONCE => enter_few(table, entries, few, entered, inside.len()),
            _ if length <= ENTER_ALL && distance > 1 => {
                inside.for_each(|at| enter(table, entries, bytes, at));
            }
            _ => {
                let (first, rest) = ((entered + 4).min(last), (start - 4).max(entered + 4));
                let some = if distance > 1 { first..rest } else { first..first };
                for inside in (entered..first).chain(some.step_by(ENTER_EACH)).chain(rest..last) {
                    enter(table, entries, bytes, inside);
                }
            }
        }
        at = start;
    }
    start
}
