//! Where values lie in a file without any format, and how such a file begins and ends.
//!
//! A variable lies row-major from byte 0 (several one after the other). Where chunks are asked for, every chunk is one run. Behind
//! the values stands a mark, by which the benchmark knows its own files.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ncforge::Hyperslab;
use ncforge::codec::kernels;
use ncforge::select::{ChunkGrid, coordinates};

use super::coding::swapped;
use super::{Access, ChunkAsk, FileSpec, MARK};
use crate::error::{Error, Result};

/// The layout of a file.
pub(super) struct Plain {
    pub(super) vars: Vec<Place>,
}

/// Where a variable lies.
pub(super) struct Place {
    pub(super) begin: u64,
    end: u64,
    pub(super) grid: ChunkGrid,
    pub(super) size: u64,
    /// Bytes of a value, where they stand the other way round in the file.
    swap: Option<usize>,
}

/// A run of bytes in the file and in the caller's memory.
pub(super) struct Run {
    pub(super) file: u64,
    pub(super) memory: usize,
    pub(super) len: usize,
}

impl Plain {
    /// Of a file that is described.
    pub(super) fn of(spec: &FileSpec) -> Self {
        let mut at = 0;
        let place = |v: usize| {
            let shape = spec.shape(v);
            let chunk = match &spec.vars[v].chunks {
                ChunkAsk::Lens(lens) => lens.clone(),
                ChunkAsk::Unasked(_) => shape.clone(),
            };
            let grid = ChunkGrid::new(&shape, &chunk);
            let size = spec.vars[v].dtype.size() as u64;
            let begin = at;
            at += grid.len().saturating_mul(grid.chunk_len()).saturating_mul(size);
            let swap = swapped(spec.vars[v].endian, spec.vars[v].dtype.size());
            Place { begin, end: at, grid, size, swap }
        };
        Plain { vars: (0..spec.vars.len()).map(place).collect() }
    }

    /// Bytes of all values.
    pub(super) fn end(&self) -> u64 {
        self.vars.last().map_or(0, |p| p.end)
    }

    /// The runs of a selection, those that are adjacent on both sides in one.
    pub(super) fn runs(&self, var: usize, slab: &Hyperslab, bytes: usize) -> Result<Vec<Run>> {
        let p = &self.vars[var];
        slab.check(&p.grid.shape, "raw")?;
        if !slab.is_dense() || bytes as u64 != slab.len().saturating_mul(p.size) {
            return Err(Error::Invalid("raw blocks are dense and as long as their bytes".into()));
        }
        let dims = slab.rank();
        let mut runs: Vec<Run> = Vec::new();
        let chunk = &p.grid.chunk;
        for at in coordinates(&p.grid.touched(slab)) {
            let chunk_begin = p.begin + p.grid.linear(&at) * p.grid.chunk_len() * p.size;
            // The part of the selection in this chunk, in the whole array.
            let low: Vec<u64> = (0..dims).map(|d| slab.start[d].max(at[d] * chunk[d])).collect();
            let high: Vec<u64> = (0..dims).map(|d| slab.end(d).min((at[d] + 1) * chunk[d])).collect();
            // Dimensions that both the chunk and the block have whole are one run with the one outside of them.
            let whole = |d: usize| high[d] - low[d] == chunk[d] && high[d] - low[d] == slab.count[d];
            let inner = (1..dims).rev().find(|&d| !whole(d)).unwrap_or(0);
            let len = (inner..dims).map(|d| high[d] - low[d]).product::<u64>() * p.size;
            let rows: Vec<_> = (0..inner).map(|d| low[d]..high[d]).collect();
            for row in coordinates(&rows) {
                let place = |lens: &dyn Fn(usize) -> u64, from: &dyn Fn(usize) -> u64| {
                    (0..dims).fold(0u64, |i, d| {
                        let index = row.get(d).copied().unwrap_or(low[d]);
                        i * lens(d) + index - from(d)
                    }) * p.size
                };
                let file = chunk_begin + place(&|d| chunk[d], &|d| at[d] * chunk[d]);
                let memory = place(&|d| slab.count[d], &|d| slab.start[d]) as usize;
                let len = len as usize;
                match runs.last_mut() {
                    Some(r) if r.file + r.len as u64 == file && r.memory + r.len == memory => r.len += len,
                    _ => runs.push(Run { file, memory, len }),
                }
            }
        }
        Ok(runs)
    }
}

