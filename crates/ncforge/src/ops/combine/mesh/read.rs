//! Reading the mesh like a file.
//!
//! What is asked for is read in rounds: of every partition the runs that it has, one behind the other, then each value
//! is taken from there to its place. A round is as large as its share of the memory.

use std::ops::Range;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use super::find::SetId;
use super::rewrite::Block;
use super::route::Route;
use super::set::NONE;
use super::{From, Mesh};
use crate::buffer::Buffer;
use crate::engine::{Engine, Region};
use crate::error::{Error, Result};
use crate::layout::VarLayout;
use crate::model::{Schema, Value, Values, VarId};
use crate::ops::combine::mosaic::read::fill_all;
use crate::ops::source::{RawChunk, Source};
use crate::select::{ChunkGrid, Hyperslab, coordinates};

/// Bytes read in one round, at most.
const ROUND: u64 = 64 << 20;
/// Bytes between two values that are read with them, rather than in a request of their own.
const GAP: u64 = 64 << 10;
/// Values that one thread takes to their places at a time.
const TAKEN: usize = 1 << 16;

/// A part of what was asked for, along the mesh.
struct Round<'a> {
    axis: usize,
    /// What is asked for.
    slab: &'a Hyperslab,
    route: &'a Route,
    /// Elements before the mesh's dimension, and behind it.
    outer: u64,
    inner: u64,
}

impl Mesh {
    fn check(&self, v: VarId, slab: &Hyperslab) -> Result<()> {
        let name = self.schema.var_path(v);
        if !slab.is_dense() {
            return Err(Error::Invalid(format!("`{name}`: a mesh is read without strides")));
        }
        slab.check(&self.schema.shape(v), &name)
    }

    /// A selection of the whole in a partition's own terms, along all dimensions but the mesh's: what it has of it.
    fn local(&self, part: usize, v: VarId, slab: &Hyperslab) -> Hyperslab {
        let (mut start, mut count) = (Vec::new(), Vec::new());
        for (axis, &d) in self.schema.var(v).dims.iter().enumerate() {
            let len = self.len_in(part, d);
            start.push(slab.start[axis] + self.first_of(d));
            count.push(len.saturating_sub(slab.start[axis]).min(slab.count[axis]));
        }
        Hyperslab::new(&start, &count)
    }

    /// What is not along the mesh, of the partition that it is taken of.
    fn read_one(&self, part: usize, v: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        let Some(own) = self.parts.vars[part][v.0] else {
            return Err(Error::Invalid(format!("no partition has `{}`", self.schema.var_path(v))));
        };
        let local = self.local(part, v, slab);
        if local.count == slab.count {
            let tile = self.parts.tiles.open(part)?;
            tile.note_read();
            return self.engine.read_bytes(tile.container(), own, &local, out);
        }
        Err(Error::Tiles(format!(
            "`{}` has less of `{}` than its header said",
            self.parts.tiles.name(part),
            self.schema.var_path(v)
        )))
    }

    fn route(&self, set: SetId, from: u64, to: u64, gap: u64) -> Arc<Route> {
        let mut last = self.route.lock().expect("nothing panics with the lock");
        if let Some((s, a, b, g, route)) = &*last
            && (*s, *a, *b, *g) == (set, from, to, gap)
        {
            return Arc::clone(route);
        }
        let route = Arc::new(Route::new(&self.sets[set], from, to, gap));
        *last = Some((set, from, to, gap, Arc::clone(&route)));
        route
    }

