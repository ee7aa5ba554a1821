//! How much a reader must keep of what it decoded, so that a loop of reads decodes nothing twice.
//!
//! Reads side by side (a map after a map, a series after a series) share the chunks that each of them meets: a *row* of
//! chunks. With room for the row each chunk is decoded once in the whole loop. A cache of fixed size that drops what was
//! used longest ago serves nothing at all if it is only a little smaller, and everything is decoded anew for every read.
//! ncforge's engine asks for the row of the loop that it sees; in netCDF-C people set the cache by hand ([`CacheAdvice`]).

use serde::Serialize;

use super::pattern::Pattern;

/// The chunks that a read meets, and shares with the reads beside it ([`sharing`]).
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
    /// use ncforge::tune::Row;
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
    /// use ncforge::tune::Row;
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
/// assert_eq!(ncforge::tune::keep::sharing(&[1560, 1, 1], &[1560, 128, 256], &[65, 16, 16]), 256);
/// ```
pub fn sharing(counts: &[u64], lens: &[u64], chunk: &[u64]) -> u64 {
    let axes = counts.iter().zip(lens).zip(chunk).filter(|((count, len), _)| count < len);
    axes.fold(1, |n: u64, ((&count, &len), &c)| n.saturating_mul((c.min(len) / count.max(1)).max(1)))
}

/// What users of netCDF-C can set to read without decoding chunks twice:
/// `nc_set_var_chunk_cache(ncid, varid, size, slots, preemption)`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CacheAdvice {
    /// The reads: `series`, or `series, map`.
    pub read: String,
    /// Bytes.
    pub size: u64,
    /// Slots of its table (`nelems`).
    pub slots: u64,
    /// Which chunks go first.
    pub preemption: f64,
}

impl CacheAdvice {
    /// For reads that meet `row`.
    ///
    /// Slots: one chunk a slot, and two chunks that fall into one slot throw each other out, so there are a hundred
    /// times as many as chunks (a prime, as HDF5's manual advises), at most a million, but twice the chunks.
    pub fn of(read: &str, row: Row) -> Self {
        let slots = row.chunks.saturating_mul(100).clamp(1009, 1_000_003).max(row.chunks.saturating_mul(2));
        CacheAdvice {
            read: read.to_owned(),
            size: row.bytes,
            slots: next_prime(slots.min(1 << 40)),
            preemption: 0.75,
        }
    }

    /// For all of several reads of an array of `lens` in chunks of lengths `chunk`, one kind after the other: room for
    /// the largest row. A read of everything comes back to nothing. `None` where no other is among them.
    ///
    /// ```
    /// use ncforge::tune::{Access, Axis, CacheAdvice, Pattern, Role};
    /// let axes = [Axis::new("time", 1560, Role::Time), Axis::new("lat", 128, Role::Y), Axis::new("lon", 256, Role::X)];
    /// let reads = Pattern::bind(&Access::usual(), &axes);
    /// let advice = CacheAdvice::for_reads(&reads, &[1560, 128, 256], &[65, 16, 16], 4).unwrap();
    /// assert_eq!(advice.read, "series, map");
    /// // A map meets 8 by 16 chunks.
    /// assert_eq!(advice.call(), "nc_set_var_chunk_cache(ncid, varid, 8519680, 12809, 0.75)");
    /// ```
    pub fn for_reads<'a>(
        reads: impl IntoIterator<Item = &'a Pattern>,
        lens: &[u64],
        chunk: &[u64],
        element: u64,
    ) -> Option<Self> {
        let again: Vec<&Pattern> = reads.into_iter().filter(|p| p.counts != lens).collect();
        let rows = again.iter().map(|p| Row::of(&p.counts, lens, chunk, element));
        let most = rows.max_by_key(|row| row.bytes)?;
        let names: Vec<&str> = again.iter().map(|p| p.name.as_str()).collect();
        Some(Self::of(&names.join(", "), most))
    }

    /// The call, as C writes it.
    pub fn call(&self) -> String {
        format!("nc_set_var_chunk_cache(ncid, varid, {}, {}, {})", self.size, self.slots, self.preemption)
    }
}

fn next_prime(n: u64) -> u64 {
    let is_prime = |n: u64| n > 1 && (2..).take_while(|d| d * d <= n).all(|d| !n.is_multiple_of(d));
    (n..).find(|&n| is_prime(n)).unwrap_or(n)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// The largest row of all places is that of the worst place, counted one by one.
        #[test]
        fn the_largest_row_is_that_of_the_worst_place(d in 1u64..40, a in 1u64..40, c in 1u64..50) {
            let a = a.min(d);
            let rows = (0..=d - a).map(|s| Row::at([(s, s + a)], &[c], 2).chunks);
            prop_assert_eq!(rows.max(), Some(Row::of(&[a], &[d], &[c], 2).chunks));
        }

        #[test]
        fn nothing_overflows(
            dims in prop::collection::vec((any::<u64>(), any::<u64>(), any::<u64>()), 0..9),
            element in any::<u64>(),
        ) {
            let [counts, lens, chunk]: [Vec<u64>; 3] =
                [dims.iter().map(|d| d.0).collect(), dims.iter().map(|d| d.1).collect(), dims.iter().map(|d| d.2).collect()];
            let advice = CacheAdvice::of("box", Row::of(&counts, &lens, &chunk, element));
            prop_assert!(advice.slots >= 1009);
            Row::at(counts.iter().copied().zip(lens.iter().copied()), &chunk, element);
            prop_assert!(sharing(&counts, &lens, &chunk) >= 1);
        }
    }
}
