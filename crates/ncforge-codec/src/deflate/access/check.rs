//! Whether the access points of a chunk agree with its stream: every segment is decoded alone, and compared with the chunk that
//! was decoded whole. Readers take the whole chunk where they do not; this says where.

use std::ops::Range;

use super::read::{AccessPoints, FOOTER, Footer, MAGIC, Tail};
use crate::kernels;
use crate::padded::PaddedInput;

/// A place at which access points disagree with their chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disagreement {
    /// The byte of the encoded chunk.
    pub at: u64,
    /// The fault.
    pub what: String,
}

impl Disagreement {
    fn new(at: u64, what: impl Into<String>) -> Self {
        Disagreement { at, what: what.into() }
    }
}

impl AccessPoints {
    /// Whether an encoded chunk ends as one with access points, whatever the rest of its footer says.
    pub fn are_in(tail: &[u8]) -> bool {
        tail.len() >= FOOTER && tail.ends_with(&MAGIC)
    }

    /// Compares the access points of an encoded chunk, without a checksum of another filter behind it, with `whole`, the decoded
    /// chunk of `planes` planes.
    ///
    /// # Errors
    /// The first place where they disagree.
    pub fn check(encoded: &[u8], whole: &[u8], planes: usize) -> Result<(), Disagreement> {
        let points = match AccessPoints::read(encoded, encoded.len() as u64, whole.len(), planes) {
            Tail::Points(points) => points,
            Tail::None | Tail::Longer(_) => return Err(of_table(encoded, planes)),
        };
        let mut shuffled = vec![0; whole.len()];
        kernels::shuffle(whole, &mut shuffled, planes);
        let plane = whole.len() / planes;
        let mut alone = Vec::new();
        for s in 0..points.len() {
            let own = points.bytes(&(s..s + 1));
            let want = |p: usize| &shuffled[p * plane..][own.clone()];
            let sum = (0..planes).fold(0, |sum, p| crc32c::crc32c_append(sum, want(p)));
            if sum != points.sum(s) {
                let what = format!("the checksum of segment {s} is not that of its elements");
                return Err(Disagreement::new(points.stream() + 4 * s as u64, what));
            }
            let ranges = points.ranges(&(s..s + 1));
            let part = |r: &Range<u64>| PaddedInput::unpadded(&encoded[r.start as usize..r.end as usize]);
            let parts: Vec<_> = ranges.iter().map(part).collect();
            alone.resize(own.len() * planes, 0);
            let same = points.decode(&(s..s + 1), &parts, &mut alone)
                && alone.chunks(own.len()).enumerate().all(|(p, bytes)| bytes == want(p));
            if !same {
                let what = format!(
                    "segment {s}, decoded from its access points, is not what the whole stream has there"
                );
                return Err(Disagreement::new(ranges[1].start, what));
            }
        }
        Ok(())
    }
}

/// The fault of a table that cannot be read.
fn of_table(encoded: &[u8], planes: usize) -> Disagreement {
    let end = encoded.len().saturating_sub(FOOTER);
    let Some(footer) = Footer::of(encoded) else {
        return Disagreement::new(end as u64, "the footer of its access points is damaged");
    };
    let Some(table) = end.checked_sub(footer.table) else {
        return Disagreement::new(end as u64, "the table of its access points is longer than the chunk");
    };
    if !footer.fits(&encoded[table..]) {
        return Disagreement::new(
            table as u64,
            "the table of its access points is not what its checksum says",
        );
    }
    let what = match footer.planes == planes {
        true => "the table of its access points contradicts itself, or does not fit the stream".to_owned(),
        false => format!("its access points are those of {} planes, and it has {planes}", footer.planes),
    };
    Disagreement::new(table as u64, what)
}
