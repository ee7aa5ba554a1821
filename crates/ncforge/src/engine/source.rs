//! A variable's values where they are stored, and reading any box of them.

mod parts;

use std::sync::Arc;

use super::boxes::{self, Axis};
use super::chunked::ChunkedRead;
use super::fill;
use super::how::How;
use super::linear::{LinearBox, PastEnd};
use super::newer::Newer;
use super::shared::SharedOut;
use super::{Engine, axes};
use crate::error::{Error, Result};
use crate::layout::{NotFollowed, Place, VarLayout};
use crate::model::VarId;
use crate::select::Hyperslab;
use crate::store::ReadStore;

/// A variable to read from.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) engine: &'a Engine,
    pub(super) store: &'a Arc<dyn ReadStore>,
    pub(super) var: VarId,
    pub(super) layout: &'a VarLayout,
    /// Chunks that are not read from the store.
    pub(super) newer: Option<&'a dyn Newer>,
}

impl Source<'_> {
    /// Reads elements: fixed-size ones into native order, heap ones as they are stored. `slab` lies inside the
    /// variable's shape; `steps` are the byte steps of the destination.
    ///
    /// # Safety
    /// Nobody else may touch the selection's elements in the destination meanwhile.
    pub(super) unsafe fn read(
        &self,
        slab: &Hyperslab,
        steps: &[u64],
        out: &SharedOut<'_>,
        how: How,
    ) -> Result<()> {
        let (engine, layout, store) = (self.engine, self.layout, self.store);
        let size = layout.element.size;
        let fill_value = layout.unwritten();
        // SAFETY: as for us.
        let held = unsafe { fill::fill_beyond(engine, layout, slab, steps, out)? };
        if held.is_empty() {
            return Ok(());
        }
        match &layout.place {
            Place::Nowhere => {
                // SAFETY: as for us.
                unsafe {
                    fill::fill_parallel(
                        engine,
                        &fill_value,
                        out,
                        0,
                        axes::memory_axes(&held.count, steps),
                        size,
                    )
                }
            }
            Place::Inline(bytes) => {
                let (from, axes) = axes::dense_axes(layout, &held, steps)?;
                let axes = boxes::merge(axes, size);
                let last: u64 = axes.iter().map(|a| (a.count - 1) * a.from).sum();
                if from + last + size as u64 > bytes.len() as u64 {
                    return Err(Error::corrupt(
                        store.name(),
                        None,
                        format!("`{}` stores {} bytes, its shape asks for more", layout.name, bytes.len()),
                    ));
                }
                // SAFETY: as for us.
                unsafe { boxes::move_box(bytes, from, out, 0, &axes, &layout.element) };
                Ok(())
            }
            Place::Contiguous { offset } => {
                let (from, axes) = axes::dense_axes(layout, &held, steps)?;
                let part = self.linear(offset.saturating_add(from), axes);
                // SAFETY: as for us.
                unsafe { part.read(engine, out, how.parallel) }
            }
            Place::Records { begin, stride } => {
                let (from, axes) = axes::record_axes(layout, &held, steps, *stride)?;
                let part = self.linear(begin.saturating_add(from), axes);
                // SAFETY: as for us.
                unsafe { part.read(engine, out, how.parallel) }
            }
            Place::Chunked { chunk, .. } => {
                let Some(read) = self.chunked(&fill_value, how) else {
                    return Err(Error::corrupt(
                        store.name(),
                        None,
                        format!(
                            "`{}` has {} dimensions and chunks of shape {chunk:?}",
                            layout.name,
                            held.rank()
                        ),
                    ));
                };
                // SAFETY: as for us.
                unsafe { read.read(&held, steps, out) }
            }
            // SAFETY: as for us.
            Place::Parts(parts) => unsafe { self.read_parts(&**parts, &held, steps, out, how) },
            Place::Unsupported(what) | Place::NotFollowed(NotFollowed { why: what, .. }) => {
                Err(Error::Unsupported {
                    path: format!("{}: {}", store.name(), layout.name),
                    what: what.clone(),
                })
            }
        }
    }

    /// Its chunks, if it has some, and of its rank. `fill` is one element as it is in memory.
    pub(super) fn chunked<'s>(&'s self, fill: &'s [u8], how: How) -> Option<ChunkedRead<'s>> {
        let Place::Chunked { chunk, codecs, index } = &self.layout.place else { return None };
        let fits = chunk.len() == self.layout.shape.len() && !chunk.contains(&0);
        fits.then_some(ChunkedRead {
            engine: self.engine,
            store: self.store,
            var: self.var.0,
            newer: self.newer.filter(|newer| newer.has_some(self.var)),
            layout: self.layout,
            chunk,
            codecs,
            index: &**index,
            fill,
            how,
        })
    }

    fn linear(&self, offset: u64, axes: Vec<Axis>) -> LinearBox<'_> {
        LinearBox {
            store: &**self.store,
            offset,
            to: 0,
            axes,
            name: &self.layout.name,
            element: &self.layout.element,
            past_end: PastEnd::Zero,
        }
    }
}
