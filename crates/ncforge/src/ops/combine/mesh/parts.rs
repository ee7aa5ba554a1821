//! The partitions: which number each has, what its header says, and its lists.

use std::collections::BTreeSet;
use std::path::Path;

use super::super::left_out::LeftOut;
use super::super::mosaic::attrs::{Conflicts, compare_attributes};
use super::super::mosaic::join::add;
use super::super::tiles::Tiles;
use super::find::{Connection, OF_ONE, is_partition, wrong};
use super::set::{NONE, Set};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::model::{Atomic, DType, DimId, Schema, VarId};
use crate::ops::combine::files::number_in;
use crate::ops::combine::mosaic::attrs;
use crate::select::Hyperslab;

/// What is known of the files.
#[derive(Debug)]
pub(super) struct Parts {
    pub(super) tiles: Tiles,
    /// Numbers of the partitions, ascending.
    pub(super) ranks: Vec<u64>,
    /// By partition and dimension of the whole: its length; `None` if it does not have it.
    pub(super) lens: Vec<Vec<Option<u64>>>,
    /// By partition and variable of the whole: its own.
    pub(super) vars: Vec<Vec<Option<VarId>>>,
    /// Bytes of all files.
    pub(super) bytes: u64,
    /// What of the files is not in the whole.
    pub(super) left_out: LeftOut,
}

/// The number of a partition, by its file's name.
fn rank(path: &Path) -> Option<u64> {
    let name = path.file_name()?.to_string_lossy().into_owned();
    let (from, to) = number_in(&name)?;
    name[from..to].parse().ok()
}

impl Parts {
    /// Reads all headers: the description of everything, lengths those of the first partition that has it.
    pub(super) fn read(mut tiles: Tiles, searched: bool, notes: &mut Vec<String>) -> Result<(Parts, Schema)> {
        let (mut whole, mut first): (Option<Schema>, Option<Schema>) = (None, None);
        let (mut ranks, mut lens, mut vars) = (Vec::new(), Vec::new(), Vec::new());
        let mut keep = vec![false; tiles.len()];
        let mut conflicts: Vec<(usize, Conflicts)> = Vec::new();
        let mut bytes = 0u64;
        let mut left_out = LeftOut::default();
        for (tile, keep) in keep.iter_mut().enumerate() {
            let path = tiles.paths()[tile].clone();
            let said = tiles.look(tile, |dataset| {
                let schema = dataset.schema();
                let is_one = is_partition(schema);
                if searched && (!is_one || rank(&path).is_none()) {
                    return Ok(None);
                }
                if !is_one {
                    return Err(wrong(
                        &path,
                        "is no partition of a mesh: it does not say whose its cells are",
                    ));
                }
                let missing = dataset.container().missing_bytes();
                if missing > 0 {
                    let what = format!("the file is {missing} bytes shorter than its header says");
                    return Err(Error::corrupt(path.display().to_string(), None, what));
                }
                if let Some(damaged) = schema.skipped.iter().find(|s| s.is_damaged()) {
                    return Err(damaged.error(&path.display().to_string()));
                }
                Ok(Some((schema.clone(), dataset.container().store().len())))
            })?;
            let Some((schema, len)) = said else {
                notes.push(format!("`{}` is no partition of a mesh", path.display()));
                continue;
            };
            *keep = true;
            bytes += len;
            if let Some(skipped) = schema.skipped.first() {
                left_out.add(ranks.len(), format!("`{}`", skipped.path));
            }
            let number = rank(&path).ok_or_else(|| {
                wrong(&path, "has no number of a partition in its name, as model_0003_map.nc has")
            })?;
            ranks.push(number);
            let (own, ids) = without_lists_of_one(&schema);
            let whole = whole.get_or_insert_with(|| Schema {
                dims: own.dims.clone(),
                vars: Vec::new(),
                ..own.clone()
            });
            let told = |what: String| wrong(&path, &format!("does not go with the others: {what}"));
            let mapping = add(whole, &own, &told)?;
            let (mut own_lens, mut own_vars) = (vec![None; whole.dims.len()], vec![None; whole.vars.len()]);
            mapping.dims.iter().zip(&own.dims).for_each(|(to, d)| own_lens[to.0] = Some(d.len));
            mapping.vars.iter().zip(&ids).for_each(|(to, id)| own_vars[to.0] = Some(*id));
            lens.push(own_lens);
            vars.push(own_vars);
            match &first {
                Some(first) => conflicts.push((tile, compare_attributes(first, &own, false))),
                None => first = Some(own),
            }
        }
        let Some(mut whole) = whole else {
            return Err(Error::Tiles(format!("`{}` is no partition of a mesh", tiles.name(0))));
        };
        for (lens, vars) in lens.iter_mut().zip(&mut vars) {
            lens.resize(whole.dims.len(), None);
            vars.resize(whole.vars.len(), None);
        }
        agree(&tiles, &mut whole, &conflicts, notes)?;
        // Files that are no partitions are let go below.
        let number = |tile: usize| keep[..tile].iter().filter(|k| **k).count();
        let others = conflicts.iter().flat_map(|(tile, c)| c.others.iter().map(|other| (*tile, other)));
        for (tile, (var, attr)) in others {
            left_out.add(number(tile), format!("the attribute `{var}:{attr}`"));
        }
        if let Some(i) = (1..ranks.len()).find(|&i| ranks[i] <= ranks[i - 1]) {
            let names: Vec<&Path> =
                tiles.paths().iter().zip(&keep).filter(|k| *k.1).map(|k| k.0.as_path()).collect();
            return Err(Error::Tiles(format!(
                "`{}` and `{}` are both partition {}",
                names[i - 1].display(),
                names[i].display(),
                ranks[i]
            )));
        }
        tiles.retain(&keep);
        Ok((Parts { tiles, ranks, lens, vars, bytes, left_out }, whole))
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ranks.len()
    }

