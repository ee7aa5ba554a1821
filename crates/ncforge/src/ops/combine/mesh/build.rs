//! From files to a mesh.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use super::super::files::Found;
use super::super::mosaic::chunks::Elsewhere;
use super::super::mosaic::fill;
use super::super::options::{CombineOptions, Holes};
use super::super::scheme::SchemeChoice;
use super::super::tiles::Tiles;
use super::find::{self, Connection, How, SetPlan};
use super::pairs::Beside;
use super::parts::Parts;
use super::set::Set;
use super::{From, Mesh, cells, dims, nodes, pairs};
use crate::buffer::Buffer;
use crate::codec::CodecChain;
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::layout::{Element, Place, VarLayout};
use crate::model::{Atomic, Attribute, DType, DimId, Dimension, Endian, Schema, Values, VarId, Variable};

/// Whether the files that were found are partitions of a mesh.
///
/// # Errors
/// As opening the first of them, where a mesh is asked for; else whoever reads them says what is wrong.
pub(in super::super) fn is_mesh(found: &Found, options: &CombineOptions, engine: &Engine) -> Result<bool> {
    match options.scheme {
        SchemeChoice::Dflowfm => return Ok(true),
        SchemeChoice::Auto => {}
        _ => return Ok(false),
    }
    let Some(first) = found.named.as_ref().or_else(|| found.files.first()).cloned() else { return Ok(false) };
    let tiles = Tiles::new(vec![first], engine, 0);
    Ok(tiles.open_whole(0).is_ok_and(|d| find::is_partition(d.schema())))
}

/// Reads what the files say of their meshes, and checks that they make one whole. `engine` reads values later; of
/// `memory` bytes in all a quarter may be numbers.
pub(in super::super) fn build(
    found: Found,
    options: &CombineOptions,
    engine: &Engine,
    memory: u64,
) -> Result<Mesh> {
    refuse(options)?;
    let searched = found.searched && found.files.len() > 1;
    let mut notes = Vec::new();
    let tiles = Tiles::new(found.files, engine, memory / super::super::DESCRIPTIONS / 2);
    let (parts, mut whole) = Parts::read(tiles, searched, &mut notes)?;
    let found = find::find(&whole).map_err(|what| parts.wrong(0, &what))?;
    let mut sets = empty_sets(&parts, &whole, &found.sets, memory)?;
    let mut missing = BTreeSet::new();
    let mut beside = BTreeMap::new();
    for (i, plan) in found.sets.iter().enumerate() {
        cells::same_lengths(&parts, &whole, plan)?;
        match plan.how {
            How::Cells { domain, number } => {
                let told = (domain, number);
                let allow = options.allow_missing;
                cells::number(&parts, &whole, engine, told, &mut sets[i], allow, &mut missing)?;
            }
            How::List => cells::list(&mut sets[i]),
            How::Nodes { cells, corners, at, edges } => {
                let (connections, sets_now) = (&found.connections[..], &sets[..]);
                sets[i] = nodes::number(&nodes::Look {
                    parts: &parts,
                    whole: &whole,
                    engine,
                    connections,
                    sets: sets_now,
                    nodes: i,
                    cells,
                    corners,
                    at,
                    edges,
                })?;
            }
            How::Pairs { ends, sides, lower } => {
                let (set, told) = pairs::number(&pairs::Look {
                    parts: &parts,
                    whole: &whole,
                    engine,
                    connections: &found.connections,
                    sets: &sets,
                    pairs: i,
                    ends,
                    sides,
                    lower,
                })?;
                sets[i] = set;
                beside.insert(i, told);
            }
        }
    }
    check_holes(&sets, options, &mut notes)?;
    let dims = dims::dims(&parts, &mut whole, &sets, options, &mut notes)?;
    let from = from(&parts, &whole, &sets, &found.connections, &dims.sets, &mut notes)?;
    finish(
        &mut whole,
        parts,
        sets,
        found.connections,
        beside,
        from,
        dims.window,
        missing,
        notes,
        options,
        engine,
    )
}

/// An error for what makes no sense with a mesh.
fn refuse(options: &CombineOptions) -> Result<()> {
    let refused = [
        (
            options.into_existing.is_some(),
            "put into a file that exists (--append): their numbers come from all of them",
        ),
        (
            options.coords.is_some(),
            "given coordinates by --coords: a cell that nobody has has no corners either",
        ),
    ];
    match refused.iter().find(|r| r.0) {
        Some((_, what)) => Err(Error::Invalid(format!("partitions of a mesh cannot be {what}"))),
        None => Ok(()),
    }
}

