//! Copies whose chunks are encoded elsewhere: by other processes, on other machines.
//!
//! One process plans the copy and writes the output. Every box of the plan is cut into *groups* of whole output
//! chunks; somebody else ([`Elsewhere`]) is asked for the encoded chunks of each group, in the order in which they
//! shall lie in the file, and they are placed as they come. An [`Encoder`] is that somebody: it opens the same source,
//! makes the same plan from the [ticket](Elsewhere::begin), and reads and encodes one group at a time. A group is a pure
//! function of the source and the ticket: it may be encoded twice, or by another one when the first was lost.
//!
//! The output is guaranteed to be the one that [`copy`](super::copy) makes, to the byte.
//!
//! Only variables whose values must be decoded and encoded in boxes go elsewhere. Chunks that are moved as they are,
//! variables that pass through a temporary file, strings and ragged rows are moved by the writing process.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::engine::engine_below;
use super::identity::Identity;
use super::options::CopyOptions;
use super::output::{chunk_grid, create};
use super::plan::{as_copied, plan_with};
use super::planned::{Plan, Route, VarWork};
use super::quantized;
use super::storage::Chosen;
use crate::written;
use ncforge::model::{DimId, Dimension, Format, Schema, Storage, VarId};
use ncforge::raw::{ChunkGrid, Chunks, Writer, coordinates};
use ncforge::store::MemoryStore;
use ncforge::{Buffer, Dataset, Engine, EngineOptions, Error, Hyperslab, Result};

/// The limit on the cost of cutting a box into groups: chunks of the source that several groups decode, over those of the box.
const MOST_AGAIN: f64 = 1.25;

/// The encoded chunks of a group in row-major order: bytes and filter mask. `None`: the chunk is not stored.
pub type EncodedChunks = Vec<Option<(Vec<u8>, u32)>>;

/// Names a group of output chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GroupId {
    /// Position of the variable in the plan.
    pub var: usize,
    /// The box.
    pub step: u64,
    /// The group, counted from 0 in every box.
    pub group: u64,
}

/// An encoder of groups.
pub trait Elsewhere: Sync {
    /// Bytes of values that a group holds at most, unless a chunk is larger or cutting a box costs too much.
    fn group_bytes(&self) -> u64;
    /// The copy begins: `ticket` is what an [`Encoder`] needs to know, and `groups` are those that will be asked for,
    /// in this order. Some may be passed over (a copy that is resumed, parts that the source never wrote).
    fn begin(&self, ticket: &str, groups: &[GroupId]) -> Result<()>;
    /// The chunks of one group.
    fn group(&self, id: GroupId) -> Result<EncodedChunks>;
}

/// The input of a plan: equal tickets give equal plans.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Ticket {
    memory: u64,
    threads: usize,
    group_bytes: u64,
    plan: u64,
    chosen: Chosen,
    source: Identity,
}

/// Tells `elsewhere` what is coming.
pub(super) fn announce(
    source: &Dataset,
    plan: &Plan,
    elsewhere: &dyn Elsewhere,
    identity: &Identity,
) -> Result<()> {
    let ticket = Ticket {
        memory: plan.memory,
        threads: plan.threads,
        group_bytes: elsewhere.group_bytes(),
        plan: plan.identity(),
        chosen: plan.chosen.clone(),
        source: identity.clone(),
    };
    let mut ids = Vec::new();
    for (var, work) in plan.work.iter().enumerate().filter(|(_, w)| is_encoded_elsewhere(plan, w)) {
        for step in 0..work.walk.len() {
            let count = groups(source, plan, work, step, ticket.group_bytes)?.len() as u64;
            ids.extend((0..count).map(|group| GroupId { var, step, group }));
        }
    }
    let text = serde_json::to_string(&ticket)
        .map_err(|e| Error::Internal(format!("a plan that is no JSON: {e}")))?;
    elsewhere.begin(&text, &ids)
}

/// Whether a variable's chunks come from elsewhere.
pub(super) fn is_encoded_elsewhere(plan: &Plan, work: &VarWork) -> bool {
    work.route == Route::Boxes && matches!(plan.schema.var(work.moved.to).storage, Storage::Chunked { .. })
}

