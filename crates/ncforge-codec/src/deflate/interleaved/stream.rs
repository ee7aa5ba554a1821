//! A zlib stream that is being inflated: headers of blocks, stored blocks, single symbols, the checksum (RFC 1950, RFC 1951).

use libdeflate_sys as sys;

use super::tables::{BLOCK_END, DISTANCE_BITS, EXCEPTION, LITERAL, LITLEN_BITS, SUBTABLE, Tables, build};
use crate::padded::PaddedInput;

/// The next part of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Symbols of a block with codes.
    Codes,
    /// The checksum.
    End,
}

/// A place in a stream from which decoding can begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::deflate) struct Point {
    /// The bit at which the header of its block begins.
    pub(in crate::deflate) header: u64,
    /// The bit at which the next symbol begins, or the next byte of a stored block.
    pub(in crate::deflate) at: u64,
}

/// The bytes that are decoded.
#[derive(Clone, Copy)]
pub(in crate::deflate) enum Input<'a> {
    /// A stream from its header to its checksum.
    Whole(PaddedInput<'a>),
    /// Symbols from a point on.
    Part {
        point: Point,
        /// Bytes from the one in which the block's header begins.
        header: PaddedInput<'a>,
        /// Bytes from the one in which the first symbol begins.
        symbols: PaddedInput<'a>,
    },
}

/// One stream.
pub(super) struct Stream<'a> {
    /// The stream, and its padding if it has some.
    pub(super) src: &'a [u8],
    /// The length of the stream.
    len: usize,
    /// The next byte that is not in `bits`.
    pub(super) at: usize,
    /// Bits that come next, the first lowest; above `left` of them are those that follow in `src`, or zeros.
    pub(super) bits: u64,
    pub(super) left: u32,
    pub(super) dst: &'a mut [u8],
    /// Bytes that are decoded, and wanted.
    pub(super) out: usize,
    want: usize,
    pub(super) tables: &'a mut Tables,
    pub(super) state: State,
    /// The current block is the last one.
    last: bool,
    /// The stream ends, with a checksum, where the wanted bytes do.
    whole: bool,
}

impl<'a> Stream<'a> {
    /// Begins to decode `want` bytes into a buffer that may be longer.
    pub(super) fn open(
        input: Input<'a>,
        want: usize,
        dst: &'a mut [u8],
        tables: &'a mut Tables,
    ) -> Option<Self> {
        match input {
            Input::Whole(src) => Self::at_begin(src, want, dst, tables),
            Input::Part { point, header, symbols } => {
                let mut new = Self::of(header, 0, want, dst, tables);
                new.resume(point, symbols)?;
                Some(new)
            }
        }
    }

    fn of(src: PaddedInput<'a>, at: usize, want: usize, dst: &'a mut [u8], tables: &'a mut Tables) -> Self {
        let (len, src) = (src.len(), src.with_padding().unwrap_or(src.bytes()));
        let (bits, left, out, state, last, whole) = (0, 0, 0, State::Codes, false, false);
        Stream { src, len, at, bits, left, dst, out, want, tables, state, last, whole }
    }

    /// Reads the headers of the stream and of its first block with codes.
    fn at_begin(
        src: PaddedInput<'a>,
        want: usize,
        dst: &'a mut [u8],
        tables: &'a mut Tables,
    ) -> Option<Self> {
        let &[method, flags, ..] = src.bytes() else { return None };
        let header = u16::from_be_bytes([method, flags]);
        // Deflate, a window of the format, no dictionary, and the check of these two bytes.
        if method & 15 != 8 || method >> 4 > 7 || flags & 32 != 0 || !header.is_multiple_of(31) {
            return None;
        }
        let mut new = Self::of(src, 2, want, dst, tables);
        new.whole = true;
        new.next_block()?;
        Some(new)
    }

