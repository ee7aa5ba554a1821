//! Boxes of which the source stored only a part.

use std::collections::BTreeMap;

use super::super::planned::VarWork;
use super::super::spill::gather;
use super::{Run, chunk_grid};
use crate::written;
use ncforge::raw::{ChunkGrid, coordinates};
use ncforge::{Hyperslab, Result};

impl Run<'_> {
    /// Moves the chunks of a box that hold anything of the source's, in row-major order; the output reads the same without
    /// the others. Which ones are written depends on the two files alone, not on the boxes.
    pub(super) fn sparse(&mut self, work: &VarWork, b: u64, slab: &Hyperslab) -> Result<()> {
        let from = work.moved.from;
        let Some(grid) = chunk_grid(self.task.plan, work) else { return self.boxed(work, b, slab, None) };
        let Some(chunks) = written::chunks_in(self.task.source, from, &grid, slab)? else {
            return self.boxed(work, b, slab, None);
        };
        if chunks.is_empty() {
            return Ok(());
        }
        let element = work.element as usize;
        // Where the values of each cluster lie in the buffer, and which cluster each chunk is in.
        let mut clusters = Vec::new();
        let mut cluster_of = BTreeMap::new();
        let mut end = 0;
        for cluster in written::clusters(chunks.into_iter().collect()) {
            cluster_of.extend(coordinates(&cluster).map(|at| (at, clusters.len())));
            let low: Vec<u64> = cluster.iter().map(|r| r.start).collect();
            let high: Vec<u64> = cluster.iter().map(|r| r.end - 1).collect();
            let values = spanned(&grid, &low, &high);
            let begin = end;
            end += values.len() as usize * element;
            clusters.push((begin..end, values));
        }
        self.with_buffer(end as u64, |run, bytes| {
            for (place, values) in &clusters {
                run.task.source.read_bytes(from, values, &mut bytes[place.clone()])?;
            }
            run.quantize(work, bytes)?;
            run.writing = true;
            let mut chunk = Vec::new();
            for (at, &cluster) in &cluster_of {
                let (place, values) = &clusters[cluster];
                let region = spanned(&grid, at, at);
                gather(&bytes[place.clone()], values, &region.start, &region.count, element, &mut chunk);
                run.writer.write_bytes(work.moved.to, &region, &chunk)?;
            }
            Ok(())
        })
    }
}

/// The elements from chunk `low` to chunk `high`, both of them among these.
fn spanned(grid: &ChunkGrid, low: &[u64], high: &[u64]) -> Hyperslab {
    let (start, _) = grid.region(low);
    let (last, count) = grid.region(high);
    let count: Vec<u64> = (0..start.len()).map(|d| last[d] + count[d] - start[d]).collect();
    Hyperslab::new(&start, &count)
}
