//! NC7: the file layout that CMIP7 asks for.
//!
//! The rules are those of the archive's own checker, `check_cmip7_packing` (Hassell and Cimadevilla, 2026): the time
//! coordinate `time` of the root group, and its bounds, are one chunk or one run; the data variable, which the global
//! attribute `variable_id` names, is one chunk or one run, or its chunks hold 4 MiB of values or would with one more
//! step along the first axis (not asked of files without a chunked time); and the index of every variable's chunks
//! lies in front of the first chunk. Besides, the file is netCDF-4.

use super::facts::VarFacts;
use super::finding::Finding;
use super::fix::Fix;
use super::rule::{Rule, rule, rules};
use super::{Examined, Profile};
use crate::profile::cmip7::{MIN_CHUNK, bounds_of, data_of, time_of};
use ncforge_tune::words::{bytes, many};

pub(super) const RULES: &[Rule] = rules!(Cmip7:
    ("NC701", "cmip7-time-chunks", Error, "copy --profile cmip7",
        "The time coordinate is stored in more than one chunk."),
    ("NC702", "cmip7-bounds-chunks", Error, "copy --profile cmip7",
        "The bounds of the time coordinate are stored in more than one chunk."),
    ("NC703", "cmip7-data-chunks", Error, "copy --profile cmip7",
        "The chunks of the data variable hold less than 4 MiB."),
    ("NC704", "cmip7-metadata", Error, "copy --profile cmip7",
        "The index of some variable's chunks does not lie in front of all chunks."),
    ("NC705", "cmip7-format", Error, "copy --profile cmip7",
        "The file is not netCDF-4."),
);

pub(super) fn check(x: &Examined<'_>, out: &mut Vec<Finding>) {
    let schema = x.facts.schema();
    let mut say = |code: &str, var: Option<&str>, message: String| {
        out.push(Finding::new(rule(RULES, code), var, message).fixed_by(Fix::profile(Profile::Cmip7)));
    };
    if schema.format.is_classic() {
        say("NC705", None, format!("the format is {}, not netCDF-4", schema.format.kind()));
        return;
    }
    let facts = |id| x.facts.vars.iter().find(|v| v.id == id);
    let one = |v: &VarFacts| v.chunk.is_none() || v.chunks_stored() <= 1;
    for (code, var) in [("NC701", time_of(schema)), ("NC702", bounds_of(schema))] {
        if let Some(v) = var.and_then(facts).filter(|v| !one(v)) {
            let chunks = many(v.chunks_stored(), "chunk");
            say(code, Some(&v.path), format!("{chunks}; one, or one run of bytes, is asked for"));
        }
    }
    if let Some(v) = data_of(schema).and_then(facts).filter(|v| !one(v)) {
        let chunk = v.chunk.as_deref().unwrap_or_default();
        let each = v.chunk_bytes();
        let step = if chunk.len() > 1 { each / chunk[0].max(1) } else { 0 };
        if each.saturating_add(step) < MIN_CHUNK {
            let message = format!(
                "{} of {} (uncompressed); {} each are asked for, at least {}",
                many(v.chunks_stored(), "chunk"),
                bytes(each),
                bytes(MIN_CHUNK),
                bytes(MIN_CHUNK - step),
            );
            say("NC703", Some(&v.path), message);
        }
    }
    let indexes = || x.facts.vars.iter().filter_map(|v| v.index.as_ref().map(|i| (v, i)));
    let first = indexes().filter_map(|(_, i)| i.first).min();
    if let Some(first) = first {
        let late: Vec<&VarFacts> =
            indexes().filter(|(_, i)| i.nodes.iter().any(|n| n.0 > first)).map(|(v, _)| v).collect();
        if let Some(v) = late.first() {
            let message = format!(
                "the first chunk lies at byte {first}, and behind it the index of `{}`{}",
                v.path,
                match late.len() {
                    1 => String::new(),
                    n => format!(" and of {}", many(n as u64 - 1, "other variable")),
                }
            );
            say("NC704", None, message);
        }
    }
    // An index that was too large to be read has more chunks than any rule allows, but where it lies is not known.
}
