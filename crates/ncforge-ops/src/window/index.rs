//! The chunks of a window as its layout tells them.

use std::sync::Arc;

use super::ranges::Ranges;
use ncforge::raw::{ChunkIndex, ChunkRecord};
use ncforge::{Error, Result};

/// The chunks of the whole that a window has.
#[derive(Debug)]
pub(super) struct WindowIndex {
    pub(super) whole: Arc<dyn ChunkIndex>,
    pub(super) chunk: Vec<u64>,
    /// The indices of the window along each axis.
    pub(super) axes: Vec<Ranges>,
    /// Whether its chunks are chunks of the whole.
    pub(super) aligned: bool,
}

impl ChunkIndex for WindowIndex {
    /// The chunk of the whole that has the first element.
    fn get(&self, at: &[u64]) -> Result<Option<ChunkRecord>> {
        let first = |d: usize| {
            let i = at[d].saturating_mul(self.chunk[d]);
            self.axes[d].cut(i..i.saturating_add(1)).first().map(|cut| cut.span.first / self.chunk[d])
        };
        match (0..at.len()).map(first).collect::<Option<Vec<u64>>>() {
            Some(at) => self.whole.get(&at),
            None => Ok(None),
        }
    }

    fn list(&self) -> Result<Vec<(Vec<u64>, ChunkRecord)>> {
        let mut all = Vec::new();
        self.visit(&mut |at, record| all.push((at.to_vec(), record)))?;
        Ok(all)
    }

    fn visit(&self, see: &mut dyn FnMut(&[u64], ChunkRecord)) -> Result<()> {
        if !self.aligned {
            return Err(Error::Internal("the chunks of a window are not those of its whole".into()));
        }
        self.whole.visit(&mut |at, record| {
            let here = (0..at.len()).map(|d| self.axes.get(d)?.chunk_of(at[d], self.chunk[d]));
            if let Some(here) = here.collect::<Option<Vec<u64>>>() {
                see(&here, record);
            }
        })
    }

    fn is_unchanged(&self) -> bool {
        self.whole.is_unchanged()
    }
}
