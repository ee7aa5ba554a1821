//! Values of heap types (strings, ragged rows) in arrays of parts: each source decodes its own.

use super::super::super::boxes;
use super::super::super::how::How;
use super::super::super::shared::SharedOut;
use super::super::Source;
use super::{deeper, held, met, opened};
use crate::buffer;
use crate::error::Result;
use crate::layout::Place;
use crate::model::{Value, shape};
use crate::select::{Hyperslab, Picks, coordinates, unravel};

/// Decodes stored elements.
type Decode<'a> = &'a dyn Fn(&[u8]) -> Result<Vec<Value>>;

impl Source<'_> {
    /// Reads values of a selection, in row-major order.
    pub(in super::super::super) fn read_values(
        &self,
        slab: &Hyperslab,
        decode: Decode<'_>,
        how: How,
    ) -> Result<Vec<Value>> {
        let Place::Parts(parts) = &self.layout.place else {
            let size = self.layout.element.size;
            let bytes = shape::bytes(&slab.count, size as u64);
            super::super::super::checks::check_memory(self.layout, bytes)?;
            let mut stored = buffer::filled(0, bytes as usize)?;
            let steps = boxes::steps(&slab.count, size)?;
            // SAFETY: the memory is ours.
            unsafe { self.read(slab, &steps, &SharedOut::new(&mut stored), how)? };
            return decode(&stored);
        };
        let how = deeper(self, how)?;
        let absent = decode(&self.layout.unwritten())?;
        let mut all: Vec<Value> = absent.iter().cycle().take(slab.len() as usize).cloned().collect();
        for met in met(&**parts, slab)? {
            opened(&met.part, |open| {
                let Some(open) = open else { return Ok(()) };
                let layout = open.layout()?;
                let source = self.of_part(open, &layout)?;
                for piece in met.pieces() {
                    let ranges: Vec<_> = met.counts(&piece).into_iter().map(|n| 0..n).collect();
                    let taken = held(piece.slab.clone(), open, &layout)?;
                    let values = source.read_values(&taken, &|stored| open.decode_heap(stored), how)?;
                    for (at, value) in coordinates(&ranges).zip(values) {
                        let places = at.iter().zip(&piece.first).zip(&piece.step).zip(&slab.count);
                        let to = places.fold(0, |to, (((i, first), step), n)| to * n + first + i * step);
                        all[to as usize] = value;
                    }
                }
                Ok(())
            })?;
        }
        Ok(all)
    }

    /// Reads values of picked positions, out of the smallest box that holds them.
    pub(in super::super::super) fn pick_values(
        &self,
        picks: &Picks,
        decode: Decode<'_>,
        how: How,
    ) -> Result<Vec<Value>> {
        let rank = self.layout.shape.len();
        if picks.is_empty() {
            return Ok(Vec::new());
        }
        let (mut first, mut last) = (vec![u64::MAX; rank], vec![0; rank]);
        for pick in picks.axes() {
            for point in pick.at.chunks_exact(pick.dims.len()) {
                for (&d, &at) in pick.dims.iter().zip(point) {
                    (first[d], last[d]) = (first[d].min(at), last[d].max(at));
                }
            }
        }
        let count: Vec<u64> = first.iter().zip(&last).map(|(f, l)| l - f + 1).collect();
        let values = self.read_values(&Hyperslab::new(&first, &count), decode, how)?;
        let lens = picks.shape();
        let taken = (0..picks.len()).map(|i| {
            let mut at = vec![0; rank];
            for (pick, k) in picks.axes().iter().zip(unravel(i, &lens)) {
                let point = &pick.at[k as usize * pick.dims.len()..];
                pick.dims.iter().zip(point).for_each(|(&d, &p)| at[d] = p - first[d]);
            }
            values[at.iter().zip(&count).fold(0, |to, (i, n)| to * n + i) as usize].clone()
        });
        Ok(taken.collect())
    }
}
