//! NC5: what must agree in files that shall be read as one, and does not.
//!
//! Joining files as they are (`open_mfdataset`, virtual data cubes that point into the files) needs the same types,
//! dimensions and packing everywhere; pointing at chunks needs the same chunks and filters, too. The value that most
//! files have counts as the right one, the first file's among equals.

use std::collections::{HashMap, HashSet};

use super::described::{Described, DescribedVar};
use super::finding::Finding;
use super::fix::Fix;
use super::rule::{Rule, rule, rules};

pub(super) const RULES: &[Rule] = rules!(Across:
    ("NC501", "across-chunks", Warning, "copy --chunks",
        "A variable is cut into different chunks in different files."),
    ("NC502", "across-filters", Warning, "copy --filters",
        "A variable has different filters in different files."),
    ("NC503", "across-packing", Error, "packing all files alike",
        "A variable is packed differently (scale_factor, add_offset, fill or missing values) in different \
         files, so the same stored number means different things."),
    ("NC504", "across-types", Error, "writing all files alike",
        "A variable has different types in different files."),
    ("NC505", "across-dimensions", Error, "writing all files alike",
        "A variable has other dimensions, or other lengths of them than along time, in different files."),
    ("NC506", "across-missing", Error, "copy --vars, without it",
        "A variable is not in all files."),
    ("NC507", "across-units", Warning, "writing all files alike",
        "A variable has other units or another calendar in different files."),
);

/// Compares files; findings name the files that differ.
pub(super) fn check(files: &[Described], out: &mut Vec<Finding>) {
    let mut names: Vec<&str> = Vec::new();
    let mut known: HashSet<&str> = HashSet::new();
    for v in files.iter().flat_map(|f| &f.vars) {
        if known.insert(&v.path) {
            names.push(&v.path);
        }
    }
    for name in names {
        let of: Vec<(&Described, Option<&DescribedVar>)> = files.iter().map(|f| (f, f.var(name))).collect();
        let there: Vec<(&Described, &DescribedVar)> =
            of.iter().filter_map(|(f, v)| v.map(|v| (*f, v))).collect();
        if there.len() < of.len() {
            let missing: Vec<String> =
                of.iter().filter(|(_, v)| v.is_none()).map(|(f, _)| f.path.clone()).collect();
            let message = format!("is in {} of {} files, not in {}", there.len(), of.len(), list(&missing));
            out.push(Finding { files: missing, ..Finding::new(rule(RULES, "NC506"), Some(name), message) });
        }
        let properties: [(&str, &str, Describe<'_>); 6] = [
            ("NC504", "the type", &|v| v.dtype.clone()),
            ("NC505", "the shape", &|v| v.dims.clone()),
            ("NC503", "packing", &|v| v.packing.clone()),
            ("NC507", "units", &|v| v.units.clone()),
            ("NC501", "chunks", &DescribedVar::chunks),
            ("NC502", "filters", &DescribedVar::filter_words),
        ];
        for (code, what, property) in properties {
            if let Some(finding) = differ(code, what, name, &there, property) {
                out.push(finding);
            }
        }
    }
}

type Describe<'a> = &'a dyn Fn(&DescribedVar) -> String;

fn differ(
    code: &str,
    what: &str,
    name: &str,
    there: &[(&Described, &DescribedVar)],
    property: Describe<'_>,
) -> Option<Finding> {
    let seen: Vec<String> = there.iter().map(|(_, v)| property(v)).collect();
    let mut often: HashMap<&str, usize> = HashMap::new();
    seen.iter().for_each(|s| *often.entry(s).or_default() += 1);
    // Of equally frequent values the first file's: `max_by_key` takes the last, so from behind.
    let usual = seen.iter().rev().max_by_key(|s| often[s.as_str()])?;
    let other: Vec<usize> = (0..seen.len()).filter(|&i| seen[i] != *usual).collect();
    let first = *other.first()?;
    let files: Vec<String> = other.iter().map(|&i| there[i].0.path.clone()).collect();
    let message = format!(
        "{what}: {usual} in {} of {} files, {} in {}",
        often[usual.as_str()],
        seen.len(),
        seen[first],
        list(&files)
    );
    let fix = match code {
        "NC501" | "NC502" => {
            let model = (0..seen.len()).find(|&i| seen[i] == *usual).map(|i| there[i].1)?;
            match (&model.chunk, code) {
                (Some(chunk), "NC501") => Some(Fix::chunks(name, chunk)),
                (Some(_), _) => Some(Fix::filters(name, &model.filters)),
                _ => None,
            }
        }
        _ => None,
    };
    let fix = fix.map(|m| m.in_netcdf4(there[first].0.classic));
    Some(Finding { files, fix, ..Finding::new(rule(RULES, code), Some(name), message) })
}

fn list(files: &[String]) -> String {
    match files.len() {
        0..=3 => files.join(", "),
        n => format!("{} and {} more", files[..2].join(", "), n - 2),
    }
}
