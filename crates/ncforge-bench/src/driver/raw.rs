//! The ceiling: the same bytes by plain system calls, without any format.
//!
//! A variable lies row-major from byte 0 (several one after the other), in native byte order. A block goes out by one `pwrite` for each
//! run of bytes that is contiguous in the file, which is what the system lets anybody do with such a layout. Where chunks are asked for, every
//! chunk is one run. Nothing is compressed or rounded: against compressed rows the ceiling is that of the values' own bytes. Where another byte
//! order is asked for, values are turned round on their way.

use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::unix::fs::FileExt;
use std::path::Path;

use ncforge::Hyperslab;
use ncforge::codec::kernels;
use ncforge::select::{ChunkGrid, coordinates};

use super::coding::swapped;
use super::{Access, BlockFile, ChunkAsk, Driver, FileSpec, MARK, Session};
use crate::error::{Error, Result};

/// Plain system calls.
#[derive(Clone, Copy, Debug, Default)]
pub struct RawDriver;

impl Driver for RawDriver {
    fn name(&self) -> &str {
        "raw"
    }

    fn version(&self) -> String {
        "system calls".to_owned()
    }

    fn open_cached(&self, path: &Path, _cache: Option<u64>) -> Result<Box<dyn Session>> {
        Err(Error::Invalid(format!("raw bytes know no variables: `{}`", path.display())))
    }

    fn refuses(&self, _spec: &FileSpec, _access: &Access<'_>) -> Option<String> {
        None
    }

    fn create<'a>(
        &self,
        path: &Path,
        spec: &FileSpec,
        access: &Access<'a>,
    ) -> Result<Box<dyn BlockFile + 'a>> {
        let io = |op, e| Error::io(op, path, e);
        let len = Raw::places(spec).pop().map_or(0, |p| p.end);
        let mut options = File::options();
        options.read(true).write(true);
        if let Some(team) = access.several() {
            if team.rank() == 0 {
                let file =
                    options.clone().create(true).truncate(true).open(path).map_err(|e| io("create", e))?;
                file.set_len(len).map_err(|e| io("enlarge", e))?;
            }
            team.barrier()?;
        } else {
            options.create(true).truncate(true);
        }
        let file = options.open(path).map_err(|e| io("create", e))?;
        let mark = access.several().is_none_or(|t| t.rank() == 0).then_some(len);
        Ok(Box::new(Raw { file, path: path.to_owned(), places: Raw::places(spec), mark }))
    }

    fn open_blocks<'a>(
        &self,
        path: &Path,
        spec: &FileSpec,
        _access: &Access<'a>,
    ) -> Result<Box<dyn BlockFile + 'a>> {
        let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
        Ok(Box::new(Raw { file, path: path.to_owned(), places: Raw::places(spec), mark: None }))
    }

    fn update<'a>(
        &self,
        path: &Path,
        spec: &FileSpec,
        access: &Access<'a>,
    ) -> Result<Box<dyn BlockFile + 'a>> {
        let file = File::options().read(true).write(true).open(path);
        let file = file.map_err(|e| Error::io("open", path, e))?;
        let places = Raw::places(spec);
        let end = places.last().map_or(0, |p| p.end);
        let mark = access.several().is_none_or(|t| t.rank() == 0).then_some(end);
        Ok(Box::new(Raw { file, path: path.to_owned(), places, mark }))
    }

    fn extension(&self) -> Option<&str> {
        Some("raw")
    }
}

struct Raw {
    file: File,
    path: std::path::PathBuf,
    places: Vec<RawPlace>,
    /// Where the mark of such files goes when this one is closed.
    mark: Option<u64>,
}

/// Where a variable lies.
struct RawPlace {
    begin: u64,
    end: u64,
    grid: ChunkGrid,
    size: u64,
    /// Bytes of a value, where they stand the other way round in the file.
    swap: Option<usize>,
}

/// A run of bytes in the file and in the caller's memory.
struct Run {
    file: u64,
    memory: usize,
    len: usize,
}

impl Raw {
    fn places(spec: &FileSpec) -> Vec<RawPlace> {
        let mut at = 0;
        (0..spec.vars.len())
            .map(|v| {
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
                RawPlace { begin, end: at, grid, size, swap }
            })
            .collect()
    }

