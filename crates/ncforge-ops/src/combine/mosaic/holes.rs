//! Points that are in no tile, nor in the file into which the tiles are put.

use super::agree::blocks;
use super::facts::Holes;
use super::fill::fill_of;
use super::{From, Mosaic};
use crate::combine::options::Holes as Fill;
use ncforge::model::VarId;
use ncforge::raw::{Region, unravel};
use ncforge::{Hyperslab, Result};

/// The holes of every pattern. Where there is an existing file, a point for which one of its variables has another value than the
/// fill value (in the first or the last record, at the first level) is none; nor is a place of a tile that lacks a variable.
pub(super) fn holes(mosaic: &Mosaic) -> Result<Vec<Holes>> {
    (0..mosaic.patterns.len()).map(|p| of_pattern(mosaic, p)).collect()
}

fn of_pattern(mosaic: &Mosaic, p: usize) -> Result<Holes> {
    let pattern = &mosaic.patterns[p];
    if pattern.of_all.is_some() {
        return Ok(Holes::default());
    }
    let all = Holes { points: pattern.hole_elements, boxes: pattern.holes.clone() };
    let mut vars: Vec<VarId> = mosaic
        .schema
        .var_ids()
        .filter(|v| is_of(mosaic, *v, p) && mosaic.fills[v.0].is_some())
        .filter(|v| mosaic.existing_var(*v).is_some())
        .collect();
    if vars.is_empty() {
        return Ok(all);
    }
    // Coordinates have no other dimensions, and have values in all of a tile.
    vars.sort_by_key(|v| mosaic.schema.var(*v).dims.len());
    let mut left = Holes::default();
    for hole in &pattern.holes {
        // The box around what is left of this one: first point, and behind the last.
        let mut around: Option<(Vec<u64>, Vec<u64>)> = None;
        for mut block in blocks(&hole.count) {
            block.start.iter_mut().zip(&hole.start).for_each(|(a, b)| *a += b);
            let mut open = vec![true; block.count.iter().product::<u64>() as usize];
            for &v in &vars {
                if !open.contains(&true) {
                    break;
                }
                close(mosaic, v, p, &block, &mut open)?;
            }
            for i in open.iter().enumerate().filter_map(|(i, open)| open.then_some(i)) {
                left.points += 1;
                let at = unravel(i as u64, &block.count);
                let at: Vec<u64> = at.iter().zip(&block.start).map(|(a, b)| a + b).collect();
                let (low, high) = around.get_or_insert_with(|| (at.clone(), at.clone()));
                low.iter_mut().zip(&at).for_each(|(a, b)| *a = (*a).min(*b));
                high.iter_mut().zip(&at).for_each(|(a, b)| *a = (*a).max(b + 1));
            }
        }
        if let Some((start, end)) = around {
            let count = end.iter().zip(&start).map(|(e, s)| e - s).collect();
            left.boxes.push(Region { start, count });
        }
    }
    Ok(left)
}

/// Whether a variable lies in tiles of a pattern, in all of them or in some.
fn is_of(mosaic: &Mosaic, v: VarId, p: usize) -> bool {
    matches!(mosaic.from[v.0], From::Pattern(own) if own == p || mosaic.patterns[own].of_all == Some(p))
}

/// Closes the points of a block for which the existing file has a value of this variable.
fn close(mosaic: &Mosaic, v: VarId, p: usize, block: &Region, open: &mut [bool]) -> Result<()> {
    let Some((file, own)) = mosaic.existing_var(v) else { return Ok(()) };
    let (schema, dims) = (&mosaic.schema, &mosaic.patterns[p].dims);
    let fills = [mosaic.fills[v.0].clone(), fill_of(schema, v, Fill::Fill)];
    let lens = file.schema().shape(own);
    if lens.contains(&0) {
        return Ok(());
    }
    let ends = |last: bool| {
        let axes =
            schema.var(v).dims.iter().zip(&lens).map(|(d, len)| match dims.iter().position(|x| x == d) {
                Some(i) => (block.start[i], block.count[i]),
                None if last && schema.dim(*d).unlimited => (len - 1, 1),
                None => (0, 1),
            });
        let (start, count): (Vec<u64>, Vec<u64>) = axes.unzip();
        Hyperslab::new(&start, &count)
    };
    let mut slabs = vec![ends(false), ends(true)];
    slabs.dedup();
    for slab in slabs {
        let values = file.read(own, &slab)?;
        let Some(bytes) = values.bytes() else { return Ok(()) };
        let size = bytes.len() / open.len().max(1);
        for (open, value) in open.iter_mut().zip(bytes.chunks_exact(size.max(1))) {
            *open &= fills.iter().flatten().any(|fill| fill == value);
        }
    }
    Ok(())
}
