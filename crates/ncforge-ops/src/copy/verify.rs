//! Reads the finished output back and compares all of it with the source, before it gets its name.

use super::numbering;
use super::planned::{Memory, Plan};
use super::quantized;
use crate::compare::{Comparison, How, compare_schemas, compare_values};
use crate::progress::{Progress, check_stop};
use ncforge::store::OutputFile;
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Engine, Error, Result};

/// An error that names the first difference, if there is one.
pub(crate) fn verify(
    source: &Dataset,
    plan: &Plan,
    output: &OutputFile,
    engine: &Engine,
    memory: Memory,
    progress: &dyn Progress,
) -> Result<()> {
    let made = Dataset::open_with(output.partial(), engine)
        .map_err(|e| Error::Verify(format!("the output cannot be opened again: {e}")))?;
    let named = |e| match e {
        Error::Interrupted(_) => {
            Error::Interrupted(format!("`{}` is written, but not verified", shown_path(output.destination())))
        }
        e => e,
    };
    let found = values(source, plan, &made, true, engine, memory, progress).map_err(named)?;
    match (found.differences.first(), found.not_compared.first()) {
        (Some(d), _) => Err(Error::Verify(format!("the output differs from the source: {d}"))),
        (None, Some(what)) => Err(Error::Verify(what.clone())),
        (None, None) => Ok(()),
    }
}

/// The differences between the source and an output that was made by the plan; `strict`: a `history` that has grown is one, too.
///
/// # Errors
/// [`Error::Verify`] where rounded values differ; as reading.
pub(super) fn values(
    source: &Dataset,
    plan: &Plan,
    made: &Dataset,
    strict: bool,
    engine: &Engine,
    memory: Memory,
    progress: &dyn Progress,
) -> Result<Comparison> {
    let mut found = compare_schemas(&plan.schema, made.schema(), strict);
    if found.is_same() {
        numbering::check(&plan.schema, made.schema())?;
    }
    let how = How { tolerance: None, box_bytes: memory.boxes / 2, progress };
    let values = || plan.work.iter().filter(|w| w.moved.values);
    progress.begin("verify", values().map(super::planned::VarWork::bytes).fold(0, u64::saturating_add));
    for work in values() {
        if !found.is_same() {
            break;
        }
        check_stop(progress, "verification")?;
        progress.item(&plan.schema.var_path(work.moved.to));
        if let Some(rounding) = &work.quantize {
            quantized::verify(source, plan, work, rounding, made, engine, memory.boxes / 2)?;
            continue;
        }
        found.absorb(compare_values(source, work.moved.from, made, work.moved.to, how)?);
    }
    Ok(found)
}
