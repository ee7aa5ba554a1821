//! What other tools have measured, as results: it can be shown and compared beside what is measured now.
//!
//! Known are the tables that NetCDF-Bench prints; those of IOR, and its summaries (`-O summaryFormat=JSON` or `CSV`); what h5bench prints, and the
//! lists of metrics that it writes (`CSV_FILE`). The form is told from the text.

mod h5bench;
mod ior;
mod netcdf_bench;

use super::{Measurement, Results, Row, Section};
use crate::environment::Environment;

/// The fact that a row has which comes from another tool: the tool's name.
pub(super) const IMPORTED: &str = "imported";

/// The results of a text that is not JSON; `None` where it is of no tool that is known.
pub(super) fn text(text: &str) -> Option<Results> {
    netcdf_bench::read(text)
        .or_else(|| ior::text(text))
        .or_else(|| ior::csv(text))
        .or_else(|| h5bench::read(text))
}

/// The results of a JSON document of another tool.
pub(super) fn json(document: &serde_json::Value) -> Option<Results> {
    ior::json(document)
}

/// Another repetition of a row, or a row.
fn add(rows: &mut Vec<Row>, new: Row, measurement: Measurement) {
    let same = |r: &Row| r.case == new.case && r.phase == new.phase && r.bytes == new.bytes;
    let at = match rows.iter().position(same) {
        Some(at) => at,
        None => {
            rows.push(new);
            rows.len() - 1
        }
    };
    let rep = rows[at].measurements.len();
    rows[at].measurements.push(Measurement { rep, ..measurement });
}

/// The rows as a document, of a machine that nobody knows.
fn document(title: String, rows: Vec<Row>, note: &str) -> Results {
    let section = Section { rows, notes: vec![note.to_owned()], ..Section::new("io", title) };
    // Nothing is known about the machine, and nothing against the build.
    let environment = Environment { optimised: true, ..Environment::default() };
    Results { environment, time: 0, ..Results::of(vec![section]) }
}

/// A time as tools write it.
fn seconds(value: f64) -> Option<f64> {
    Some(value).filter(|s| s.is_finite() && *s >= 0.0)
}
