//! A picture of how tiles lie.

use std::collections::HashMap;

use serde::Serialize;

use super::Mosaic;

/// Rows and columns that are drawn with the numbers of the tiles; more are drawn with one character a tile.
const NUMBERS: usize = 16;
/// Rows and columns that are drawn at all.
const MOST: usize = 96;

/// The tiles over one set of dimensions.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Picture {
    /// The split dimensions.
    pub dims: Vec<String>,
    /// Their lengths.
    pub shape: Vec<u64>,
    /// Tiles with a place of their own.
    pub tiles: usize,
    /// Columns and rows of the lattice, by dimension.
    pub lattice: Vec<usize>,
    /// Points in no tile.
    pub hole_points: u64,
    /// Boxes in no tile: first point and lengths.
    pub holes: Vec<(Vec<u64>, Vec<u64>)>,
    /// Variables that lie so.
    pub variables: Vec<String>,
    /// The largest halo that is cut off, by dimension.
    pub halo: Vec<u64>,
    /// The drawing, a line a row, the first row at the bottom; empty for other ranks than 1 and 2 or a lattice that is
    /// too large.
    pub drawing: Vec<String>,
}

/// Pictures of all patterns.
pub(crate) fn pictures(mosaic: &Mosaic) -> Vec<Picture> {
    (0..mosaic.patterns.len()).map(|p| picture(mosaic, p)).collect()
}

fn picture(mosaic: &Mosaic, p: usize) -> Picture {
    let pattern = &mosaic.patterns[p];
    let starts: Vec<Vec<u64>> = (0..pattern.dims.len())
        .map(|d| {
            let mut all: Vec<u64> = pattern.boxes.iter().map(|(_, r)| r.start[d]).collect();
            all.extend(pattern.holes.iter().map(|h| h.start[d]));
            all.sort_unstable();
            all.dedup();
            all
        })
        .collect();
    let halo = pattern
        .dims
        .iter()
        .map(|d| pattern.boxes.iter().map(|(t, _)| mosaic.facts[*t].spans[d.0].skip).max().unwrap_or(0))
        .collect();
    Picture {
        dims: pattern.dims.iter().map(|d| mosaic.schema.dim(*d).name.clone()).collect(),
        shape: pattern.shape.clone(),
        tiles: pattern.boxes.len(),
        lattice: starts.iter().map(Vec::len).collect(),
        hole_points: mosaic.holes[p].points,
        holes: mosaic.holes[p].boxes.iter().map(|h| (h.start.clone(), h.count.clone())).collect(),
        variables: mosaic
            .schema
            .var_ids()
            .filter(|v| mosaic.from[v.0] == super::From::Pattern(p))
            .map(|v| mosaic.schema.var_path(v).trim_start_matches('/').to_owned())
            .collect(),
        halo,
        drawing: draw(mosaic, p, &starts),
    }
}

fn draw(mosaic: &Mosaic, p: usize, starts: &[Vec<u64>]) -> Vec<String> {
    let pattern = &mosaic.patterns[p];
    let one = vec![0];
    let (rows, columns) = match starts {
        [x] => (&one, x),
        [y, x] => (y, x),
        _ => return Vec::new(),
    };
    if rows.len() > MOST || columns.len() > MOST {
        return Vec::new();
    }
    let mut cells: HashMap<(u64, u64), usize> = HashMap::new();
    for (tile, r) in &pattern.boxes {
        let (y, x) = if r.start.len() == 1 { (0, r.start[0]) } else { (r.start[0], r.start[1]) };
        cells.insert((y, x), *tile);
    }
    let number = |tile: usize| {
        let name = mosaic.tiles.paths()[tile].file_name().unwrap_or_default().to_string_lossy().into_owned();
        super::super::files::number_in(&name)
            .and_then(|(from, to)| name[from..to].parse::<u64>().ok())
            .unwrap_or(tile as u64)
            .to_string()
    };
    let small = rows.len() <= NUMBERS && columns.len() <= NUMBERS;
    let width =
        if small { pattern.boxes.iter().map(|(t, _)| number(*t).len()).max().unwrap_or(1) } else { 0 };
    rows.iter()
        .rev()
        .map(|y| {
            let line: Vec<String> = columns
                .iter()
                .map(|x| match (cells.get(&(*y, *x)), small) {
                    (Some(t), true) => format!("{:>width$}", number(*t)),
                    (None, true) => format!("{:>width$}", "."),
                    (Some(_), false) => "#".into(),
                    (None, false) => ".".into(),
                })
                .collect();
            line.join(if small { " " } else { "" })
        })
        .collect()
}
