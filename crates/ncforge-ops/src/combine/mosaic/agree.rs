//! Whether what several tiles say of the same points is the same: variables that are not distributed, and those that
//! are along some of the split dimensions only (coordinates).

use std::collections::HashMap;
use std::sync::Mutex;

use super::super::left_out::LeftOut;
use super::super::options::Differing;
use super::rebase::Rebased;
use super::{From, Mosaic};
use crate::progress::{Progress, check_stop};
use crate::written;
use ncforge::model::equality::Equality;
use ncforge::model::{Schema, Values, VarId, shape};
use ncforge::raw::{ChunkGrid, Convert, Region, unravel};
use ncforge::store::remote::shown_path;
use ncforge::{Dataset, Error, Hyperslab, Result, TileOption};
use ncforge_tune::words::many;

/// Elements compared at a time.
const BLOCK: u64 = 1 << 20;

/// Elements that are retained of what all tiles are compared with, at most.
const RETAINED_ELEMENTS: u64 = 1 << 20;

/// The difference of times that have no numbers in the same units.
const NOT_HELD: &str = "in other units, in which its type does not hold it";

/// One comparison: this variable of this tile with that tile's.
struct Pair {
    var: VarId,
    tile: usize,
    with: usize,
}

/// Compares all variables of at most `most` bytes; gives notes where differences are allowed and on what is not compared, and what of
/// which tile is left out for that.
pub(crate) fn agree(
    mosaic: &Mosaic,
    differing: Differing,
    most: u64,
    progress: &dyn Progress,
) -> Result<(Vec<String>, LeftOut)> {
    let mut left_out = LeftOut::default();
    let mut notes = agree_with_existing(mosaic, differing, progress)?;
    let mut pairs = Vec::new();
    for v in mosaic.schema.var_ids().filter(|v| mosaic.chosen[v.0]) {
        match mosaic.from[v.0] {
            From::Tile(with) if mosaic.bytes_of(v) > most => {
                let (name, tile) = (mosaic.schema.var_path(v), mosaic.tiles.name(with));
                notes.push(format!(
                    "`{}` is taken from `{tile}`: values of more than {} are not compared",
                    name.trim_start_matches('/'),
                    ncforge_tune::words::bytes(most)
                ));
            }
            From::Tile(with) => pairs.extend(
                (0..mosaic.tiles.len())
                    .filter(|&t| t != with && mosaic.facts[t].var(v).is_some())
                    .map(|tile| Pair { var: v, tile, with }),
            ),
            From::Pattern(p) => pairs.extend(mosaic.patterns[p].replicas.iter().map(|&(tile, with)| Pair {
                var: v,
                tile,
                with,
            })),
        }
    }
    // Tile after tile, so that each is opened once.
    pairs.sort_by_key(|p| (p.tile, p.var));
    let groups: Vec<&[Pair]> = pairs.chunk_by(|a, b| a.tile == b.tile).collect();
    let retained = if groups.len() > 1 { retained(mosaic)? } else { HashMap::new() };
    let differences = Mutex::new(Vec::new());
    mosaic.engine.for_each(groups.len(), |i| {
        for pair in groups[i] {
            if let Some(what) = compare(mosaic, pair, retained.get(&pair.var), progress)? {
                differences
                    .lock()
                    .expect("nothing panics with the lock")
                    .push((pair.var, pair.tile, pair.with, what));
            }
        }
        Ok(())
    })?;
    let mut differences = differences.into_inner().expect("nothing panics with the lock");
    differences.sort();
    let Some((var, tile, with, what)) = differences.first() else { return Ok((notes, left_out)) };
    let name = |v: &VarId| mosaic.schema.var_path(*v).trim_start_matches('/').to_owned();
    if differing == Differing::Error {
        let what = format!(
            "`{}` and `{}` do not go together: `{}`, which {}, differs ({what})",
            mosaic.tiles.name(*with),
            mosaic.tiles.name(*tile),
            name(var),
            match mosaic.scheme.series() {
                Some(series) => format!("does not lie along `{}`", series.dim),
                None => "is not distributed".to_owned(),
            }
        );
        return Err(Error::TilesUnless { what, unless: TileOption::DifferingFirst });
    }
    for (var, tile, ..) in &differences {
        left_out.add(*tile, format!("`{}`", name(var)));
    }
    notes.extend(differences.chunk_by(|a, b| a.0 == b.0).map(|of_var| {
        let noun = mosaic.scheme.noun();
        let n = many(of_var.len() as u64, noun);
        let such = match mosaic.scheme.series() {
            Some(_) => format!(", such as `{}`", mosaic.tiles.name(of_var[0].1)),
            None => String::new(),
        };
        format!("`{}` differs in {n}{such}: the first {noun}'s is taken", name(&of_var[0].0))
    }));
    Ok((notes, left_out))
}

