//! NC2: chunks and the caches of other readers.
//!
//! netCDF-C and HDF5 keep decoded chunks in a cache of fixed size, one chunk a slot. A chunk that does not fit is
//! decoded again at every read that touches it; and when the chunks that one read touches do not fit together,
//! neighbouring reads find none of them (the least recently used goes first): the cliff. ncforge has none.

use super::Examined;
use super::facts::VarFacts;
use super::finding::Finding;
use super::fix::Fix;
use super::rule::{Rule, rule, rules};
use ncforge_tune::words::{bytes, count, many, shape, times};
use ncforge_tune::{CacheAdvice, Prediction, Row};

pub(super) const RULES: &[Rule] = rules!(Always:
    ("NC201", "chunk-exceeds-cache", Warning, "copy --chunks, or nc_set_var_chunk_cache",
        "A chunk is larger than netCDF-C's default cache, so every read that touches it decodes it again."),
    ("NC202", "cache-cliff", Warning, "copy --chunks, or nc_set_var_chunk_cache",
        "The chunks that one read touches do not fit netCDF-C's default cache together, so that neighbouring \
         reads decode all of them again."),
    ("NC203", "chunk-exceeds-hdf5-cache", Info, "copy --chunks",
        "A chunk is larger than HDF5's default cache (8 MiB; 1 MiB before 2.0), which h5py and other programs \
         on HDF5 use."),
);

/// HDF5's default cache: since 2.0, and before.
const HDF5: [u64; 2] = [8 << 20, 1 << 20];
/// Fewer reads that share a row of chunks are no cliff.
const SHARING: u64 = 8;
/// The factor by which a row of chunks must become smaller for other chunks to help where it does not fit then either.
const GAIN: f64 = 2.0;

pub(super) fn check(x: &Examined<'_>, out: &mut Vec<Finding>) {
    for v in &x.facts.vars {
        let Some(choice) = &v.choice else { continue };
        if !v.is_filtered() || v.bytes == 0 {
            continue;
        }
        // The reads that share chunks, the one that suffers most first.
        let mut shared: Vec<&Prediction> = choice.predictions.iter().filter(|t| v.sharing(t) >= 2).collect();
        shared.sort_by_key(|t| std::cmp::Reverse(v.sharing(t)));
        if too_large(x, v, shared.first().copied(), out) {
            continue;
        }
        cliff(x, v, &shared, out);
        hdf5(v, shared.first().copied(), out);
    }
}

/// NC201.
fn too_large(
    x: &Examined<'_>,
    v: &VarFacts,
    prediction: Option<&Prediction>,
    out: &mut Vec<Finding>,
) -> bool {
    let (each, cache) = (v.chunk_bytes(), x.cache);
    let (Some(choice), Some(prediction)) = (&v.choice, prediction) else { return false };
    if each <= cache.size || choice.bytes >= each {
        return false;
    }
    let message = format!(
        "a chunk of {} does not fit the cache. {}; each of the {} {} inside one decodes all of it again",
        bytes(each),
        cache.says(),
        count(v.sharing(prediction)),
        plural(prediction),
    );
    out.push(
        Finding::new(rule(RULES, "NC201"), Some(&v.path), message)
            .weighing(each as f64)
            .fixed_by(Fix::chunks(&v.path, &choice.chunks))
            .caching(CacheAdvice::of(&prediction.pattern.name, v.row_now(prediction))),
    );
    true
}

/// NC202.
fn cliff(x: &Examined<'_>, v: &VarFacts, shared: &[&Prediction], out: &mut Vec<Finding>) {
    let cache = x.cache;
    let Some(choice) = &v.choice else { return };
    for prediction in shared {
        let (row, sharing) = (v.row_now(prediction), v.sharing(prediction));
        let fits = |row: &Row| row.bytes <= cache.size && row.chunks <= cache.slots;
        if sharing < SHARING || fits(&row) {
            continue;
        }
        let better = v.row(prediction, &choice.chunks);
        if !fits(&better) && better.bytes as f64 * GAIN > row.bytes as f64 {
            continue;
        }
        let why = match row.bytes > cache.size {
            true => bytes(row.bytes),
            false => format!("more than {}", many(cache.slots, "chunk")),
        };
        let message = format!(
            "neighbouring {} share {}, {why}. {}, so each of the {} decodes them all again ({} the work); with \
             chunks of {} they share {}",
            plural(prediction),
            many(row.chunks, "chunk"),
            cache.says(),
            count(sharing),
            times(sharing as f64),
            shape(&choice.chunks),
            bytes(better.bytes),
        );
        out.push(
            Finding::new(rule(RULES, "NC202"), Some(&v.path), message)
                .weighing(sharing as f64)
                .fixed_by(Fix::chunks(&v.path, &choice.chunks))
                .caching(CacheAdvice::of(&prediction.pattern.name, row)),
        );
        return;
    }
}

/// NC203.
fn hdf5(v: &VarFacts, prediction: Option<&Prediction>, out: &mut Vec<Finding>) {
    let each = v.chunk_bytes();
    let (Some(choice), Some(prediction)) = (&v.choice, prediction) else { return };
    if each <= HDF5[0] || choice.bytes > HDF5[0] {
        return;
    }
    let message = format!(
        "a chunk of {} does not fit HDF5's default cache of {} ({} before 2.0): in h5py each of the {} {} inside one \
         decodes all of it",
        bytes(each),
        bytes(HDF5[0]),
        bytes(HDF5[1]),
        count(v.sharing(prediction)),
        plural(prediction),
    );
    out.push(
        Finding::new(rule(RULES, "NC203"), Some(&v.path), message)
            .weighing(each as f64)
            .fixed_by(Fix::chunks(&v.path, &choice.chunks)),
    );
}

fn plural(prediction: &Prediction) -> String {
    match prediction.pattern.name.as_str() {
        "series" => "series".into(),
        "box" => "boxes".into(),
        name if name.contains('=') => format!("reads of {name}"),
        name => format!("{name}s"),
    }
}
