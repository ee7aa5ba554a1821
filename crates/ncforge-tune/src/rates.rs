//! Rates of machines and codecs: the one table of every time and rate that predictions rest on.
//!
//! Names or documentation give the unit; nothing here is timed while a program runs, so that the same question gets the
//! same answer. There are three groups:
//!
//! * [`Machine`]: storage, memory and engine. The defaults were fitted to reads by `ncforge tune calibrate`, which measures
//!   any machine anew;
//! * codecs: [`of_filters`] for whole chains (measured by `cargo run --release -p ncforge-ops --example codec_choice`), and
//!   [`inflate_seconds`], [`zlib_inflate_seconds`] for streams whose work is known (fitted to
//!   `ncforge bench chunks --proof`);
//! * whole copies: files, memory, overheads (the copying rows of `make bench`).
//!
//! The machine of all of them, unless said otherwise: two processors of an AMD EPYC (Zen 4) virtual machine, Linux.

mod machine;

pub use machine::{Calibration, Machine, StorageKind};

use ncforge::codec::deflate::Work;
use ncforge::codec::filters::Kind;
use ncforge::model::Filter;

// Processor and memory, as `tune::cost` prices them. Fitted to the reads of `ncforge bench chunks --proof`.

/// Bytes of a line of memory.
pub(crate) const LINE_BYTES: f64 = 64.0;
/// Results of at most this many bytes stay in the processor's cache, where no line is waited for.
pub(crate) const CACHED_BYTES: f64 = 1048576.0;
/// Bytes that a core's own cache holds of lines that are written to again and again.
pub(crate) const OWN_CACHE_BYTES: f64 = 262144.0;
/// Bytes of the processor's last cache.
pub(crate) const LAST_CACHE_BYTES: f64 = 16777216.0;
/// The speed of the last cache over that of memory.
pub(crate) const LAST_CACHE_SPEEDUP: f64 = 6.0;
/// Storage that answers within this many seconds is the page cache.
pub(crate) const PAGE_CACHE_SECONDS: f64 = 20e-6;
/// The time of an element without a neighbour, as a part of that of a row.
pub(crate) const SINGLE_ELEMENT_PART: f64 = 0.15;

// Whole copies: the copying rows of `make bench`.

/// Bytes a second between a file and memory.
pub const FILE_BYTES_PER_SECOND: f64 = 1e9;
/// Bytes a second that one thread moves in memory, where most of it is touched for the first time.
pub const MEMORY_BYTES_PER_SECOND: f64 = 3e9;
/// Seconds of one run of bytes without its bytes: a system call and a page.
pub const RUN_SECONDS: f64 = 3e-6;
/// Seconds of one box of a copy without its bytes.
pub const BOX_SECONDS: f64 = 1e-4;
/// Threads that plans count with where the machine's own number must not change them: so that a copy can be resumed with
/// another one, …
pub const PLANNED_THREADS: f64 = 4.0;
/// … and those that nearly every machine has.
pub const FEWEST_THREADS: f64 = 2.0;
/// Seconds of pricing one chunk shape, for about four kinds of read (`ncforge bench chunks --proof` prints the time of choosing).
pub const PRICE_SECONDS: f64 = 1.2e-6;
/// Stored ÷ decoded bytes where nothing is known of the values.
pub const USUAL_FRACTION: f64 = 0.5;

// Streams of deflate, where no sample was taken: the means of `ncforge bench chunks --proof`.

/// The time of a byte in chunks of the sizes of [`SIZES`](crate::coding::SIZES) over that in large ones.
pub(crate) const SMALL_CHUNKS_SLOWER: [f64; 5] = [1.8, 1.6, 1.6, 1.4, 1.0];
/// The time that zlib needs to inflate a stream over that of ours.
pub(crate) const ZLIB_SLOWER: f64 = 3.3;
/// Bytes a second of blocks that are stored as they are (deflate level 0).
pub(crate) const STORED_BYTES_PER_SECOND: f64 = 6e9;

