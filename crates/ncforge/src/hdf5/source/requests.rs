//! The requests that a round consists of: runs of pages, joined and split as a store's profile says.

use std::ops::Range;

use super::pages::PAGE;
use crate::store::IoProfile;
use crate::store::requests::{self, Joining};

/// Runs of pages in rising order, those that overlap or touch as one.
pub(super) fn distinct(mut runs: Vec<Range<u64>>) -> Vec<Range<u64>> {
    runs.sort_unstable_by_key(|r| r.start);
    let mut out: Vec<Range<u64>> = Vec::with_capacity(runs.len());
    for run in runs {
        match out.last_mut() {
            Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
            _ => out.push(run),
        }
    }
    out
}

/// Ranges of bytes of a file of `len` bytes that cover runs of pages: gaps that cost less than a request are read
/// through, and no range is longer than a request may be. All begin at a page.
pub(super) fn join(runs: Vec<Range<u64>>, profile: &IoProfile, len: u64) -> Vec<Range<u64>> {
    let bytes = |r: Range<u64>| r.start * PAGE..(r.end * PAGE).min(len);
    let ranges: Vec<_> = distinct(runs).into_iter().map(bytes).filter(|r| !r.is_empty()).collect();
    let joining = Joining::of(profile).at_most(largest(profile));
    let mut out = Vec::new();
    requests::join(
        ranges.len(),
        |i| ranges[i].clone(),
        joining,
        |_| false,
        |r| out.extend(split(r.bytes, profile)),
    );
    out
}

/// Bytes of one request at most: whole pages.
fn largest(profile: &IoProfile) -> u64 {
    (profile.largest_request / PAGE).max(1) * PAGE
}

/// A range in parts that are as long as a request may be.
pub(super) fn split(range: Range<u64>, profile: &IoProfile) -> Vec<Range<u64>> {
    let step = largest(profile);
    let starts = (range.start..range.end).step_by(usize::try_from(step).unwrap_or(usize::MAX));
    starts.map(|at| at..(at + step).min(range.end)).collect()
}

// One range is one range, not a misspelt array of numbers.
#[cfg(test)]
#[allow(clippy::single_range_in_vec_init)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn small_gaps_are_read_through_and_long_runs_are_split() {
        let profile = IoProfile {
            latency: Duration::from_millis(1),
            read_gap: 2 * PAGE,
            largest_request: 8 * PAGE,
            ..IoProfile::LOCAL
        };
        let pages = |runs: &[Range<u64>], len| -> Vec<Range<u64>> {
            join(runs.to_vec(), &profile, len)
                .into_iter()
                .map(|r| r.start / PAGE..r.end.div_ceil(PAGE))
                .collect()
        };
        let len = 1000 * PAGE;
        assert_eq!(pages(&[3..4, 0..1, 3..5], len), [0..5]);
        assert_eq!(pages(&[0..1, 4..5], len), [0..1, 4..5], "the gap is too long");
        assert_eq!(pages(&[0..4, 5..9], len), [0..4, 5..9], "the request would be too long");
        assert_eq!(pages(&[0..20], len), [0..8, 8..16, 16..20]);
        assert_eq!(join(vec![0..2], &profile, PAGE + 7), [0..PAGE + 7], "no range reaches past the end");
        assert_eq!(pages(&[1..2], 10), [], "nor begins there");
    }
}
