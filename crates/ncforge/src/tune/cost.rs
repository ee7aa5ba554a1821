//! What a read costs: chunks, requests and bytes counted from the chunk grid, and priced with a machine's rates.
//!
//! A box of `A` elements at a uniformly random place of an axis of `d` meets `1 + (A-1)/c` chunks of length `c` on
//! average where edges do not matter (Otoo, Rotem and Seshadri, "Optimal chunking of large multidimensional arrays
//! for data warehousing", DOLAP 2007); [`touched`] is the exact mean, edges counted, and `ceil(d/c)` for the whole
//! axis. Counts of several axes multiply, because places on them are independent.
//!
//! The price follows what the engine does: filtered chunks are decoded whole, in parallel, after neighbours in the
//! file were fetched together; of plain chunks and runs only the wanted rows are read, over small gaps in one
//! request; values then go to the caller's memory row by row.

use serde::{Deserialize, Serialize};

use super::pattern::Pattern;

/// Neighbouring encoded chunks are fetched together up to this many bytes.
const JOIN: f64 = 1048576.0;
/// In plain data, gaps up to this many bytes are read through …
const GAP: f64 = 4096.0;
/// … and requests are cut at this many.
const BLOCK: f64 = 262144.0;
/// Below this many decoded bytes one thread does a read alone.
const ALONE: f64 = 65536.0;

/// How fast a machine and its storage are. Times in seconds, rates in bytes a second.
///
/// The default is what was measured with files in memory on two cores of an AMD EPYC (Zen 4) virtual machine;
/// `ncforge tune calibrate` measures one's own.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// Time to the first byte of a request to the storage.
    pub request: f64,
    /// Requests that the storage serves at a time.
    pub in_flight: f64,
    /// Rate of the storage, all requests together.
    pub bandwidth: f64,
    /// Time of a read besides all that is counted: checks, plan, result.
    pub read: f64,
    /// Time of a chunk besides its bytes: index, task, start of the decoder.
    pub chunk: f64,
    /// Time until other threads help.
    pub wake: f64,
    /// Threads that decode.
    pub threads: f64,
    /// Rate of handing values to the caller, in long rows.
    pub deliver: f64,
    /// Time of a row of neighbouring elements besides its bytes.
    pub row: f64,
    /// Rate of keeping decoded chunks of which only a part was wanted.
    pub keep: f64,
    /// Rates of the decoders are multiplied by this.
    pub decoder: f64,
}

impl Default for Machine {
    fn default() -> Self {
        Machine {
            request: 2e-6,
            in_flight: 1.0,
            bandwidth: 6e9,
            read: 2e-6,
            chunk: 6e-6,
            wake: 25e-6,
            threads: 2.0,
            deliver: 4e9,
            row: 4e-9,
            keep: 8e9,
            decoder: 1.0,
        }
    }
}

/// Kinds of storage whose rates are known roughly, without a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StorageKind {
    /// A solid-state disk or the page cache.
    Local,
    /// A file server: a millisecond a request, four in flight, 500 MB/s.
    Nfs,
    /// An object store: 25 ms a request, 16 in flight, 800 MB/s in all.
    Object,
}

impl Machine {
    /// The default machine with storage of this kind.
    pub fn with_storage(storage: StorageKind) -> Machine {
        let machine = Machine::default();
        match storage {
            StorageKind::Local => machine,
            StorageKind::Nfs => Machine { request: 1e-3, in_flight: 4.0, bandwidth: 500e6, ..machine },
            StorageKind::Object => Machine { request: 25e-3, in_flight: 16.0, bandwidth: 800e6, ..machine },
        }
    }
}

/// How an array's chunks are encoded, as far as it matters for time and size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coding {
    /// Whether there is anything to decode. Plain chunks can be read in part.
    pub filtered: bool,
    /// Stored bytes ÷ decoded bytes in large chunks.
    pub fraction: f64,
    /// Bytes that every chunk stores besides: code tables, matches that a new beginning misses.
    pub per_chunk: f64,
    /// Rate of decoding one chunk on one thread, decoded bytes a second.
    pub decode: f64,
}

impl Coding {
    /// Values as they are.
    pub fn none() -> Self {
        Coding { filtered: false, fraction: 1.0, per_chunk: 0.0, decode: f64::INFINITY }
    }

    /// Shuffle and deflate, where no sample of the data was taken. The rate hardly depends on the level.
    pub fn deflate(level: u32) -> Self {
        if level == 0 {
            return Coding { filtered: true, fraction: 1.0, per_chunk: 16.0, decode: 6e9 };
        }
        Coding { filtered: true, fraction: 0.5, per_chunk: 160.0, decode: 1e9 }
    }

