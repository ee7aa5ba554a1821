//! The cost of a read: chunks, requests and bytes counted from the chunk grid, and priced with a machine's rates.
//!
//! A box of `A` elements at a uniformly random place of an axis of `d` meets `1 + (A-1)/c` chunks of length `c` on
//! average where edges do not matter (Otoo, Rotem and Seshadri, "Optimal chunking of large multidimensional arrays
//! for data warehousing", DOLAP 2007); [`touched`] is the exact mean, edges counted, and `ceil(d/c)` for the whole
//! axis. Counts of several axes multiply, because places on them are independent.
//!
//! **What a read is here:** the first one after a file was opened. Nothing of it is in the engine's memory: the index
//! of the variable's chunks is read (all of it, so that very many chunks cost every reader), no decoded chunk is
//! cached from before. The program has been running, though: threads wait for work, and memory need not be cleared by the
//! system. The file is where [`Machine::request`] and [`Machine::bandwidth`] say: in the page cache, unless other
//! rates are given. Loops of reads cost less, because the engine caches what they come back to; they cost least
//! with the same shapes.
//!
//! The price follows what the engine does: filtered chunks are decoded whole, in parallel, after neighbours in the
//! file were fetched together, or segments of them, where they have access points and that is less; of plain chunks and runs only the wanted rows are read, over small gaps in one
//! request; values then go to the caller's memory row by row, where short rows wait for memory.

#[cfg(test)]
mod tests;

use serde::Serialize;

use super::coding::Coding;
use super::pattern::Pattern;
use crate::rates::{
    CACHED_BYTES, LAST_CACHE_BYTES, LAST_CACHE_SPEEDUP, LINE_BYTES, Machine, OWN_CACHE_BYTES,
    PAGE_CACHE_SECONDS, SEGMENTS_SLOWER, SINGLE_ELEMENT_PART,
};
use ncforge::raw::policy;
use ncforge::store::IoProfile;

/// Chunks in a node of HDF5's index: 64 fit, and nodes that are filled in order stay nine tenths full.
const NODE: f64 = 58.0;
/// Bytes of a chunk's entry in the index: its size and place, and one number a dimension.
const ENTRY: (f64, f64) = (24.0, 8.0);

/// The table of a chunk with access points is so small a part of what is stored of it.
const TABLE: f64 = 200.0;

/// An array and how it is cut.
#[derive(Clone, Copy, Debug)]
pub struct Grid<'a> {
    /// Length of each axis.
    pub lens: &'a [u64],
    /// Chunk lengths; `None`: one run of bytes.
    pub chunk: Option<&'a [u64]>,
    /// Bytes of an element.
    pub element: u64,
    /// The coding of chunks.
    pub coding: Coding,
}

/// Elements at equal distances.
struct Row {
    elements: f64,
    /// Elements from one to the next in the chunk, and in the result.
    from: f64,
    to: f64,
}

/// Chunks along an axis that a read meets, on average.
struct Met {
    chunks: f64,
    /// The frequency of the one that the end of the axis cuts off.
    cut: f64,
}

/// The decoding of a read, by one thread.
#[derive(Default)]
struct Decoding {
    seconds: f64,
    /// How much longer a chunk takes that is cut off than the mean of those that are met …
    longer: f64,
    /// … and how likely there is one.
    chance: f64,
}

/// The part of each chunk that a read decodes by segments: ranges, and bytes in all.
#[derive(Clone, Copy)]
struct Parts {
    ranges: f64,
    decoded: f64,
}

