//! What access points save: of a chunk of which little is wanted, segments are decoded in place of all of it.
//!
//! Costs are those of [`crate::tune`] for whole chunks, less what is not decoded.

use super::facts::VarFacts;
use crate::tune::{Coding, Cost, Grid, Machine, Pattern, touched};
use ncforge::raw::policy;

/// What is left of a read's cost, as parts of what it costs where chunks are decoded whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Left {
    /// Of its bytes.
    pub(super) bytes: f64,
    /// Of its time.
    pub(super) seconds: f64,
}

impl Left {
    /// Everything.
    const ALL: Left = Left { bytes: 1.0, seconds: 1.0 };

    /// What a read of whole chunks costs then.
    pub(super) fn of(self, whole: Cost) -> Cost {
        Cost {
            fetched: whole.fetched * self.bytes,
            decoded: whole.decoded * self.bytes,
            seconds: whole.seconds * self.seconds,
            ..whole
        }
    }
}

/// What is left of a read of a variable as it is stored.
pub(super) fn as_stored(v: &VarFacts, pattern: &Pattern, machine: &Machine) -> Left {
    let points = v.index.as_ref().and_then(|i| i.points).filter(|p| p.chunks > 0);
    points.map_or(Left::ALL, |p| {
        left(v, pattern, p.segment_bytes, p.chunks as f64 / p.looked_at as f64, machine)
    })
}

/// The same if all of its chunks had access points, with segments of so many bytes of values.
pub(super) fn if_all_had(v: &VarFacts, pattern: &Pattern, segment: u64, machine: &Machine) -> Left {
    left(v, pattern, segment, 1.0, machine)
}

/// The same if the part `share` of the chunks has.
fn left(v: &VarFacts, pattern: &Pattern, segment: u64, share: f64, machine: &Machine) -> Left {
    let Some(chunk) = v.chunk.as_deref().filter(|_| !machine.hdf5) else { return Left::ALL };
    let lens: Vec<u64> = v.axes.iter().map(|a| a.len.max(1)).collect();
    let (decoded, entered) = of_chunk(&lens, chunk, &pattern.counts, v.element, segment);
    let [bytes, work] = [decoded, entered].map(|part| 1.0 - share * (1.0 - part));
    // A chunk of which a part is decoded is one that is decoded so much faster.
    let coding = v.coding_now();
    let seconds = |coding: Coding, machine: &Machine| {
        Grid { lens: &lens, chunk: Some(chunk), element: v.element, coding }.read(pattern, machine).seconds
    };
    let quick = Coding { decode: coding.decode / work, fraction: coding.fraction * bytes, ..coding };
    let less = Machine { keep: machine.keep / bytes, ..*machine };
    Left { bytes, seconds: seconds(quick, &less) / seconds(coding, machine) }
}

/// The part of a chunk that a read decodes of it on average, and what that and entering it take, as a part of what decoding all of the
/// chunk does.
fn of_chunk(lens: &[u64], chunk: &[u64], counts: &[u64], element: u64, segment: u64) -> (f64, f64) {
    let whole = chunk.iter().fold(element as f64, |n, &c| n * c as f64);
    let (mut run, mut runs, mut span, mut stride) = (element as f64, 1.0, element as f64, element as f64);
    for d in (0..chunk.len()).rev() {
        // Elements of one chunk that are wanted along the axis.
        let n = counts[d] as f64 / touched(counts[d], lens[d], chunk[d]);
        // What follows one another in the chunk is one run.
        if runs == 1.0 && run == stride {
            run *= n;
        } else {
            runs *= n;
        }
        span += (n - 1.0) * stride;
        stride *= chunk[d] as f64;
    }
    let segment = segment as f64;
    let (bytes, entries) = match runs * (run + segment) < span + segment {
        true => (runs * (run + segment), runs),
        false => (span + segment, 1.0),
    };
    let work = (bytes + entries * policy::PART_COST as f64) / whole;
    // Of a chunk of which more is wanted, all is decoded.
    if bytes > whole / 2.0 || work > 1.0 { (1.0, 1.0) } else { (bytes / whole, work) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_decodes_about_a_segment_for_each_of_its_runs() {
        let lens = [365, 721, 1440];
        let part = |chunk: [u64; 3], counts: [u64; 3]| of_chunk(&lens, &chunk, &counts, 4, 8192).0;
        let map = 721.0 * 1440.0 * 4.0;
        let same = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-9, "{got} {want}");
        same(part([1, 721, 1440], [365, 1, 1]), (4.0 + 8192.0) / map);
        same(part([1, 721, 1440], [1, 1, 1440]), (1440.0 * 4.0 + 8192.0) / map);
        same(part([1, 721, 1440], [1, 40, 1440]), (40.0 * 1440.0 * 4.0 + 8192.0) / map);
        // One of a hundred rows begins in each segment and a half: all between them is decoded.
        same(part([1, 721, 1440], [1, 100, 100]), (4.0 * (99.0 * 1440.0 + 100.0) + 8192.0) / map);
        // A map out of chunks that are long in time: side by side.
        same(part([365, 103, 144], [1, 721, 1440]), 1.0 / 365.0 + 8192.0 / (365.0 * 103.0 * 144.0 * 4.0));
        // All of a chunk, most of it, and a series through it.
        assert_eq!(part([1, 721, 1440], [1, 721, 1440]), 1.0);
        assert_eq!(part([1, 721, 1440], [1, 500, 1440]), 1.0);
        same(part([365, 103, 144], [365, 1, 1]), 8196.0 * 365.0 / (365.0 * 103.0 * 144.0 * 4.0));
        assert_eq!(of_chunk(&[100], &[4096], &[1], 4, 2048), (1.0, 1.0));
    }
}
