//! Reading everything that a zipped file has stored, and saying what damage costs.

use std::path::Path;
use std::sync::Arc;

use super::report::{Problem, ProblemKind, VerifyReport};
use crate::progress::Progress;
use crate::zip::{go_on, zipped_store};
use ncforge::model::VarId;
use ncforge::raw::{Container, classic};
use ncforge::store::remote::shown_path;
use ncforge::store::zipped::Reach;
use ncforge::{Engine, Result};

/// Reads the index and every block of a zipped file and checks them.
pub(super) fn verify(path: &Path, engine: &Engine, progress: &dyn Progress) -> Result<VerifyReport> {
    let zipped = Arc::new(zipped_store(path, engine)?);
    // A damaged index is found below; the count is for the bar.
    progress.begin("verify", zipped.survey().map_or(zipped.backing().len(), |s| s.total.stored));
    let (mut blocks, mut bytes) = (0, 0);
    let damage = zipped.verify(&mut |n| {
        go_on(progress, "verifying")?;
        blocks += 1;
        bytes += n;
        progress.advance(n);
        Ok(())
    })?;
    let commit = zipped.commit_number();
    let container = classic::open(zipped)?;
    let problems = damage
        .into_iter()
        .map(|d| Problem {
            kind: ProblemKind::Corrupt,
            touches: d.image.map(|range| touched(&*container, range)).unwrap_or_default(),
            what: d.what,
            image: d.image.map(|r| (r.from, r.to)),
            every: d.image.and_then(|r| r.every),
        })
        .chain(Problem::of_missing(container.missing_bytes()))
        .collect();
    let variables = container.schema().vars.len() as u64;
    let file = shown_path(path);
    Ok(VerifyReport {
        file,
        commit: Some(commit),
        blocks: Some(blocks),
        variables,
        bytes,
        problems,
        notes: Vec::new(),
    })
}

/// The objects that have bytes in a range of the image.
fn touched(container: &dyn Container, reach: Reach) -> Vec<String> {
    let mut out = Vec::new();
    if container.metadata_bytes().is_some_and(|header| reach.from < header) {
        out.push("header".to_owned());
    }
    let schema = container.schema();
    out.extend(schema.var_ids().filter(|&v| has_bytes(container, v, reach)).map(|v| schema.var_path(v)));
    out
}

fn has_bytes(container: &dyn Container, var: VarId, Reach { from, to, every }: Reach) -> bool {
    let Ok(layout) = container.layout(var) else { return true };
    let Some(runs) = layout.runs() else { return false };
    let stride = runs.stride.unwrap_or(0);
    if let Some((run, step)) = every.filter(|&(_, step)| step == stride && step > 0) {
        // Bytes of a record from the first damaged one to the variable's.
        let apart = (runs.begin % step + step - from % step) % step;
        if apart >= run && apart + runs.each <= step {
            return false;
        }
    }
    // The first record that ends behind `from` is the only one that need be looked at.
    let first = from.saturating_sub(runs.range(0).end).div_ceil(stride.max(1));
    let first = if runs.stride.is_some() { first } else { 0 };
    (first..runs.number.min(first.saturating_add(2)))
        .map(|r| runs.range(r))
        .any(|r| r.start < r.end && r.start < to && from < r.end)
}
