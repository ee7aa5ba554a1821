//! Access points: places in a deflate stream from which decoding can begin.
//!
//! A chunk with access points is an ordinary zlib stream (RFC 1950, RFC 1951), followed by a table and a footer. Every
//! reader of deflate ignores what follows a stream. The elements are cut into *segments* of a constant number; in each byte
//! plane a segment begins at an access point, and no match before which it begins reaches over one. A reader that knows the
//! table decodes the segments that it needs, and nothing else of the chunk.
//!
//! docs/access-points.md specifies table and footer byte by byte. In short, numbers little-endian:
//!
//! | Part | Contents |
//! |---|---|
//! | sums | for each segment the CRC-32C of its bytes, plane after plane: 4 bytes each |
//! | blocks | varint: how many blocks of the stream have points; for each of them varints: its points, the bits from the point (or the stream's begin) before to its header, the bits from its header to its first point; then for each further point, zigzag: the bits from the point before, less the same number of the point before |
//! | footer | 24 bytes: length of the table, elements of a segment, planes, CRC-32C of the table and these 12 bytes (4 bytes each), [`MAGIC`] |
//!
//! Points are those of the first plane in the order of the segments, then those of the second, and so on: the order of the
//! stream. A point is the number of the bit at which the first symbol (of a stored block: the first byte) of its segment
//! begins; bit 0 is the lowest of the stream's first byte.
//!
//! **Nothing is believed.** The table has a checksum, its points must lie inside the stream, and each segment has a checksum
//! of its own. Whoever has any doubt decodes the whole stream, which says what is wrong with it.

mod check;
mod read;
mod record;
#[cfg(test)]
mod tests;

pub use check::Disagreement;
pub use read::{AccessPoints, FOOTER, MAGIC, Tail};

pub(super) use read::MOST_POINTS;

pub(super) use record::Marks;

/// The access points that a stream gets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Segments {
    /// None.
    None,
    /// The shortest segments that hardly make the chunk larger, if it is long enough to be worth it.
    #[default]
    Auto,
    /// One at every this many bytes of the chunk's values.
    Bytes(usize),
}

impl Segments {
    /// The fewest bytes that are worth a segment: its part of the table has a dozen.
    pub const LEAST: usize = 256;

    /// The shortest chunk that gets any unasked: readers decode shorter ones whole.
    const SHORTEST: usize = 32 << 10;

    /// Whether a chunk of `len` bytes may get any.
    pub fn may_cut(self, len: usize) -> bool {
        match self {
            Segments::None => false,
            Segments::Auto => len >= Self::SHORTEST,
            Segments::Bytes(n) => len > n,
        }
    }
}
