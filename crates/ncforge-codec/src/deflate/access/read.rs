//! Reads tables of access points, and decodes segments.

use std::ops::Range;

use super::super::interleaved::{Input, Point, inflate_parts};
use crate::padded::PaddedInput;

/// The last bytes of a chunk with access points.
pub const MAGIC: [u8; 8] = *b"\x89APTS1\r\n";

/// Bytes of the footer.
pub const FOOTER: usize = 24;

/// Longest table that is read, and most segments of a chunk: a damaged length must not become an allocation.
const MOST: usize = 1 << 28;

/// Most access points of a chunk that is written: none of them takes more than 14 bytes of a table.
pub(in crate::deflate) const MOST_POINTS: usize = MOST / 16;

/// The fields of the footer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Footer {
    pub(super) table: usize,
    segment: usize,
    pub(super) planes: usize,
    sum: u32,
}

impl Footer {
    pub(super) fn of(tail: &[u8]) -> Option<Self> {
        let footer: &[u8; FOOTER] = tail.last_chunk()?;
        if footer[16..] != MAGIC {
            return None;
        }
        let number = |i: usize| u32::from_le_bytes([footer[i], footer[i + 1], footer[i + 2], footer[i + 3]]);
        let (table, segment, planes) = (number(0) as usize, number(4) as usize, number(8) as usize);
        let sane = table <= MOST && segment > 0 && planes > 0;
        sane.then_some(Footer { table, segment, planes, sum: number(12) })
    }

    /// Whether its checksum is that of the table and footer that are `tail`.
    pub(super) fn fits(&self, tail: &[u8]) -> bool {
        tail.get(..self.table + 12).is_some_and(|summed| crc32c::crc32c(summed) == self.sum)
    }
}

/// A segment's place in one plane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    point: Point,
    /// The bit of the first point in the same block: the block's header ends before.
    first: u64,
}

/// The access points of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPoints {
    /// Bytes of a plane, and of a segment of a plane.
    plane: usize,
    segment: usize,
    planes: usize,
    /// Bytes of the stream.
    stream: u64,
    sums: Vec<u32>,
    places: Vec<Place>,
}

/// The access points of a chunk as its tail gives them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tail {
    /// The chunk has none, or not of this shape.
    None,
    /// The tail is too short: this many bytes are needed.
    Longer(usize),
    /// The access points.
    Points(AccessPoints),
}

impl AccessPoints {
    /// Bytes of a segment in a plane, as the last bytes of an encoded chunk of `planes` planes say; `None` if it has no access points.
    pub fn segment_of(tail: &[u8], planes: usize) -> Option<usize> {
        Footer::of(tail).filter(|f| f.planes == planes).map(|f| f.segment)
    }

    /// Bytes of table and footer, as the last bytes of an encoded chunk of `planes` planes say; `None` if it has no access points.
    pub fn table_of(tail: &[u8], planes: usize) -> Option<usize> {
        Footer::of(tail).filter(|f| f.planes == planes).map(|f| f.table + FOOTER)
    }

    /// Reads the access points of an encoded chunk of `encoded` bytes, without a checksum of another filter behind it, from its last bytes. The
    /// decoded chunk has `len` bytes in `planes` planes.
    pub fn read(tail: &[u8], encoded: u64, len: usize, planes: usize) -> Tail {
        let Some(footer) = Footer::of(tail) else { return Tail::None };
        let need = footer.table + FOOTER;
        let fits = footer.planes == planes && len.is_multiple_of(planes) && need as u64 <= encoded;
        if !fits {
            return Tail::None;
        }
        if tail.len() < need {
            return Tail::Longer(need);
        }
        let stream = encoded - need as u64;
        match Self::parse(&tail[tail.len() - need..], footer, stream, len / planes) {
            Some(points) => Tail::Points(points),
            None => Tail::None,
        }
    }