/// The groups of a box, as parts of the array, such that their chunks one after the other are those of the box in
/// row-major order.
pub(super) fn groups(
    source: &Dataset,
    plan: &Plan,
    work: &VarWork,
    step: u64,
    bytes: u64,
) -> Result<Vec<Hyperslab>> {
    let slab = work.walk.box_at(step);
    let Some(grid) = chunk_grid(plan, work) else { return Ok(vec![slab]) };
    let layout = source.layout(work.moved.from)?;
    let decoded = layout.place.chunks().filter(|c| !c.codecs.is_empty());
    let decoded = decoded.map(|c| ChunkGrid::new(&work.walk.grid.shape, c.chunk));
    let chunk_bytes = grid.chunk_len().saturating_mul(work.element).max(1);
    let mut most = (bytes / chunk_bytes).max(1);
    loop {
        let parts = cut(&grid, &slab, most);
        let again = |d: &ChunkGrid| {
            let one = |s: &Hyperslab| d.touched(s).iter().fold(1.0, |n, r| n * (r.end - r.start) as f64);
            parts.iter().map(one).sum::<f64>() > MOST_AGAIN * one(&slab)
        };
        if parts.len() == 1 || !decoded.as_ref().is_some_and(again) {
            return Ok(parts);
        }
        most = most.saturating_mul(2);
    }
}

/// Cuts a box of whole chunks into blocks of at most `most` chunks that follow one another in row-major order: one
/// chunk on the slowest axes, a run on the next, all on the fastest.
fn cut(grid: &ChunkGrid, slab: &Hyperslab, most: u64) -> Vec<Hyperslab> {
    let touched = grid.touched(slab);
    let mut lens = vec![1; touched.len()];
    let mut space = most;
    for d in (0..touched.len()).rev() {
        let n = (touched[d].end - touched[d].start).max(1);
        lens[d] = n.min(space.max(1));
        space /= n;
        if lens[d] < n {
            break;
        }
    }
    let blocks: Vec<_> =
        (touched.iter().zip(&lens)).map(|(r, &l)| 0..(r.end - r.start).div_ceil(l)).collect();
    coordinates(&blocks)
        .map(|at| {
            let (mut start, mut count) = (Vec::with_capacity(at.len()), Vec::with_capacity(at.len()));
            for d in 0..at.len() {
                let first = touched[d].start + at[d] * lens[d];
                let end = ((first + lens[d]).min(touched[d].end) * grid.chunk[d]).min(slab.end(d));
                start.push(first * grid.chunk[d]);
                count.push(end - first * grid.chunk[d]);
            }
            Hyperslab::new(&start, &count)
        })
        .collect()
}

/// Reads and encodes groups of a copy that another process writes.
pub struct Encoder {
    source: Dataset,
    plan: Plan,
    engine: Engine,
    group_bytes: u64,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder").field("input", &self.plan.input).finish_non_exhaustive()
    }
}

impl Encoder {
    /// The encoder for the copy of a file with these options, as its writer described it in `ticket`. Threads and memory are those of
    /// `engine`.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the file is another one here, or was changed, or the plan came out differently.
    pub fn for_copy(input: &Path, options: &CopyOptions, ticket: &str, engine: &Engine) -> Result<Self> {
        let source = Dataset::open_with(input, &engine_below(engine)?)?;
        Self::of(&source, options, ticket, engine)
    }

    /// The encoder for a source that is open already.
    pub(crate) fn of(source: &Dataset, options: &CopyOptions, ticket: &str, engine: &Engine) -> Result<Self> {
        let ticket: Ticket = serde_json::from_str(ticket)
            .map_err(|e| Error::BadTicket(format!("not the ticket of a copy: {e}")))?;
        let name = source.name();
        if !Identity::of_all(&source.ids()?).is_alike(&ticket.source) {
            return Err(Error::BadTicket(format!(
                "`{name}` is not the file that is being copied: it was changed, or this machine sees another one"
            )));
        }
        // Equal budgets give equal boxes.
        let planning =
            Engine::new(EngineOptions { threads: Some(ticket.threads), memory: Some(ticket.memory) })?;
        let source = as_copied(source, options)?;
        let plan = plan_with(&source, options, &planning, &ticket.chosen)?;
        if plan.identity() != ticket.plan {
            return Err(Error::BadTicket(format!(
                "the copy of `{name}` was planned by another version of ncforge, or with other options"
            )));
        }
        Ok(Self { source, plan, engine: engine.clone(), group_bytes: ticket.group_bytes })
    }

