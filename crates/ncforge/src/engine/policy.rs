//! The numbers that decide how work is cut, in one place. Those that a prediction of reading times needs are public.
//!
//! How ranges are joined into requests depends on the store ([`IoProfile`](crate::store::IoProfile)) and is no number here.
//! Tests run with tiny values, so that arrays of a few hundred bytes meet every cut, join, window and thread.

use std::ops::RangeInclusive;

/// A number for the product and one for tests.
const fn pick(real: u64, test: u64) -> u64 {
    if cfg!(test) { test } else { real }
}

/// Reading plain arrays: bytes of one request. They stay in the second-level cache between the system's copy
/// and the conversion. (Measured on one thread, 200 MB: 32 to 256 KiB differ by less than 5 %, 128 KiB is best.)
pub const READ_BLOCK: u64 = pick(128 << 10, 64);
/// Reading plain arrays: about this many bytes are given to a thread at once: two of
/// the huge pages that results lie on, so that two threads seldom clear the same one.
pub const READ_TASK: u64 = pick(4 << 20, 256);
/// Reading plain arrays: below this many bytes the calling thread does it alone. Calling helpers costs
/// it 10–12 µs, and they begin some 20 µs later (measured on two processors); this much is read in 130 µs.
pub const READ_PARALLEL: u64 = pick(512 << 10, 1);
/// A request counts like this many bytes when work is weighed.
pub(super) const REQUEST_COST: u64 = pick(4096, 1);

/// Plain arrays in a store with latency: requests planned at a time.
pub(super) const APART_UNITS: u64 = pick(1 << 14, 9);
/// Chunks without filters in a store with latency: ranges that are fetched of one at most; else all from the first to
/// the last.
pub(super) const APART_UNITS_OF_CHUNK: u64 = pick(64, 3);

/// Chunked variables: pieces planned at a time. Bounds a plan's memory, however many chunks are touched.
pub(super) const PLAN_WINDOW: u64 = pick(1 << 16, 7);
/// Chunked variables: of chunks without filters of more than this many bytes, a part is read by itself.
pub(super) const JOIN_PLAIN: u64 = pick(4096, 16);
/// Chunked variables: joined requests are not cut below this many bytes for the sake of more threads.
pub const JOIN_MIN: u64 = pick(64 << 10, 50);
/// Chunked variables: chunks of this many bytes are inflated two at a time. Making tables takes most of the time of smaller ones, and
/// two larger ones leave the caches.
pub(super) const INFLATE_TWO: RangeInclusive<u64> = pick(16 << 10, 1)..=1 << 20;
/// Chunked variables: a request may have this many bytes so that it brings two chunks.
pub(super) const JOIN_TWO: u64 = pick(2 << 20, 100);
/// Chunked variables: below this many decoded bytes the calling thread does it alone. They decode in 15 to 120 µs, and sharing them with
/// another thread costs 60 (measured on two virtual processors: series and boxes of `ncforge bench chunks --proof stations`).
pub const DECODE_PARALLEL: u64 = pick(128 << 10, 1);
/// Chunked variables: rows of at least this many bytes are unshuffled one by one straight into their place.
pub const STAGED_ROW: u64 = pick(512, 12);

/// Chunks with access points: below this many decoded bytes a chunk is decoded whole.
pub const SEGMENTED_CHUNK: u64 = pick(32 << 10, 64);
/// Chunks with access points: what it takes to find and enter segments counts like the decoding of this many bytes.
pub const PART_COST: u64 = pick(48 << 10, 1);
/// Chunks with access points: from this many decoded bytes on, a chunk that is decoded whole is decoded in groups of segments (shorter
/// ones, of which a few values are wanted, take half the time if only these are unshuffled), …
pub(super) const GROUPED_CHUNK: u64 = pick((4 << 20) + 1, 100);
/// … of about this many decoded bytes, which stay in the second-level cache.
pub(super) const GROUP: u64 = pick(256 << 10, 40);
/// Chunks with access points: bytes of a chunk's end that are fetched at least. Where nothing is known of the variable, its chunks have
/// most likely more than this many segments, …
pub(super) const TAIL_LEAST: u64 = pick(1 << 10, 64);
pub(super) const GUESSED_SEGMENTS: u64 = pick(128, 10);
/// … of which this many are asked at least, …
pub(super) const ASKED: usize = 4;
/// … and a table that is not longer than this part of the decoded chunk.
pub(super) const GUESSED_TABLE: u64 = pick(256, 16);
/// Chunks with access points: tables take this part of the memory for chunks.
pub(super) const TABLES: u64 = 16;
/// Chunks with access points in a store with latency: what lies between two ranges is read through up to this part of a chunk.
pub(super) const PART_GAP: u64 = 128;

/// Looking ahead: of what is stored plainly this much is read at once as quickly as a few bytes of it.
pub(super) const AHEAD_PAGE: u64 = pick(4096, 24);
/// Looking ahead: bytes that are decoded in the background at a time, at least; enough to make the 20 µs small
/// that it takes a helper to begin.
pub(super) const AHEAD_FETCH: u64 = pick(1 << 20, 40);

/// Results of nothing but fill are filled in parallel by parts of about this many bytes.
pub(super) const FILL_BLOCK: u64 = pick(1 << 20, 64);

/// Plain arrays: from this many bytes on, a request between places where the system copies slowly goes over
/// scratch of ours.
pub(super) const DETOUR_FROM: usize = pick(8 << 10, 32) as usize;

/// Chunks that are wanted whole again are kept of variables of at most this many bytes (netCDF-C keeps as many): more memory takes longer
/// to get than many a chunk to decode, and would be for nothing if the second time is the last.
pub(super) const KEEP_WHOLE: u64 = pick(64 << 20, 4 << 10);

/// Writing plain arrays: bytes converted and written at a time.
pub(super) const WRITE_BLOCK: u64 = pick(512 << 10, 64);
/// Writing plain arrays: bytes written at a time when nothing is to convert.
pub(super) const WRITE_PLAIN_BLOCK: u64 = pick(4 << 20, 128);
/// Writing plain arrays: from this many bytes on, space on disk is reserved first, which costs some 20 µs.
pub(super) const WRITE_RESERVE: u64 = pick(512 << 10, 64);
/// Writing plain arrays: over gaps up to this many bytes, what stands there is read and written back, which
/// costs less than a request for every few bytes.
pub(super) const WRITE_GAP: u64 = pick(4096, 20);
/// Writing plain arrays: below this many bytes the calling thread does it alone.
pub(super) const WRITE_PARALLEL: u64 = pick(1 << 20, 1);
/// Writing chunks: below this many bytes parts are gathered by the calling thread alone.
pub(super) const GATHER_PARALLEL: u64 = pick(256 << 10, 1);

// The next three decide when a container hears of a chunk, and so where the chunk lies in the file: they must not
// depend on the number of threads.

/// Writing chunks: whole chunks that wait for the encoder, at most this many, …
pub(super) const PENDING_CHUNKS: u64 = pick(128, 5);
/// … and this many bytes, or an eighth of the budget.
pub(super) const PENDING_BYTES: u64 = 256 << 20;
/// Writing chunks: from this many whole chunks at a time on, they are encoded straight from the caller's memory.
pub(super) const DIRECT_CHUNKS: u64 = pick(16, 3);

/// Writing plain arrays: writes of up to this many bytes wait for the one that follows them in the file, …
pub(super) const TAIL_SMALL: u64 = pick(4 << 10, 24);
/// … until there are this many bytes of them.
pub(super) const TAIL_ROOM: u64 = pick(64 << 10, 80);
