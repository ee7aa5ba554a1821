//! NC8, and NC508 and NC509: what keeps references to chunks from being made, or from joining files into one Zarr array.
//!
//! Joining also needs what the other rules of NC5 say: the same types, dimensions, chunks, filters and packing.

use super::described::{Described, DescribedVar};
use super::facts::{Facts, VarFacts};
use super::finding::Finding;
use super::fix::Fix;
use super::rule::{Rule, rule, rules};
use super::{Examined, Profile};
use crate::profile::virtual_stores::{INLINE, common_divisor, divisor, obstacle, resize};
use ncforge::model::{DType, UserKind, shape};
use ncforge_tune::Role;
use ncforge_tune::words::many;

pub(super) const RULES: &[Rule] = rules!(Virtual:
    ("NC801", "virtual-filters", Error, "copy --profile virtual",
        "A variable has filters that readers of Zarr cannot decode, or not in this order."),
    ("NC802", "virtual-masks", Error, "copy --profile virtual",
        "Filters were skipped for some chunks of a variable; readers of Zarr apply them to all."),
    ("NC803", "virtual-types", Warning, "ncforge refs, for strings: it stores small variables in the references",
        "A variable holds strings of variable length, or a type that Zarr does not have: its values are not \
         ranges of bytes of the file."),
);

pub(super) const ACROSS: &[Rule] = rules!(Virtual:
    ("NC508", "across-partial-chunks", Error, "copy --chunks, with lengths that divide those of all files",
        "The last chunk of a variable along time is not full, and another file follows."),
    ("NC509", "across-contiguous", Warning, "copy --chunks, with lengths that divide those of all files",
        "A variable is contiguous, and longer along time in some files than in others. `ncforge refs` cuts it \
         into equal pieces; VirtualiZarr cannot join it."),
);

/// One file.
pub(super) fn check(x: &Examined<'_>, out: &mut Vec<Finding>) {
    let fixed = || Fix::profile(Profile::Virtual);
    for v in &x.facts.vars {
        if let Some(message) = obstacle(&v.filters, v.element as usize, v.chunk_bytes()) {
            out.push(Finding::new(rule(RULES, "NC801"), Some(&v.path), message).fixed_by(fixed()));
        }
        if let Some(index) = v.index.as_ref().filter(|i| i.masked > 0) {
            let message =
                format!("filters were skipped for {} of {}", index.masked, many(index.chunks, "chunk"));
            out.push(Finding::new(rule(RULES, "NC802"), Some(&v.path), message).fixed_by(fixed()));
        }
        if let Some(what) = type_of(x.facts, v) {
            out.push(Finding::new(rule(RULES, "NC803"), Some(&v.path), what));
        }
    }
}

/// The feature of a type that Zarr does not have.
fn type_of(facts: &Facts, v: &VarFacts) -> Option<String> {
    let schema = facts.schema();
    match facts.var(v).dtype {
        DType::Atomic(_) => None,
        DType::String => {
            Some("the values are strings of variable length, which are no ranges of bytes of the file".into())
        }
        DType::User(t) => match &schema.user_type(t).kind {
            UserKind::Enum { .. } => None,
            _ => Some(format!(
                "the values have the type `{}`, which Zarr does not have",
                schema.user_type(t).name
            )),
        },
    }
}

/// Several files that follow each other.
pub(super) fn check_across(files: &[Described], out: &mut Vec<Finding>) {
    let Some(first) = files.first() else { return };
    for v in &first.vars {
        let there: Vec<(&Described, &DescribedVar)> = files
            .iter()
            .filter_map(|f| Some((f, f.var(&v.path)?)))
            .filter(|(_, other)| other.axes.len() == v.axes.len())
            .collect();
        let along = |d: usize| v.axes[d].role == Role::Time || v.axes[d].unlimited;
        let Some(axis) = (0..v.axes.len()).find(|&d| along(d)) else { continue };
        out.extend(partial(&v.path, axis, &there));
        out.extend(contiguous(&v.path, axis, &there));
    }
}

fn partial(name: &str, axis: usize, there: &[(&Described, &DescribedVar)]) -> Option<Finding> {
    let (_, before) = there.split_last()?;
    // Stored in the references, whatever its chunks.
    let elements = |v: &DescribedVar| shape::product(v.axes.iter().map(|a| a.len)).saturating_mul(v.element);
    if there.iter().fold(0u64, |n, (_, v)| n.saturating_add(elements(v))) <= INLINE {
        return None;
    }
    let fills =
        |v: &DescribedVar| v.chunk.as_ref().is_none_or(|c| v.axes[axis].len.is_multiple_of(c[axis].max(1)));
    let odd: Vec<&(&Described, &DescribedVar)> = before.iter().filter(|(_, v)| !fills(v)).collect();
    let (_, v) = odd.first()?;
    let chunk = v.chunk.as_ref()?;
    let message = format!(
        "{} along {} do not fill chunks of {}, in {}",
        many(v.axes[axis].len, "step"),
        v.axes[axis].name,
        chunk[axis],
        many(odd.len() as u64, "file")
    );
    let mut lens = chunk.clone();
    let shape: Vec<u64> = v.axes.iter().map(|a| a.len).collect();
    let len = divisor(common_divisor(before.iter().map(|(_, v)| v.axes[axis].len)), chunk[axis]);
    resize(&mut lens, &shape, axis, len);
    Some(finding("NC508", name, message, &lens, there))
}

fn contiguous(name: &str, axis: usize, there: &[(&Described, &DescribedVar)]) -> Option<Finding> {
    let (facts, v) = there.first()?;
    let in_records = facts.classic && v.axes[0].unlimited;
    let len = |v: &DescribedVar| v.axes[axis].len;
    if in_records
        || there.iter().any(|(_, o)| o.chunk.is_some())
        || there.iter().all(|(_, o)| len(o) == len(v))
    {
        return None;
    }
    let lens: Vec<u64> = there.iter().map(|(_, v)| len(v)).collect();
    let (least, most) = (lens.iter().min()?, lens.iter().max()?);
    let message = format!("contiguous, and {least} to {most} steps long along {}", v.axes[axis].name);
    let mut chunk: Vec<u64> = v.axes.iter().map(|a| a.len.max(1)).collect();
    chunk[axis] = common_divisor(lens.iter().copied()).max(1);
    Some(finding("NC509", name, message, &chunk, there))
}

fn finding(
    code: &str,
    name: &str,
    message: String,
    lens: &[u64],
    there: &[(&Described, &DescribedVar)],
) -> Finding {
    let classic = there.iter().any(|(f, _)| f.classic);
    let files = there.iter().map(|(f, _)| f.path.clone()).collect();
    let fix = Some(Fix::chunks(name, lens).in_netcdf4(classic));
    Finding { files, fix, ..Finding::new(rule(ACROSS, code), Some(name), message) }
}
