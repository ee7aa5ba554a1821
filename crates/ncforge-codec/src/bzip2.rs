//! Filter 307, bzip2: one bzip2 stream per chunk; parameter: the block size in units of 100 kB, 1 to 9.

use bzip2::{Action, Compress, Compression, Decompress, Status};

use super::damaged;
use super::scratch::grow;
use crate::error::{Error, Result};

const NAME: &str = "bzip2";

/// Run-length coding turns 45 MB of one byte into a block of 900 kB, which takes some 40 bytes.
pub(super) const MAX_EXPANSION: usize = 1 << 21;

/// Decodes into `dst`; returns the number of bytes, which may be smaller than `dst`.
pub fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let mut stream = Decompress::new(false);
    loop {
        let (read, written) = (stream.total_in() as usize, stream.total_out() as usize);
        let status = stream.decompress(&src[read..], &mut dst[written..]).map_err(|e| damaged(NAME, e))?;
        let (read_now, written_now) = (stream.total_in() as usize, stream.total_out() as usize);
        if status == Status::StreamEnd {
            return Ok(written_now);
        }
        if (read_now, written_now) == (read, written) {
            return Err(damaged(
                NAME,
                if written == dst.len() {
                    format!("the stream holds more than {written} bytes")
                } else {
                    "the stream ends too early".into()
                },
            ));
        }
    }
}

/// Encodes into the front of `out`; returns the number of bytes.
pub fn encode(src: &[u8], level: u32, out: &mut Vec<u8>) -> Result<usize> {
    let failed = |e: &dyn std::fmt::Display| Error::BadFilter(format!("bzip2 level {level}: {e}"));
    // The library's own bound: one percent and 600 bytes.
    let bound = src.len() + src.len() / 100 + 600;
    grow(out, bound)?;
    let mut stream = Compress::new(Compression::new(level.clamp(1, 9)), 0);
    loop {
        let (read, written) = (stream.total_in() as usize, stream.total_out() as usize);
        let status = stream
            .compress(&src[read..], &mut out[written..bound], Action::Finish)
            .map_err(|e| failed(&e))?;
        match status {
            Status::StreamEnd => return Ok(stream.total_out() as usize),
            _ if stream.total_out() as usize == bound => {
                return Err(failed(&"larger than any stream can be"));
            }
            _ => {}
        }
    }
}
