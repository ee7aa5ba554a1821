//! Values that are stored row by row, without chunks: which bytes they take.

use std::ops::Range;

/// Runs of bytes with the values of a variable: one, or one for each record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Runs {
    /// Byte offset of the first.
    pub begin: u64,
    /// Bytes from one record to the next; `None` where all values lie in one run.
    pub stride: Option<u64>,
    /// The number of runs.
    pub number: u64,
    /// Bytes of each.
    pub each: u64,
}

impl Runs {
    /// The bytes of a run.
    pub fn range(&self, number: u64) -> Range<u64> {
        let start = self.begin.saturating_add(self.stride.unwrap_or(0).saturating_mul(number));
        start..start.saturating_add(self.each)
    }

    /// The end of the last one: the first byte that is not needed.
    pub fn end(&self) -> u64 {
        if self.number == 0 || self.each == 0 { self.begin } else { self.range(self.number - 1).end }
    }

    /// Bytes of all that lie in the first `len` bytes of the store: a file may end before its values do.
    pub fn bytes_within(&self, len: u64) -> u64 {
        let available = len.saturating_sub(self.begin);
        match self.stride {
            None => self.each.min(available),
            Some(0) => 0,
            Some(stride) => {
                let whole = self.number.min(available / stride);
                let rest = if whole < self.number { self.each.min(available - whole * stride) } else { 0 };
                whole.saturating_mul(self.each).saturating_add(rest)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_short_files_count_what_is_there() {
        let runs = |number| Runs { begin: 100, stride: Some(16), number, each: 10 };
        for (len, bytes) in [(164, 40), (158, 40), (152, 34), (105, 5), (100, 0), (50, 0)] {
            assert_eq!(runs(4).bytes_within(len), bytes, "{len}");
        }
        assert_eq!((runs(0).bytes_within(200), runs(0).end(), runs(4).end()), (0, 100, 158));
        assert_eq!(Runs { stride: None, number: 1, ..runs(4) }.bytes_within(107), 7);
    }
}