/// All of a variable of the tile that others are compared with.
struct Retained {
    count: Vec<u64>,
    values: Values,
}

/// Small variables that are not distributed: reading them again for every tile would double the number of reads.
fn retained(mosaic: &Mosaic) -> Result<HashMap<VarId, Retained>> {
    let mut retained = HashMap::new();
    let mut left = RETAINED_ELEMENTS;
    for v in mosaic.schema.var_ids() {
        let From::Tile(tile) = mosaic.from[v.0] else { continue };
        let Some(own) = mosaic.facts[tile].var(v) else { continue };
        let spans = mosaic.schema.var(v).dims.iter().map(|d| mosaic.facts[tile].spans[d.0]);
        let (start, count): (Vec<u64>, Vec<u64>) = spans.map(|s| (s.skip, s.count)).unzip();
        let slab = Hyperslab::new(&start, &count);
        let Some(rest) = left.checked_sub(slab.len()) else { continue };
        left = rest;
        let file = mosaic.tiles.open(tile)?;
        if let Some(values) = Side::of(mosaic, v, tile, &file, own).read(&slab)? {
            retained.insert(v, Retained { count, values });
        }
    }
    Ok(retained)
}

/// Compares what is not distributed with the file into which the tiles are put.
fn agree_with_existing(
    mosaic: &Mosaic,
    differing: Differing,
    progress: &dyn Progress,
) -> Result<Vec<String>> {
    let mut notes = Vec::new();
    for v in mosaic.schema.var_ids() {
        let (From::Tile(tile), Some((file, theirs))) = (mosaic.from[v.0], mosaic.existing_var(v)) else {
            continue;
        };
        let Some(own) = mosaic.facts[tile].var(v) else { continue };
        let spans = mosaic.schema.var(v).dims.iter().map(|d| mosaic.facts[tile].spans[d.0]);
        let (start, count): (Vec<u64>, Vec<u64>) =
            spans.zip(file.schema().shape(theirs)).map(|(s, n)| (s.skip, s.count.min(n))).unzip();
        let zeros = vec![0; start.len()];
        let tile_file = mosaic.tiles.open(tile)?;
        let ours = Side::of(mosaic, v, tile, &tile_file, own);
        let theirs = Side { file, var: theirs, change: None };
        let Some(what) = difference((&ours, &start), (&theirs, &zeros), &count, progress)? else { continue };
        let name = mosaic.schema.var_path(v);
        let name = name.trim_start_matches('/');
        if differing == Differing::Error {
            let what = format!(
                "`{}` does not fit into `{}`: `{name}`, which is not distributed, differs ({what})",
                mosaic.tiles.name(tile),
                shown_path(file.path())
            );
            return Err(Error::TilesUnless { what, unless: TileOption::DifferingFirst });
        }
        notes.push(format!("`{name}` differs from `{}`: the first tile's is taken", shown_path(file.path())));
    }
    Ok(notes)
}

/// A variable of a file, whose times are read in the units of the whole.
struct Side<'a> {
    file: &'a Dataset,
    var: VarId,
    change: Option<Rebased>,
}

impl<'a> Side<'a> {
    /// That of a tile, for a variable of the whole.
    fn of(mosaic: &Mosaic, v: VarId, tile: usize, file: &'a Dataset, own: VarId) -> Self {
        Side { file, var: own, change: mosaic.rebased(v, tile) }
    }

    /// The values; `None` where its type does not hold them in those units.
    fn read(&self, slab: &Hyperslab) -> Result<Option<Values>> {
        let values = self.file.read(self.var, slab)?;
        let (Some(change), Some(bytes)) = (&self.change, values.bytes()) else { return Ok(Some(values)) };
        let mut changed = vec![0; bytes.len()];
        Ok(change.convert(bytes, &mut changed).is_ok().then(|| Values::fixed(&changed)))
    }
}

