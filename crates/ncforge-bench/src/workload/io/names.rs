//! Differences between cases, and the names that follow from them.

use super::lengths::written;
use super::options::{CaseAsk, ChunkChoice};

/// One thing in which cases can differ: what its values are called, and the value of a case.
type Axis = (&'static str, fn(&CaseAsk) -> String);

/// Everything but the library.
const AXES: [Axis; 4] = [
    ("formats", stored),
    ("kinds of access", |a| a.access.name().to_owned()),
    ("chunk shapes", chunks),
    ("encodings", |a| a.coding.to_string()),
];

/// The name of the stored form for plain calls, which write no format.
const BYTES: &str = "bytes";

fn stored(ask: &CaseAsk) -> String {
    if ask.driver.is_plain() { BYTES.to_owned() } else { ask.stored.to_string() }
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
    let asks = || cases.iter().map(|c| c.0);
    let axes: Vec<&Axis> = AXES.iter().filter(|axis| values(axis, asks()) > 1).collect();
    let name = |(ask, library): &(&CaseAsk, String)| {
        let mut parts = vec![library.clone()];
        parts.extend(axes.iter().map(|axis| axis.1(ask)));
        parts.join(", ")
    };
    cases.iter().map(name).collect()
}

/// The number of values along an axis.
fn values<'a>(axis: &Axis, cases: impl Iterator<Item = &'a CaseAsk>) -> usize {
    let all: std::collections::BTreeSet<String> = cases.map(axis.1).filter(|v| v != BYTES).collect();
    all.len()
}

/// The number of values along each axis on which cases differ: "2 libraries × 3 chunk shapes".
pub(super) fn matrix(cases: &[CaseAsk]) -> String {
    let libraries: std::collections::BTreeSet<String> = cases.iter().map(|a| a.driver.title()).collect();
    let mut all = vec![(libraries.len(), "libraries")];
    all.extend(AXES.iter().map(|axis| (values(axis, cases.iter()), axis.0)));
    let varied = all.iter().filter(|v| v.0 > 1).map(|(n, what)| format!("{n} {what}"));
    varied.collect::<Vec<_>>().join(" × ")
}