    /// The boxes of a selection that are read in a round each: all of the dimensions behind the mesh's, and as much of
    /// the others as fits.
    fn rounds(&self, slab: &Hyperslab, axis: usize, size: usize) -> Vec<Hyperslab> {
        let most = (self.engine.memory() / 4).clamp(1 << 16, ROUND);
        let mut lens = slab.count.clone();
        for d in 0..=axis {
            let bytes = lens.iter().fold(size as u64, |b, &n| b.saturating_mul(n));
            if bytes <= most {
                break;
            }
            lens[d] = lens[d].div_ceil(bytes.div_ceil(most).min(lens[d]).max(1)).max(1);
        }
        let grid = ChunkGrid::new(&slab.count, &lens);
        let ranges: Vec<Range<u64>> = grid.counts().iter().map(|&n| 0..n).collect();
        coordinates(&ranges)
            .map(|at| {
                let (start, count) = grid.region(&at);
                let start: Vec<u64> = start.iter().zip(&slab.start).map(|(a, b)| a + b).collect();
                Hyperslab::new(&start, &count)
            })
            .collect()
    }

    fn read_scattered(
        &self,
        v: VarId,
        slab: &Hyperslab,
        (axis, set): (usize, SetId),
        out: &mut [u8],
    ) -> Result<()> {
        let size = out.len() / slab.len().max(1) as usize;
        let inner: u64 = slab.count[axis + 1..].iter().product();
        let list = self.nothing_in(v);
        let fill = list.as_deref().or(self.fills[v.0].as_deref()).unwrap_or(&[0]);
        for one in self.rounds(slab, axis, size) {
            let (from, count) = (one.start[axis], one.count[axis]);
            let gap = GAP / (inner * size as u64).max(1);
            let route = self.route(set, from, from + count, gap);
            let outer = one.count[..axis].iter().product();
            let round = Round { axis, slab: &one, route: &route, outer, inner };
            let mut values = Buffer::zeroed((outer * route.width * inner) as usize * size);
            self.fetch(v, &round, size, fill, &mut values)?;
            let cell = inner as usize * size;
            let mut rows = rows_of(slab, &one, axis, cell, out);
            self.take(&round, cell, fill, &values, &mut rows)?;
            if let Some(rewrite) = self.rewrite(v) {
                // A list has two dimensions: its rows here are all of one column, or all columns of each.
                for (k, row) in rows.iter_mut().enumerate() {
                    let block = match axis {
                        0 => Block { column: one.start[1], columns: inner },
                        _ => Block { column: one.start[0] + k as u64, columns: 1 },
                    };
                    rewrite.complete(from, count, &block, row);
                }
            }
        }
        Ok(())
    }

    /// Reads all runs of a round.
    fn fetch(&self, v: VarId, round: &Round<'_>, size: usize, fill: &[u8], values: &mut [u8]) -> Result<()> {
        if values.is_empty() {
            return Ok(());
        }
        let (axis, route) = (round.axis, round.route);
        let mut shape = round.slab.count.clone();
        shape[axis] = route.width;
        let (mut regions, mut locals) = (Vec::new(), Vec::new());
        let mut is_full = true;
        for run in &route.runs {
            let mut local = self.local(run.part, v, round.slab);
            (local.start[axis], local.count[axis]) = (run.from, run.count);
            let mut start = vec![0; shape.len()];
            start[axis] = run.at;
            let mut whole = round.slab.count.clone();
            whole[axis] = run.count;
            let has_it = self.parts.vars[run.part][v.0].is_some();
            is_full &= has_it && local.count == whole;
            if !has_it {
                local.count.fill(0);
            }
            regions.push(Region { start, count: local.count.clone() });
            locals.push(local);
        }
        if !is_full {
            fill_all(values, fill);
        }
        self.engine.read_parts(&shape, size, &regions, values, |i, part| {
            let run = &route.runs[i];
            let Some(own) = self.parts.vars[run.part][v.0] else { return Ok(()) };
            let tile = self.parts.tiles.open(run.part)?;
            tile.note_read();
            part.read(0, tile.container(), own, &locals[i])
        })?;
        if let Some(rewrite) = self.rewrite(v) {
            let block = match axis {
                0 => Block { column: round.slab.start[1], columns: round.inner },
                _ => Block { column: round.slab.start[0], columns: round.outer },
            };
            for run in &route.runs {
                rewrite.run(run, &block, route.width, values, fill)?;
            }
        }
        Ok(())
    }