/// The sets without numbers, if these fit into memory.
fn empty_sets(parts: &Parts, whole: &Schema, plans: &[SetPlan], memory: u64) -> Result<Vec<Set>> {
    let lens: Vec<Vec<u64>> = plans.iter().map(|s| parts.lens_of(s.dims[0])).collect();
    let all: u64 = lens.iter().flatten().fold(0, |a, &n| a.saturating_add(n));
    // Two numbers for each that stay, and while they are found about as much again.
    let needed = all.saturating_mul(16);
    if needed > memory / 4 {
        return Err(Error::Budget {
            what: format!("numbering the {all} cells, nodes and edges of all partitions"),
            needed: needed.saturating_mul(4),
            budget: memory,
        });
    }
    plans
        .iter()
        .zip(&lens)
        .map(|(plan, lens)| {
            Set::new(plan.what, &plan.mesh, plan.dims.clone(), lens).ok_or_else(|| Error::Unsupported {
                path: parts.tiles.name(0),
                what: format!("more than 4 billion points of `{}`", whole.dim(plan.dims[0]).name),
            })
        })
        .collect()
}

/// An error where holes are not allowed; else a note of them.
fn check_holes(sets: &[Set], options: &CombineOptions, notes: &mut Vec<String>) -> Result<()> {
    for set in sets {
        let holes = set.holes();
        if holes == 0 {
            continue;
        }
        let what = format!("{holes} of {} {}s are in no partition", set.source.len(), set.what);
        if options.holes == Holes::Error {
            return Err(Error::Tiles(what));
        }
        notes.push(format!(
            "{what}: their values are filled, and what only they have of nodes and edges is left out"
        ));
    }
    Ok(())
}

/// Where the values of every variable come from.
fn from(
    parts: &Parts,
    whole: &Schema,
    sets: &[Set],
    connections: &[Connection],
    by_dim: &[Option<usize>],
    notes: &mut Vec<String>,
) -> Result<Vec<From>> {
    let mut all = Vec::with_capacity(whole.vars.len());
    for v in whole.var_ids() {
        let var = whole.var(v);
        let who: Vec<usize> = (0..parts.len()).filter(|&p| parts.vars[p][v.0].is_some()).collect();
        let along: Vec<(usize, usize)> =
            var.dims.iter().enumerate().filter_map(|(axis, d)| Some((axis, by_dim[d.0]?))).collect();
        let [(axis, set)] = along[..] else {
            if along.len() > 1 {
                return Err(Error::Unsupported {
                    path: parts.tiles.name(0),
                    what: format!("`{}`, which is along a mesh twice,", whole.var_path(v)),
                });
            }
            // Of partitions with different numbers of records, the first one that has the most.
            let records =
                |p: usize| var.dims.iter().map(|d| parts.lens[p][d.0].unwrap_or(0)).min().unwrap_or(1);
            let longest = who.iter().copied().rev().max_by_key(|&p| records(p));
            all.push(From::Part(longest.unwrap_or(0)));
            continue;
        };
        let lacking = (0..parts.len()).filter(|&p| sets[set].len_in(p) > 0 && parts.vars[p][v.0].is_none());
        let lacking: Vec<usize> = lacking.collect();
        if let Some(&p) = lacking.first() {
            if connections.iter().any(|c| c.var == v) {
                return Err(parts.wrong(p, &format!("lacks the variable `{}`", whole.var_path(v))));
            }
            notes.push(format!(
                "`{}` is in {} of {} partitions: its other places are filled",
                whole.var_path(v),
                parts.len() - lacking.len(),
                parts.len()
            ));
        }
        all.push(From::Scattered { axis, set });
    }
    Ok(all)
}

/// Adds what tells how the whole was made: how many each partition has given, and where they stand if they stand
/// together. D-Flow FM's own names; numbers count from one.
fn add_partitions(
    whole: &mut Schema,
    parts: &Parts,
    sets: &[Set],
    from: &mut Vec<From>,
    notes: &mut Vec<String>,
) {
    let ints = |values: &[u64]| {
        let bytes: Vec<u8> = values.iter().flat_map(|&n| (n as i32).to_ne_bytes()).collect();
        Buffer::from(&bytes[..])
    };
    let attrs = &mut whole.groups[0].attrs;
    attrs.retain(|a| a.name != "NumPartitionsInFile");
    attrs.push(Attribute {
        name: "NumPartitionsInFile".into(),
        dtype: Atomic::Int.into(),
        values: Values::Fixed(ints(&[parts.len() as u64])),
    });
    let mut known =
        whole.find_dim(Schema::ROOT, "nPartitions").filter(|d| whole.dim(*d).len == parts.len() as u64);
    let of_mesh = sets.iter().find(|s| s.what == "cell").or_else(|| sets.first()).map(|s| s.mesh.clone());
    // Where a net has edges and links, the links are what D-Flow FM calls edges.
    let edges = if sets.iter().any(|s| s.what == "link") { "link" } else { "edge" };
    for (word, what) in [("face", "cell"), ("edge", edges), ("node", "node"), ("facebnd", "boundary point")] {
        let is_it =
            |s: &&Set| s.what == what && (what == "boundary point" || Some(&s.mesh) == of_mesh.as_ref());
        let Some(set) = sets.iter().find(is_it) else { continue };
        let starts = set.starts().map(|starts| starts.iter().map(|s| s + 1).collect::<Vec<u64>>());
        if starts.is_none() {
            notes.push(format!(
                "{what}s stand by their numbers, those of a partition not together: partitions_{word}_start is not \
                 written"
            ));
        }
        let (start, count) = (format!("partitions_{word}_start"), format!("partitions_{word}_count"));
        let told = [
            (start, starts, format!("start index in global data arrays for {word} data for all partitions")),
            (count, Some(set.owned()), format!("per-partition count in global data arrays for {word} data")),
        ];
        for (name, values, about) in told {
            let (Some(values), None) = (values, whole.find_var(&name)) else { continue };
            if values.iter().any(|&n| i32::try_from(n).is_err()) {
                notes.push(format!(
                    "{name} is not written: its numbers are larger than those of D-Flow FM may be"
                ));
                continue;
            }
            let dim = *known.get_or_insert_with(|| {
                let mut name = "nPartitions".to_owned();
                while whole.find_dim(Schema::ROOT, &name).is_some() {
                    name.push('_');
                }
                let len = parts.len() as u64;
                whole.dims.push(Dimension { name, group: Schema::ROOT, len, unlimited: false });
                DimId(whole.dims.len() - 1)
            });
            let mut var = Variable::new(name, Atomic::Int, vec![dim]);
            var.attrs.push(Attribute::text("long_name", &about));
            whole.vars.push(var);
            from.push(From::Made(ints(&values)));
        }
    }
}

