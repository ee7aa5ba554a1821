//! NC1: how chunks are cut, and what reads of them cost.
//!
//! Reads are those of [`ncforge_tune`]: what is decoded is counted exactly from the chunk grid, "how much faster"
//! is the ratio of predicted times.

use super::facts::VarFacts;
use super::finding::Finding;
use super::fix::Fix;
use super::rule::{Rule, rule, rules};
use super::{Examined, ReaderCache};
use crate::copy::Switches;
use ncforge_tune::rates::SEGMENT_BYTES;
use ncforge_tune::words::{bytes, count, many, seconds, shape, times};
use ncforge_tune::{CacheAdvice, Choice, Coding, Grid, Prediction, Role, Stored};

pub(super) const RULES: &[Rule] = rules!(Always:
    ("NC101", "time-chunked-by-1", Warning, "copy --chunks",
        "The chunk length on time is 1, so a series at a point decodes a whole chunk for every step."),
    ("NC102", "read-amplified", Warning, "copy --chunks",
        "A read (map, series, …) decodes many times what it delivers, and other chunks would serve it several \
         times faster without spoiling the other reads."),
    ("NC103", "chunks-too-small", Warning, "copy --chunks",
        "Chunks are so small that a reader's cache reaches its number of chunks before its size, and every \
         chunk costs more than its values."),
    ("NC104", "chunks-too-large", Warning, "copy --chunks",
        "Fewer than four chunks fit netCDF-C's default cache."),
    ("NC105", "tiny-record-chunks", Warning, "copy --chunks",
        "A variable with few values per record is stored in one chunk per record, of some bytes each."),
    ("NC106", "default-chunks", Info, "copy --chunks",
        "The chunks are what netCDF-C takes when nobody chooses, and reads would be faster with others."),
    ("NC107", "many-dask-tasks", Info, "copy --chunks, or engine=\"ncforge\"",
        "Dask makes many small tasks, one of every stored chunk; ncforge's engine joins chunks."),
    ("NC108", "no-access-points", Info, "copy --add-access-points",
        "Large deflate chunks have no access points, so that reads of little of them decode all."),
);

/// A finding about a read: it decodes this many times what it delivers …
const AMPLIFIED: f64 = 16.0;
/// … and takes this many times as long as it would.
const SLOWER: f64 = 4.0;
/// [`SLOWER`] for time chunked by 1, where series are the reads that suffer.
const SERIES_SLOWER: f64 = 2.0;
/// Chunks below this are small, …
const SMALL_CHUNK: u64 = 4 << 10;
/// … and tiny if the variable has records.
const TINY_CHUNK: u64 = 1 << 10;
/// The least number of chunks that counts as many.
const MANY: u64 = 256;
/// Records in tiny chunks that are worth a word.
const RECORDS: u64 = 32;
/// Chunks of this size are large for any cache.
const LARGE_CHUNK: u64 = 64 << 20;
/// Gain of other chunks over default ones, all reads together.
const DEFAULT_GAIN: f64 = 1.5;
/// Other chunks must make the tasks of Dask this many times fewer.
const FEWER_TASKS: u64 = 4;

pub(super) fn check(x: &Examined<'_>, out: &mut Vec<Finding>) {
    x.facts.vars.iter().for_each(|v| check_variable(x, v, out));
}

/// Looks at the chunks of one variable.
pub(super) fn check_variable(x: &Examined<'_>, v: &VarFacts, out: &mut Vec<Finding>) {
    if v.chunk.is_none() || v.bytes == 0 || tiny(v, out) {
        return;
    }
    // What is written in the same chunks has access points, and may have a better price for that.
    if v.choice.as_ref().is_some_and(|best| Some(&best.chunks) == v.chunk.as_ref()) {
        no_points(x, v, out);
        return;
    }
    let series = time_by_one(x, v, out);
    amplified(x, v, series, out);
    no_points(x, v, out);
    if !too_small(x, v, out) {
        tasks(v, out);
    }
    too_large(v, x.cache, out);
    default(v, out);
}

