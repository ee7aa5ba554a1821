//! Variables whose values the source has next to each other: a box of all of them is read at once.

use super::Run;
use ncforge::model::VarId;
use ncforge::{Hyperslab, Result};

impl Run<'_> {
    /// Copies variables that the source has next to each other: a box of all of them, then the next; of each from box
    /// `first` on.
    pub(super) fn several(&mut self, group: &[usize], first: &[u64]) -> Result<()> {
        let walk = &self.task.plan.work[group[0]].walk;
        for b in 0..walk.len() {
            let todo: Vec<usize> = group.iter().copied().filter(|&i| first[i] <= b).collect();
            if todo.is_empty() {
                continue;
            }
            self.unless_stopped(0, |run| run.boxes_of(&todo, &walk.box_at(b)))?;
            todo.into_iter().try_for_each(|i| self.done(i, b))?;
        }
        self.writer.flush()
    }

    /// Moves the same box of several variables.
    fn boxes_of(&mut self, group: &[usize], slab: &Hyperslab) -> Result<()> {
        let plan = self.task.plan;
        let vars: Vec<VarId> = group.iter().map(|&i| plan.work[i].moved.from).collect();
        let each = slab.len() * plan.work[group[0]].element;
        self.with_buffer(each * vars.len() as u64, |run, bytes| {
            run.task.source.container().read_together(&vars, slab, bytes)?;
            for (&i, bytes) in group.iter().zip(bytes.chunks_exact_mut(each as usize)) {
                let work = &plan.work[i];
                run.task.progress.item(&plan.schema.var_path(work.moved.to));
                run.quantize(work, bytes)?;
                run.writing = true;
                run.writer.write_bytes(work.moved.to, slab, bytes)?;
            }
            Ok(())
        })
    }
}
