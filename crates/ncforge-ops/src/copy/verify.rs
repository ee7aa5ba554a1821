//! Reads the finished output back and compares all of it with the source, before it gets its name.

use super::planned::{Memory, Plan};
use super::quantized;
use crate::compare::{How, compare_schemas, compare_values};
use crate::progress::{Progress, check_stop};
use crate::source::Source;
use ncforge::store::OutputFile;
use ncforge::{Dataset, Engine, Error, Result};

/// An error that names the first difference, if there is one.
pub(crate) fn verify(
    source: &dyn Source,
    plan: &Plan,
    output: &OutputFile,
    engine: &Engine,
    memory: Memory,
    progress: &dyn Progress,
) -> Result<()> {
    let made = Dataset::open_with(output.partial(), engine)
        .map_err(|e| Error::Verify(format!("the output cannot be opened again: {e}")))?;
    let mut found = compare_schemas(&plan.schema, made.schema(), true);
    let how = How { tolerance: None, box_bytes: memory.boxes / 2, progress };
    let named = |e| match e {
        Error::Interrupted(_) => {
            Error::Interrupted(format!("`{}` is written, but not verified", output.destination().display()))
        }
        e => e,
    };
    let values = || plan.work.iter().filter(|w| w.moved.values);
    progress.begin("verify", values().map(super::planned::VarWork::bytes).fold(0, u64::saturating_add));
    for work in values() {
        if !found.is_same() {
            break;
        }
        check_stop(progress, "verification").map_err(named)?;
        progress.item(&plan.schema.var_path(work.moved.to));
        if let Some(rounding) = &work.quantize {
            quantized::verify(source, plan, work, rounding, &made, engine, memory.boxes / 2)?;
            continue;
        }
        let compared = compare_values(source, work.moved.from, &made, work.moved.to, how).map_err(named)?;
        found.absorb(compared);
    }
    match found.differences.first() {
        None => Ok(()),
        Some(d) => Err(Error::Verify(format!("the output differs from the source: {d}"))),
    }
}
