//! The output of a copy: its container, its chunks, and the boxes that need not be written.

use std::sync::Arc;

use super::planned::{Plan, VarWork};
use ncforge::Result;
use ncforge::model::{Format, Schema};
use ncforge::raw::{ChunkGrid, ContainerMut, classic, netcdf4};
use ncforge::store::WriteStore;

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

/// The output's chunks, if the variable has any.
pub(super) fn chunk_grid(plan: &Plan, work: &VarWork) -> Option<ChunkGrid> {
    let chunks = plan.schema.var(work.moved.to).storage.chunks()?;
    Some(ChunkGrid::new(&work.walk.grid.shape, chunks))
}
