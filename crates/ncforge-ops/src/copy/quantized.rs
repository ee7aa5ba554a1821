//! Values that lose bits on their way (`--keep-digits`, `--keep-bits`): which ones, how, and whether they did.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use super::cf;
use super::planned::{Plan, Rounding, VarWork};
use super::schema::Moved;
use ncforge::codec::quantize::Quantize;
use ncforge::model::{DType, Schema, VarId};
use ncforge::{Buffer, Dataset, Engine, Error, Hyperslab, Result};

/// Bytes that one thread rounds at a time.
const PART: usize = 256 << 10;

/// Attributes whose words are names of variables that say where, when and how something is.
const POINTERS: [&str; 6] =
    ["coordinates", "bounds", "climatology", "grid_mapping", "formula_terms", "cell_measures"];

/// Chooses the variables whose values lose bits, and says so in their attributes, in a container variable (CF), and in the notes.
///
/// Coordinates keep theirs (CF conventions 1.12, section 8.4: nothing that says where or when something is should lose
/// precision): variables that have the name of one of their dimensions, those that other variables point to, those with the
/// units, standard names or axes of coordinates, and times. Which these are is known of the source: what points to them may be left out.
pub(super) fn mark(
    schema: &mut Schema,
    source: &Schema,
    vars: &[Moved],
    how: Quantize,
    notes: &mut Vec<String>,
) -> Result<Vec<VarId>> {
    let of_source = coordinates(source);
    let coordinates: HashSet<VarId> =
        vars.iter().filter(|m| of_source.contains(&m.from)).map(|m| m.to).collect();
    let (mut rounded, mut left, mut before, mut exact) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for v in schema.var_ids().collect::<Vec<_>>() {
        let Some(most) = how.most(schema.var(v).dtype) else { continue };
        let path = schema.var_path(v);
        if coordinates.contains(&v) {
            left.push(path);
        } else if schema.quantization_claims(schema.var(v)).any() {
            before.push(path);
        } else if how.kept() > most {
            exact.push(path);
        } else {
            how.check(schema.var(v).dtype)?;
            schema.claim_quantization(v, how);
            rounded.push(v);
        }
    }
    let what = match how {
        Quantize::BitRound(n) => format!("{n} bits of the mantissa"),
        _ => format!("{} significant digits", how.kept()),
    };
    let names: Vec<String> = rounded.iter().map(|&v| schema.var_path(v)).collect();
    if names.is_empty() {
        notes.push(format!(
            "no variable is quantized to {what}: none is of type float or double, and no coordinate"
        ));
    } else {
        notes.push(format!("values are changed: {what} are kept of {}", some(&names)));
    }
    for (list, why) in [
        (left, "coordinates keep all of theirs"),
        (before, "these were quantized before, and are left as they are"),
        (exact, "these have fewer, and are left as they are"),
    ] {
        if !list.is_empty() {
            notes.push(format!("{why}: {}", some(&list)));
        }
    }
    Ok(rounded)
}

fn some(names: &[String]) -> String {
    match names.len() {
        0..=8 => names.join(", "),
        n => format!("{} and {} more", names[..8].join(", "), n - 8),
    }
}

fn coordinates(schema: &Schema) -> HashSet<VarId> {
    let mut found = HashSet::new();
    let named = cf::named(schema);
    for v in schema.var_ids() {
        let var = schema.var(v);
        let is_time =
            var.attr("units").and_then(|a| a.as_text()).is_some_and(|units| units.contains(" since "));
        if is_time
            || cf::is_coordinate(schema, v, &named)
            || var.dims.iter().any(|&d| schema.dim(d).name == var.name)
        {
            found.insert(v);
        }
        found.extend(POINTERS.iter().flat_map(|name| schema.named_by(v, name)));
    }
    found
}

/// Rounds values in native order, on all threads.
pub(super) fn round(engine: &Engine, rounding: &Rounding, dtype: DType, bytes: &mut [u8]) -> Result<()> {
    let parts: Vec<Mutex<&mut [u8]>> = bytes.chunks_mut(PART).map(Mutex::new).collect();
    engine.for_each(parts.len(), |i| {
        let mut part = parts[i].lock().unwrap_or_else(PoisonError::into_inner);
        // Rounded, they would be values like any others.
        let missing: Vec<(usize, &Vec<u8>)> = (rounding.missing.iter())
            .flat_map(|value| {
                let elements = part.chunks_exact(value.len()).enumerate();
                elements
                    .filter(|(_, e)| e == value)
                    .map(|(i, _)| (i * value.len(), value))
                    .collect::<Vec<_>>()
            })
            .collect();
        rounding.how.apply(dtype, &mut part, &rounding.fill);
        for (at, value) in missing {
            part[at..at + value.len()].copy_from_slice(value);
        }
        Ok(())
    })
}

/// An error unless the output holds the source's values, rounded. Looks at `limit` bytes at a time.
pub(super) fn verify(
    source: &Dataset,
    plan: &Plan,
    work: &VarWork,
    rounding: &Rounding,
    made: &Dataset,
    engine: &Engine,
    limit: u64,
) -> Result<()> {
    let dtype = plan.schema.var(work.moved.to).dtype;
    for b in 0..work.walk.len() {
        for slab in pieces(work.walk.box_at(b), limit / work.element.max(1)) {
            let len = (slab.len() * work.element) as usize;
            let (mut wanted, mut found) = (Buffer::try_zeroed(len)?, Buffer::try_zeroed(len)?);
            source.read_bytes(work.moved.from, &slab, &mut wanted)?;
            round(engine, rounding, dtype, &mut wanted)?;
            made.read_bytes(work.moved.to, &slab, &mut found)?;
            if wanted[..] != found[..] {
                let name = plan.schema.var_path(work.moved.to);
                return Err(Error::Verify(format!("the output differs from the rounded source: `{name}`")));
            }
        }
    }
    Ok(())
}

/// A box in parts of at most `most` elements, cut along its first axis that can be cut.
fn pieces(slab: Hyperslab, most: u64) -> Vec<Hyperslab> {
    let Some(d) = (0..slab.rank()).find(|&d| slab.count[d] > 1).filter(|_| slab.len() > most.max(1)) else {
        return vec![slab];
    };
    let first = slab.count[d] / 2;
    let (mut low, mut high) = (slab.clone(), slab);
    low.count[d] = first;
    high.start[d] += first;
    high.count[d] -= first;
    let mut out = pieces(low, most);
    out.extend(pieces(high, most));
    out
}
