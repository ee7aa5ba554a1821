//! NC3: filters and bytes, from samples of the values.

use super::facts::{Sample, VarFacts};
use super::finding::Finding;
use super::fix::Fix;
use super::rule::{Rule, rule, rules};
use super::{DoctorOptions, Examined};
use crate::copy::Switches;
use ncforge::codec::filters::{self, Kind, Purpose};
use ncforge::model::{Endian, Filter};
use ncforge::raw::Order;
use ncforge_tune::words::{bytes, many};

pub(super) const RULES: &[Rule] = rules!(Always:
    ("NC301", "no-shuffle", Warning, "copy --filters",
        "Numbers of several bytes are compressed without shuffle, and would be smaller with it."),
    ("NC302", "level-for-nothing", Info, "copy --filters",
        "A high level of deflate makes the values hardly smaller than level 1, and writing much slower."),
    ("NC303", "uncompressed", Info, "copy --filters",
        "The values are stored as they are, and shuffle and deflate at level 1 would halve them."),
    ("NC304", "fill-chunks-stored", Info, "copy --skip-fill",
        "Chunks that hold nothing but the fill value are stored; left out, they read the same."),
    ("NC305", "foreign-endianness", Info, "copy --endian native",
        "Numbers are stored in the byte order of other machines, so that every read turns them round."),
);

/// The part by which shuffle must make values smaller.
const SHUFFLE_GAIN: f64 = 0.05;
/// Levels above 1 that gain less than this are for nothing, …
const LEVEL_GAIN: f64 = 0.03;
/// … from this level on.
const HIGH: i32 = 5;
/// Values that compress to this part are worth it …
const HALF: f64 = 0.5;
/// … where this many bytes are saved: a smaller file is read in one request, and in a moment, whatever its size.
const WORTH_SAVING: u64 = 1 << 20;
/// Fill values are worth a copy where they take this part of the bytes that are stored, …
const FILL_PART: f64 = 0.01;
/// … or this part of the chunks that a read decodes.
const FILL_CHUNKS: f64 = 0.25;

pub(super) fn check(x: &Examined<'_>, out: &mut Vec<Finding>) {
    for v in &x.facts.vars {
        let advised = advised(v);
        no_shuffle(v, &advised, out);
        level(v, &advised, out);
        uncompressed(x, v, out);
        fill_only(v, out);
        endian(x, v, out);
    }
}

impl Sample {
    /// The part by which shuffle makes the values smaller, where that is worth it.
    pub(super) fn shuffle_gain(&self) -> Option<f64> {
        let gain = 1.0 - self.with_shuffle? as f64 / self.now.max(1) as f64;
        Some(gain).filter(|&gain| gain >= SHUFFLE_GAIN)
    }
}

/// The part by which a high level of deflate makes values smaller, where that is not worth the time, and how many times as long it
/// takes.
fn level_gain(v: &VarFacts) -> Option<(f64, f64)> {
    deflate_level(&v.filters).filter(|&level| level >= HIGH)?;
    v.sample.as_ref()?.above_level_one.filter(|(gain, _)| *gain < LEVEL_GAIN)
}

fn deflate_level(list: &[Filter]) -> Option<i32> {
    list.iter().find(|f| f.kind() == Some(Kind::Deflate))?.level()
}

/// The variable's filters with shuffle, and the level lowered, where that is better.
fn advised(v: &VarFacts) -> Vec<Filter> {
    let mut list = v.filters.clone();
    if level_gain(v).is_some() {
        list.iter_mut().filter(|f| f.kind() == Some(Kind::Deflate)).for_each(|f| *f = filters::deflate(1));
    }
    if v.sample.as_ref().and_then(Sample::shuffle_gain).is_some() {
        list.insert(0, filters::shuffle(v.element as usize));
    }
    list
}

/// The filters that a variable shall have, as far as rules are looked at that say so.
pub(super) fn target(v: &VarFacts, options: &DoctorOptions) -> Vec<Filter> {
    let wants = |code: &str| options.profile.is_none() && options.wants(rule(RULES, code));
    match worth_compressing(v) {
        Some(_) if wants("NC303") => compressed(v),
        None if wants("NC301") || wants("NC302") => advised(v),
        _ => v.filters.clone(),
    }
}

/// The part that compression would leave of an uncompressed variable, where that is little.
fn worth_compressing(v: &VarFacts) -> Option<f64> {
    if v.filters.iter().any(Filter::compresses) {
        return None;
    }
    let s = v.sample.as_ref().filter(|s| s.raw > 0)?;
    Some(s.shuffled as f64 / s.raw as f64)
        .filter(|&part| part <= HALF && v.bytes as f64 * (1.0 - part) >= WORTH_SAVING as f64)
}

/// Shuffle and deflate 1, and the checksum if there is one.
fn compressed(v: &VarFacts) -> Vec<Filter> {
    let mut chain = vec![filters::deflate(1)];
    if v.element > 1 {
        chain.insert(0, filters::shuffle(v.element as usize));
    }
    chain.extend(v.filters.iter().filter(|f| f.purpose() == Purpose::Check).cloned());
    chain
}