    /// Reads the header of the point's block, and goes on at the point.
    fn resume(&mut self, point: Point, symbols: PaddedInput<'a>) -> Option<()> {
        self.refill()?;
        self.take((point.header % 8) as u32);
        self.last = self.take(1) == 1;
        let kind = self.take(2);
        let stored = match kind {
            0 => {
                self.align()?;
                let n = self.stored_len()?;
                // The block's bytes that are still to come at the point.
                let passed = (point.at / 8).checked_sub(point.header / 8 + self.at as u64)?;
                Some(n.checked_sub(usize::try_from(passed).ok()?)?)
            }
            1 => self.fixed().map(|()| None)?,
            2 => self.dynamic().map(|()| None)?,
            _ => return None,
        };
        (self.len, self.src) = (symbols.len(), symbols.with_padding().unwrap_or(symbols.bytes()));
        (self.at, self.bits, self.left) = (0, 0, 0);
        match stored {
            Some(n) => {
                self.copy(n)?;
                if self.is_done() { Some(()) } else { self.next_block() }
            }
            None => {
                self.refill()?;
                self.take((point.at % 8) as u32);
                Some(())
            }
        }
    }

    /// Has at least 56 bits; after the end there are zeros.
    fn refill(&mut self) -> Option<()> {
        if let Some(word) = self.src.get(self.at..).and_then(<[u8]>::first_chunk) {
            self.bits |= u64::from_le_bytes(*word) << self.left;
            self.at += ((63 - self.left) >> 3) as usize;
            self.left |= 56;
            return Some(());
        }
        while self.left < 56 {
            let byte = self.src.get(self.at).copied().unwrap_or(0);
            self.bits |= u64::from(byte) << self.left;
            self.left += 8;
            self.at += 1;
        }
        // Behind the end by more than all of `bits`: it is not complete.
        (self.at <= self.src.len() + 8).then_some(())
    }

    fn take(&mut self, n: u32) -> u32 {
        let value = self.bits & ((1 << n) - 1);
        self.bits >>= n;
        self.left -= n;
        value as u32
    }

    /// The base of an entry plus its extra bits, which are taken.
    fn number(&mut self, entry: u32) -> usize {
        let extra = self.take(entry & 0xFF) >> (entry >> 8 & 15);
        (entry >> 16) as usize + extra as usize
    }

    /// The entry of the code that comes next; of a long code, the part that the main table has is taken.
    fn look_up(&mut self, table: fn(&Tables) -> &[u32], root: u32) -> u32 {
        let entry = table(self.tables)[(self.bits & ((1 << root) - 1)) as usize];
        if entry & SUBTABLE == 0 {
            return entry;
        }
        self.take(root);
        let select = self.bits & ((1 << (entry >> 8 & 15)) - 1);
        table(self.tables)[(entry >> 16) as usize + select as usize]
    }

    /// Goes on to the symbols of the next block with codes, or to the end.
    fn next_block(&mut self) -> Option<()> {
        while !self.last && (self.whole || !self.is_done()) {
            self.refill()?;
            self.last = self.take(1) == 1;
            match self.take(2) {
                0 => self.stored()?,
                1 => return self.fixed(),
                2 => return self.dynamic(),
                _ => return None,
            }
        }
        self.state = State::End;
        Some(())
    }

    /// Gives back whole bytes that were not needed.
    fn align(&mut self) -> Option<()> {
        self.at = self.at.checked_sub((self.left / 8) as usize)?;
        (self.bits, self.left) = (0, 0);
        Some(())
    }

    fn stored(&mut self) -> Option<()> {
        self.align()?;
        let n = self.stored_len()?;
        self.copy(n)
    }

    /// The number of bytes of a stored block, which are next.
    fn stored_len(&mut self) -> Option<usize> {
        let &[a, b, c, d] = self.src.get(self.at..)?.first_chunk()?;
        let n = u16::from_le_bytes([a, b]);
        self.at += 4;
        (n == !u16::from_le_bytes([c, d])).then_some(n.into())
    }