    /// The encoded chunks of one group.
    ///
    /// # Errors
    /// As reading and encoding; [`Error::BadTicket`] for a group that the plan does not have.
    pub fn group(&self, id: GroupId) -> Result<EncodedChunks> {
        let unknown = || Error::BadTicket(format!("the plan has no group {id:?}"));
        let (plan, source) = (&self.plan, &self.source);
        let work = plan.work.get(id.var).filter(|w| id.step < w.walk.len()).ok_or_else(unknown)?;
        let parts = groups(source, plan, work, id.step, self.group_bytes)?;
        let slab = parts.get(id.group as usize).ok_or_else(unknown)?;
        let grid = chunk_grid(plan, work).ok_or_else(unknown)?;
        if is_unwritten(source, work, id.step)? {
            return Ok(Vec::new());
        }
        let mut bytes = Buffer::try_zeroed((slab.len() * work.element) as usize)?;
        source.read_bytes(work.moved.from, slab, &mut bytes)?;
        if let Some(rounding) = &work.quantize {
            quantized::round(&self.engine, rounding, plan.schema.var(work.moved.to).dtype, &mut bytes)?;
        }
        let mut chunks = self.encode(work, slab, &bytes)?;
        if work.sparse
            && let Some(written) = written::chunks_in(source, work.moved.from, &grid, slab)?
        {
            for (at, chunk) in coordinates(&grid.touched(slab)).zip(&mut chunks) {
                chunk.take_if(|_| !written.contains(&at));
            }
        }
        Ok(chunks)
    }

    /// Writes the group into a dataset of its own in memory, by the way that all chunks go, and takes them out.
    fn encode(&self, work: &VarWork, slab: &Hyperslab, bytes: &[u8]) -> Result<EncodedChunks> {
        let schema = alone(&self.plan.schema, work.moved.to, &slab.count);
        let store = Arc::new(MemoryStore::new("group", Vec::new()));
        let mut writer = Writer::new(self.engine.clone(), create(store, schema, None)?);
        writer.skip_fill(self.plan.skip_fill);
        let var = VarId(0);
        let all = Hyperslab::all(&slab.count);
        writer.write_bytes(var, &all, bytes)?;
        writer.flush()?;
        let container = writer.container();
        let layout = container.layout(var)?;
        let Some(Chunks { chunk, .. }) = layout.place.chunks() else {
            return Err(Error::not_chunked(&layout.name));
        };
        coordinates(&ChunkGrid::new(&slab.count, chunk).touched(&all))
            .map(|at| {
                let chunk = self.engine.raw_chunk(container, var, &at)?;
                Ok(chunk.encoded().map(|(bytes, mask)| (bytes.to_vec(), mask)))
            })
            .collect()
    }
}

/// Whether nothing of a box need be written.
pub(super) fn is_unwritten(source: &Dataset, work: &VarWork, step: u64) -> Result<bool> {
    Ok(work.sparse
        && written::is_empty(source, work.moved.from, &work.walk.grid.shape, &work.walk.box_at(step))?)
}

/// A schema with one variable of a given shape, stored as it is in `schema`.
fn alone(schema: &Schema, var: VarId, shape: &[u64]) -> Schema {
    let mut out = Schema::new(Format::Netcdf4);
    out.groups.clone_from(&schema.groups);
    out.groups.iter_mut().for_each(|g| g.attrs.clear());
    out.types.clone_from(&schema.types);
    let mut only = schema.var(var).clone();
    let chunks = only.storage.chunks().unwrap_or(shape);
    out.dims = (shape.iter().zip(chunks).enumerate())
        .map(|(d, (&len, &c))| Dimension {
            name: format!("d{d}"),
            group: Schema::ROOT,
            len,
            // A chunk that sticks out is legal where the dimension may grow.
            unlimited: c > len,
        })
        .collect();
    only.name = "values".into();
    only.group = Schema::ROOT;
    only.dims = (0..shape.len()).map(DimId).collect();
    only.attrs.retain(|a| a.name == "_FillValue");
    out.vars = vec![only];
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn groups_are_the_chunks_of_a_box_in_order(
            dims in prop::collection::vec((1u64..20, 1u64..6, 1u64..4), 1..4),
            most in 1u64..40,
        ) {
            let shape: Vec<u64> = dims.iter().map(|d| d.0).collect();
            let chunk: Vec<u64> = dims.iter().map(|d| d.1.min(d.0)).collect();
            let boxes: Vec<u64> = dims.iter().zip(&chunk).map(|(d, c)| d.2 * c).collect();
            let grid = ChunkGrid::new(&shape, &chunk);
            for at in coordinates(&ChunkGrid::new(&shape, &boxes).counts().iter().map(|&n| 0..n).collect::<Vec<_>>()) {
                let (start, count) = ChunkGrid::new(&shape, &boxes).region(&at);
                let slab = Hyperslab::new(&start, &count);
                let whole: Vec<_> = coordinates(&grid.touched(&slab)).collect();
                let parts = cut(&grid, &slab, most);
                let one_by_one: Vec<_> = parts.iter().flat_map(|p| coordinates(&grid.touched(p))).collect();
                prop_assert_eq!(&one_by_one, &whole);
                prop_assert_eq!(parts.iter().map(Hyperslab::len).sum::<u64>(), slab.len());
                prop_assert!(parts.iter().all(|p| coordinates(&grid.touched(p)).count() as u64 <= most));
            }
        }
    }
}