    /// Takes values to their places, row by row, on all threads.
    fn take(
        &self,
        round: &Round<'_>,
        cell: usize,
        fill: &[u8],
        values: &[u8],
        rows: &mut [&mut [u8]],
    ) -> Result<()> {
        let route = round.route;
        let mut jobs = Vec::new();
        for (k, row) in rows.iter_mut().enumerate() {
            let from = values.get(k * route.width as usize * cell..).unwrap_or_default();
            for (i, out) in row.chunks_mut(TAKEN * cell).enumerate() {
                let take = &route.take[i * TAKEN..(i * TAKEN + out.len() / cell)];
                jobs.push(Mutex::new((from, take, out)));
            }
        }
        self.engine.for_each(jobs.len(), |i| {
            let mut job = jobs[i].lock().expect("nothing panics with the lock");
            let (from, take, out) = &mut *job;
            match cell {
                1 => taken::<1>(from, take, fill, out),
                2 => taken::<2>(from, take, fill, out),
                4 => taken::<4>(from, take, fill, out),
                8 => taken::<8>(from, take, fill, out),
                n => {
                    for (to, &at) in out.chunks_exact_mut(n).zip(*take) {
                        match at {
                            NONE => fill_all(to, fill),
                            at => to.copy_from_slice(&from[at as usize * n..][..n]),
                        }
                    }
                }
            }
            Ok(())
        })
    }
}

/// Takes values of a known size.
fn taken<const N: usize>(from: &[u8], take: &[u32], fill: &[u8], out: &mut [u8]) {
    for (to, &at) in out.chunks_exact_mut(N).zip(take) {
        match at {
            NONE => fill_all(to, fill),
            at => to.copy_from_slice(&from[at as usize * N..][..N]),
        }
    }
}

/// The rows of `out`, an array of `slab`, that hold a part of it: a row is all of the part's dimensions from `axis` on.
fn rows_of<'a>(
    slab: &Hyperslab,
    part: &Hyperslab,
    axis: usize,
    cell: usize,
    out: &'a mut [u8],
) -> Vec<&'a mut [u8]> {
    let before = |d: usize| part.start[d] - slab.start[d];
    let ranges: Vec<Range<u64>> = (0..axis).map(|d| before(d)..before(d) + part.count[d]).collect();
    let (mut rows, mut rest, mut done) = (Vec::new(), out, 0usize);
    for at in coordinates(&ranges) {
        let row = at.iter().zip(&slab.count).fold(0u64, |a, (x, n)| a * n + x);
        let begin = (row * slab.count[axis] + before(axis)) as usize * cell;
        let tail = std::mem::take(&mut rest).split_at_mut(begin - done).1;
        let (here, tail) = tail.split_at_mut(part.count[axis] as usize * cell);
        done = begin + here.len();
        rows.push(here);
        rest = tail;
    }
    rows
}

impl Source for Mesh {
    fn schema(&self) -> &Schema {
        &self.schema
    }

    fn name(&self) -> String {
        match self.parts.len() {
            1 => self.parts.tiles.name(0),
            n => format!("{} and {} other partitions", self.parts.tiles.name(0), n - 1),
        }
    }

    fn files(&self) -> Vec<PathBuf> {
        self.parts.tiles.paths().to_vec()
    }

    fn engine(&self) -> &Engine {
        &self.engine
    }

    fn layout(&self, v: VarId) -> Result<Arc<VarLayout>> {
        Ok(Arc::clone(&self.layouts[v.0]))
    }

    fn has_chunks(&self, _: VarId) -> bool {
        false
    }

    fn is_stored(&self, _: VarId, _: &[u64]) -> Result<bool> {
        Ok(true)
    }