    /// The runs of a selection, those that are adjacent on both sides in one.
    fn runs(&self, var: usize, slab: &Hyperslab, bytes: usize) -> Result<Vec<Run>> {
        let p = &self.places[var];
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

impl BlockFile for Raw {
    fn write(&mut self, var: usize, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        let mut turned = Vec::new();
        let bytes = match self.places[var].swap {
            None => bytes,
            Some(unit) => {
                turned.extend_from_slice(bytes);
                kernels::swap_in_place(&mut turned, unit);
                &turned
            }
        };
        for r in self.runs(var, slab, bytes.len())? {
            let done = self.file.write_all_at(&bytes[r.memory..r.memory + r.len], r.file);
            done.map_err(|e| Error::io("write", &self.path, e))?;
        }
        Ok(())
    }

    fn read(&mut self, var: usize, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        for r in self.runs(var, slab, out.len())? {
            let done = self.file.read_exact_at(&mut out[r.memory..r.memory + r.len], r.file);
            done.map_err(|e| Error::io("read", &self.path, e))?;
        }
        if let Some(unit) = self.places[var].swap {
            kernels::swap_in_place(out, unit);
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        if let Some(end) = self.mark {
            self.file.write_all_at(MARK.as_bytes(), end).map_err(|e| Error::io("write", &self.path, e))?;
        }
        Ok(())
    }
}

/// Whether a file ends with the mark of raw files.
pub(crate) fn is_marked(path: &Path) -> bool {
    use std::io::Read;
    let read = || -> std::io::Result<bool> {
        let mut file = File::open(path)?;
        let mut end = vec![0; MARK.len()];
        file.seek(SeekFrom::End(-(MARK.len() as i64)))?;
        file.read_exact(&mut end)?;
        Ok(end == MARK.as_bytes())
    };
    read().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ncforge::model::Endian;

    use crate::driver::{Coding, DimSpec, VarSpec};

    #[test]
    fn blocks_come_back_from_any_layout() {
        for chunks in
            [ChunkAsk::Unasked(Vec::new()), ChunkAsk::Lens(vec![2, 3, 4]), ChunkAsk::Lens(vec![1, 6, 10])]
        {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("x.raw");
            let dim = |len| DimSpec { name: "d".into(), len, unlimited: false };
            let spec = FileSpec {
                format: ncforge::Format::Netcdf4,
                dims: vec![dim(4), dim(6), dim(10)],
                vars: vec![VarSpec {
                    name: "v".into(),
                    dtype: ncforge::Atomic::UByte,
                    dims: vec![0, 1, 2],
                    chunks,
                    coding: Coding::default(),
                    endian: Endian::Native,
                }],
                fill: false,
                cache: None,
            };
            let all: Vec<u8> = (0..240).collect();
            let part = |s: &Hyperslab| -> Vec<u8> {
                let ranges: Vec<_> = s.start.iter().zip(&s.count).map(|(&a, &n)| a..a + n).collect();
                coordinates(&ranges).map(|at| all[((at[0] * 6 + at[1]) * 10 + at[2]) as usize]).collect()
            };
            let mut file = RawDriver.create(&path, &spec, &Access::Alone).unwrap();
            for (start, count) in [([0, 0, 0], [4, 3, 10]), ([0, 3, 0], [4, 3, 7]), ([0, 3, 7], [4, 3, 3])] {
                let slab = Hyperslab::new(&start, &count);
                file.write(0, &slab, &part(&slab)).unwrap();
            }
            file.close().unwrap();
            assert!(is_marked(&path));
            let mut file = RawDriver.open_blocks(&path, &spec, &Access::Alone).unwrap();
            for (start, count) in [([0, 0, 0], [4, 6, 10]), ([1, 2, 3], [2, 3, 5]), ([3, 5, 9], [1, 1, 1])] {
                let slab = Hyperslab::new(&start, &count);
                let mut out = vec![0; slab.len() as usize];
                file.read(0, &slab, &mut out).unwrap();
                assert_eq!(out, part(&slab));
            }
        }
    }
}