/// Chunk lengths in words with the names of their dimensions: `time=1, lat=128`.
fn named(v: &VarFacts) -> String {
    let chunk = v.chunk.as_deref().unwrap_or_default();
    v.axes.iter().zip(chunk).map(|(a, c)| format!("{}={c}", a.name)).collect::<Vec<_>>().join(", ")
}

/// The bytes that a read decodes or, of plain chunks, fetches.
fn touched(prediction: &Prediction) -> f64 {
    prediction.before.map_or(0.0, |c| c.decoded.max(c.fetched))
}

fn gain(prediction: &Prediction) -> f64 {
    prediction.before.map_or(1.0, |c| c.seconds / prediction.chosen.seconds)
}

/// The speed-up of a read where the chunks, as they are, get access points; 1 where they have them, or would get none.
fn gain_of_points(x: &Examined<'_>, v: &VarFacts, read: &Prediction) -> f64 {
    let gets_none = v.sample.as_ref().and_then(|s| s.segment).is_some_and(|s| s >= v.chunk_bytes());
    if v.has_points() || gets_none || v.index.as_ref().is_none_or(|i| i.points.is_none()) {
        return 1.0;
    }
    let lens: Vec<u64> = v.axes.iter().map(|a| a.len.max(1)).collect();
    let seconds_of = |points: Option<f64>| {
        let coding = Coding { points, ..v.coding_now() };
        let grid = Grid { lens: &lens, chunk: v.chunk.as_deref(), element: v.element, coding };
        grid.read(&read.pattern, x.machine).seconds
    };
    seconds_of(None) / seconds_of(Some(SEGMENT_BYTES))
}

fn read_words(prediction: &Prediction) -> String {
    match prediction.pattern.name.as_str() {
        "series" => "a point series".into(),
        "full" => "reading everything".into(),
        name if name.contains('=') => format!("a read of {name}"),
        name => format!("a {name}"),
    }
}

fn sentence(prediction: &Prediction) -> String {
    let before = prediction.before.unwrap_or_default();
    let verb = if before.decoded > 0.0 { "decodes" } else { "fetches" };
    format!(
        "{} {verb} {}, {}, to deliver {} ({})",
        read_words(prediction),
        many(before.chunks.round() as u64, "chunk"),
        bytes(touched(prediction) as u64),
        bytes(before.delivered as u64),
        times(touched(prediction) / before.delivered.max(1.0)),
    )
}

fn better(v: &VarFacts, prediction: &Prediction) -> String {
    let chunks = v.choice.as_ref().map(|c| shape(&c.chunks)).unwrap_or_default();
    format!(
        ". It takes {}; with chunks of {chunks} {} ({} faster)",
        seconds(prediction.before.unwrap_or_default().seconds),
        seconds(prediction.chosen.seconds),
        times(gain(prediction))
    )
}

fn advice(v: &VarFacts, prediction: &Prediction) -> CacheAdvice {
    CacheAdvice::of(&prediction.pattern.name, v.row_now(prediction))
}

/// NC101. Gives the read that it is about.
fn time_by_one(x: &Examined<'_>, v: &VarFacts, out: &mut Vec<Finding>) -> Option<usize> {
    let choice = v.choice.as_ref()?;
    let chunk = v.chunk.as_ref()?;
    let t = v.axes.iter().position(|a| a.role == Role::Time)?;
    if chunk[t] != 1 || v.axes[t].len < 8 {
        return None;
    }
    let at = choice.predictions.iter().position(|prediction| {
        let whole = prediction.pattern.counts[t] == v.axes[t].len;
        whole
            && touched(prediction) >= AMPLIFIED * prediction.chosen.delivered
            && gain(prediction) >= SERIES_SLOWER * gain_of_points(x, v, prediction)
    })?;
    let prediction = &choice.predictions[at];
    let message =
        format!("{} is chunked by 1: {}{}", v.axes[t].name, sentence(prediction), better(v, prediction));
    let weight = touched(prediction) / prediction.chosen.delivered.max(1.0);
    out.push(of_read("NC101", v, choice, prediction, message).weighing(weight));
    Some(at)
}

