//! Where segments begin, noted while their stream is written.

use std::collections::VecDeque;
use std::ops::Range;

use super::read::{FOOTER, MAGIC};

/// A segment that begins in the block that is being made.
#[derive(Clone, Copy, Debug)]
struct Start {
    /// Its first sequence.
    sequence: usize,
    /// Its first byte.
    at: usize,
}

/// A block in which segments begin.
#[derive(Debug)]
struct Block {
    /// The bit at which its header begins.
    header: u64,
    /// The number of segments that begin in it.
    points: usize,
}

/// The segments of a stream, and where they begin. Without segments, matches may reach back through the whole chunk.
#[derive(Debug, Default)]
pub(in crate::deflate) struct Marks {
    /// Bytes of a plane.
    plane: usize,
    /// Bytes of a segment in a plane; 0: there are no segments.
    segment: usize,
    /// The first byte of the segment that the matcher's tables are about.
    begun: Option<usize>,
    waiting: VecDeque<Start>,
    blocks: Vec<Block>,
    points: Vec<u64>,
}

impl Marks {
    /// Begins a stream with segments of `segment` bytes in each plane of `plane` bytes, or with none.
    pub(in crate::deflate) fn begin(&mut self, plane: usize, segment: Option<usize>) {
        (self.plane, self.segment, self.begun) = (plane.max(1), segment.unwrap_or(0), None);
        self.waiting.clear();
        self.blocks.clear();
        self.points.clear();
    }

    /// The bytes that matches from byte `at` on may reach, if they may not reach beyond `end`.
    pub(in crate::deflate) fn around(&self, at: usize, end: usize) -> Range<usize> {
        if self.segment == 0 {
            return 0..end;
        }
        let start = at - at % self.plane % self.segment;
        start..(start + self.segment).min(end)
    }

    /// Notes that the byte `at` will be coded, by a sequence of this number. Returns whether the matcher must forget what came before.
    pub(in crate::deflate) fn code(&mut self, at: usize, sequence: usize) -> bool {
        if self.segment == 0 {
            return false;
        }
        let start = at - at % self.plane % self.segment;
        if start == at {
            self.waiting.push_back(Start { sequence, at });
        }
        self.begun.replace(start) != Some(start)
    }

    /// Notes that a sequence of a block is written next, at a bit. Returns the next one that is to be noted, at most `all`.
    pub(in crate::deflate) fn write(&mut self, header: u64, bit: u64, sequence: usize, all: usize) -> usize {
        if self.waiting.front().is_some_and(|s| s.sequence == sequence) {
            self.waiting.pop_front();
            self.point(header, bit);
        }
        self.waiting.front().map_or(all, |s| s.sequence.min(all))
    }

    /// Notes that the bytes of a range are stored from a bit on.
    pub(in crate::deflate) fn store(&mut self, header: u64, bit: u64, bytes: Range<usize>) {
        if self.segment == 0 {
            return;
        }
        // The last segment of a plane may be shorter.
        let mut at = bytes.start;
        while at < bytes.end {
            let within = at % self.plane;
            if within.is_multiple_of(self.segment) {
                self.point(header, bit + 8 * (at - bytes.start) as u64);
            }
            at += (self.segment - within % self.segment).min(self.plane - within);
        }
        while self.waiting.front().is_some_and(|s| s.at < bytes.end) {
            self.waiting.pop_front();
        }
    }

    /// Notes that `sequences` sequences are written: those that follow are counted from 0.
    pub(in crate::deflate) fn written(&mut self, sequences: usize) {
        self.waiting.iter_mut().for_each(|s| s.sequence -= sequences);
    }

    fn point(&mut self, header: u64, bit: u64) {
        match self.blocks.last_mut() {
            Some(block) if block.header == header => block.points += 1,
            _ => self.blocks.push(Block { header, points: 1 }),
        }
        self.points.push(bit);
    }

    /// Writes table and footer of the segments of `bytes` behind the stream, which is `at` bytes of `out` long; returns where
    /// they end.
    pub(in crate::deflate) fn finish(&self, bytes: &[u8], out: &mut Vec<u8>, at: usize) -> usize {
        if self.segment == 0 {
            return at;
        }
        let mut table = Vec::with_capacity(4 * self.points.len());
        let planes = bytes.len() / self.plane;
        for first in (0..self.plane).step_by(self.segment) {
            let len = self.segment.min(self.plane - first);
            let part = |p| &bytes[p * self.plane + first..][..len];
            let sum = (0..planes).fold(0, |sum, p| crc32c::crc32c_append(sum, part(p)));
            table.extend_from_slice(&sum.to_le_bytes());
        }
        put(&mut table, self.blocks.len() as u64);
        let (mut points, mut last, mut usual) = (self.points.iter(), 0, 0i64);
        for block in &self.blocks {
            put(&mut table, block.points as u64);
            put(&mut table, block.header - last);
            last = block.header;
            for (i, &point) in points.by_ref().take(block.points).enumerate() {
                let bits = point - last;
                if i == 0 {
                    put(&mut table, bits);
                } else {
                    let more = bits.cast_signed() - usual;
                    put(&mut table, (more << 1 ^ more >> 63).cast_unsigned());
                    usual = bits.cast_signed();
                }
                last = point;
            }
        }
        let mut footer = [0; FOOTER];
        for (place, n) in footer.chunks_mut(4).zip([table.len(), self.segment, planes]) {
            place.copy_from_slice(&(n as u32).to_le_bytes());
        }
        let sum = crc32c::crc32c_append(crc32c::crc32c(&table), &footer[..12]);
        footer[12..16].copy_from_slice(&sum.to_le_bytes());
        footer[16..].copy_from_slice(&MAGIC);
        let end = at + table.len() + FOOTER;
        if out.len() < end {
            out.resize(end, 0);
        }
        out[at..end - FOOTER].copy_from_slice(&table);
        out[end - FOOTER..end].copy_from_slice(&footer);
        end
    }
}

/// Adds a number, seven bits a byte, the lowest first (LEB128).
fn put(table: &mut Vec<u8>, mut n: u64) {
    while n > 127 {
        table.push(n as u8 | 128);
        n >>= 7;
    }
    table.push(n as u8);
}
