//! How an array's chunks are encoded, as far as it matters for time and size.

use crate::rates::{
    COPIED, CodecRates, FEWEST_SEGMENTS, LONGEST_SEGMENT, SEGMENT_BYTES, SEGMENTS_OF_STORED,
    SHORTEST_SEGMENT, SMALL_CHUNKS_SLOWER, STORED_BYTES_PER_SECOND, USUAL_FRACTION, ZLIB_SLOWER, of_filters,
};
use ncforge::codec::filters::{self, Kind};
use ncforge::model::Filter;

/// Sizes of chunks, in decoded bytes, at which a decoder's rate is known; between them it is interpolated.
pub const SIZES: [u64; 5] = [4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20];

/// The coding of an array's chunks, as far as it matters for time and size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coding {
    /// Whether there is anything to decode. Plain chunks can be read in part.
    pub filtered: bool,
    /// Stored bytes ÷ decoded bytes in large chunks.
    pub fraction: f64,
    /// Bytes that every chunk stores besides: code tables, matches that a new beginning misses.
    pub per_chunk: f64,
    /// Rate of decoding one large chunk (1 MiB and more) on one thread, decoded bytes a second.
    pub decode: f64,
    /// The time of a byte in chunks of [`SIZES`] over that in large ones. An encoder can tell the
    /// planes of shuffled values apart only where they are long, and then decoding those that are
    /// random is copying.
    pub slower: [f64; SIZES.len()],
    /// The time of zlib, and of a loop that undoes the shuffle byte by byte, over ours: for readers that have those.
    pub zlib: f64,
    /// The time of a chunk that the end of an axis cuts off over that of a whole one: the elements outside are fill, which lies
    /// between the values and may be decoded a code at a time where values are copied.
    pub edge: f64,
    /// The speed that each further thread adds while chunks are decoded. `None`: [`Machine::gain`](super::Machine), as of everything else.
    pub gain: Option<f64>,
    /// Stored bytes that each segment costs, where chunks may have access points: a reader that knows them decodes the segments that it
    /// needs.
    pub points: Option<f64>,
    /// Whether the rates were timed on the machine that reads. Otherwise they are those of the machine of
    /// [`Machine::default`](super::Machine).
    pub timed: bool,
}

impl Coding {
    /// Values as they are.
    pub fn none() -> Self {
        Coding {
            filtered: false,
            fraction: 1.0,
            per_chunk: 0.0,
            decode: CodecRates::NONE.decode_bytes_per_second,
            slower: [1.0; SIZES.len()],
            zlib: 1.0,
            edge: 1.0,
            gain: None,
            points: None,
            timed: false,
        }
    }

    /// Shuffle and deflate, where no sample of the data was taken. The rate hardly depends on the level.
    pub fn deflate(level: u32) -> Self {
        if level == 0 {
            return Coding {
                filtered: true,
                per_chunk: 16.0,
                decode: STORED_BYTES_PER_SECOND,
                ..Coding::none()
            };
        }
        Coding {
            filtered: true,
            fraction: USUAL_FRACTION,
            per_chunk: 160.0,
            decode: of_filters(&[filters::shuffle(4), filters::deflate(level)]).decode_bytes_per_second,
            slower: SMALL_CHUNKS_SLOWER,
            zlib: ZLIB_SLOWER,
            ..Coding::none()
        }
    }

    /// Shuffle and zstd, where no sample was taken.
    pub fn zstd() -> Self {
        let decode = of_filters(&[filters::shuffle(4), filters::zstd(1)]).decode_bytes_per_second;
        Coding { per_chunk: 100.0, decode, zlib: 1.0, ..Coding::deflate(1) }
    }

    /// The usual values for a chain of filters.
    pub fn of_chain(chain: &[Filter]) -> Self {
        match () {
            () if chain.is_empty() => Coding::none(),
            () if chain.iter().any(|f| f.kind() == Some(Kind::Deflate)) => Coding::deflate(1),
            () => Coding::zstd(),
        }
    }

    /// As [`Self::of_chain`], for chunks that ncforge writes.
    pub fn written(chain: &[Filter]) -> Self {
        let is_known =
            |f: &Filter| matches!(f.kind(), Some(Kind::Shuffle | Kind::Deflate | Kind::Fletcher32));
        let shuffles = chain.first().is_some_and(|f| f.kind() == Some(Kind::Shuffle));
        let deflates = chain.iter().any(|f| f.kind() == Some(Kind::Deflate) && f.level() != Some(0));
        let is_cut = shuffles && deflates && chain.iter().all(is_known);
        Coding { points: is_cut.then_some(SEGMENT_BYTES), ..Coding::of_chain(chain) }
    }

    /// Whether this is what is usual for a chain of filters, so that a sample knows more.
    pub fn is_usual(&self, chain: &[Filter]) -> bool {
        *self == Coding { points: self.points, ..Coding::of_chain(chain) }
    }

    /// Bytes of a segment in a chunk of `bytes` bytes; `None` where chunks are decoded whole.
    pub fn segment(&self, bytes: f64, element: f64) -> Option<f64> {
        let elements = bytes / element;
        let stored = self.stored(bytes);
        let segments = (elements / (2.0 * elements.sqrt()).max(SHORTEST_SEGMENT))
            .min(SEGMENTS_OF_STORED * stored / self.points?);
        (stored >= COPIED * bytes && segments >= FEWEST_SEGMENTS.max(elements / LONGEST_SEGMENT))
            .then_some(bytes / segments)
    }

    /// Stored bytes of a chunk of `bytes` decoded ones.
    pub fn stored(&self, bytes: f64) -> f64 {
        if self.filtered { (self.fraction * bytes + self.per_chunk).min(bytes + 64.0) } else { bytes }
    }

    /// Seconds that decoding one chunk of `bytes` bytes takes one thread.
    ///
    /// ```
    /// use ncforge_tune::Coding;
    /// let c = Coding { decode: 1e9, slower: [2.0, 2.0, 2.0, 1.5, 1.0], ..Coding::deflate(1) };
    /// assert_eq!(c.seconds(1e9), 1.0);
    /// assert_eq!(c.seconds(1000.0), 2e-6);
    /// assert!(c.seconds(131072.0) > 1.5 * 131072e-9 && c.seconds(131072.0) < 2.0 * 131072e-9);
    /// ```
    pub fn seconds(&self, bytes: f64) -> f64 {
        if !self.filtered || bytes <= 0.0 {
            return 0.0;
        }
        let at = (bytes / SIZES[0] as f64).log(4.0).clamp(0.0, (SIZES.len() - 1) as f64);
        let low = (at as usize).min(SIZES.len() - 2);
        let part = at - low as f64;
        let slower = self.slower[low] * (1.0 - part) + self.slower[low + 1] * part;
        bytes * slower / self.decode
    }
}
