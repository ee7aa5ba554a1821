//! Where values lie in a file without any format, and how such a file begins and ends.
//!
//! The variable lies row-major from byte 0. Where chunks are asked for, every chunk is one run. Behind
//! the values stands a mark, by which the benchmark knows its own files.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ncforge::Hyperslab;
use ncforge::raw::{ChunkGrid, coordinates};

use super::{Access, ChunkAsk, FileSpec, MARK};
use crate::error::{Error, Result};

/// The layout of a file: where the values of its variable lie.
pub(super) struct Plain {
    pub(super) grid: ChunkGrid,
    /// Bytes of a value.
    pub(super) size: u64,
}

/// A run of bytes in the file and in the caller's memory.
pub(super) struct Run {
    pub(super) file: u64,
    pub(super) memory: usize,
    pub(super) len: usize,
}

impl Plain {
    /// The layout of a file that is described.
    pub(super) fn of(spec: &FileSpec) -> Self {
        let shape = spec.shape();
        let chunk = match &spec.var.chunks {
            ChunkAsk::Lens(lens) => lens.clone(),
            ChunkAsk::Unasked(_) => shape.clone(),
        };
        Plain { grid: ChunkGrid::new(&shape, &chunk), size: spec.var.dtype.size() as u64 }
    }

    /// Bytes of all values.
    pub(super) fn end(&self) -> u64 {
        self.grid.len().saturating_mul(self.grid.chunk_len()).saturating_mul(self.size)
    }

    /// The runs of a selection, those that are adjacent on both sides in one.
    pub(super) fn runs(&self, slab: &Hyperslab, bytes: usize) -> Result<Vec<Run>> {
        slab.check(&self.grid.shape, "raw")?;
        if !slab.is_dense() || bytes as u64 != slab.len().saturating_mul(self.size) {
            return Err(Error::Misfit("raw blocks are dense and as long as their bytes".into()));
        }
        let dims = slab.rank();
        let mut runs: Vec<Run> = Vec::new();
        let chunk = &self.grid.chunk;
        for at in coordinates(&self.grid.touched(slab)) {
            let chunk_begin = self.grid.linear(&at) * self.grid.chunk_len() * self.size;
            // The part of the selection in this chunk, in the whole array.
            let low: Vec<u64> = (0..dims).map(|d| slab.start[d].max(at[d] * chunk[d])).collect();
            let high: Vec<u64> = (0..dims).map(|d| slab.end(d).min((at[d] + 1) * chunk[d])).collect();
            // Dimensions that both the chunk and the block have whole are one run with the one outside of them.
            let whole = |d: usize| high[d] - low[d] == chunk[d] && high[d] - low[d] == slab.count[d];
            let inner = (1..dims).rev().find(|&d| !whole(d)).unwrap_or(0);
            let len = (inner..dims).map(|d| high[d] - low[d]).product::<u64>() * self.size;
            let rows: Vec<_> = (0..inner).map(|d| low[d]..high[d]).collect();
            for row in coordinates(&rows) {
                let place = |lens: &dyn Fn(usize) -> u64, from: &dyn Fn(usize) -> u64| {
                    (0..dims).fold(0u64, |i, d| {
                        let index = row.get(d).copied().unwrap_or(low[d]);
                        i * lens(d) + index - from(d)
                    }) * self.size
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

/// The mark of a file, and who writes it.
pub(super) struct Mark {
    path: PathBuf,
    /// The offset of the mark; `None`: another rank writes it.
    at: Option<u64>,
}

impl Mark {
    /// The mark of a file of this layout that all of `access` have open for writing.
    pub(super) fn of(path: &Path, layout: &Plain, access: &Access<'_>) -> Self {
        let first = access.several().is_none_or(|t| t.rank() == 0);
        Mark { path: path.to_owned(), at: first.then_some(layout.end()) }
    }

    /// The mark of a file that is read.
    pub(super) fn none(path: &Path) -> Self {
        Mark { path: path.to_owned(), at: None }
    }

    /// Writes the mark.
    pub(super) fn put(&self, file: &File) -> Result<()> {
        let Some(end) = self.at else { return Ok(()) };
        file.write_all_at(MARK.as_bytes(), end).map_err(|e| Error::io("write", &self.path, e))
    }

    /// Writes the mark to a file that is not open as such.
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