    /// Shuffle and zstd, where no sample was taken.
    pub fn zstd() -> Self {
        Coding { filtered: true, fraction: 0.5, per_chunk: 100.0, decode: 2e9 }
    }

    /// Stored bytes of a chunk of so many decoded ones.
    pub fn stored(&self, bytes: f64) -> f64 {
        if self.filtered { (self.fraction * bytes + self.per_chunk).min(bytes + 64.0) } else { bytes }
    }
}

/// An array and how it is cut.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    /// Length of each axis.
    pub lens: &'a [u64],
    /// Chunk lengths; `None`: one run of bytes.
    pub chunk: Option<&'a [u64]>,
    /// Bytes of an element.
    pub element: u64,
    /// How chunks are encoded.
    pub coding: Coding,
}

/// What a read needs, on average over all places where its box may lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Cost {
    /// Chunks touched.
    pub chunks: f64,
    /// Requests to the storage.
    pub requests: f64,
    /// Bytes fetched.
    pub fetched: f64,
    /// Bytes decoded.
    pub decoded: f64,
    /// Bytes that were asked for.
    pub delivered: f64,
    /// Predicted time.
    pub seconds: f64,
}

/// Mean number of chunks of length `c` that `a` neighbouring elements meet on an axis of `d`, over all places:
/// exact.
///
/// ```
/// use ncforge::tune::touched;
/// assert_eq!(touched(10, 10, 4), 3.0);
/// assert_eq!(touched(1, 10, 4), 1.0);
/// assert_eq!(touched(2, 10, 4), 1.0 + 2.0 / 9.0); // two of the nine places lie across a border
/// ```
pub fn touched(a: u64, d: u64, c: u64) -> f64 {
    let (d, c) = (d.clamp(1, 1 << 60), c.max(1));
    let a = a.clamp(1, d);
    if a == d {
        return d.div_ceil(c) as f64;
    }
    // Sum of floor(k/c) for k below n.
    let floors = |n: u64| {
        let (q, c, n) = (u128::from(n / c), u128::from(c), u128::from(n));
        c * (q * q.saturating_sub(1) / 2) + q * (n - q * c)
    };
    let places = d - a + 1;
    let crossed = floors(d) - floors(a - 1) - floors(places);
    1.0 + crossed as f64 / places as f64
}

