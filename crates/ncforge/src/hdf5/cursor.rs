//! A bounded reader over bytes that came from a file: every access is checked, every error names the byte.

use crate::error::{Error, Result};

/// The bytes of an address and of a length in the file (superblock: "size of offsets", "size of
/// lengths"); each 2, 4 or 8 here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Bytes of an address.
    pub offset: u8,
    /// Bytes of a length.
    pub length: u8,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes { offset: 8, length: 8 }
    }
}

/// Reads little-endian fields one after the other from a slice of the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor<'a> {
    name: &'a str,
    data: &'a [u8],
    pos: usize,
    at: u64,
    sizes: Sizes,
}

impl<'a> Cursor<'a> {
    /// A cursor at the beginning of `data`, which stands at byte `at` of the file `name`.
    pub(crate) fn new(name: &'a str, data: &'a [u8], at: u64, sizes: Sizes) -> Self {
        Self { name, data, pos: 0, at, sizes }
    }

    /// The file's name, for messages.
    pub(crate) fn name(&self) -> &'a str {
        self.name
    }

    /// Bytes of addresses and lengths.
    pub(crate) fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// Bytes read so far.
    pub(crate) fn pos(&self) -> usize {
        self.pos
    }

    /// Byte of the file that is read next.
    pub(crate) fn file_offset(&self) -> u64 {
        self.at + self.pos as u64
    }

    /// Bytes left.
    pub(crate) fn remaining(&self) -> usize {
        self.data.len() - self.pos
    }

    /// The bytes that are left.
    pub(crate) fn rest(&self) -> &'a [u8] {
        &self.data[self.pos..]
    }

    /// An [`Error::Corrupt`] at the next byte.
    pub(crate) fn fail(&self, what: impl Into<String>) -> Error {
        Error::corrupt(self.name, self.file_offset(), what)
    }

    /// An [`Error::Unsupported`] of this file.
    pub(crate) fn unsupported(&self, what: impl Into<String>) -> Error {
        Error::Unsupported { path: self.name.to_owned(), what: what.into() }
    }

    /// The next `n` bytes.
    #[inline]
    pub(crate) fn bytes(&mut self, n: usize) -> Result<&'a [u8]> {
        let Some(part) = self.data.get(self.pos..).and_then(|rest| rest.get(..n)) else {
            return Err(self.too_short(n));
        };
        self.pos += n;
        Ok(part)
    }

    /// The next `N` bytes.
    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let Some(part) = self.data.get(self.pos..).and_then(|rest| rest.first_chunk()) else {
            return Err(self.too_short(N));
        };
        self.pos += N;
        Ok(*part)
    }

    #[cold]
    #[inline(never)]
    fn too_short(&self, n: usize) -> Error {
        self.fail(format!("{n} bytes are needed here, the structure has {} left", self.remaining()))
    }

    /// Passes over `n` bytes.
    #[inline]
    pub(crate) fn skip(&mut self, n: usize) -> Result<()> {
        self.bytes(n).map(|_| ())
    }

    /// A cursor over the next `n` bytes, which are passed.
    #[inline]
    pub(crate) fn sub(&mut self, n: usize) -> Result<Cursor<'a>> {
        let at = self.file_offset();
        let data = self.bytes(n)?;
        Ok(Cursor { data, pos: 0, at, ..*self })
    }

    /// An unsigned integer of `n` ≤ 8 bytes.
    #[inline]
    pub(crate) fn uint(&mut self, n: usize) -> Result<u64> {
        match n {
            8 => self.u64(),
            4 => self.u32().map(u64::from),
            2 => self.u16().map(u64::from),
            _ => self.odd_uint(n),
        }
    }

    fn odd_uint(&mut self, n: usize) -> Result<u64> {
        let mut eight = [0; 8];
        if n > 8 {
            return Err(self.fail(format!("an integer of {n} bytes")));
        }
        eight[..n].copy_from_slice(self.bytes(n)?);
        Ok(u64::from_le_bytes(eight))
    }

    /// One byte.
    #[inline]
    pub(crate) fn u8(&mut self) -> Result<u8> {
        self.array::<1>().map(|[b]| b)
    }

    /// Two bytes.
    #[inline]
    pub(crate) fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Four bytes.
    #[inline]
    pub(crate) fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes.
    #[inline]
    pub(crate) fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// A length.
    pub(crate) fn length(&mut self) -> Result<u64> {
        self.uint(usize::from(self.sizes.length))
    }

    /// A length that may be "unlimited" (all bits set), then `u64::MAX`.
    pub(crate) fn max_length(&mut self) -> Result<u64> {
        let n = usize::from(self.sizes.length);
        let v = self.uint(n)?;
        Ok(if is_all_ones(v, n) { u64::MAX } else { v })
    }

    /// An address; `None` when it is undefined (all bits set).
    pub(crate) fn address(&mut self) -> Result<Option<u64>> {
        let n = usize::from(self.sizes.offset);
        let v = self.uint(n)?;
        Ok((!is_all_ones(v, n)).then_some(v))
    }

    /// An address that must be defined.
    pub(crate) fn defined_address(&mut self, what: &str) -> Result<u64> {
        let here = *self;
        self.address()?.ok_or_else(|| here.fail(format!("the address of {what} is undefined")))
    }

    /// The bytes before the next NUL; the NUL is passed.
    pub(crate) fn cstr(&mut self) -> Result<&'a [u8]> {
        let n = self.rest().iter().position(|&b| b == 0);
        let n = n.ok_or_else(|| self.fail("a text without its terminating NUL"))?;
        let text = self.bytes(n)?;
        self.skip(1)?;
        Ok(text)
    }

    /// A NUL-terminated text in a field that is padded to a multiple of eight bytes.
    pub(crate) fn padded_cstr(&mut self) -> Result<&'a [u8]> {
        let start = self.pos;
        let text = self.cstr()?;
        let used = self.pos - start;
        self.skip_up_to(used.next_multiple_of(8) - used);
        Ok(text)
    }

    /// Passes over `n` bytes, or as many as are left (padding at the end of a message may be missing).
    pub(crate) fn skip_up_to(&mut self, n: usize) {
        self.pos += n.min(self.remaining());
    }

    /// Checks the next bytes against a signature.
    #[inline]
    pub(crate) fn signature(&mut self, expected: &[u8; 4]) -> Result<()> {
        let here = *self;
        let got = self.bytes(4)?;
        if got == expected {
            return Ok(());
        }
        Err(here.fail(format!(
            "`{}` is expected here, found `{}`",
            String::from_utf8_lossy(expected),
            got.escape_ascii()
        )))
    }

    /// Checks a version byte.
    #[inline]
    pub(crate) fn version(&mut self, what: &str, known: std::ops::RangeInclusive<u8>) -> Result<u8> {
        let here = *self;
        let v = self.u8()?;
        if known.contains(&v) {
            return Ok(v);
        }
        Err(here.fail(format!("version {v} of {what} is not known")))
    }
}

/// Whether the `n`-byte integer `v` has all its bits set: the "undefined" of addresses and lengths.
pub(crate) fn is_all_ones(v: u64, n: usize) -> bool {
    n > 0 && v == u64::MAX >> (64 - 8 * n.min(8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_the_bytes_is_an_error_with_its_offset() {
        let mut c = Cursor::new("a.nc", &[1, 0, 2], 100, Sizes::default());
        assert_eq!((c.u16().unwrap(), c.u8().unwrap()), (1, 2));
        assert!(c.u8().unwrap_err().to_string().contains("byte 103"));
    }
}