// Chunks with access points: what the encoder makes of most fields (`cargo run --release -p ncforge-codec --example access_points`).

/// A segment has twice the root of the chunk's elements, and this many at least.
pub(crate) const SHORTEST_SEGMENT: f64 = 1024.0;
/// Bytes that a segment costs where no sample was taken: its entry in the table, and matches that end at its beginning.
pub const SEGMENT_BYTES: f64 = 30.0;
/// All segments of a chunk cost at most this part of the stored bytes.
pub(crate) const SEGMENTS_OF_STORED: f64 = 0.005;
/// Chunks that become smaller than this part are decoded about as fast as bytes are copied, and get none.
pub(crate) const COPIED: f64 = 0.1 / 8.0;
/// Chunks of fewer segments get none.
pub(crate) const FEWEST_SEGMENTS: f64 = 8.0;
/// The longer segments are, the more each costs, for more matches end at its beginning: what a sample says holds up to this many elements.
pub(crate) const LONGEST_SEGMENT: f64 = 16384.0;
/// The time of a byte in segments over that in a large chunk.
pub(crate) const SEGMENTS_SLOWER: f64 = 1.5;

/// How fast one thread encodes and decodes, in bytes of values a second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CodecRates {
    /// Encoding, writing to a file included.
    pub encode_bytes_per_second: f64,
    /// Decoding.
    pub decode_bytes_per_second: f64,
}

impl CodecRates {
    /// Values as they are.
    pub const NONE: CodecRates =
        CodecRates { encode_bytes_per_second: f64::INFINITY, decode_bytes_per_second: f64::INFINITY };
}

/// The usual rates of a chain of filters.
///
/// Those of deflate and zstd are means (of the times) over three fields of 4 million numbers each (smooth floats, floats with
/// noise, packed shorts) in chunks of 256 KiB of elements, processor time. Decoding hardly depends on the level: what was
/// measured is pooled. Filters without a measurement count as zstd, whose level-1 rates those of LZ4 and Blosc are nearest to.
///
/// ```
/// use ncforge::codec::filters::{deflate, shuffle};
/// use ncforge_tune::rates;
/// let (low, high) = (rates::of_filters(&[shuffle(4), deflate(1)]), rates::of_filters(&[shuffle(4), deflate(6)]));
/// assert!(low.encode_bytes_per_second > high.encode_bytes_per_second);
/// assert!(low.decode_bytes_per_second == high.decode_bytes_per_second);
/// assert!(rates::of_filters(&[]).decode_bytes_per_second.is_infinite());
/// ```
pub fn of_filters(filters: &[Filter]) -> CodecRates {
    let has = |kind: Kind| filters.iter().any(|f| f.kind() == Some(kind));
    let level = |kind: Kind| {
        let own = filters.iter().find(|f| f.kind() == Some(kind));
        own.and_then(Filter::level).unwrap_or(1)
    };
    let shuffled = filters.iter().any(Filter::sorts);
    let (encode, decode) = match () {
        () if filters.is_empty() => return CodecRates::NONE,
        () if has(Kind::Deflate) => match (shuffled, level(Kind::Deflate)) {
            (_, 0) => (STORED_BYTES_PER_SECOND, STORED_BYTES_PER_SECOND),
            (true, ..5) => (215e6, 1.3e9),
            (true, _) => (133e6, 1.3e9),
            (false, 2..5) => (80e6, 355e6),
            (false, _) => (55e6, 355e6),
        },
        () if !filters.iter().any(Filter::compresses) => (MEMORY_BYTES_PER_SECOND, MEMORY_BYTES_PER_SECOND),
        () => match (shuffled, level(Kind::Zstd)) {
            (true, ..2) => (770e6, 2.06e9),
            (true, 2..4) => (510e6, 2.06e9),
            (true, _) => (113e6, 2.06e9),
            (false, ..2) => (610e6, 880e6),
            (false, 2..4) => (180e6, 880e6),
            (false, _) => (50e6, 880e6),
        },
    };
    CodecRates { encode_bytes_per_second: encode, decode_bytes_per_second: decode }
}

