//! The cost limit of choosing: a small part of the cost of copying the variable.
//!
//! Both are reckoned from bytes and fixed rates, not timed, and depend on the variable alone: the same question gets the same
//! effort, and so the same answer, whatever else a file holds and whoever asks.

use ncforge::model::Filter;
use ncforge_tune::rates::{FEWEST_THREADS, FILE_BYTES_PER_SECOND, PRICE_SECONDS, of_filters};

/// Choosing costs this part of a copy.
const PART: f64 = 1.0 / 14.0;
/// Fewer shapes than this are no choice.
const SHAPES: usize = 64;
/// Samples may encode this part of the bytes that the copy encodes; …
const SAMPLED: u64 = 16;
/// … nothing is sampled of variables where that would be less than this many bytes, …
const LEAST: u64 = 64 << 10;
/// … and single shapes are not in those where it is less than this: there would be too few parts of each.
const SAMPLED_SHAPES_BYTES: u64 = 1 << 20;

/// The cost limit of choosing for one variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Effort {
    /// Shapes that may be priced.
    pub(super) shapes: usize,
    /// Bytes that samples may encode.
    pub(super) sample: u64,
}

impl Effort {
    /// The effort for a variable of `bytes` bytes that gets these filters.
    pub(super) fn of(bytes: u64, filters: &[Filter]) -> Self {
        let rates = of_filters(filters);
        let copying = bytes as f64
            * (1.0 / FILE_BYTES_PER_SECOND + 1.0 / (FEWEST_THREADS * rates.encode_bytes_per_second));
        let shapes = (copying * PART / PRICE_SECONDS) as usize;
        let sample = if filters.is_empty() { 0 } else { bytes / SAMPLED };
        Effort { shapes: shapes.max(SHAPES), sample: if sample < LEAST { 0 } else { sample } }
    }

    /// Whether single shapes are sampled.
    pub(super) fn samples_shapes(self) -> bool {
        self.sample >= SAMPLED_SHAPES_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::codec::filters::{deflate, shuffle};

    #[test]
    fn small_variables_need_no_sample_and_large_ones_a_part() {
        let chain = [shuffle(4), deflate(1)];
        assert_eq!(Effort::of(1 << 19, &chain).sample, 0);
        assert_eq!(Effort::of(1000, &[]), Effort { shapes: SHAPES, sample: 0 });
        let large = Effort::of(1 << 30, &chain);
        assert!(large.samples_shapes() && large.sample == 64 << 20 && large.shapes > 100_000);
        assert!(Effort::of(1 << 30, &[]).sample == 0 && !Effort::of(8 << 20, &chain).samples_shapes());
    }
}
