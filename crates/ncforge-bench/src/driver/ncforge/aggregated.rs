//! Collective blocks of contiguous variables and records through MPI-IO.
//!
//! The place of every value is known (see [`super::blocks`]); ncforge puts values into the file's byte order, MPI-IO
//! gathers what the ranks have for neighbouring bytes and writes it in large requests.

use std::path::Path;

use ncforge::codec::kernels;
use ncforge::codec::quantize::Quantize;
use ncforge::raw::{Order, VarLayout};
use ncforge::{Atomic, Dataset, Hyperslab};

use super::spec::{rounded, rounds};
use crate::driver::{BlockFile, FileSpec, Opened};
use crate::error::{Error, Result};
use crate::team::MpiJob;
use crate::team::mpi::{FileBox, MpiFile};

struct Aggregated {
    file: MpiFile,
    layout: VarLayout,
    rounds: Option<(Quantize, Atomic)>,
    /// A block in the file's byte order.
    buffer: Vec<u8>,
}

/// Opens a complete file for collective calls; every rank calls this.
pub(super) fn open<'a>(path: &Path, spec: &FileSpec, team: &MpiJob, write: bool) -> Opened<'a> {
    let dataset = Dataset::open(path)?;
    let layout = dataset.container().layout(dataset.var(&spec.var.name)?)?;
    let layout = (*layout).clone();
    let file = MpiFile::open(team, path, write)?;
    Ok(Box::new(Aggregated { file, layout, rounds: rounds(spec), buffer: Vec::new() }))
}

impl Aggregated {
    /// Splits a selection into boxes of arrays that lie in one run: one, or one a record.
    fn each(
        &self,
        slab: &Hyperslab,
        mut f: impl FnMut(&FileBox<'_>, usize, usize) -> Result<()>,
    ) -> Result<()> {
        let layout = &self.layout;
        let size = layout.element.size;
        let Some(runs) = layout.runs() else {
            return Err(Error::WrongKind(format!("`{}` is not stored in one run", layout.name)));
        };
        match runs.stride {
            None => {
                let place = FileBox {
                    offset: runs.begin,
                    size,
                    shape: &layout.shape,
                    start: &slab.start,
                    count: &slab.count,
                };
                f(&place, 0, slab.len() as usize * size)
            }
            Some(_) => {
                let len = slab.count[1..].iter().product::<u64>() as usize * size;
                for r in 0..slab.count[0] {
                    let offset = runs.range(slab.start[0] + r).start;
                    // A record of a variable without other dimensions is an array of one element.
                    let (one, zero) = ([1], [0]);
                    let rest = layout.shape.len() > 1;
                    let place = FileBox {
                        offset,
                        size,
                        shape: if rest { &layout.shape[1..] } else { &one },
                        start: if rest { &slab.start[1..] } else { &zero },
                        count: if rest { &slab.count[1..] } else { &one },
                    };
                    f(&place, r as usize * len, len)?;
                }
                Ok(())
            }
        }
    }

    fn swap(&self, bytes: &mut [u8]) {
        if let Order::Swap(unit) = self.layout.element.order {
            kernels::swap_in_place(bytes, unit);
        }
    }
}

impl BlockFile for Aggregated {
    fn write(&mut self, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        let bytes: &[u8] = &rounded(self.rounds, bytes);
        if self.layout.element.order == Order::Keep {
            return self.each(slab, |place, at, len| self.file.write_all(place, &bytes[at..at + len]));
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.extend_from_slice(bytes);
        self.swap(&mut buffer);
        let done = self.each(slab, |place, at, len| self.file.write_all(place, &buffer[at..at + len]));
        self.buffer = buffer;
        done
    }

    fn read(&mut self, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        self.each(slab, |place, at, len| self.file.read_all(place, &mut out[at..at + len]))?;
        self.swap(out);
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.file.close()
    }
}
