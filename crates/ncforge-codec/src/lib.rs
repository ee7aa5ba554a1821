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
//! A chain does not know the file: its errors have no path and no byte offset; the caller adds them.
//!
//! ```
//! use ncforge_codec::{CodecChain, filters};
//!
//! let chain = CodecChain::new(&[filters::shuffle(4), filters::deflate(4)], 4)?;
//! let values: Vec<u8> = (0..4096u32).flat_map(|v| v.to_le_bytes()).collect();
//! let (encoded, mask) = chain.encode(&values)?;
//! assert!(encoded.len() < values.len() / 4);
//!
//! let mut back = vec![0; values.len()];
//! chain.decode(&encoded, mask, &mut back)?;
//! assert_eq!(back, values);
//! # Ok::<(), ncforge_codec::Error>(())
//! ```

mod bits;
pub mod bitshuffle;
pub mod blosc;
pub mod bzip2;
mod chain;
pub mod deflate;
mod element;
mod error;
pub mod filter_chain;
pub mod filters;
pub mod fletcher32;
pub mod kernels;
pub mod lz4;
pub mod lzf;
pub mod nbit;
pub mod numbers;
mod padded;
pub mod quantize;
pub mod scaleoffset;
mod scratch;
mod stage;
mod step;
pub mod szip;
mod types;
pub mod unpack;
pub mod widen;
pub mod zstd;

#[cfg(test)]
mod tests;

pub use chain::{CodecChain, Segmented};
pub use deflate::Segments;
pub use deflate::access::{AccessPoints, Disagreement, FOOTER, Tail};
pub use filter_chain::FilterChain;
pub use filters::{describe, filter_name};
pub use padded::{PADDING, PaddedInput};
pub use scratch::Scratch;
pub use stage::Stage;

pub use element::{Element, Order, SwapField, is_swapped};
pub use error::{Error, Result};
pub use types::{Atomic, Endian, Filter};

pub(crate) use error::damaged;
