//! NC5: what must agree in files that shall be read as one, and does not.
//!
//! Joining files as they are (`open_mfdataset`, virtual data cubes that point into the files) needs the same types,
//! dimensions and packing everywhere; pointing at chunks needs the same chunks and filters, too. The value that most
//! files have counts as the right one, the first file's among equals.

use super::facts::{Facts, VarFacts};
use super::finding::Finding;
use super::fix::Fix;
use super::rule::{Rule, rule, rules};
use crate::describe::attribute_words;
use crate::tune::Role;
use crate::words::shape;
use ncforge::codec::FilterChain;
use ncforge::model::Schema;

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

const PACKING: [&str; 5] = ["scale_factor", "add_offset", "_FillValue", "missing_value", "_Unsigned"];
const UNITS: [&str; 2] = ["units", "calendar"];

/// Compares files; findings name the files that differ.
pub(super) fn check(files: &[&Facts], out: &mut Vec<Finding>) {
    let mut names: Vec<&str> = Vec::new();
    for f in files {
        for v in &f.vars {
            if !names.contains(&v.path.as_str()) {
                names.push(&v.path);
            }
        }
    }
    for name in names {
        let of: Vec<(&Facts, Option<&VarFacts>)> =
            files.iter().map(|f| (*f, f.vars.iter().find(|v| v.path == name))).collect();
        let there: Vec<(&Facts, &VarFacts)> = of.iter().filter_map(|(f, v)| v.map(|v| (*f, v))).collect();
        if there.len() < of.len() {
            let missing: Vec<String> = of.iter().filter(|(_, v)| v.is_none()).map(|(f, _)| path(f)).collect();
            let message = format!("is in {} of {} files, not in {}", there.len(), of.len(), list(&missing));
            out.push(Finding { files: missing, ..Finding::new(rule(RULES, "NC506"), Some(name), message) });
        }
        let properties: [(&str, &str, Describe<'_>); 6] = [
            ("NC504", "the type", &|f, v| f.schema().type_name(f.var(v).dtype).to_owned()),
            ("NC505", "the shape", &dims),
            ("NC503", "packing", &|f, v| attrs(f, v, &PACKING)),
            ("NC507", "units", &|f, v| attrs(f, v, &UNITS)),
            ("NC501", "chunks", &|_, v| v.chunk.as_deref().map_or_else(|| "none".to_owned(), shape)),
            ("NC502", "filters", &|_, v| filters(v)),
        ];
        for (code, what, property) in properties {
            if let Some(finding) = differ(code, what, name, &there, property) {
                out.push(finding);
            }
        }
    }
}

type Describe<'a> = &'a dyn Fn(&Facts, &VarFacts) -> String;

fn differ(
    code: &str,
    what: &str,
    name: &str,
    there: &[(&Facts, &VarFacts)],
    property: Describe<'_>,
) -> Option<Finding> {
    let seen: Vec<String> = there.iter().map(|(f, v)| property(f, v)).collect();
    let most = |value: &String| seen.iter().filter(|s| *s == value).count();
    // Of equally frequent values the first file's: `max_by_key` takes the last, so from behind.
    let usual = seen.iter().rev().max_by_key(|s| most(s))?;
    let other: Vec<usize> = (0..seen.len()).filter(|&i| seen[i] != *usual).collect();
    let first = *other.first()?;
    let files: Vec<String> = other.iter().map(|&i| path(there[i].0)).collect();
    let message = format!(
        "{what}: {usual} in {} of {} files, {} in {}",
        most(usual),
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
    let fix = fix.map(|m| m.in_netcdf4(there[first].0.schema().format.is_classic()));
    Some(Finding { files, fix, ..Finding::new(rule(RULES, code), Some(name), message) })
}

fn path(f: &Facts) -> String {
    f.dataset.path().display().to_string()
}

fn list(files: &[String]) -> String {
    match files.len() {
        0..=3 => files.join(", "),
        n => format!("{} and {} more", files[..2].join(", "), n - 2),
    }
}

/// Names and lengths of the dimensions; along time, and where it can grow, any length will do.
fn dims(f: &Facts, v: &VarFacts) -> String {
    let schema: &Schema = f.schema();
    let along = |d: usize| v.axes[d].role == Role::Time || v.axes[d].unlimited;
    let words: Vec<String> = (schema.var(v.id).dims.iter().enumerate())
        .map(|(d, id)| match along(d) {
            true => schema.dim(*id).name.clone(),
            false => format!("{}={}", schema.dim(*id).name, schema.dim(*id).len),
        })
        .collect();
    format!("({})", words.join(", "))
}

fn attrs(f: &Facts, v: &VarFacts, names: &[&str]) -> String {
    let found: Vec<String> = (names.iter())
        .filter_map(|n| f.var(v).attr(n))
        .map(|a| format!("{}={}", a.name, attribute_words(f.schema(), a)))
        .collect();
    if found.is_empty() { "none".into() } else { found.join(" ") }
}

fn filters(v: &VarFacts) -> String {
    FilterChain::from(&v.filters[..]).words()
}