impl Grid<'_> {
    /// The cost of one read of `pattern` at a random place.
    pub fn read(&self, pattern: &Pattern, machine: &Machine) -> Cost {
        let rank = self.lens.len();
        let chunk = |d: usize| self.chunk.map_or(self.lens[d], |c| c[d]).max(1);
        let element = self.element.max(1) as f64;
        let touched = |d: usize| touched(pattern.counts[d], self.lens[d], chunk(d));
        let chunks: f64 = (0..rank).map(touched).product();
        let bytes: f64 = (0..rank).map(|d| chunk(d) as f64).product::<f64>() * element;
        let elements: f64 = pattern.counts.iter().map(|&n| n as f64).product();
        let delivered = elements * element;

        // A row runs on over the next axis where the selection takes all of both the chunk's and the result's.
        let mut row = 1.0;
        for d in (0..rank).rev() {
            row *= pattern.counts[d] as f64 / touched(d);
            if pattern.counts[d] != chunk(d) || touched(d) > 1.0 {
                break;
            }
        }
        let rows = elements / row.max(1.0);
        let scatter = rows * machine.row + delivered / machine.deliver;

        let mut cost = Cost { chunks, delivered, ..Cost::default() };
        let cpu;
        if self.coding.filtered && self.chunk.is_some() {
            let stored = self.coding.stored(bytes);
            // Chunks that follow one another in the file come in one request.
            let mut run = 1.0;
            for d in (0..rank).rev() {
                run *= touched(d);
                if touched(d) < self.lens[d].div_ceil(chunk(d)) as f64 {
                    break;
                }
            }
            cost.fetched = chunks * stored;
            cost.requests = (chunks / run).max(cost.fetched / JOIN).min(chunks);
            cost.decoded = chunks * bytes;
            let whole = (0..rank).all(|d| pattern.counts[d] == self.lens[d]);
            let keep = if whole { 0.0 } else { bytes / machine.keep };
            cpu = chunks * (machine.chunk + bytes / (self.coding.decode * machine.decoder) + keep) + scatter;
        } else {
            let (requests, span) = self.plain_requests(pattern, &touched, &chunk, element);
            cost.requests = chunks * requests.max(requests * span / BLOCK);
            cost.fetched = chunks * requests * span;
            let own = if self.chunk.is_some() { chunks * machine.chunk / 2.0 } else { 0.0 };
            cpu = own + scatter;
        }
        let work = cost.decoded.max(delivered);
        let helpers =
            if work >= ALONE { machine.threads.min(cost.chunks.max(work / BLOCK)).max(1.0) } else { 1.0 };
        let wake = if helpers > 1.0 { machine.wake } else { 0.0 };
        let flight = machine.in_flight.min(cost.requests).max(helpers);
        cost.seconds = machine.read
            + wake
            + cpu / helpers
            + cost.requests * machine.request / flight
            + cost.fetched / machine.bandwidth;
        cost
    }

    /// Requests in one plain chunk (or run), and the bytes of each.
    fn plain_requests(
        &self,
        pattern: &Pattern,
        touched: &dyn Fn(usize) -> f64,
        chunk: &dyn Fn(usize) -> u64,
        element: f64,
    ) -> (f64, f64) {
        let (mut requests, mut span, mut pitch) = (1.0, element, element);
        for d in (0..self.lens.len()).rev() {
            let n = pattern.counts[d] as f64 / touched(d);
            if requests == 1.0 && pitch - span <= GAP {
                span += (n - 1.0).max(0.0) * pitch;
            } else {
                requests *= n.max(1.0);
            }
            pitch *= chunk(d) as f64;
        }
        (requests, span)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pattern(counts: &[u64]) -> Pattern {
        Pattern { name: "p".into(), counts: counts.to_vec(), weight: 1.0 }
    }

    proptest! {
        #[test]
        fn touched_is_the_mean_over_all_places(d in 1u64..60, a in 1u64..60, c in 1u64..70) {
            let a = a.min(d);
            let sum: u64 = (0..=d - a).map(|s| (s + a - 1) / c - s / c + 1).sum();
            let mean = sum as f64 / (d - a + 1) as f64;
            prop_assert!((touched(a, d, c) - mean).abs() < 1e-12, "{} {}", touched(a, d, c), mean);
        }

        #[test]
        fn costs_are_finite_and_cover_what_is_asked(
            dims in prop::collection::vec((1u64..5000, 1u64..5000, 1u64..5000), 0..6),
            filtered in any::<bool>(),
        ) {
            let lens: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let chunk: Vec<u64> = dims.iter().map(|d| d.1.min(d.0)).collect();
            let counts: Vec<u64> = dims.iter().map(|d| d.2.min(d.0)).collect();
            let coding = if filtered { Coding::deflate(4) } else { Coding::none() };
            let grid = Grid { lens: &lens, chunk: Some(&chunk), element: 4, coding };
            let cost = grid.read(&pattern(&counts), &Machine::default());
            prop_assert!(cost.seconds.is_finite() && cost.seconds > 0.0);
            let had = if filtered { cost.decoded } else { cost.fetched };
            prop_assert!(had >= cost.delivered * 0.999, "{cost:?}");
        }
    }

    #[test]
    fn huge_axes_are_counted_exactly() {
        let d = 1u64 << 40;
        assert!((touched(2, d, 1000) - 1.001).abs() < 1e-9);
        assert_eq!(touched(d, d, 1), d as f64);
    }

    #[test]
    fn a_series_from_maps_decodes_everything() {
        let lens = [1560, 128, 256];
        let grid = Grid { lens: &lens, chunk: Some(&[1, 128, 256]), element: 4, coding: Coding::deflate(1) };
        let machine = Machine::default();
        let series = grid.read(&pattern(&[1560, 1, 1]), &machine);
        assert_eq!((series.chunks, series.decoded), (1560.0, 1560.0 * 131072.0));
        let map = grid.read(&pattern(&[1, 128, 256]), &machine);
        assert_eq!((map.chunks, map.requests), (1.0, 1.0));
        // Plain, it is a request for every element, not a byte more.
        let plain = Grid { coding: Coding::none(), ..grid }.read(&pattern(&[1560, 1, 1]), &machine);
        assert_eq!((plain.requests, plain.fetched), (1560.0, 6240.0));
        let run =
            Grid { chunk: None, coding: Coding::none(), ..grid }.read(&pattern(&[1, 128, 256]), &machine);
        assert_eq!((run.requests, run.fetched), (1.0, 131072.0));
    }
}
