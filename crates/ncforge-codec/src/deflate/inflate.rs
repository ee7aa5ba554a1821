//! Inflating with libdeflate, which does most of it in a loop that reads and writes whole words.
//!
//! That loop ends some bytes before its input does, and what the last bytes stand for comes out of another loop, byte by
//! byte. A few bytes stand for thousands where the last plane of a chunk is nearly constant, and a chunk of 16 KiB then took
//! three times as long (a constant one twenty times). So the input given to libdeflate is longer than the stream,
//! where that is possible: the quick loop ends less than [`PADDING`] bytes before its input does.

use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr::NonNull;

use libdeflate_sys as sys;
use libdeflater::DecompressionError;

use super::super::padded::{PADDING, PaddedInput};

/// Streams up to this length are copied to where there is room behind them, if there is none.
const COPIED: usize = 64 << 10;

/// libdeflate's tables.
struct Inflater {
    tables: NonNull<sys::libdeflate_decompressor>,
    /// A stream with room behind it.
    room: Vec<u8>,
}

thread_local! {
    static INFLATER: RefCell<Inflater> = RefCell::new(Inflater::new());
}

impl Inflater {
    fn new() -> Self {
        // SAFETY: takes nothing, and gives memory of its own or null.
        let tables = unsafe { sys::libdeflate_alloc_decompressor() };
        let tables = NonNull::new(tables).unwrap_or_else(|| {
            std::alloc::handle_alloc_error(std::alloc::Layout::new::<[u8; 1 << 14]>());
        });
        Inflater { tables, room: Vec::new() }
    }

    /// Inflates the stream that `src` begins with; gives its length and that of what came out.
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

    /// Inflates with room behind the stream; none where there is none, or where this is not a whole stream.
    fn inflate_with_room(&mut self, src: PaddedInput<'_>, dst: &mut [u8]) -> Option<usize> {
        let (used, made) = match src.with_room() {
            Some(more) => self.inflate(more, dst).ok()?,
            // What is hardly smaller than it was is stored, most of it, and does not end in a few bytes for thousands.
            None if src.len() <= COPIED && src.len() < dst.len() / 16 * 15 => {
                let mut room = std::mem::take(&mut self.room);
                room.clear();
                room.extend_from_slice(&src);
                room.resize(src.len() + PADDING, 0);
                let done = self.inflate(&room, dst);
                self.room = room;
                done.ok()?
            }
            None => return None,
        };
        (used <= src.len()).then_some(made)
    }
}

impl Drop for Inflater {
    fn drop(&mut self) {
        // SAFETY: it was allocated in `new`, and nobody has it after this.
        unsafe { sys::libdeflate_free_decompressor(self.tables.as_ptr()) };
    }
}

/// Inflates the zlib stream that `src` begins with into `dst`; gives the number of bytes.
pub(super) fn inflate(src: PaddedInput<'_>, dst: &mut [u8]) -> Result<usize, DecompressionError> {
    INFLATER.with(|cell| {
        let inflater = &mut *cell.borrow_mut();
        if let Some(made) = inflater.inflate_with_room(src, dst) {
            return Ok(made);
        }
        // As it stands, so that what is wrong does not depend on what is behind it.
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
        let n = super::super::encode(&raw, 1, 4, &mut out).unwrap();
        out.truncate(n);
        (raw, out)
    }

    #[test]
    fn what_is_behind_a_stream_does_not_count() {
        let (raw, packed) = stream();
        for behind in [0, 1, 31, 32, 33, 500] {
            for fill in [0u8, 0xFF, packed[0]] {
                let buffer: Vec<u8> = [&[9, 9], &packed[..], &vec![fill; behind]].concat();
                let mut out = vec![0; raw.len()];
                let n = inflate(PaddedInput::within(&buffer, 2..2 + packed.len()), &mut out);
                assert_eq!((n, &out), (Ok(raw.len()), &raw), "{behind} of {fill}");
            }
        }
    }

    /// Whatever stands behind it: even what was cut off.
    #[test]
    fn a_stream_that_was_cut_short_is_damaged() {
        let (raw, packed) = stream();
        let mut out = vec![0; raw.len()];
        let whole: Vec<u8> = [&packed[..], &[0; 64]].concat();
        for cut in 1..packed.len() {
            let to = packed.len() - cut;
            assert!(inflate(PaddedInput::within(&whole, 0..to), &mut out).is_err(), "{to}");
            assert!(inflate(PaddedInput::alone(&packed[..to]), &mut out).is_err(), "{to}");
        }
    }

    #[test]
    fn too_much_and_too_little_are_told() {
        let (raw, packed) = stream();
        let whole: Vec<u8> = [&packed[..], &[0; 64]].concat();
        let src = PaddedInput::within(&whole, 0..packed.len());
        assert_eq!(inflate(src, &mut vec![0; raw.len() - 1]), Err(DecompressionError::InsufficientSpace));
        assert_eq!(inflate(src, &mut vec![0; raw.len() + 1]), Ok(raw.len()));
    }
}