/// NC102.
fn amplified(x: &Examined<'_>, v: &VarFacts, but: Option<usize>, out: &mut Vec<Finding>) {
    let Some(choice) = &v.choice else { return };
    let worst = (choice.predictions.iter().enumerate())
        .filter(|(i, prediction)| {
            Some(*i) != but
                && touched(prediction) >= AMPLIFIED * prediction.chosen.delivered
                && gain(prediction) >= SLOWER * gain_of_points(x, v, prediction)
        })
        .max_by(|a, b| gain(a.1).total_cmp(&gain(b.1)));
    let Some((_, prediction)) = worst else { return };
    let message = format!("with chunks of {}, {}{}", named(v), sentence(prediction), better(v, prediction));
    out.push(of_read("NC102", v, choice, prediction, message).weighing(gain(prediction)));
}

/// NC108.
fn no_points(x: &Examined<'_>, v: &VarFacts, out: &mut Vec<Finding>) {
    let (Some(choice), Some(own)) = (&v.choice, v.index.as_ref().and_then(|i| i.points)) else { return };
    let worst = (choice.predictions.iter().map(|read| (read, gain_of_points(x, v, read))))
        .filter(|(read, faster)| touched(read) >= AMPLIFIED * read.chosen.delivered && *faster >= SLOWER)
        .max_by(|a, b| a.1.total_cmp(&b.1));
    let Some((read, faster)) = worst else { return };
    let now = read.before.unwrap_or_default().seconds;
    let message = format!(
        "with chunks of {}{}, {}. It takes {}; with access points in the same chunks {} ({} faster), by readers that know \
         them. Others read the file as before",
        named(v),
        match own.chunks {
            0 => " without access points".into(),
            n => format!(", {} of {} with access points", count(n), count(own.looked_at)),
        },
        sentence(read),
        seconds(now),
        seconds(now / faster),
        times(faster),
    );
    out.push(
        Finding::new(rule(RULES, "NC108"), Some(&v.path), message)
            .weighing(faster)
            .fixed_by(Fix::switched(Switches { add_access_points: true, ..Switches::default() })),
    );
}

/// A finding about a read of a variable, which other chunks fix, or a larger cache of decoded ones.
fn of_read(code: &str, v: &VarFacts, choice: &Choice, prediction: &Prediction, message: String) -> Finding {
    let finding = Finding::new(rule(RULES, code), Some(&v.path), message)
        .fixed_by(Fix::chunks(&v.path, &choice.chunks));
    if v.is_filtered() { finding.caching(advice(v, prediction)) } else { finding }
}

/// NC103: true when it was found; then NC107 has nothing to add.
fn too_small(x: &Examined<'_>, v: &VarFacts, out: &mut Vec<Finding>) -> bool {
    let (each, n) = (v.chunk_bytes(), v.chunks_stored());
    let Some(choice) = &v.choice else { return false };
    if each >= SMALL_CHUNK || n < MANY || choice.bytes < 4 * each {
        return false;
    }
    let cache = x.cache;
    let message = format!(
        "{} of {} each. The cache of {} holds {} at most, {} of these, where {} are allowed; chunks of {} would hold {} each",
        many(n, "chunk"),
        bytes(each),
        cache.name,
        many(cache.slots, "chunk"),
        bytes(cache.slots.saturating_mul(each)),
        bytes(cache.size),
        shape(&choice.chunks),
        bytes(choice.bytes),
    );
    out.push(
        Finding::new(rule(RULES, "NC103"), Some(&v.path), message)
            .weighing(n as f64)
            .fixed_by(Fix::chunks(&v.path, &choice.chunks)),
    );
    true
}

