//! The dimensions of the whole.

use super::super::options::CombineOptions;
use super::find::SetId;
use super::parts::Parts;
use super::set::Set;
use crate::error::{Error, Result, TileOption};
use crate::model::{DimId, Schema};

/// What a dimension is to the partitions, beside its length.
pub(super) struct Dims {
    /// By dimension: what it counts.
    pub(super) sets: Vec<Option<SetId>>,
    /// The dimension of which only a part is taken, and its first.
    pub(super) window: Option<(DimId, u64)>,
}

/// Finds out, and sets the lengths in `whole`.
pub(super) fn dims(
    parts: &Parts,
    whole: &mut Schema,
    sets: &[Set],
    options: &CombineOptions,
    notes: &mut Vec<String>,
) -> Result<Dims> {
    let by_dim: Vec<Option<SetId>> =
        (0..whole.dims.len()).map(|d| sets.iter().position(|s| s.dims.contains(&DimId(d)))).collect();
    for d in 0..whole.dims.len() {
        if let Some(set) = by_dim[d] {
            if whole.dims[d].unlimited {
                return Err(parts
                    .wrong(0, &format!("has a mesh along the record dimension `{}`", whole.dims[d].name)));
            }
            whole.dims[d].len = sets[set].source.len() as u64;
            continue;
        }
        let lens: Vec<(usize, u64)> = (0..parts.len()).filter_map(|p| Some((p, parts.lens[p][d]?))).collect();
        let longest = lens.iter().copied().max_by_key(|l| l.1).unwrap_or((0, 0));
        let shorter: Vec<&(usize, u64)> = lens.iter().filter(|l| l.1 < longest.1).collect();
        whole.dims[d].len = longest.1;
        let Some((short, len)) = shorter.first() else { continue };
        let told = format!(
            "`{}` and `{}` do not go together: dimension `{}` has length {} in the first and {len} in the second",
            parts.tiles.name(longest.0),
            parts.tiles.name(*short),
            whole.dims[d].name,
            longest.1
        );
        if whole.dims[d].unlimited {
            if !options.allow_ragged {
                let what = format!("{told} (records)");
                return Err(Error::TilesUnless { what, unless: TileOption::AllowRagged });
            }
            notes.push(format!(
                "{} of {} partitions have fewer records than {} along `{}`: the missing ones are filled",
                shorter.len(),
                lens.len(),
                longest.1,
                whole.dims[d].name
            ));
            continue;
        }
        // The most corners of a cell: every partition has its own.
        let alone = whole
            .vars
            .iter()
            .find(|v| v.dims.contains(&DimId(d)) && !v.dims.iter().any(|x| by_dim[x.0].is_some()));
        if let Some(v) = alone {
            return Err(Error::Tiles(format!(
                "{told}, and nothing says where the values of `{}` along it go; --vars takes others without it",
                v.name
            )));
        }
    }
    Ok(Dims { window: window(whole, &by_dim, options)?, sets: by_dim })
}

/// Only some records.
fn window(
    whole: &mut Schema,
    by_dim: &[Option<SetId>],
    options: &CombineOptions,
) -> Result<Option<(DimId, u64)>> {
    let Some((from, to)) = options.records else { return Ok(None) };
    let records: Vec<usize> =
        (0..whole.dims.len()).filter(|&d| whole.dims[d].unlimited && by_dim[d].is_none()).collect();
    let [d] = records[..] else {
        let n = records.len();
        return Err(Error::Invalid(format!(
            "records were asked for, and the partitions have {n} record dimensions"
        )));
    };
    let len = whole.dims[d].len;
    let to = if to == u64::MAX { len } else { to };
    if from >= to || to > len {
        return Err(Error::Invalid(format!(
            "records {from} to {to} (not included) were asked for, there are {len} (from 0)"
        )));
    }
    whole.dims[d].len = to - from;
    Ok(Some((DimId(d), from)))
}