    /// Copies the next bytes, of a part of a stream those that are wanted.
    fn copy(&mut self, n: usize) -> Option<()> {
        let n = if self.whole { n } else { n.min(self.want - self.out) };
        let bytes = self.src.get(self.at..self.at + n)?;
        self.dst.get_mut(self.out..self.out + n)?.copy_from_slice(bytes);
        self.at += n;
        self.out += n;
        Some(())
    }

    fn fixed(&mut self) -> Option<()> {
        let mut litlen = [8; 288];
        litlen[144..256].fill(9);
        litlen[256..280].fill(7);
        self.tables.make(&litlen, &[5; 32])
    }

    fn dynamic(&mut self) -> Option<()> {
        const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
        let litlen = self.take(5) as usize + 257;
        let all = litlen + self.take(5) as usize + 1;
        let described = self.take(4) as usize + 4;
        let mut code_lengths = [0; 19];
        for &symbol in &ORDER[..described] {
            self.refill()?;
            code_lengths[symbol] = self.take(3) as u8;
        }
        let mut table = [0; 1 << 7];
        build(&code_lengths, 7, &mut table, |symbol, bits| (symbol as u32) << 16 | bits)?;
        // A repeat may reach beyond the last one, which is an error.
        let mut lengths = [0u8; 288 + 32 + 138];
        let mut n = 0;
        while n < all {
            self.refill()?;
            let entry = table[(self.bits & 127) as usize];
            self.take(entry & 0xFF);
            let (value, times) = match entry >> 16 {
                16 => (*lengths.get(n.checked_sub(1)?)?, self.take(2) + 3),
                17 => (0, self.take(3) + 3),
                18 => (0, self.take(7) + 11),
                length => (length as u8, 1),
            };
            lengths[n..n + times as usize].fill(value);
            n += times as usize;
        }
        if n != all {
            return None;
        }
        self.tables.make(&lengths[..litlen], &lengths[litlen..all])
    }

    /// Whether all is decoded that is wanted, and of a whole stream its last block.
    pub(super) fn is_done(&self) -> bool {
        self.state == State::End || !self.whole && self.out >= self.want
    }

    /// Decodes one symbol with every check, if there is one.
    pub(super) fn symbol(&mut self) -> Option<()> {
        if self.is_done() {
            return Some(());
        }
        self.refill()?;
        let entry = self.look_up(|t| &t.litlen, LITLEN_BITS);
        if entry & LITERAL != 0 {
            self.take(entry & 0xFF);
            *self.dst.get_mut(self.out)? = (entry >> 16) as u8;
            self.out += 1;
            return Some(());
        }
        if entry & EXCEPTION != 0 {
            self.take(entry & 0xFF);
            return if entry & BLOCK_END != 0 { self.next_block() } else { None };
        }
        let length = self.number(entry);
        self.refill()?;
        let entry = self.look_up(|t| &t.distance, DISTANCE_BITS);
        if entry & EXCEPTION != 0 {
            return None;
        }
        let from = self.out.checked_sub(self.number(entry))?;
        let there = self.dst.get_mut(from..self.out + length)?;
        for i in 0..length {
            there[there.len() - length + i] = there[i];
        }
        self.out += length;
        Some(())
    }

    /// Checks what can be checked at the end; returns the buffer and the tables.
    pub(super) fn finish(mut self) -> Option<(&'a mut [u8], &'a mut Tables)> {
        if !self.whole {
            return (self.out >= self.want).then_some((self.dst, self.tables));
        }
        self.align()?;
        let sum = self.src[..self.len].get(self.at..)?.first_chunk()?;
        // SAFETY: it reads the bytes whose address and number it gets.
        let found = unsafe { sys::libdeflate_adler32(1, self.dst.as_ptr().cast(), self.dst.len()) };
        let whole = self.out == self.dst.len() && found == u32::from_be_bytes(*sum);
        whole.then_some((self.dst, self.tables))
    }
}
