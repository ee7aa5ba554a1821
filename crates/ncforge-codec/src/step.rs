//! One filter of a chain, with its parsed parameters.

use super::bitshuffle::{self, Bitshuffle};
use super::blosc::{self, Blosc};
use super::nbit::Nbit;
use super::padded::PaddedInput;
use super::scaleoffset::ScaleOffset;
use super::szip::{self, Szip};
use super::{bzip2, damaged, deflate, filter_name, filters, fletcher32, kernels, lz4, lzf, zstd};
use crate::error::{Error, Result};
use crate::filters::Kind;
use crate::scratch::grow;
use crate::types::Filter;

/// A filter that can be decoded, and possibly encoded.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// Bytes do not change on reading (the quantizations).
    Identity {
        /// The filter's number.
        id: u16,
    },
    Deflate {
        level: u32,
        /// Byte planes of the input: the element size right after a shuffle, else 1.
        planes: usize,
        /// The access points that planes get.
        segments: deflate::Segments,
    },
    Shuffle {
        size: usize,
    },
    Fletcher32,
    Zstd {
        level: i32,
    },
    Bzip2 {
        level: u32,
    },
    Lz4 {
        block: usize,
    },
    Lzf,
    Blosc(Blosc),
    Bitshuffle(Bitshuffle),
    Szip(Szip),
    Nbit(Nbit),
    ScaleOffset(ScaleOffset),
}

impl Step {
    /// Parses a filter as described in a file. Unknown filters are [`Error::Unsupported`].
    pub(super) fn new(filter: &Filter, element_size: usize) -> Result<Step> {
        let param = |i: usize| filter.params.get(i).copied();
        let level = || filter.level().unwrap_or_default();
        let Some(kind) = filter.kind() else {
            let (id, name) = (filter.id, filter_name(filter.id));
            let known = if name == filters::UNKNOWN { String::new() } else { format!(" ({name})") };
            return Err(Error::Unsupported(format!("filter {id}{known}")));
        };
        Ok(match kind {
            Kind::Deflate => {
                // The chain knows what else is done to a chunk, and therefore whether its access points can be read.
                let segments = deflate::Segments::None;
                Step::Deflate { level: level().cast_unsigned().min(9), planes: 1, segments }
            }
            Kind::Shuffle => match param(0).map_or(element_size, |p| p as usize) {
                0 => return Err(damaged("shuffle", "an element size of 0")),
                size => Step::Shuffle { size },
            },
            Kind::Fletcher32 => Step::Fletcher32,
            Kind::Zstd => Step::Zstd { level: level() },
            Kind::Bzip2 => Step::Bzip2 { level: level().cast_unsigned() },
            Kind::Lz4 => Step::Lz4 { block: param(0).unwrap_or(0) as usize },
            Kind::Lzf => Step::Lzf,
            Kind::Blosc => Step::Blosc(Blosc::new(&filter.params, element_size)),
            Kind::Bitshuffle => Step::Bitshuffle(Bitshuffle::new(&filter.params, element_size)?),
            Kind::Szip => Step::Szip(Szip::new(&filter.params)?),
            Kind::Nbit => Step::Nbit(Nbit::new(&filter.params)?),
            Kind::ScaleOffset => Step::ScaleOffset(ScaleOffset::new(&filter.params)?),
            Kind::Quantization => Step::Identity { id: filter.id },
            Kind::Widen => {
                // A chain that reads them is made by `CodecChain::widened`.
                let what = "combining or writing 2-byte floats, or integers of fewer bits than their bytes (copies of \
                            such files hold what they are read as)";
                return Err(Error::Unsupported(what.into()));
            }
        })
    }