    /// `None` for a table that contradicts itself or its checksum.
    fn parse(tail: &[u8], footer: Footer, stream: u64, plane: usize) -> Option<Self> {
        if !footer.fits(tail) {
            return None;
        }
        let table = &tail[..footer.table];
        let segments = plane.div_ceil(footer.segment);
        let (sums, mut rest) = table.split_at_checked(segments.checked_mul(4)?)?;
        let sums = sums.as_chunks::<4>().0.iter().map(|s| u32::from_le_bytes(*s)).collect();
        let all = segments.checked_mul(footer.planes).filter(|&n| n <= table.len())?;
        let mut places = Vec::with_capacity(all);
        let (mut last, mut usual) = (0u64, 0i64);
        for _ in 0..take(&mut rest)? {
            let n = take(&mut rest)?;
            let header = last.checked_add(take(&mut rest)?)?;
            let first = header.checked_add(take(&mut rest)?)?;
            let mut at = first;
            for i in 0..n {
                if i > 0 {
                    let more = take(&mut rest)?;
                    usual = usual.checked_add((more >> 1).cast_signed() ^ -(more & 1).cast_signed())?;
                    at = at.checked_add(u64::try_from(usual).ok()?)?;
                }
                if places.len() == all || at > stream.checked_mul(8)? {
                    return None;
                }
                places.push(Place { point: Point { header, at }, first });
            }
            last = at;
        }
        let whole = places.len() == all && rest.is_empty();
        let (segment, planes) = (footer.segment, footer.planes);
        whole.then_some(AccessPoints { plane, segment, planes, stream, sums, places })
    }

    /// Bytes of a segment in a plane; the last one of a chunk may have fewer.
    pub fn segment(&self) -> usize {
        self.segment
    }

    /// Planes of the chunk: bytes of an element if it is shuffled, else one.
    pub fn planes(&self) -> usize {
        self.planes
    }

    /// Segments of the chunk.
    pub fn len(&self) -> usize {
        self.sums.len()
    }

    /// Bytes of memory that they take.
    pub fn footprint(&self) -> usize {
        size_of::<Self>() + self.sums.len() * size_of::<u32>() + self.places.len() * size_of::<Place>()
    }

    /// Whether the chunk has no segments.
    pub fn is_empty(&self) -> bool {
        self.sums.is_empty()
    }

    /// The checksum of a segment.
    pub(super) fn sum(&self, segment: usize) -> u32 {
        self.sums[segment]
    }

    /// Bytes of a plane in some of the segments.
    pub fn bytes(&self, segments: &Range<usize>) -> Range<usize> {
        segments.start * self.segment..(segments.end * self.segment).min(self.plane)
    }

    /// Bytes of the stream, before table and footer.
    pub fn stream(&self) -> u64 {
        self.stream
    }

    /// The bytes of the stream that are needed to decode some of the segments: two ranges for each plane, that of its block's header
    /// and that of its symbols.
    pub fn ranges(&self, segments: &Range<usize>) -> Vec<Range<u64>> {
        let lane = |plane: usize| {
            let [first, end] = [segments.start, segments.end].map(|s| plane * self.len() + s);
            let Place { point, first } = self.places[first];
            // A symbol may begin in a byte and end in the next.
            let to = self.places.get(end).map_or(self.stream, |p| p.point.at.div_ceil(8)).min(self.stream);
            [point.header / 8..first.div_ceil(8).min(self.stream), point.at / 8..to]
        };
        (0..self.planes).flat_map(lane).collect()
    }

    /// Decodes some of the segments into `out`, plane after plane. `parts` are the bytes of [`AccessPoints::ranges`]. Returns whether it could; if not,
    /// something is damaged, or has a form that is decoded with the whole stream only, and `out` is undefined.
    pub fn decode(&self, segments: &Range<usize>, parts: &[PaddedInput<'_>], out: &mut [u8]) -> bool {
        let each = self.bytes(segments).len();
        if each == 0 || out.len() != each * self.planes || parts.len() != 2 * self.planes {
            return false;
        }
        let part = |plane: usize| {
            let point = self.places[plane * self.len() + segments.start].point;
            Input::Part { point, header: parts[2 * plane], symbols: parts[2 * plane + 1] }
        };
        let inputs: Vec<_> = (0..self.planes).map(part).collect();
        inflate_parts(&inputs, each, |plane, bytes| {
            out[plane * each..][..each].copy_from_slice(bytes);
        }) && self.has_sums(segments, out)
    }

    /// Whether decoded segments have their checksums.
    fn has_sums(&self, segments: &Range<usize>, out: &[u8]) -> bool {
        let each = self.bytes(segments).len();
        segments.clone().all(|s| {
            let own = self.bytes(&(s..s + 1));
            let first = own.start - segments.start * self.segment;
            let part = |p| &out[p * each + first..][..own.len()];
            self.sums[s] == (0..self.planes).fold(0, |sum, p| crc32c::crc32c_append(sum, part(p)))
        })
    }
}

/// Takes a number, seven bits a byte, the lowest first (LEB128).
fn take(rest: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    for shift in (0..63).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        n |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some(n);
        }
    }
    None
}