/// Values in the file's byte order, for a variable that lies so.
pub(super) fn turned<'b>(bytes: &'b [u8], place: &Place) -> Cow<'b, [u8]> {
    let Some(unit) = place.swap else { return Cow::Borrowed(bytes) };
    let mut turned = bytes.to_vec();
    kernels::swap_in_place(&mut turned, unit);
    Cow::Owned(turned)
}

/// Reads a selection with strides row by row, each with what lies between its values, which are picked out of it; one without at once.
pub(super) fn picked(
    slab: &Hyperslab,
    size: usize,
    out: &mut [u8],
    mut read: impl FnMut(&Hyperslab, &mut [u8]) -> Result<()>,
) -> Result<()> {
    let Some(last) = slab.rank().checked_sub(1).filter(|_| !slab.is_dense()) else {
        return read(slab, out);
    };
    let (values, stride) = (slab.count[last] as usize, slab.stride[last] as usize);
    let wide = ((values.max(1) - 1) * stride + 1) as u64;
    let mut row = vec![0; wide as usize * size];
    let outer: Vec<_> = slab.count[..last].iter().map(|&n| 0..n).collect();
    let mut one = Hyperslab::new(&slab.start, &vec![1; last + 1]);
    one.count[last] = wide;
    for (to, at) in out.chunks_exact_mut((values * size).max(1)).zip(coordinates(&outer)) {
        for (d, i) in at.iter().enumerate() {
            one.start[d] = slab.start[d] + i * slab.stride[d];
        }
        read(&one, &mut row)?;
        for (to, from) in to.chunks_exact_mut(size).zip(row.chunks(size * stride)) {
            to.copy_from_slice(&from[..size]);
        }
    }
    Ok(())
}

/// Values that were read, in the machine's byte order.
pub(super) fn turn_back(out: &mut [u8], place: &Place) {
    if let Some(unit) = place.swap {
        kernels::swap_in_place(out, unit);
    }
}

/// The mark of a file, and who writes it.
pub(super) struct Mark {
    path: PathBuf,
    /// Where it goes; `None`: another rank writes it.
    at: Option<u64>,
}

impl Mark {
    /// Of a file of this layout that all of `access` have open for writing.
    pub(super) fn of(path: &Path, layout: &Plain, access: &Access<'_>) -> Self {
        let first = access.several().is_none_or(|t| t.rank() == 0);
        Mark { path: path.to_owned(), at: first.then_some(layout.end()) }
    }

    /// Of a file that is read.
    pub(super) fn none(path: &Path) -> Self {
        Mark { path: path.to_owned(), at: None }
    }

    /// Writes it.
    pub(super) fn put(&self, file: &File) -> Result<()> {
        let Some(end) = self.at else { return Ok(()) };
        file.write_all_at(MARK.as_bytes(), end).map_err(|e| Error::io("write", &self.path, e))
    }

    /// The same, where the file is not open as such.
    pub(super) fn put_anew(&self) -> Result<()> {
        if self.at.is_none() {
            return Ok(());
        }
        let file = File::options().write(true).open(&self.path);
        self.put(&file.map_err(|e| Error::io("open", &self.path, e))?)
    }
}

/// Creates the file of several ranks at its full length; gives it to each of them open.
pub(super) fn create(path: &Path, layout: &Plain, access: &Access<'_>) -> Result<File> {
    let io = |op, e| Error::io(op, path, e);
    let mut options = File::options();
    options.read(true).write(true);
    if let Some(team) = access.several() {
        if team.rank() == 0 {
            let file = options.clone().create(true).truncate(true).open(path).map_err(|e| io("create", e))?;
            file.set_len(layout.end()).map_err(|e| io("enlarge", e))?;
        }
        team.barrier()?;
    } else {
        options.create(true).truncate(true);
    }
    options.open(path).map_err(|e| io("create", e))
}

/// Whether a file ends with the mark of raw files.
pub(crate) fn is_marked(path: &Path) -> bool {
    let read = || -> std::io::Result<bool> {
        let mut file = File::open(path)?;
        let mut end = vec![0; MARK.len()];
        file.seek(SeekFrom::End(-(MARK.len() as i64)))?;
        file.read_exact(&mut end)?;
        Ok(end == MARK.as_bytes())
    };
    read().unwrap_or(false)
}