    fn read(&self, v: VarId, slab: &Hyperslab) -> Result<Values> {
        let var = self.schema.var(v);
        if let Some(size) = self.schema.fixed_size(var.dtype) {
            let mut bytes = Buffer::zeroed(slab.len() as usize * size);
            self.read_bytes(v, slab, &mut bytes)?;
            return Ok(Values::Fixed(bytes));
        }
        self.check(v, slab)?;
        let (axis, set) = match self.from[v.0] {
            From::Scattered { axis, set } => (axis, set),
            From::Part(part) => {
                let local = self.local(part, v, slab);
                let own = self.parts.vars[part][v.0].unwrap_or(v);
                return self.parts.tiles.open(part)?.read(own, &local);
            }
            From::Made(_) => return Err(Error::Invalid(format!("`{}` is made of numbers", var.name))),
        };
        let hole = match var.attr("_FillValue").map(|a| &a.values) {
            Some(Values::Heap(values)) if values.len() == 1 => values[0].clone(),
            _ => Value::String(Some(Vec::new())),
        };
        let mut out = vec![hole; slab.len() as usize];
        let route = self.route(set, slab.start[axis], slab.start[axis] + slab.count[axis], 0);
        // By what was read: the place that it goes to.
        let mut places = vec![NONE; route.width as usize];
        route
            .take
            .iter()
            .enumerate()
            .filter(|t| *t.1 != NONE)
            .for_each(|(i, &t)| places[t as usize] = i as u32);
        for run in &route.runs {
            let Some(own) = self.parts.vars[run.part][v.0] else { continue };
            let mut local = self.local(run.part, v, slab);
            (local.start[axis], local.count[axis]) = (run.from, run.count);
            let Values::Heap(values) = self.parts.tiles.open(run.part)?.read(own, &local)? else {
                return Err(Error::Invalid(format!("`{}` changes its type", self.schema.var_path(v))));
            };
            let ranges: Vec<Range<u64>> = local.count.iter().map(|&n| 0..n).collect();
            for (mut at, value) in coordinates(&ranges).zip(values) {
                let place = places[(run.at + at[axis]) as usize];
                if place == NONE {
                    continue;
                }
                at[axis] = u64::from(place);
                let to = at.iter().zip(&slab.count).fold(0u64, |a, (x, n)| a * n + x);
                out[to as usize] = value;
            }
        }
        Ok(Values::Heap(out))
    }

    fn read_bytes(&self, v: VarId, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.check(v, slab)?;
        if self.schema.fixed_size(self.schema.var(v).dtype).is_none() {
            return Err(Error::Invalid(format!("`{}` has no plain bytes", self.schema.var_path(v))));
        }
        if out.is_empty() {
            return Ok(());
        }
        match &self.from[v.0] {
            From::Part(part) => self.read_one(*part, v, slab, out),
            From::Scattered { axis, set } => self.read_scattered(v, slab, (*axis, *set), out),
            From::Made(values) => {
                let size = out.len() / slab.len() as usize;
                let from = slab.start.first().map_or(0, |&s| s as usize * size);
                out.copy_from_slice(&values[from..from + out.len()]);
                Ok(())
            }
        }
    }

    fn raw_chunk(&self, _: VarId, _: &[u64]) -> Result<RawChunk> {
        Ok(RawChunk::Pieces)
    }

    fn stored_bytes(&self, v: VarId) -> Result<u64> {
        // By its share of the values: counting the chunks of every partition would read every index.
        let size = |v: VarId| {
            let element = self.schema.fixed_size(self.schema.var(v).dtype).unwrap_or(16) as u64;
            self.schema.shape(v).iter().fold(element, |b, &n| b.saturating_mul(n))
        };
        let all: u64 = self.schema.var_ids().map(size).fold(0, u64::saturating_add);
        Ok((self.parts.bytes as f64 * (size(v) as f64 / all.max(1) as f64)) as u64)
    }
}