/// NC107.
fn tasks(v: &VarFacts, out: &mut Vec<Finding>) {
    let (Some(choice), Some(chunk)) = (&v.choice, &v.chunk) else { return };
    let lens: Vec<u64> = v.axes.iter().map(|a| a.len).collect();
    let stored = Stored { chunk, lens: &lens, element: v.element, filtered: v.is_filtered() };
    let (now, then) = (stored.tasks(chunk), stored.tasks(&choice.chunks));
    if !stored.is_many_tasks() || then.saturating_mul(FEWER_TASKS) > now {
        return;
    }
    let message = format!(
        "Dask makes {} of this variable, one for each stored chunk of {}; of chunks of {}, {}. With ncforge's engine, \
         which joins stored chunks, {}",
        many(now, "task"),
        bytes(v.chunk_bytes()),
        shape(&choice.chunks),
        count(then),
        count(stored.tasks(&stored.blocks(u64::MAX))),
    );
    out.push(
        Finding::new(rule(RULES, "NC107"), Some(&v.path), message)
            .weighing(now as f64)
            .fixed_by(Fix::chunks(&v.path, &choice.chunks)),
    );
}

/// NC104.
fn too_large(v: &VarFacts, cache: &ReaderCache, out: &mut Vec<Finding>) {
    let each = v.chunk_bytes();
    let Some(choice) = &v.choice else { return };
    // One larger than all of the cache is NC201.
    let few = each > cache.size / 4 && each <= cache.size;
    if !v.is_filtered() || !(few || each > LARGE_CHUNK && each <= cache.size) || choice.bytes >= each {
        return;
    }
    if v.chunks_possible() < 2 {
        return;
    }
    let message = format!(
        "chunks of {}: one value costs decoding {}. {}, so {} of them",
        named(v),
        bytes(each),
        cache.says(),
        count(cache.size / each.max(1)),
    );
    let most = choice.predictions.iter().max_by(|a, b| gain(a).total_cmp(&gain(b)));
    out.extend(most.map(|p| of_read("NC104", v, choice, p, message).weighing(each as f64)));
}

/// NC105: true when it was found; then the other rules have nothing to add.
fn tiny(v: &VarFacts, out: &mut Vec<Finding>) -> bool {
    let (each, n) = (v.chunk_bytes(), v.chunks_stored());
    // Chunks of whole records: a variable that has little to say of each.
    let chunk = v.chunk.as_deref().unwrap_or_default();
    let records = v.axes.iter().any(|a| a.unlimited)
        && v.axes.iter().zip(chunk).all(|(a, &c)| a.unlimited || c >= a.len);
    if !records || each > TINY_CHUNK || n < RECORDS {
        return false;
    }
    let Some(chunks) = v.best_chunks.as_ref().filter(|chunks| v.bytes_of(chunks) > each) else {
        return false;
    };
    // A key and the address behind it, in a B-tree of version 1.
    let entry = 24 + 8 * v.axes.len() as u64;
    let message = format!(
        "{} of {} each; the index alone takes {} for each{}; chunks of {} would be {}",
        many(n, "chunk"),
        bytes(each),
        bytes(entry),
        match v.index.as_ref().map(|i| i.nodes.len() as u64) {
            Some(nodes) if nodes > 1 => format!(" ({})", many(nodes, "node")),
            _ => String::new(),
        },
        shape(chunks),
        many(v.chunks_of(chunks), "chunk"),
    );
    out.push(
        Finding::new(rule(RULES, "NC105"), Some(&v.path), message)
            .weighing(n as f64)
            .fixed_by(Fix::chunks(&v.path, chunks)),
    );
    true
}

/// NC106.
fn default(v: &VarFacts, out: &mut Vec<Finding>) {
    let (Some(chunk), Some(choice)) = (&v.chunk, &v.choice) else { return };
    let shape_of: Vec<(u64, bool)> = v.axes.iter().map(|a| (a.len, a.unlimited)).collect();
    let Some(target) =
        TARGETS.iter().find(|&&t| default_chunks(&shape_of, v.element, t).as_ref() == Some(chunk))
    else {
        return;
    };
    let weight: f64 = choice.predictions.iter().map(|t| t.pattern.weight).sum();
    let now: f64 = choice.predictions.iter().map(|t| t.pattern.weight * gain(t)).sum::<f64>()
        / weight.max(f64::MIN_POSITIVE);
    if now < DEFAULT_GAIN {
        return;
    }
    let message = format!(
        "chunks of {} are netCDF-C's default ({} target); with {} reads are {} faster on average",
        named(v),
        bytes(*target),
        shape(&choice.chunks),
        times(now),
    );
    out.push(
        Finding::new(rule(RULES, "NC106"), Some(&v.path), message)
            .weighing(now)
            .fixed_by(Fix::chunks(&v.path, &choice.chunks)),
    );
}