    /// Lengths of a dimension, nothing where there is none.
    pub(super) fn lens_of(&self, d: DimId) -> Vec<u64> {
        self.lens.iter().map(|l| l[d.0].unwrap_or(0)).collect()
    }

    /// An error about a file.
    pub(super) fn wrong(&self, part: usize, what: &str) -> Error {
        wrong(&self.tiles.paths()[part], what)
    }

    /// All of a variable of whole numbers, and its value for nothing.
    pub(super) fn ints(&self, part: usize, whole: &Schema, v: VarId) -> Result<Vec<i64>> {
        let Some(own) = self.vars[part][v.0] else {
            return Err(self.wrong(part, &format!("lacks the variable `{}`", whole.var_path(v))));
        };
        let DType::Atomic(kind) = whole.var(v).dtype else {
            return Err(self.wrong(part, &format!("has a `{}` that holds no numbers", whole.var_path(v))));
        };
        let tile = self.tiles.open(part)?;
        let bytes = tile.read(own, &Hyperslab::all(&tile.schema().shape(own)))?;
        let bytes = bytes.bytes().unwrap_or_default();
        let ints: Option<Vec<i64>> = bytes.chunks_exact(kind.size()).map(|b| whole_number(kind, b)).collect();
        ints.ok_or_else(|| {
            self.wrong(part, &format!("has numbers in `{}` that are not whole", whole.var_path(v)))
        })
    }

    /// All of a variable as doubles; `None` where the partition does not have it.
    pub(super) fn doubles(&self, part: usize, whole: &Schema, v: VarId) -> Result<Option<Vec<f64>>> {
        let (Some(own), DType::Atomic(kind)) = (self.vars[part][v.0], whole.var(v).dtype) else {
            return Ok(None);
        };
        let tile = self.tiles.open(part)?;
        let values = tile.read(own, &Hyperslab::all(&tile.schema().shape(own)))?;
        let bytes = values.bytes().unwrap_or_default();
        Ok(Some(bytes.chunks_exact(kind.size()).map(|b| attrs::number(kind, b)).collect()))
    }
}

/// A number; a float that is none (a fill value) is none of a thing either.
pub(super) fn whole_number(kind: Atomic, b: &[u8]) -> Option<i64> {
    match kind {
        Atomic::Float | Atomic::Double => {
            let x = attrs::number(kind, b);
            if x.abs() >= 9e15 || x.is_nan() {
                Some(i64::MIN)
            } else {
                (x.fract() == 0.0).then_some(x as i64)
            }
        }
        _ => super::super::scheme::int(kind, b),
    }
}

/// Without the variables that list what only one partition has; and the numbers of the others in their file.
fn without_lists_of_one(schema: &Schema) -> (Schema, Vec<VarId>) {
    let is_old = schema.vars.iter().any(|v| v.name == "FlowElemDomain");
    let kept = |v: &VarId| !(is_old && OF_ONE.contains(&schema.var(*v).name.as_str()));
    let ids: Vec<VarId> = schema.var_ids().filter(kept).collect();
    let vars = ids.iter().map(|v| schema.var(*v).clone()).collect();
    (Schema { vars, ..schema.clone() }, ids)
}

