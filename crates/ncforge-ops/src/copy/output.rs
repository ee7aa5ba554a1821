//! The output of a copy: its container, its chunks, and the boxes that need not be written.

use std::sync::Arc;

use super::planned::{Plan, VarWork};
use crate::source::Source;
use ncforge::model::{Format, Schema};
use ncforge::raw::{ChunkGrid, ContainerMut, Place, classic, coordinates, netcdf4};
use ncforge::store::WriteStore;
use ncforge::{Hyperslab, Result};

/// A box is looked through for chunks that the source never wrote only if it has at most so many.
const MOST_PROBES: u64 = 1 << 16;

/// An empty dataset of the schema's format, with room for its header to grow.
pub(super) fn create(
    store: Arc<dyn WriteStore>,
    schema: Schema,
    room: Option<u64>,
) -> Result<Box<dyn ContainerMut>> {
    match schema.format {
        Format::Cdf1 | Format::Cdf2 | Format::Cdf5 => {
            let options = classic::CreateOptions { header_room: room, ..classic::CreateOptions::default() };
            classic::create(store, schema, &options)
        }
        Format::Netcdf4 | Format::Netcdf4Classic => {
            let options = netcdf4::CreateOptions {
                spare: room.unwrap_or_default(),
                keep_names: true,
                ..netcdf4::CreateOptions::default()
            };
            netcdf4::create(store, schema, &options)
        }
    }
}

/// Whether the source stores no chunk inside a box.
pub(super) fn is_unwritten(source: &dyn Source, work: &VarWork, slab: &Hyperslab) -> Result<bool> {
    let layout = source.layout(work.moved.from)?;
    let Place::Chunked { chunk, .. } = &layout.place else { return Ok(false) };
    let touched = ChunkGrid::new(&work.walk.grid.shape, chunk).touched(slab);
    if touched.iter().fold(1u64, |n, r| n.saturating_mul(r.end - r.start)) > MOST_PROBES {
        return Ok(false);
    }
    for at in coordinates(&touched) {
        if source.is_stored(work.moved.from, &at)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The output's chunks, if the variable has any.
pub(super) fn chunk_grid(plan: &Plan, work: &VarWork) -> Option<ChunkGrid> {
    let chunks = plan.schema.var(work.moved.to).storage.chunks()?;
    Some(ChunkGrid::new(&work.walk.grid.shape, chunks))
}
