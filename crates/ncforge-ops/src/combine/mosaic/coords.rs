//! Values for holes that are known all the same: coordinates.
//!
//! Where a whole row or column of tiles was left out, the coordinate along it has a hole. A file with coordinates
//! fills it; else, where the known points of a one-dimensional coordinate are evenly spaced, the others follow.

use std::collections::BTreeMap;

use super::super::options::CombineOptions;
use super::{From, Mosaic};
use crate::copy::cf;
use crate::intact::check_whole;
use ncforge::model::{Atomic, DType, Number, VarId, shape};
use ncforge::store::remote::shown_path;
use ncforge::{Buffer, Dataset, Error, Hyperslab, Result};
use ncforge_tune::words::many;

/// The difference of spacings, as a part of the spacing, that still counts as even: coordinates are often floats.
const EVEN: f64 = 1e-3;
/// Bytes of one variable that is patched, at most.
const MOST_BYTES: u64 = 1 << 30;

/// Finds values for the holes of coordinates, and notes which ones stay filled.
pub(crate) fn patch(mosaic: &mut Mosaic, options: &CombineOptions) -> Result<()> {
    let coords = options.coords.as_ref().map(|path| Dataset::open_with(path, &mosaic.engine)).transpose()?;
    // Zeros would take the place of values that were cut off.
    coords.as_ref().map_or(Ok(()), check_whole)?;
    let named = cf::named(&mosaic.schema);
    let named_there = coords.as_ref().map(|coords| cf::named(coords.schema())).unwrap_or_default();
    let mut filled: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for v in mosaic.schema.var_ids().collect::<Vec<_>>() {
        let From::Pattern(p) = mosaic.from[v.0] else { continue };
        let points = mosaic.patterns[p].hole_elements;
        if points == 0 {
            continue;
        }
        let name = mosaic.schema.var_path(v).trim_start_matches('/').to_owned();
        let theirs = coords.as_ref().and_then(|c| Some((c, c.schema().find_var(&name)?)));
        if let Some(c) = &coords
            && let Some(skipped) = c.schema().find_skipped(&name)
        {
            return Err(skipped.error(&shown_path(c.path())));
        }
        let is_coordinate = cf::is_coordinate(&mosaic.schema, v, &named)
            || theirs.is_some_and(|(c, theirs)| cf::is_coordinate(c.schema(), theirs, &named_there));
        if !is_coordinate {
            continue;
        }
        if let Some((coords, theirs)) = theirs {
            if let Some(bytes) = from_file(mosaic, v, coords, theirs)? {
                mosaic.note(format!("holes of `{name}` are filled from `{}`", shown_path(coords.path())));
                mosaic.patches.insert(v, bytes);
            }
            continue;
        }
        if !is_of_dimension(mosaic, v) {
            filled.entry(points).or_default().push(format!("`{name}`"));
            continue;
        }
        match regular(mosaic, v)? {
            Some(bytes) => {
                mosaic
                    .note(format!("the evenly spaced coordinate `{name}` is continued over its holes"));
                mosaic.patches.insert(v, bytes);
            }
            None => mosaic.note(format!(
                "the coordinate `{name}` has holes, and is not evenly spaced: `ncforge combine --coords FILE` fills them"
            )),
        }
    }
    for (points, names) in filled {
        let have = if names.len() == 1 { "has" } else { "have" };
        mosaic.note(format!(
            "{} {have} {}: `ncforge combine --coords FILE` fills them",
            names.join(", "),
            many(points, "filled point")
        ));
    }
    Ok(())
}

/// True for the coordinate variable of a split dimension.
fn is_of_dimension(mosaic: &Mosaic, v: VarId) -> bool {
    let var = mosaic.schema.var(v);
    mosaic.schema.coordinate_dim(v).is_some_and(|d| mosaic.dims[d.0] == super::DimKind::Split)
        && matches!(var.dtype, DType::Atomic(a) if a != Atomic::Char)
}