    /// The filter's name, for messages.
    pub(super) fn name(&self) -> &'static str {
        filter_name(match self {
            Step::Identity { id } => *id,
            Step::Deflate { .. } => filters::DEFLATE,
            Step::Shuffle { .. } => filters::SHUFFLE,
            Step::Fletcher32 => filters::FLETCHER32,
            Step::Zstd { .. } => filters::ZSTD,
            Step::Bzip2 { .. } => filters::BZIP2,
            Step::Lz4 { .. } => filters::LZ4,
            Step::Lzf => filters::LZF,
            Step::Blosc(_) => filters::BLOSC,
            Step::Bitshuffle(_) => filters::BITSHUFFLE,
            Step::Szip(_) => filters::SZIP,
            Step::Nbit(_) => filters::NBIT,
            Step::ScaleOffset(_) => filters::SCALEOFFSET,
        })
    }

    /// The length of `len` encoded bytes, if it does not depend on the bytes.
    pub(super) fn encoded_len(&self, len: usize) -> Option<usize> {
        match self {
            Step::Identity { .. } | Step::Shuffle { .. } => Some(len),
            Step::Fletcher32 => len.checked_add(4),
            Step::Deflate { .. }
            | Step::Zstd { .. }
            | Step::Bzip2 { .. }
            | Step::Lz4 { .. }
            | Step::Lzf
            | Step::Blosc(_)
            | Step::Bitshuffle(_)
            | Step::Szip(_)
            | Step::Nbit(_)
            | Step::ScaleOffset(_) => None,
        }
    }

    /// The largest ratio of decoded to encoded bytes.
    pub(super) fn max_expansion(&self) -> usize {
        match self {
            Step::Identity { .. } | Step::Shuffle { .. } | Step::Fletcher32 => 1,
            Step::Deflate { .. } => deflate::MAX_EXPANSION,
            Step::Zstd { .. } => zstd::MAX_EXPANSION,
            Step::Bzip2 { .. } => bzip2::MAX_EXPANSION,
            Step::Lz4 { .. } => lz4::MAX_EXPANSION,
            Step::Lzf => lzf::MAX_EXPANSION,
            Step::Blosc(_) => blosc::MAX_EXPANSION,
            Step::Bitshuffle(_) => bitshuffle::MAX_EXPANSION,
            Step::Szip(_) => szip::MAX_EXPANSION,
            // A chunk may be encoded in no bits at all.
            Step::Nbit(_) | Step::ScaleOffset(_) => usize::MAX,
        }
    }

    /// Decodes; returns the number of bytes written to the front of `dst`. `dst` has the largest possible length of the
    /// result, and exactly its length if [`Step::encoded_len`] knows it.
    pub(super) fn decode(&self, padded: PaddedInput<'_>, dst: &mut [u8]) -> Result<usize> {
        let src = padded.bytes();
        match self {
            Step::Identity { .. } => copy(src, dst, self.name()),
            Step::Fletcher32 => copy(fletcher32::verify(src)?, dst, self.name()),
            Step::Deflate { .. } => deflate::decode_padded(padded, dst),
            Step::Zstd { .. } => zstd::decode(src, dst),
            Step::Bzip2 { .. } => bzip2::decode(src, dst),
            Step::Lz4 { .. } => lz4::decode(src, dst),
            Step::Lzf => lzf::decode(src, dst),
            Step::Blosc(_) => blosc::decode(src, dst),
            Step::Bitshuffle(b) => b.decode(src, dst),
            Step::Szip(s) => s.decode(src, dst),
            Step::Nbit(n) => n.decode(src, dst),
            Step::ScaleOffset(s) => s.decode(src, dst),
            Step::Shuffle { size } => {
                let dst = fit(src.len(), dst, self.name())?;
                kernels::unshuffle(src, dst, *size);
                Ok(src.len())
            }
        }
    }

    /// Whether the filter can be encoded, not only decoded.
    pub(super) fn is_written(&self) -> bool {
        match self {
            Step::Identity { .. } | Step::Szip(_) | Step::Nbit(_) | Step::ScaleOffset(_) => false,
            Step::Deflate { .. }
            | Step::Zstd { .. }
            | Step::Bzip2 { .. }
            | Step::Lz4 { .. }
            | Step::Lzf
            | Step::Blosc(_)
            | Step::Bitshuffle(_)
            | Step::Shuffle { .. }
            | Step::Fletcher32 => true,
        }
    }

    /// Encodes; returns the number of bytes written to the front of `out`, or `None` if the bytes
    /// do not get smaller and the filter's format cannot store them uncompressed.
    pub(super) fn encode(&self, src: &[u8], out: &mut Vec<u8>) -> Result<Option<usize>> {
        match self {
            // As `is_written` says.
            Step::Identity { .. } | Step::Szip(_) | Step::Nbit(_) | Step::ScaleOffset(_) => {
                Err(Error::Unsupported(format!("writing with filter {}", self.name())))
            }
            Step::Deflate { level, planes, segments } => {
                deflate::encode(src, *level, *planes, *segments, out).map(Some)
            }
            Step::Zstd { level } => zstd::encode(src, *level, out).map(Some),
            Step::Bzip2 { level } => bzip2::encode(src, *level, out).map(Some),
            Step::Lz4 { block } => lz4::encode(src, *block, out).map(Some),
            Step::Lzf => lzf::encode(src, out),
            Step::Blosc(b) => b.encode(src, out).map(Some),
            Step::Bitshuffle(b) => b.encode(src, out).map(Some),
            Step::Shuffle { size } => {
                grow(out, src.len())?;
                kernels::shuffle(src, &mut out[..src.len()], *size);
                Ok(Some(src.len()))
            }
            Step::Fletcher32 => {
                let len = src.len() + 4;
                grow(out, len)?;
                out[..src.len()].copy_from_slice(src);
                out[src.len()..len].copy_from_slice(&fletcher32::checksum(src).to_le_bytes());
                Ok(Some(len))
            }
        }
    }
}

fn fit<'a>(len: usize, dst: &'a mut [u8], name: &str) -> Result<&'a mut [u8]> {
    let expected = dst.len();
    dst.get_mut(..len).ok_or_else(|| damaged(name, format!("{len} bytes where {expected} belong")))
}

fn copy(src: &[u8], dst: &mut [u8], name: &str) -> Result<usize> {
    fit(src.len(), dst, name)?.copy_from_slice(src);
    Ok(src.len())
}
