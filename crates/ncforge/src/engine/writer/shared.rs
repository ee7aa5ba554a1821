//! Writes into chunks that have their places, while other writers do the same.
//!
//! Without filters a chunk is a small row-major array that lies somewhere in the file: what a selection has of it
//! goes there as into a contiguous variable, with no byte around it touched, so that several writers may share even one chunk.

use super::super::Engine;
use super::linear;
use crate::container::ContainerMut;
use crate::error::{Error, Result};
use crate::layout::{Place, VarLayout};
use crate::model::VarId;
use crate::select::{ChunkGrid, Hyperslab, coordinates};

/// Writes a dense selection of a variable in chunks without filters, all of which are in the file.
pub(super) fn write_chunks(
    engine: &Engine,
    container: &mut dyn ContainerMut,
    var: VarId,
    layout: &VarLayout,
    slab: &Hyperslab,
    memory_steps: &[u64],
    bytes: &[u8],
) -> Result<()> {
    let unsupported = |what: &str| Error::Unsupported {
        path: format!("{}: {}", container.store().name(), layout.name),
        what: format!("writing {what} while others write to the file"),
    };
    let Place::Chunked { chunk, codecs, index } = &layout.place else {
        return Err(unsupported("what is not stored in chunks"));
    };
    if !codecs.is_empty() {
        return Err(unsupported("compressed chunks"));
    }
    if !slab.is_dense() {
        return Err(unsupported("every so many elements"));
    }
    let index = index.clone();
    let grid = ChunkGrid::new(&layout.shape, chunk);
    for at in coordinates(&grid.touched(slab)) {
        let record = index.get(&at)?;
        let Some(record) = record else {
            let what =
                format!("chunk {at:?} of `{}` has no place in the file; reserve it first", layout.name);
            return Err(Error::Invalid(what));
        };
        let dims = 0..slab.rank();
        let corner: Vec<u64> = dims.clone().map(|d| at[d] * chunk[d]).collect();
        let low: Vec<u64> = dims.clone().map(|d| slab.start[d].max(corner[d])).collect();
        let high: Vec<u64> = dims.clone().map(|d| slab.end(d).min(corner[d] + chunk[d])).collect();
        let from: u64 = dims.clone().map(|d| (low[d] - slab.start[d]) * memory_steps[d]).sum();
        let inside: Vec<u64> = dims.clone().map(|d| low[d] - corner[d]).collect();
        let count: Vec<u64> = dims.map(|d| high[d] - low[d]).collect();
        let local = VarLayout {
            shape: chunk.clone(),
            place: Place::Contiguous { offset: record.offset },
            ..layout.clone()
        };
        let part = Hyperslab::new(&inside, &count);
        linear::write(engine, container, var, &local, &part, memory_steps, &bytes[from as usize..], 0)?;
    }
    Ok(())
}