/// Attributes of variables: an error where their meaning differs, ranges that span all.
fn agree(
    tiles: &Tiles,
    whole: &mut Schema,
    conflicts: &[(usize, Conflicts)],
    notes: &mut Vec<String>,
) -> Result<()> {
    let mut others = BTreeSet::new();
    for (tile, one) in conflicts {
        if let Some((var, attr)) = &one.meaning {
            return Err(Error::Tiles(format!(
                "`{}` and `{}` do not go together: the attribute `{var}:{attr}` differs",
                tiles.name(0),
                tiles.name(*tile)
            )));
        }
        for (v, attr) in &one.ranges {
            if let Some(own) = whole.vars[v.0].attrs.iter_mut().find(|a| a.name == attr.name) {
                attrs::widen(own, attr);
            }
        }
        others.extend(&one.others);
    }
    notes.extend(others.iter().take(super::MOST_NAMES).map(|(var, attr)| {
        format!("the attribute `{var}:{attr}` differs between partitions: the first one's is taken")
    }));
    Ok(())
}

/// A number of a list, as a number among all partitions' things.
pub(super) struct Lookup<'a> {
    connection: &'a Connection,
    sets: [&'a Set; 2],
    part: usize,
    fill: Option<i64>,
}

impl<'a> Lookup<'a> {
    /// For a partition's list.
    pub(super) fn new(whole: &Schema, connection: &'a Connection, sets: [&'a Set; 2], part: usize) -> Self {
        let var = whole.var(connection.var);
        let fill = var.attr("_FillValue").and_then(|a| match (a.dtype, a.values.bytes()) {
            (DType::Atomic(kind), Some(bytes)) => whole_number(kind, bytes.get(..kind.size())?),
            _ => None,
        });
        Lookup { connection, sets, part, fill }
    }

    /// What a value of the list means; [`NONE`]: nothing. `Err`: there is no such thing.
    pub(super) fn one(&self, column: usize, value: i64) -> Result<u32, i64> {
        let set = self.sets[column.min(1)];
        if Some(value) == self.fill {
            return Ok(NONE);
        }
        // Below the first: D-Flow FM writes 0 where nothing is, and -1, and -999.
        let Some(i) = value.checked_sub(self.connection.base).filter(|i| *i >= 0) else { return Ok(NONE) };
        match u32::try_from(i) {
            Ok(i) if i < set.len_in(self.part) => Ok(set.first[self.part] + i),
            _ if self.connection.beyond => Ok(NONE),
            _ => Err(value),
        }
    }
}

/// A table of all rows of a list: so many columns.
pub(super) struct Table {
    /// Row by row, as numbers among all partitions' things.
    pub(super) ones: Vec<u32>,
    pub(super) columns: usize,
}

impl Table {
    /// The rows.
    pub(super) fn rows(&self) -> std::slice::ChunksExact<'_, u32> {
        self.ones.chunks_exact(self.columns.max(1))
    }
}

impl Parts {
    /// Reads a list of one partition; empty if it has none of what the list tells of.
    pub(super) fn table(&self, part: usize, whole: &Schema, c: &Connection, sets: &[Set]) -> Result<Table> {
        let var = whole.var(c.var);
        let rows = sets[c.from].len_in(part) as usize;
        let columns = self.lens[part][var.dims[1 - c.axis].0].unwrap_or(0) as usize;
        if rows == 0 {
            return Ok(Table { ones: Vec::new(), columns });
        }
        let values = self.ints(part, whole, c.var)?;
        if values.len() != rows * columns {
            return Err(self.wrong(part, &format!("has a list `{}` of another shape", var.name)));
        }
        let lookup = Lookup::new(whole, c, c.to.map(|s| &sets[s]), part);
        let mut ones = Vec::with_capacity(values.len());
        for row in 0..rows {
            for column in 0..columns {
                let value = values[if c.axis == 0 { row * columns + column } else { column * rows + row }];
                ones.push(
                    lookup
                        .one(column, value)
                        .map_err(|v| self.beyond(part, whole, c, sets, (row, column), v))?,
                );
            }
        }
        Ok(Table { ones, columns })
    }

    /// The error about a number of a list beyond the last.
    pub(super) fn beyond(
        &self,
        part: usize,
        whole: &Schema,
        c: &Connection,
        sets: &[Set],
        (row, column): (usize, usize),
        value: i64,
    ) -> Error {
        let other = &sets[c.to[column.min(1)]];
        self.wrong(
            part,
            &format!(
                "says in `{}` that {} {} has {} {value}, and it has only {}",
                whole.var_path(c.var),
                sets[c.from].what,
                row as i64 + c.base,
                other.what,
                other.len_in(part)
            ),
        )
    }

    /// Reads lists of all partitions in their order, on all threads.
    pub(super) fn in_order<T: Send>(
        &self,
        engine: &Engine,
        produce: impl Fn(usize) -> Result<T> + Sync,
        consume: impl FnMut(usize, T) -> Result<()>,
    ) -> Result<()> {
        engine.ordered(self.len(), engine.threads(), produce, consume)
    }
}