fn percent(part: f64) -> String {
    format!("{:.*} %", usize::from(part.abs() < 0.0995), 100.0 * part)
}

/// NC301.
fn no_shuffle(v: &VarFacts, advised: &[Filter], out: &mut Vec<Finding>) {
    let Some(s) = &v.sample else { return };
    let Some(gain) = s.shuffle_gain() else { return };
    let message = format!(
        "{}-byte numbers are compressed without shuffle; with it, {} of a sample become {} instead of {} ({} smaller)",
        v.element,
        bytes(s.raw),
        bytes(s.with_shuffle.unwrap_or(s.now)),
        bytes(s.now),
        percent(gain),
    );
    out.push(
        Finding::new(rule(RULES, "NC301"), Some(&v.path), message)
            .weighing(gain)
            .fixed_by(Fix::filters(&v.path, advised)),
    );
}

/// NC302.
fn level(v: &VarFacts, advised: &[Filter], out: &mut Vec<Finding>) {
    let (Some(level), Some((gain, slower))) = (deflate_level(&v.filters), level_gain(v)) else { return };
    let with = if v.sample.as_ref().and_then(Sample::shuffle_gain).is_some() { "with shuffle, " } else { "" };
    let smaller = match gain {
        g if g < 0.0005 => "no smaller".to_owned(),
        g => format!("{} smaller", percent(g)),
    };
    let faster = match slower.round() {
        n if n < 2.0 => String::new(),
        n => format!(", level 1 encodes it {n:.0} times as fast"),
    };
    let message = format!("{with}deflate level {level} makes a sample {smaller} than level 1{faster}");
    out.push(
        Finding::new(rule(RULES, "NC302"), Some(&v.path), message)
            .weighing(slower)
            .fixed_by(Fix::filters(&v.path, advised)),
    );
}

/// NC303.
fn uncompressed(x: &Examined<'_>, v: &VarFacts, out: &mut Vec<Finding>) {
    // The blocks of a zipped file are compressed.
    let Some(part) = worth_compressing(v).filter(|_| !x.facts.zipped) else { return };
    let Some(s) = &v.sample else { return };
    let message = format!(
        "uncompressed: a sample of {} becomes {} with shuffle and deflate 1, so {} would become about {}",
        bytes(s.raw),
        bytes(s.shuffled),
        bytes(v.bytes),
        bytes((v.bytes as f64 * part) as u64),
    );
    let classic = x.facts.schema().format.is_classic();
    let fix = Fix::filters(&v.path, &compressed(v)).in_netcdf4(classic);
    out.push(
        Finding::new(rule(RULES, "NC303"), Some(&v.path), message)
            .weighing(v.bytes as f64 * (1.0 - part))
            .fixed_by(fix),
    );
}

/// NC304.
fn fill_only(v: &VarFacts, out: &mut Vec<Finding>) {
    let (Some(s), Some(index)) = (&v.sample, &v.index) else { return };
    let (looked, empty) = s.fill_only;
    if looked == 0 || empty == 0 || index.chunks < 2 {
        return;
    }
    // Unless filters make chunks unequal, those that were looked at stand for all.
    let (each, n, _) = &index.smallest;
    let few_bytes = (each.saturating_mul(*n) as f64) < FILL_PART * index.bytes as f64;
    if few_bytes && (*n as f64) < FILL_CHUNKS * index.chunks as f64 {
        return;
    }
    let message = match *n < index.chunks {
        true => format!(
            "{} of {} have {}, the least of all, and {empty} of {looked} that were looked at hold nothing but the fill \
             value: {} for nothing, and as many chunks to decode",
            many(*n, "chunk"),
            index.chunks,
            bytes(*each),
            bytes(each.saturating_mul(*n)),
        ),
        false => format!(
            "{empty} of {looked} chunks that were looked at hold nothing but the fill value, {} each ({} in all)",
            bytes(*each),
            many(index.chunks, "chunk"),
        ),
    };
    out.push(
        Finding::new(rule(RULES, "NC304"), Some(&v.path), message)
            .weighing(each.saturating_mul(*n) as f64)
            .fixed_by(Fix::switched(Switches { skip_fill: true, ..Switches::default() })),
    );
}

/// NC305.
fn endian(x: &Examined<'_>, v: &VarFacts, out: &mut Vec<Finding>) {
    let foreign = match x.facts.var(v).endian {
        Endian::Big => cfg!(target_endian = "little"),
        Endian::Little => cfg!(target_endian = "big"),
        Endian::Native => false,
    };
    if x.facts.schema().format.is_classic() || !foreign || v.layout.element.order == Order::Keep {
        return;
    }
    let order = if cfg!(target_endian = "little") { "big" } else { "little" };
    let message =
        format!("numbers are {order}-endian: every read turns the bytes of {} round", bytes(v.bytes));
    out.push(
        Finding::new(rule(RULES, "NC305"), Some(&v.path), message)
            .weighing(v.bytes as f64)
            .fixed_by(Fix::native()),
    );
}