/// Everything together.
#[allow(clippy::too_many_arguments)] // the fields of what is made
fn finish(
    whole: &mut Schema,
    mut parts: Parts,
    sets: Vec<Set>,
    connections: Vec<Connection>,
    beside: BTreeMap<usize, Beside>,
    mut from: Vec<From>,
    window: Option<(DimId, u64)>,
    missing: BTreeSet<u64>,
    mut notes: Vec<String>,
    options: &CombineOptions,
    engine: &Engine,
) -> Result<Mesh> {
    add_partitions(whole, &parts, &sets, &mut from, &mut notes);
    for (lens, vars) in parts.lens.iter_mut().zip(&mut parts.vars) {
        lens.resize(whole.dims.len(), None);
        vars.resize(whole.vars.len(), None);
    }
    let layouts =
        whole.var_ids().map(|v| layout(whole, &parts, &from[v.0], v)).collect::<Result<Vec<_>>>()?;
    let fills = whole.var_ids().map(|v| fill::fill_of(whole, v, options.holes)).collect();
    let ghosts = sets.iter().map(Set::dropped).collect();
    Ok(Mesh {
        schema: whole.clone(),
        parts,
        sets,
        ghosts,
        connections,
        beside,
        from,
        layouts,
        fills,
        window,
        missing: missing.into_iter().collect(),
        notes,
        engine: engine.clone(),
        route: Mutex::new(None),
    })
}

/// How the whole holds a variable, as far as reading it costs: as the first partition does that has it. A part of a
/// mesh is read by chunks of partitions, which may lie anywhere in it.
fn layout(whole: &Schema, parts: &Parts, from: &From, v: VarId) -> Result<Arc<VarLayout>> {
    let (shape, var) = (whole.shape(v), whole.var(v));
    let who: Vec<usize> = (0..parts.len()).filter(|&p| parts.vars[p][v.0].is_some()).collect();
    let mut place = Place::Contiguous { offset: 0 };
    let mut element = Element::of(whole, var.dtype, Endian::Native);
    for (i, &p) in who.iter().enumerate() {
        let Some(own) = parts.vars[p][v.0] else { continue };
        let theirs = parts.tiles.open(p)?.container().layout(own)?;
        if let Place::Unsupported(what) = &theirs.place {
            let path = format!("{}: {}", parts.tiles.name(p), theirs.name);
            return Err(Error::Unsupported { path, what: what.clone() });
        }
        if i > 0 {
            continue;
        }
        if let Place::Chunked { chunk, codecs, .. } = &theirs.place {
            let mut chunk: Vec<u64> = chunk.iter().zip(&shape).map(|(&c, &n)| c.clamp(1, n.max(1))).collect();
            if let From::Scattered { axis, .. } = from {
                chunk[*axis] = shape[*axis].max(1);
            }
            let size = theirs.element.size;
            let codecs = CodecChain::new(codecs.filters(), size)?;
            place = Place::Chunked { chunk, codecs, index: Arc::new(Elsewhere) };
        }
        element.get_or_insert_with(|| theirs.element.clone());
    }
    if matches!(var.dtype, DType::User(_)) && matches!(from, From::Scattered { .. }) && element.is_none() {
        return Err(Error::Unsupported {
            path: parts.tiles.name(0),
            what: format!("`{}`, of a type of its own", whole.var_path(v)),
        });
    }
    let element = element.unwrap_or(Element { size: 1, order: crate::layout::Order::Keep, heap: true });
    Ok(Arc::new(VarLayout { name: whole.var_path(v), shape, element, fill: Vec::new(), place }))
}