/// The first difference, if there is one.
fn compare(
    mosaic: &Mosaic,
    pair: &Pair,
    retained: Option<&Retained>,
    progress: &dyn Progress,
) -> Result<Option<String>> {
    let v = pair.var;
    let ours = mosaic.tiles.open(pair.tile)?;
    let (Some(a), Some(b)) = (mosaic.facts[pair.tile].var(v), mosaic.facts[pair.with].var(v)) else {
        return Ok(None);
    };
    let ours = Side::of(mosaic, v, pair.tile, &ours, a);
    // The part that both have.
    let dims = &mosaic.schema.var(v).dims;
    let (mut start_a, mut start_b, mut count) = (vec![], vec![], vec![]);
    for d in dims {
        let (x, y) = (mosaic.facts[pair.tile].spans[d.0], mosaic.facts[pair.with].spans[d.0]);
        start_a.push(x.skip);
        start_b.push(y.skip);
        count.push(x.count.min(y.count));
    }
    if let Some(retained) = retained.filter(|k| k.count == count) {
        let Some(values) = ours.read(&Hyperslab::new(&start_a, &count))? else {
            return Ok(Some(NOT_HELD.into()));
        };
        let all = Hyperslab::all(&count);
        let equality = equality((ours.file.schema(), a), (&mosaic.schema, v));
        return Ok(unlike(&values, &retained.values, &equality, &all));
    }
    let theirs = mosaic.tiles.open(pair.with)?;
    let theirs = Side::of(mosaic, v, pair.with, &theirs, b);
    difference((&ours, &start_a), (&theirs, &start_b), &count, progress)
}

/// The first difference between `count` elements of two variables, each from a start on.
fn difference(
    (ours, start_a): (&Side<'_>, &[u64]),
    (theirs, start_b): (&Side<'_>, &[u64]),
    count: &[u64],
    progress: &dyn Progress,
) -> Result<Option<String>> {
    let equality = equality((ours.file.schema(), ours.var), (theirs.file.schema(), theirs.var));
    let blocks = block_grid(count);
    let is_whole = |side: &Side<'_>, start: &[u64]| {
        side.change.is_none() && start.iter().all(|s| *s == 0) && side.file.schema().shape(side.var) == count
    };
    let written = match is_whole(ours, start_a) && is_whole(theirs, start_b) {
        true => {
            written::boxes_of_either((ours.file, ours.var), (theirs.file, theirs.var), &blocks, &equality)?
        }
        false => None,
    };
    let numbers: Box<dyn Iterator<Item = u64>> = match written {
        Some(written) => Box::new(written.into_iter()),
        None => Box::new(0..blocks.len()),
    };
    for i in numbers {
        check_stop(progress, "comparison")?;
        let (start, count) = blocks.region(&unravel(i, &blocks.counts()));
        let block = Hyperslab::new(&start, &count);
        let shifted = |start: &[u64]| {
            let start: Vec<u64> = start.iter().zip(&block.start).map(|(a, b)| a + b).collect();
            Hyperslab::new(&start, &block.count)
        };
        let (Some(x), Some(y)) = (ours.read(&shifted(start_a))?, theirs.read(&shifted(start_b))?) else {
            return Ok(Some(NOT_HELD.into()));
        };
        if let Some(what) = unlike(&x, &y, &equality, &block) {
            return Ok(Some(what));
        }
    }
    Ok(None)
}

/// The first difference between the values of one block, if there is one.
fn unlike(x: &Values, y: &Values, equality: &Equality<'_>, block: &Hyperslab) -> Option<String> {
    let at = equality.first_difference(x, y)? as u64;
    let index: Vec<u64> = unravel(at, &block.count).iter().zip(&block.start).map(|(i, s)| i + s).collect();
    Some(format!("first at {index:?}"))
}

/// The equality of values of two descriptions' variables, whose types agree.
fn equality<'a>((ours, a): (&'a Schema, VarId), (theirs, b): (&'a Schema, VarId)) -> Equality<'a> {
    Equality::new((ours, ours.var(a).dtype), (theirs, theirs.var(b).dtype), None)
}

/// An array in blocks of bounded size, along its first dimensions.
pub(super) fn blocks(count: &[u64]) -> Vec<Region> {
    if count.contains(&0) {
        return Vec::new();
    }
    let grid = block_grid(count);
    let ranges: Vec<std::ops::Range<u64>> = grid.counts().iter().map(|&n| 0..n).collect();
    ncforge::raw::coordinates(&ranges)
        .map(|at| {
            let (start, count) = grid.region(&at);
            Region { start, count }
        })
        .collect()
}

/// Those blocks, as a grid.
fn block_grid(count: &[u64]) -> ChunkGrid {
    let mut lens = count.to_vec();
    for d in 0..lens.len() {
        let inner = shape::elements(&count[d + 1..]);
        lens[d] = (BLOCK / inner.max(1)).clamp(1, count[d].max(1));
        if lens[d] > 1 || inner <= BLOCK {
            break;
        }
    }
    ChunkGrid::new(count, &lens)
}
