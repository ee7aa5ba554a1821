//! Inflating with libdeflate, which decodes most of a stream in a loop that reads and writes whole words.
//!
//! That loop ends some bytes before its input does, and another loop decodes the last bytes one by one. A few bytes encode
//! thousands if the last plane of a chunk is nearly constant, and a chunk of 16 KiB then took
//! three times as long (a constant one twenty times). The input given to libdeflate is therefore longer than the stream,
//! where that is possible: the fast loop ends less than [`PADDING`] bytes before its input does.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::NonNull;

use libdeflate_sys as sys;
use libdeflater::DecompressionError;

use super::super::padded::{PADDING, PaddedInput};
use super::super::scratch::with_own;

/// Streams up to this length are copied into a padded buffer if they have no padding.
const COPIED: usize = 64 << 10;

/// libdeflate's tables.
struct Inflater {
    tables: NonNull<sys::libdeflate_decompressor>,
    /// A buffer for a stream with padding.
    buffer: Vec<u8>,
}

thread_local! {
    static INFLATER: RefCell<Inflater> = RefCell::default();
}

impl Default for Inflater {
    fn default() -> Self {
        // SAFETY: takes nothing, and gives memory of its own or null.
        let tables = unsafe { sys::libdeflate_alloc_decompressor() };
        let tables = NonNull::new(tables).unwrap_or_else(|| {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<[u8; 1 << 14]>());
        });
        Inflater { tables, buffer: Vec::new() }
    }
}

impl Inflater {
    /// Inflates the stream at the beginning of `src`; returns its length and the number of decoded bytes.
    fn inflate(&mut self, src: &[u8], dst: &mut [u8]) -> Result<(usize, usize), DecompressionError> {
        let (mut used, mut made) = (0, 0);
        // SAFETY: the tables are ours alone; libdeflate reads within `src` and writes within `dst`, whose lengths it gets, and
        // both numbers.
        let result = unsafe {
            sys::libdeflate_zlib_decompress_ex(
                self.tables.as_ptr(),
                src.as_ptr().cast::<c_void>(),
                src.len(),
                dst.as_mut_ptr().cast::<c_void>(),
                dst.len(),
                &raw mut used,
                &raw mut made,
            )
        };
        match result {
            sys::libdeflate_result_LIBDEFLATE_SUCCESS => Ok((used, made)),
            sys::libdeflate_result_LIBDEFLATE_INSUFFICIENT_SPACE => {
                Err(DecompressionError::InsufficientSpace)
            }
            _ => Err(DecompressionError::BadData),
        }
    }

    /// Inflates with padding after the stream; `None` if there is no padding, or if the stream is not complete.
    fn inflate_with_padding(&mut self, src: PaddedInput<'_>, dst: &mut [u8]) -> Option<usize> {
        let (used, made) = match src.with_padding() {
            Some(more) => self.inflate(more, dst).ok()?,
            // A stream that is hardly smaller than its data consists mostly of stored bytes, and does not end with a long run.
            None if src.len() <= COPIED && src.len() < dst.len() / 16 * 15 => {
                let mut padded = std::mem::take(&mut self.buffer);
                padded.clear();
                padded.extend_from_slice(&src);
                padded.resize(src.len() + PADDING, 0);
                let done = self.inflate(&padded, dst);
                self.buffer = padded;
                done.ok()?
            }
            None => return None,
        };
        (used <= src.len()).then_some(made)
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: it was allocated in `default`, and is not used after this.
        unsafe { sys::libdeflate_free_decompressor(self.tables.as_ptr()) };
    }
}

/// Inflates the zlib stream at the beginning of `src` into `dst`; returns the number of bytes.
pub(super) fn inflate(src: PaddedInput<'_>, dst: &mut [u8]) -> Result<usize, DecompressionError> {
    with_own(&INFLATER, |inflater| {
        if let Some(made) = inflater.inflate_with_padding(src, dst) {
            return Ok(made);
        }
        // Without padding, so that an error does not depend on the bytes after the stream.
        inflater.inflate(&src, dst).map(|(_, made)| made)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A constant plane at the end: a few bytes for many.
    fn stream() -> (Vec<u8>, Vec<u8>) {
        let mut raw: Vec<u8> = (0..4000u32).map(|i| (i * i / 7) as u8).collect();
        raw.resize(16384, 63);
        let mut out = Vec::new();
        let n = super::super::encode(&raw, 1, 4, super::super::Segments::None, &mut out).unwrap();
        out.truncate(n);
        (raw, out)
    }

    #[test]
    fn bytes_after_a_stream_are_ignored() {
        let (raw, compressed) = stream();
        for behind in [0, 1, 31, 32, 33, 500] {
            for fill in [0u8, 0xFF, compressed[0]] {
                let buffer: Vec<u8> = [&[9, 9], &compressed[..], &vec![fill; behind]].concat();
                let mut out = vec![0; raw.len()];
                let n = inflate(PaddedInput::within(&buffer, 2..2 + compressed.len()), &mut out);
                assert_eq!((n, &out), (Ok(raw.len()), &raw), "{behind} of {fill}");
            }
        }
    }

    /// Whatever bytes follow it, even the ones that were cut off.
    #[test]
    fn a_stream_that_was_cut_short_is_damaged() {
        let (raw, compressed) = stream();
        let mut out = vec![0; raw.len()];
        let whole: Vec<u8> = [&compressed[..], &[0; 64]].concat();
        for cut in 1..compressed.len() {
            let to = compressed.len() - cut;
            assert!(inflate(PaddedInput::within(&whole, 0..to), &mut out).is_err(), "{to}");
            assert!(inflate(PaddedInput::unpadded(&compressed[..to]), &mut out).is_err(), "{to}");
        }
    }

    #[test]
    fn streams_that_are_too_long_or_too_short_are_reported() {
        let (raw, compressed) = stream();
        let whole: Vec<u8> = [&compressed[..], &[0; 64]].concat();
        let src = PaddedInput::within(&whole, 0..compressed.len());
        assert_eq!(inflate(src, &mut vec![0; raw.len() - 1]), Err(DecompressionError::InsufficientSpace));
        assert_eq!(inflate(src, &mut vec![0; raw.len() + 1]), Ok(raw.len()));
    }
}
