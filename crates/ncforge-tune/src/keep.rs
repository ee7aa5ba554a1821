//! How large a chunk cache a reader needs, so that a loop of reads decodes nothing twice.
//!
//! Reads side by side (a map after a map, a series after a series) share the chunks that each of them meets: a *row* of
//! chunks. If the cache holds the row each chunk is decoded once in the whole loop. A cache of fixed size that drops what was
//! used longest ago serves nothing at all if it is only a little smaller, and everything is decoded anew for every read.
//! ncforge's engine asks for the row of the loop that it sees; in netCDF-C people set the cache by hand ([`CacheAdvice`]).

pub use ncforge::raw::{Row, sharing};
use serde::{Deserialize, Serialize};

use super::pattern::Pattern;

/// The chunk cache that users of netCDF-C can set to read without decoding chunks twice:
/// `nc_set_var_chunk_cache(ncid, varid, size, slots, preemption)`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CacheAdvice {
    /// The reads: `series`, or `series, map`.
    pub read: String,
    /// Bytes.
    pub size: u64,
    /// Slots of its table (`nelems`).
    pub slots: u64,
    /// The order in which chunks go.
    pub preemption: f64,
}

impl CacheAdvice {
    /// Advice for reads that meet `row`.
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

    /// Advice for several reads of an array of `lens` in chunks of lengths `chunk`, one kind after the other: space for
    /// the largest row. A read of everything comes back to nothing. `None` where no other is among them.
    ///
    /// ```
    /// use ncforge_tune::{Access, Axis, CacheAdvice, Pattern, Role};
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

/// The smallest prime number that is not below `n`.
///
/// ```
/// assert_eq!(ncforge_tune::keep::next_prime(1000), 1009);
/// ```
pub fn next_prime(n: u64) -> u64 {
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
