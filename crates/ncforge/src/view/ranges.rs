//! Indices along one dimension, in order: a run, several, or every so many.

use std::ops::Range;

/// Indices that lie `step` apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The first of them.
    pub first: u64,
    /// How many.
    pub count: u64,
    /// From one to the next, at least 1.
    pub step: u64,
}

impl Span {
    /// All indices of a range.
    pub fn run(range: Range<u64>) -> Self {
        Span { first: range.start, count: range.end.saturating_sub(range.start), step: 1 }
    }

    fn at(&self, i: u64) -> u64 {
        self.first + i * self.step
    }

    /// How many of them are below `end`.
    fn below(&self, end: u64) -> u64 {
        end.saturating_sub(self.first).div_ceil(self.step).min(self.count)
    }
}

/// The part of a run of a window that one span holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Its first index within the run.
    pub(super) offset: u64,
    /// The indices of the whole.
    pub(super) span: Span,
}

/// The indices of a whole that a window has along a dimension, in its order; none twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ranges(Vec<Span>);

impl Ranges {
    /// Spans one behind the other; those that are empty are left out.
    pub fn new(spans: impl IntoIterator<Item = Span>) -> Self {
        Ranges(spans.into_iter().filter(|s| s.count > 0).collect())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The number of indices.
    pub fn len(&self) -> u64 {
        self.0.iter().map(|s| s.count).sum()
    }

    /// The spans that it is made of.
    pub fn spans(&self) -> &[Span] {
        &self.0
    }

    /// Whether these are all indices of a dimension of this length, in its order.
    pub fn is_all(&self, len: u64) -> bool {
        match self.0[..] {
            [] => len == 0,
            [one] => one.first == 0 && one.count == len && (one.step == 1 || len <= 1),
            _ => false,
        }
    }

    /// One past the largest index of the whole.
    pub(super) fn end(&self) -> u64 {
        self.0.iter().map(|s| s.at(s.count - 1) + 1).max().unwrap_or(0)
    }

    /// The parts of a run of the window.
    pub(super) fn cut(&self, run: Range<u64>) -> Vec<Cut> {
        let mut begin = 0;
        let mut parts = Vec::new();
        for span in &self.0 {
            let (from, to) = (run.start.max(begin), run.end.min(begin + span.count));
            if from < to {
                let own = Span { first: span.at(from - begin), count: to - from, step: span.step };
                parts.push(Cut { offset: from - run.start, span: own });
            }
            begin += span.count;
        }
        parts
    }

    /// The indices within a range of the whole, counted from its start.
    pub fn within(&self, range: Range<u64>) -> Ranges {
        Ranges::new(self.0.iter().map(|s| {
            let (skipped, end) = (s.below(range.start), s.below(range.end));
            let first = s.at(skipped).saturating_sub(range.start);
            Span { first, count: end.saturating_sub(skipped), step: s.step }
        }))
    }

    /// How many indices lie below `end`, if these are the first ones.
    pub(super) fn first_below(&self, end: u64) -> Option<u64> {
        let below: Vec<u64> = self.0.iter().map(|s| s.below(end)).collect();
        let cut = below.iter().zip(&self.0).position(|(b, s)| *b < s.count).unwrap_or(below.len());
        below.iter().skip(cut + 1).all(|&b| b == 0).then(|| below.iter().sum())
    }

    /// Whether chunks of this length of the window are chunks of the whole.
    pub(super) fn is_aligned(&self, chunk: u64) -> bool {
        let Some((last, before)) = self.0.split_last() else { return true };
        let begins = |s: &Span| s.first.is_multiple_of(chunk) && (s.step == 1 || chunk == 1);
        begins(last) && before.iter().all(|s| begins(s) && s.count.is_multiple_of(chunk))
    }

    /// The chunk of the window that a chunk of the whole is, where they are [aligned](Self::is_aligned).
    pub(super) fn chunk_of(&self, whole: u64, chunk: u64) -> Option<u64> {
        let first = whole.checked_mul(chunk)?;
        let mut begin = 0;
        for span in &self.0 {
            let from =
                first.checked_sub(span.first).filter(|d| d.is_multiple_of(span.step)).map(|d| d / span.step);
            if let Some(from) = from.filter(|&from| from < span.count) {
                return Some((begin + from) / chunk);
            }
            begin += span.count;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ranges() -> impl Strategy<Value = Ranges> {
        // Spans of one step each, and none that meet: in order, or the first one at the end.
        (prop::collection::vec((0u64..5, 1u64..9, 1u64..4), 1..4), any::<bool>()).prop_map(
            |(parts, turned)| {
                let mut at = 0;
                let mut spans: Vec<Span> = Vec::new();
                for (gap, count, step) in parts {
                    spans.push(Span { first: at + gap, count, step });
                    at += gap + count * step;
                }
                if turned {
                    spans.rotate_left(1);
                }
                Ranges::new(spans)
            },
        )
    }

    fn list(ranges: &Ranges) -> Vec<u64> {
        ranges.spans().iter().flat_map(|s| (0..s.count).map(|i| s.at(i))).collect()
    }

    proptest! {
        #[test]
        fn parts_of_runs_are_those_of_the_list(ranges in ranges(), from in 0u64..30, len in 0u64..30) {
            let all = list(&ranges);
            let run = from.min(ranges.len())..(from + len).min(ranges.len());
            let mut found = vec![None; (run.end - run.start) as usize];
            for cut in ranges.cut(run.clone()) {
                for i in 0..cut.span.count {
                    prop_assert!(found[(cut.offset + i) as usize].replace(cut.span.at(i)).is_none());
                }
            }
            let found: Option<Vec<u64>> = found.into_iter().collect();
            prop_assert_eq!(found, Some(all[run.start as usize..run.end as usize].to_vec()));
            prop_assert_eq!(ranges.end(), all.iter().max().unwrap() + 1);
        }

        #[test]
        fn what_a_shorter_whole_has(ranges in ranges(), end in 0u64..60) {
            let all = list(&ranges);
            let first = all.iter().take_while(|&&i| i < end).count();
            let are_first = all[first..].iter().all(|&i| i >= end);
            prop_assert_eq!(ranges.first_below(end), are_first.then_some(first as u64));
        }

        #[test]
        fn chunks_are_those_of_the_whole(ranges in ranges(), chunk in 1u64..5) {
            let all = list(&ranges);
            let chunks: Vec<&[u64]> = all.chunks(chunk as usize).collect();
            let is_chunk = |c: &&[u64]| c[0].is_multiple_of(chunk) && c.windows(2).all(|w| w[1] == w[0] + 1);
            if ranges.is_aligned(chunk) {
                prop_assert!(chunks.iter().all(is_chunk));
                for whole in 0..60 {
                    let at = chunks.iter().position(|c| c[0] == whole * chunk);
                    prop_assert_eq!(ranges.chunk_of(whole, chunk), at.map(|a| a as u64));
                }
            }
        }
    }
}