/// Whether a thread may encode a few megabytes a second only, depending on the values: the high levels, whose search has no
/// usual rate.
pub fn may_encode_slowly(filters: &[Filter]) -> bool {
    filters.iter().any(|f| match (f.kind(), f.level()) {
        (Some(Kind::Deflate), Some(level)) => level >= 7,
        (Some(Kind::Zstd), Some(level)) => level >= 10,
        _ => false,
    })
}

/// Seconds in which one thread decodes a byte of values and moves it.
pub fn decode_seconds_per_byte(filters: &[Filter]) -> f64 {
    1.0 / MEMORY_BYTES_PER_SECOND + 1.0 / of_filters(filters).decode_bytes_per_second
}

/// Seconds in which one thread moves a byte of values and encodes it.
pub fn encode_seconds_per_byte(filters: &[Filter]) -> f64 {
    1.0 / MEMORY_BYTES_PER_SECOND + 1.0 / of_filters(filters).encode_bytes_per_second
}

/// Seconds that libdeflate takes for `streams` streams with this work in all, their unshuffling included, on one thread.
///
/// The rates were fitted to 49 kinds of chunks, of 4 KiB to 2 MiB, of the seven arrays of `ncforge bench chunks --proof`,
/// whose rates lay between 0.9 and 11 GB/s: all times but one are predicted within 30 %.
///
/// ```
/// use ncforge::codec::deflate::Work;
/// use ncforge_tune::rates::inflate_seconds;
/// let copied = Work { stored: 1 << 20, ..Work::default() };
/// let coded = Work { literals: 1 << 20, ..Work::default() };
/// assert!(inflate_seconds(&coded, 1) > 10.0 * inflate_seconds(&copied, 1));
/// ```
pub fn inflate_seconds(work: &Work, streams: u64) -> f64 {
    // In this order: a stream, a table of codes, a literal, a match, a byte of a match, any byte.
    0.33e-6 * streams as f64
        + 1.1e-6 * work.tables as f64
        + 1.88e-9 * work.literals as f64
        + 3.7e-9 * work.matches as f64
        + 0.025e-9 * work.matched as f64
        + 0.03e-9 * work.bytes() as f64
}

/// As [`inflate_seconds`], for zlib as HDF5 calls it, with HDF5's way to undo a shuffle. It copies repeats byte by byte, which
/// [`inflate_seconds`] hardly charges: zlib takes 2.2 to 12 times as long, depending on the contents of a stream.
///
/// The rates were fitted to 192 kinds of chunks, of 4 KiB to 4 MiB, of the seven arrays of `ncforge bench chunks --proof` and
/// a field with land: 96 % of their times with zlib 1.2.13 are predicted within 30 %.
///
/// ```
/// use ncforge::codec::deflate::Work;
/// use ncforge_tune::rates::{inflate_seconds, zlib_inflate_seconds};
/// let repeats = Work { matches: 4 << 10, matched: 1 << 20, ..Work::default() };
/// let coded = Work { literals: 1 << 20, ..Work::default() };
/// assert!(zlib_inflate_seconds(&repeats) > 10.0 * inflate_seconds(&repeats, 1));
/// assert!(zlib_inflate_seconds(&coded) < 3.0 * inflate_seconds(&coded, 1));
/// ```
pub fn zlib_inflate_seconds(work: &Work) -> f64 {
    // In this order: a table of codes, a literal, a match, a byte of a match, any byte.
    3.2e-6 * work.tables as f64
        + 3.7e-9 * work.literals as f64
        + 10.7e-9 * work.matches as f64
        + 1.23e-9 * work.matched as f64
        + 0.11e-9 * work.bytes() as f64
}
