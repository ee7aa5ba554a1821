//! How bytes are encoded: the filters that netCDF-4 chunks pass through, and the byte kernels under them.
//!
//! A variable's filters become one [`CodecChain`]; the chain turns a stored chunk into elements and back.
//! Each filter is in a file of its own, which names its specification:
//!
//! | number | filter | decode | encode |
//! |---|---|---|---|
//! | 1 | [`deflate`] (zlib streams) | yes | yes |
//! | 2 | [`shuffle`](kernels::shuffle) | yes | yes |
//! | 3 | [`fletcher32`] | yes | yes |
//! | 4 | [`szip`] (CCSDS 121.0-B) | yes | no |
//! | 5 | [`nbit`] | yes | no |
//! | 6 | [`scaleoffset`] | yes | no |
//! | 307 | [`bzip2`] | yes | yes |
//! | 32000 | [`lzf`] | yes | yes |
//! | 32001 | [`blosc`] (version 1; all compressors but Snappy) | yes | yes |
//! | 32004 | [`lz4`] | yes | yes |
//! | 32008 | [`bitshuffle`], with LZ4 or zstd or neither | yes | yes |
//! | 32015 | [`zstd`] | yes | yes |
//! | 32022, 32023, 37373 | quantizations (BitGroom, Granular BitRound, BitRound) | no decoding needed | no |
//!
//! Guarantees for all of them:
//!
//! * **No stream is trusted.** Lengths inside a stream are checked against the chunk's size before anything
//!   is allocated; damaged bytes give [`Error::Corrupt`], never a panic.
//! * **Exact lengths.** A chunk decodes to exactly as many bytes as it has elements, or it is damaged.
//! * **No allocation in the steady state.** Intermediate stages use buffers of the thread.
//!
//! A chain does not know the file: its errors have `chunk` in place of the path, and [`locate`] inserts file and byte
//! offset.
//!
//! ```
//! use ncforge::codec::{CodecChain, filters};
//!
//! let chain = CodecChain::new(&[filters::shuffle(4), filters::deflate(4)], 4)?;
//! let values: Vec<u8> = (0..4096u32).flat_map(|v| v.to_le_bytes()).collect();
//! let (encoded, mask) = chain.encode(&values)?;
//! assert!(encoded.len() < values.len() / 4);
//!
//! let mut back = vec![0; values.len()];
//! chain.decode(&encoded, mask, &mut back)?;
//! assert_eq!(back, values);
//! # Ok::<(), ncforge::Error>(())
//! ```

mod bits;
pub mod bitshuffle;
pub mod blosc;
pub mod bzip2;
mod chain;
pub mod deflate;
pub mod filters;
pub mod fletcher32;
pub mod kernels;
pub mod lz4;
pub mod lzf;
pub mod nbit;
pub(crate) mod padded;
pub mod quantize;
pub mod scaleoffset;
mod scratch;
mod stage;
mod step;
pub mod szip;
pub mod unpack;
pub(crate) mod widen;
pub mod zstd;

#[cfg(test)]
mod tests;

pub use chain::CodecChain;
pub use filters::{describe, filter_name};
pub use scratch::Scratch;
pub use stage::Stage;

use crate::error::Error;

/// The path in errors, until [`locate`] inserts the real one.
pub(crate) const CHUNK: &str = "chunk";

/// The bytes of one filter's stream do not follow their format.
pub(crate) fn damaged(filter: &str, what: impl std::fmt::Display) -> Error {
    Error::corrupt(CHUNK, None, format!("{filter}: {what}"))
}

/// Inserts the file (and the chunk's byte offset) into an error of a chain.
///
/// ```
/// # use ncforge::codec::{CodecChain, filters, locate};
/// let chain = CodecChain::new(&[filters::fletcher32()], 1)?;
/// let error = chain.decode(&[1, 2, 3, 4, 9, 9, 9, 9], 0, &mut [0; 4]).unwrap_err();
/// assert!(locate(error, "a.nc", 4096).to_string().starts_with("`a.nc` is damaged at byte 4096: fletcher32"));
/// # Ok::<(), ncforge::Error>(())
/// ```
pub fn locate(error: Error, file: impl Into<String>, at: impl Into<Option<u64>>) -> Error {
    match error {
        Error::Corrupt { path, offset: None, what } if path == CHUNK => Error::corrupt(file, at, what),
        Error::Unsupported { path, what } if path == CHUNK => Error::Unsupported { path: file.into(), what },
        other => other,
    }
}