/// The variable's values in a file, in our type; an error if its shape is another.
fn from_file(mosaic: &Mosaic, v: VarId, coords: &Dataset, theirs: VarId) -> Result<Option<Buffer>> {
    let schema = &mosaic.schema;
    let (DType::Atomic(to), DType::Atomic(from)) = (schema.var(v).dtype, coords.schema().var(theirs).dtype)
    else {
        return Ok(None);
    };
    let significant = |shape: Vec<u64>| shape.into_iter().filter(|&n| n != 1).collect::<Vec<_>>();
    let (ours, other) = (schema.shape(v), coords.schema().shape(theirs));
    if significant(ours.clone()) != significant(other.clone()) {
        return Err(Error::bad_option(
            "coords",
            format!(
                "`{}` has shape {other:?} in `{}`, and {ours:?} here",
                schema.var_path(v),
                shown_path(coords.path())
            ),
        ));
    }
    let needed = shape::bytes(&other, to.size() as u64);
    if needed > MOST_BYTES {
        return Err(Error::Budget {
            what: format!("`{}` of --coords", schema.var_path(v)),
            needed,
            budget: MOST_BYTES,
        });
    }
    let values = coords.read_all(theirs)?;
    let Some(bytes) = values.bytes() else { return Ok(None) };
    if from == to {
        return Ok(Some(Buffer::from(bytes)));
    }
    let converted: Vec<u8> = bytes
        .chunks_exact(from.size())
        .flat_map(|b| Number::nearest(to, Number::read_f64(from, b)))
        .collect();
    Ok(Some(Buffer::from(&converted[..])))
}

/// The coordinate with its holes filled, if its known points are evenly spaced.
fn regular(mosaic: &Mosaic, v: VarId) -> Result<Option<Buffer>> {
    let DType::Atomic(kind) = mosaic.schema.var(v).dtype else { return Ok(None) };
    let From::Pattern(p) = mosaic.from[v.0] else { return Ok(None) };
    let pattern = &mosaic.patterns[p];
    let len = pattern.shape[0];
    let size = kind.size();
    if len.saturating_mul(size as u64) > MOST_BYTES {
        return Ok(None);
    }
    let mut bytes = Buffer::try_zeroed(len as usize * size)?;
    for (tile, place) in &pattern.boxes {
        let (Some(own), span) = (mosaic.facts[*tile].var(v), mosaic.facts[*tile].spans[pattern.dims[0].0])
        else {
            continue;
        };
        let to = place.start[0] as usize * size..(place.start[0] + place.count[0]) as usize * size;
        let slab = Hyperslab::new(&[span.skip], &[span.count]);
        mosaic.tiles.open(*tile)?.read_bytes(own, &slab, &mut bytes[to])?;
    }
    let value = |bytes: &[u8], i: u64| Number::read_f64(kind, &bytes[i as usize * size..][..size]);
    let known: Vec<u64> =
        pattern.boxes.iter().flat_map(|(_, r)| r.start[0]..r.start[0] + r.count[0]).collect();
    let (Some(&first), Some(&last)) = (known.first(), known.last()) else { return Ok(None) };
    if first == last {
        return Ok(None);
    }
    let step = (value(&bytes, last) - value(&bytes, first)) / (last - first) as f64;
    let origin = value(&bytes, first);
    let even = known.iter().all(|&i| {
        let want = origin + step * (i - first) as f64;
        (value(&bytes, i) - want).abs() <= EVEN * step.abs()
    });
    if !even || step == 0.0 || !step.is_finite() {
        return Ok(None);
    }
    for hole in &pattern.holes {
        for i in hole.start[0]..hole.start[0] + hole.count[0] {
            let x = origin + step * (i as f64 - first as f64);
            bytes[i as usize * size..][..size].copy_from_slice(&Number::nearest(kind, x));
        }
    }
    Ok(Some(bytes))
}