/// Default sizes of netCDF-C's chunks: built by autotools, built by CMake (since 4.7.4).
const TARGETS: [u64; 2] = [4 << 20, 16 << 20];

/// The chunks that netCDF-C takes when nobody chooses; `None` where it would store one run.
///
/// After `nc4_find_default_chunksizes2` of netCDF-C 4.10 (`libsrc4/nc4var.c`), in words: unlimited dimensions get 1;
/// alone, 4096 bytes; if all are unlimited, equal sides that fill the target; else every fixed dimension is scaled by
/// the same factor so that a chunk has the target's size, and then shortened so that the last chunk is nearly full. The
/// product of the fixed lengths is a C `float` there, and so it is here.
pub(super) fn default_chunks(dims: &[(u64, bool)], element: u64, target: u64) -> Option<Vec<u64>> {
    let (n, element) = (dims.len(), element.max(1));
    let unlimited = dims.iter().filter(|d| d.1).count();
    if n == 0 || dims.iter().any(|d| d.0 == 0 && !d.1) {
        return None;
    }
    if n == 1 && unlimited == 1 {
        return Some(vec![(4096u64.min(target / element) / element).max(1)]);
    }
    if unlimited == n {
        let side = ((target / element) as f64).powf(1.0 / n as f64) as u64;
        return Some(vec![side.max(1); n]);
    }
    let values = dims.iter().filter(|d| !d.1).fold(1.0f32, |v, d| v * d.0 as f32);
    let scale = (target as f64 / (f64::from(values) * element as f64)).powf(1.0 / (n - unlimited) as f64);
    let mut chunk: Vec<u64> = dims
        .iter()
        .map(|&(len, grows)| {
            if grows {
                return 1;
            }
            let c = (scale * len as f64 - 0.5).max(0.0) as u64;
            c.clamp(1, len)
        })
        .collect();
    for (c, &(len, grows)) in chunk.iter_mut().zip(dims) {
        if !grows {
            let beyond = (*c - len % *c) % *c;
            *c -= beyond / len.div_ceil(*c);
        }
    }
    Some(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_chunks_are_those_of_netcdf_c() {
        // As netCDF-C 4.10.1 (CMake) made them.
        let of = |dims: &[(u64, bool)], element| default_chunks(dims, element, 16 << 20).unwrap();
        assert_eq!(of(&[(0, true)], 8), [512]);
        assert_eq!(of(&[(0, true)], 4), [1024]);
        assert_eq!(of(&[(5, true), (2, false)], 8), [1, 2]);
        assert_eq!(of(&[(5, true), (180, false), (360, false)], 4), [1, 180, 360]);
        assert_eq!(of(&[(5, true), (1800, false), (3600, false)], 4), [1, 900, 1800]);
        assert_eq!(of(&[(5, true), (7200, false), (14400, false)], 4), [1, 1440, 2880]);
        assert_eq!(of(&[(5, true), (37, false), (721, false), (1440, false)], 4), [1, 13, 241, 480]);
        assert_eq!(of(&[(98128, false), (277, false), (349, false)], 4), [7010, 20, 25]);
        assert_eq!(of(&[(8760, false), (721, false), (1440, false)], 2), [797, 66, 131]);
        assert_eq!(of(&[(1_000_000, false), (30, false)], 8), [250_000, 6]);
        assert_eq!(of(&[(0, true), (0, true)], 4), [2048, 2048]);
        // A length that only a damaged file has.
        assert!(of(&[(u64::MAX - 1, false), (2, false)], 4)[0] > 0);
    }
}
