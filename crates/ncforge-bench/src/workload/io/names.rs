//! What differs between cases, and the names that follow from it.

use ncforge::model::Endian;

use super::geometry::written;
use super::options::{CaseAsk, ChunkChoice, endian_name};

/// One thing in which cases can differ: what its values are called, and the value of a case.
type Axis = (&'static str, fn(&CaseAsk) -> String);

/// Everything but the library.
const AXES: [Axis; 6] = [
    ("formats", stored),
    ("kinds of access", |a| a.access.name().to_owned()),
    ("chunk shapes", chunks),
    ("encodings", |a| a.coding.to_string()),
    ("byte orders", |a| match a.endian {
        Endian::Native => "native order".to_owned(),
        other => format!("{}-endian", endian_name::of(other)),
    }),
    ("caches", |a| match a.cache {
        None => "its own cache".to_owned(),
        Some(n) => format!("cache of {}", crate::report::bytes(n)),
    }),
];

fn stored(ask: &CaseAsk) -> String {
    match (ask.driver.is_plain(), ask.stored) {
        (true, _) => "bytes".to_owned(),
        (false, Some(stored)) => stored.to_string(),
        (false, None) => "netcdf".to_owned(),
    }
}

fn chunks(ask: &CaseAsk) -> String {
    match &ask.chunks {
        ChunkChoice::Unasked => "no chunks".to_owned(),
        ChunkChoice::Auto => "chunks auto".to_owned(),
        ChunkChoice::Lens(l) => format!("chunks {}", written(&l.lens)),
    }
}

/// A name for each case: its library's, and what is not the same in all of them.
pub(super) fn names(cases: &[(&CaseAsk, String)]) -> Vec<String> {
    let differs = |axis: &&Axis| cases.iter().any(|c| axis.1(c.0) != axis.1(cases[0].0));
    let axes: Vec<&Axis> = AXES.iter().filter(differs).collect();
    let name = |(ask, library): &(&CaseAsk, String)| {
        let mut parts = vec![library.clone()];
        parts.extend(axes.iter().map(|axis| axis.1(ask)));
        parts.join(", ")
    };
    cases.iter().map(name).collect()
}

/// How many values there are of each thing in which cases differ: "2 libraries × 3 chunk shapes".
pub(super) fn matrix(cases: &[CaseAsk]) -> String {
    let count = |of: &dyn Fn(&CaseAsk) -> String| {
        cases.iter().map(of).collect::<std::collections::BTreeSet<_>>().len()
    };
    let mut all = vec![(count(&|a| a.driver.title()), "libraries")];
    all.extend(AXES.iter().map(|axis| (count(&axis.1), axis.0)));
    let varied = all.iter().filter(|v| v.0 > 1).map(|(n, what)| format!("{n} {what}"));
    varied.collect::<Vec<_>>().join(" × ")
}
