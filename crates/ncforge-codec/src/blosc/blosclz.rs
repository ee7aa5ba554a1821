//! BloscLZ, Blosc's own Lempel-Ziv format.
//!
//! A control byte below 32 precedes that many literals plus one. Any other starts a match: its upper three
//! bits are the length minus two (7: bytes follow that are added, while they are 255), its lower five bits and the
//! next byte are the distance minus one; if all of these are ones, two more bytes (big-endian) follow and add to
//! the distance. Only the lower five bits of the first control byte are used.

use super::NAME;
use crate::damaged;
use crate::error::Result;
use crate::lzf::copy_match;

/// The distance at which the long form begins.
const FAR: usize = 8191;

/// Decodes into `dst`; returns the number of bytes, which may be smaller than `dst`.
pub(super) fn decode(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let cut = || damaged(NAME, "a BloscLZ stream ends in a match or a run of literals");
    let room = dst.len();
    let mut bytes = src.iter();
    let mut out = 0;
    let mut mask = 31;
    while let Some(&control) = bytes.next() {
        let control = usize::from(control) & mask;
        mask = 255;
        if control < 32 {
            let rest = bytes.as_slice();
            let (literals, after) = rest.split_at_checked(control + 1).ok_or_else(cut)?;
            let place = dst.get_mut(out..out + control + 1);
            place
                .ok_or_else(|| damaged(NAME, format!("a BloscLZ stream holds more than {room} bytes")))?
                .copy_from_slice(literals);
            out += control + 1;
            bytes = after.iter();
            continue;
        }
        let mut next = || bytes.next().map(|b| usize::from(*b)).ok_or_else(cut);
        let mut len = (control >> 5) + 2;
        if control >> 5 == 7 {
            loop {
                let more = next()?;
                len += more;
                if more != 255 || len > room {
                    break;
                }
            }
        }
        let mut distance = ((control & 31) << 8) + next()?;
        if distance == FAR {
            distance = FAR + (next()? << 8 | next()?);
        }
        out = copy_match(dst, out, distance + 1, len).ok_or_else(|| {
            damaged(NAME, format!("a BloscLZ match before the start or beyond {room} bytes"))
        })?;
    }
    Ok(out)
}