/// The average cost of a read over all places where its box may lie.
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
/// use ncforge_tune::touched;
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
        let met = |d: usize| {
            let (a, len, c) = (pattern.counts[d], self.lens[d], self.chunk_len(d));
            // The last chunk is met from so many places.
            let (places, last) = (len.saturating_sub(a).saturating_add(1), len % c);
            Met { chunks: touched(a, len, c), cut: last.min(places) as f64 / places as f64 }
        };
        let met: Vec<Met> = (0..self.lens.len()).map(met).collect();
        self.price(&pattern.counts, &met, machine)
    }

    /// The cost of reading `counts` elements from `start` on.
    ///
    /// ```
    /// use ncforge_tune::{Coding, Grid, Machine};
    /// let grid = Grid { lens: &[100, 100], chunk: Some(&[10, 10]), element: 4, coding: Coding::deflate(1) };
    /// assert_eq!(grid.at(&[0, 5], &[10, 10], &Machine::default()).chunks, 2.0);
    /// ```
    pub fn at(&self, start: &[u64], counts: &[u64], machine: &Machine) -> Cost {
        let met = |d: usize| {
            let (c, n) = (self.chunk_len(d), counts[d].max(1));
            let (first, last) = (start[d] / c, start[d].saturating_add(n - 1) / c);
            let cut = !self.lens[d].is_multiple_of(c) && last >= self.lens[d] / c;
            Met { chunks: (last - first + 1) as f64, cut: f64::from(u8::from(cut)) }
        };
        let met: Vec<Met> = (0..self.lens.len()).map(met).collect();
        self.price(counts, &met, machine)
    }

    fn chunk_len(&self, d: usize) -> u64 {
        self.chunk.map_or(self.lens[d], |c| c[d]).max(1)
    }

    /// Chunks that the whole array has.
    fn all_chunks(&self) -> f64 {
        (0..self.lens.len()).map(|d| self.lens[d].div_ceil(self.chunk_len(d)).max(1) as f64).product()
    }

    /// The time that one thread takes to decode the chunks that a read meets. `each`: seconds for one chunk, the mean of all that the array
    /// has.
    fn decoding(&self, met: &[Met], each: f64) -> Decoding {
        let chunks: f64 = met.iter().map(|m| m.chunks).product();
        // How many of some chunks are cut off along one axis or another.
        let part =
            |along: &dyn Fn(usize) -> f64| 1.0 - (0..met.len()).map(|d| 1.0 - along(d)).product::<f64>();
        let of_all = part(&|d| match self.lens[d] % self.chunk_len(d) {
            0 => 0.0,
            _ => 1.0 / self.lens[d].div_ceil(self.chunk_len(d)) as f64,
        });
        let here = chunks * part(&|d| met[d].cut / met[d].chunks);
        let whole = each / (1.0 + of_all * (self.coding.edge - 1.0));
        let cut = whole * self.coding.edge;
        let seconds = chunks * whole + here * (cut - whole);
        Decoding { seconds, longer: cut - seconds / chunks, chance: here.min(1.0) }
    }

    /// The cheaper of what an engine can do: decode chunks whole, or segments of them where they have access points.
    fn price(&self, counts: &[u64], met: &[Met], machine: &Machine) -> Cost {
        let whole = self.priced(counts, met, machine, None);
        match self.parts(counts, met).filter(|_| !machine.hdf5) {
            Some(parts) => {
                let apart = self.priced(counts, met, machine, Some(parts));
                if apart.seconds < whole.seconds { apart } else { whole }
            }
            None => whole,
        }
    }

    /// The part of each chunk that a read decodes, if it decodes segments.
    fn parts(&self, counts: &[u64], met: &[Met]) -> Option<Parts> {
        let element = self.element.max(1) as f64;
        let bytes: f64 = (0..met.len()).map(|d| self.chunk_len(d) as f64).product::<f64>() * element;
        let segment = self.coding.segment(bytes, element)?;
        let touched: Vec<f64> = met.iter().map(|m| m.chunks).collect();
        let (ranges, span) = self.ranges(counts, &touched, element, segment);
        let decoded = ranges * (span + segment);
        (decoded <= bytes / 2.0).then_some(Parts { ranges, decoded })
    }

    fn priced(&self, counts: &[u64], met: &[Met], machine: &Machine, parts: Option<Parts>) -> Cost {
        let rank = self.lens.len();
        let touched: &[f64] = &met.iter().map(|m| m.chunks).collect::<Vec<_>>();
        let chunk = |d: usize| self.chunk_len(d);
        let element = self.element.max(1) as f64;
        let chunks: f64 = touched.iter().product();
        let bytes: f64 = (0..rank).map(|d| chunk(d) as f64).product::<f64>() * element;
        let elements: f64 = counts.iter().map(|&n| n as f64).product();
        let delivered = elements * element;

        let mut cost = Cost { chunks, delivered, ..Cost::default() };
        // The time of one thread, the part of it for decoding, and the number of tasks.
        let (cpu, tasks, alone);
        let mut decoding = Decoding::default();
        let mut rounds = 0.0;
        if self.chunk.is_some() && (self.coding.filtered || machine.hdf5) {
            let stored = match parts {
                Some(parts) => self.coding.fraction * parts.decoded + self.coding.stored(bytes) / TABLE,
                None => self.coding.stored(bytes),
            };
            // Chunks that follow one another in the file come in one request.
            let mut run = 1.0;
            for d in (0..rank).rev() {
                run *= touched[d];
                if touched[d] < self.lens[d].div_ceil(chunk(d)) as f64 {
                    break;
                }
            }
            cost.fetched = chunks * stored;
            let most = (cost.fetched / (4.0 * machine.threads))
                .clamp(policy::JOIN_MIN as f64, IoProfile::LOCAL.largest_request as f64);
            cost.requests = match (machine.hdf5, parts) {
                (true, _) => chunks,
                // The table of a chunk, and its segments.
                (_, Some(parts)) => chunks * (1.0 + parts.ranges),
                _ => (chunks / run).max(cost.fetched / most).min(chunks),
            };
            let each = parts.map_or(bytes, |parts| parts.decoded);
            cost.decoded = if self.coding.filtered { chunks * each } else { 0.0 };
            let whole = (0..rank).all(|d| counts[d] == self.lens[d] || chunk(d) == 1);
            let memory = if whole || parts.is_some() {
                0.0
            } else {
                bytes / near(machine.keep, chunks * bytes, LAST_CACHE_BYTES)
            };
            let moved = self.scatter(counts, touched, whole, machine);
            let decoder = if self.coding.timed { machine.timed } else { machine.decoder };
            let zlib = if machine.hdf5 { self.coding.zlib } else { 1.0 };
            let decode = match parts {
                Some(parts) => {
                    rounds = 2.0;
                    let entered = parts.ranges * policy::PART_COST as f64;
                    (SEGMENTS_SLOWER * parts.decoded + entered) / (self.coding.decode * decoder)
                }
                None => self.coding.seconds(bytes) * zlib / decoder,
            };
            let nodes = (chunks / run * (1.0 + (run - 1.0) / NODE)).min((self.all_chunks() / NODE).max(1.0));
            decoding = self.decoding(met, decode);
            cpu = decoding.seconds + chunks * (machine.chunk + memory) + nodes * machine.find + moved;
            let tasked = if parts.is_some() { chunks } else { cost.requests };
            (tasks, alone) = (tasked, chunks * each < policy::DECODE_PARALLEL as f64);
        } else {
            let (requests, span) = self.ranges(counts, touched, element, IoProfile::LOCAL.read_gap as f64);
            cost.requests = chunks * requests.max(requests * span / policy::READ_BLOCK as f64);
            cost.fetched = chunks * requests * span;
            let own = if self.chunk.is_some() { chunks * machine.chunk } else { 0.0 };
            cpu = own + self.scatter(counts, touched, true, machine);
            tasks =
                if self.chunk.is_some() { chunks } else { (delivered / policy::READ_TASK as f64).max(1.0) };
            alone = delivered.max(cost.fetched) < policy::READ_PARALLEL as f64;
        }
        let waiting =
            machine.request * (cost.requests / machine.in_flight.min(cost.requests).max(1.0)).max(rounds);
        // Bytes in the page cache are copied by the threads themselves; a small file is in the processor's cache.
        let (cpu, fetch) = if machine.request < PAGE_CACHE_SECONDS {
            let file =
                self.all_chunks() * if self.coding.filtered { self.coding.stored(bytes) } else { bytes };
            (cpu + waiting + cost.fetched / near(machine.bandwidth, file, LAST_CACHE_BYTES), 0.0)
        } else {
            (cpu, waiting + cost.fetched / machine.bandwidth)
        };
        let index = match self.chunk {
            Some(_) => {
                let length = (ENTRY.0 + ENTRY.1 * rank as f64) / (ENTRY.0 + ENTRY.1 * 3.0);
                self.all_chunks() * machine.index * length + machine.request
            }
            None => 0.0,
        };
        let gain = self.coding.gain.unwrap_or(machine.gain);
        let shared = if alone { cpu } else { shared_by_threads(cpu, gain, &decoding, tasks, machine) };
        cost.seconds = machine.read + index + shared + fetch;
        cost
    }

    /// The time that one thread takes to move decoded values to the caller's memory. `whole`: no chunk is wanted in part.
    fn scatter(&self, counts: &[u64], touched: &[f64], whole: bool, machine: &Machine) -> f64 {
        let element = self.element.max(1) as f64;
        let elements: f64 = counts.iter().map(|&n| n as f64).product();
        let chunks: f64 = touched.iter().product();
        let delivered = elements * element;
        let row = self.row(counts, touched);
        // Elements that are written side by side.
        let unit = if row.to == 1.0 { row.elements } else { 1.0 };
        let (units, bytes) = (elements / unit, unit * element);
        // A line is fetched when it is first written to. Those of a chunk are met again when the next
        // one writes next to it, unless there are too many to be still in the cache.
        let first = match delivered {
            n if n <= CACHED_BYTES => 0.0,
            n if n <= LAST_CACHE_BYTES => machine.line / LAST_CACHE_SPEEDUP,
            _ => machine.line,
        };
        let again = match units / chunks * bytes.max(LINE_BYTES) {
            _ if delivered <= CACHED_BYTES => 0.0,
            n if n <= OWN_CACHE_BYTES => 0.0,
            n if n <= LAST_CACHE_BYTES => machine.line / LAST_CACHE_SPEEDUP,
            _ => machine.line,
        };
        let new = (bytes / LINE_BYTES).min(1.0);
        let mut seconds = elements / row.elements * machine.row + units * (new * first + (1.0 - new) * again);
        let long = row.from == 1.0 && row.to == 1.0;
        let straight = long && whole && row.elements >= 0.99 * elements / chunks;
        if !long {
            seconds += elements * machine.row * SINGLE_ELEMENT_PART;
        } else if whole && (straight || bytes >= policy::STAGED_ROW as f64) {
            seconds += delivered / (machine.deliver * LAST_CACHE_SPEEDUP);
        } else {
            seconds += delivered / near(machine.deliver, delivered, CACHED_BYTES);
        }
        seconds
    }

    /// The longest run of elements at equal distances that a chunk's part of a read consists of: axes that follow one
    /// another without a gap in both places are one, those of which there is one element are none.
    fn row(&self, counts: &[u64], touched: &[f64]) -> Row {
        let mut row: Option<Row> = None;
        // Elements from one to the next along an axis, in the chunk and in the result.
        let (mut from, mut to) = (1.0, 1.0);
        for d in (0..counts.len()).rev() {
            let n = counts[d] as f64 / touched[d];
            if n > 1.0 {
                match &mut row {
                    None => row = Some(Row { elements: n, from, to }),
                    Some(r) if from == r.elements * r.from && to == r.elements * r.to => r.elements *= n,
                    Some(_) => break,
                }
            }
            from *= self.chunk_len(d) as f64;
            to *= counts[d] as f64;
        }
        row.unwrap_or(Row { elements: 1.0, from: 1.0, to: 1.0 })
    }

    /// Ranges of one chunk (or run) that a read takes, and the bytes of each, where gaps of `gap` bytes are read over.
    fn ranges(&self, counts: &[u64], touched: &[f64], element: f64, gap: f64) -> (f64, f64) {
        let (mut requests, mut span, mut pitch) = (1.0, element, element);
        for d in (0..self.lens.len()).rev() {
            let n = counts[d] as f64 / touched[d];
            if requests == 1.0 && pitch - span <= gap {
                span += (n - 1.0).max(0.0) * pitch;
            } else {
                requests *= n.max(1.0);
            }
            pitch *= self.chunk_len(d) as f64;
        }
        (requests, span)
    }
}

