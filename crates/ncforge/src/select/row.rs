//! The chunks that neighbouring reads of a loop share: how much a reader must cache so that it decodes nothing twice.

use crate::model::shape;

/// The chunks that a read meets, and shares with neighbouring reads ([`sharing`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Chunks.
    pub chunks: u64,
    /// Bytes of their values.
    pub bytes: u64,
}

impl Row {
    /// The largest row that a box of `counts` elements meets at any place of an array of `lens`. `chunk`: lengths of
    /// chunks; `element`: bytes of an element.
    ///
    /// ```
    /// use ncforge::raw::Row;
    /// // Series of 1,560 steps from chunks of 65 steps, 16 by 16 points: 24 chunks.
    /// let row = Row::of(&[1560, 1, 1], &[1560, 128, 256], &[65, 16, 16], 4);
    /// assert_eq!((row.chunks, row.bytes), (24, 24 * 65 * 16 * 16 * 4));
    /// // A box of 30 points lies across two borders of chunks of 16 at worst.
    /// assert_eq!(Row::of(&[1, 30, 1], &[1560, 128, 256], &[65, 16, 16], 4).chunks, 3);
    /// ```
    pub fn of(counts: &[u64], lens: &[u64], chunk: &[u64], element: u64) -> Row {
        let mut row = Row { chunks: 1, bytes: element };
        for ((&count, &len), &c) in counts.iter().zip(lens).zip(chunk) {
            let (c, len) = (c.max(1), len.max(1));
            let all = len.div_ceil(c);
            let met = match count >= len {
                true => all,
                false => ((count.max(1).saturating_add(c) - 2) / c + 1).min(all),
            };
            row.add(met, c);
        }
        row
    }

    /// The row of the box that goes, on each axis, from the first of two numbers up to the second (not included).
    ///
    /// ```
    /// use ncforge::raw::Row;
    /// assert_eq!(Row::at([(15, 17), (0, 100)], &[16, 50], 8).chunks, 4);
    /// ```
    pub fn at(bounds: impl IntoIterator<Item = (u64, u64)>, chunk: &[u64], element: u64) -> Row {
        let mut row = Row { chunks: 1, bytes: element };
        for ((start, end), &c) in bounds.into_iter().zip(chunk) {
            let c = c.max(1);
            row.add((end.saturating_sub(1) / c).saturating_sub(start / c) + 1, c);
        }
        row
    }

    fn add(&mut self, met: u64, chunk: u64) {
        self.chunks = self.chunks.saturating_mul(met);
        self.bytes = self.bytes.saturating_mul(met.saturating_mul(chunk));
    }
}

/// Reads of `counts` elements side by side that the same row serves.
///
/// ```
/// // All series of a chunk of 16 by 16 points.
/// assert_eq!(ncforge::raw::sharing(&[1560, 1, 1], &[1560, 128, 256], &[65, 16, 16]), 256);
/// ```
pub fn sharing(counts: &[u64], lens: &[u64], chunk: &[u64]) -> u64 {
    let axes = counts.iter().zip(lens).zip(chunk).filter(|((count, len), _)| count < len);
    shape::product(axes.map(|((&count, &len), &c)| (c.min(len) / count.max(1)).max(1)))
}