/// A rate of memory, for `bytes` bytes in all that are in the processor's cache up to `cache`.
fn near(rate: f64, bytes: f64, cache: f64) -> f64 {
    if bytes <= cache { rate * LAST_CACHE_SPEEDUP } else { rate }
}

/// Seconds of work that one thread would do in `cpu`, done by all that can help: in whole tasks, after they were started. `gain`: what each
/// thread more adds to the decoding in it.
fn shared_by_threads(cpu: f64, gain: f64, decoding: &Decoding, tasks: f64, machine: &Machine) -> f64 {
    let helpers = machine.threads.min(tasks).max(1.0);
    if helpers <= 1.0 {
        return cpu;
    }
    // The last round of tasks leaves some threads without any.
    let mut share = (tasks / helpers).ceil() / tasks;
    // Chunks that are cut off come last, when the others are done or on their way.
    let n = tasks.round().max(2.0);
    let (each, by) = (cpu / n, machine.threads.min(n));
    let long = (each + decoding.longer).clamp(0.0, cpu);
    let other = (cpu - long) / (n - 1.0);
    let before = (n - 1.0) / by;
    let last = (before.ceil() * other).max(before.floor() * other + long);
    share += decoding.chance * (last - (n / by).ceil() * each) / cpu.max(f64::MIN_POSITIVE);
    // Threads that share a core make each other slow.
    let slower = |gain: f64| helpers / (1.0 + gain * (helpers - 1.0));
    let cpu_shared = (cpu - decoding.seconds) * slower(machine.gain) + decoding.seconds * slower(gain);
    (cpu_shared * share + machine.wake * (1.0 - 1.0 / helpers)).min(cpu) + machine.wake / 2.0
}
