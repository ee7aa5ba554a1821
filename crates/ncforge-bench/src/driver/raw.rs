//! The ceiling: the same bytes by plain system calls, without any format.
//!
//! Values lie as [`super::plain`] says, in native byte order. A block goes out by one `pwrite` for each
//! run of bytes that is contiguous in the file, which is what the system lets anybody do with such a layout.
//! Nothing is compressed or rounded: against compressed rows the ceiling is that of the values' own bytes.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use ncforge::Hyperslab;

use super::plain::{self, Mark, Plain};
use super::{Access, BlockFile, Driver, FileSpec, Opened, Session};
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
        Err(Error::WrongKind(format!("raw bytes know no variables: `{}`", path.display())))
    }

    fn refuses(&self, _spec: &FileSpec, _access: &Access<'_>) -> Option<String> {
        None
    }

    fn create<'a>(&self, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
        let layout = Plain::of(spec);
        let file = plain::create(path, &layout, access)?;
        let mark = Mark::of(path, &layout, access);
        Ok(Box::new(Raw { file, path: path.to_owned(), layout, mark }))
    }

    fn open_blocks<'a>(&self, path: &Path, spec: &FileSpec, _access: &Access<'a>) -> Opened<'a> {
        let file = File::open(path).map_err(|e| Error::io("open", path, e))?;
        Ok(Box::new(Raw { file, path: path.to_owned(), layout: Plain::of(spec), mark: Mark::none(path) }))
    }

    fn extension(&self) -> Option<&str> {
        Some("raw")
    }
}

struct Raw {
    file: File,
    path: PathBuf,
    layout: Plain,
    mark: Mark,
}

impl BlockFile for Raw {
    fn write(&mut self, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        for r in self.layout.runs(slab, bytes.len())? {
            let done = self.file.write_all_at(&bytes[r.memory..r.memory + r.len], r.file);
            done.map_err(|e| Error::io("write", &self.path, e))?;
        }
        Ok(())
    }

    fn read(&mut self, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        for r in self.layout.runs(slab, out.len())? {
            let done = self.file.read_exact_at(&mut out[r.memory..r.memory + r.len], r.file);
            done.map_err(|e| Error::io("read", &self.path, e))?;
        }
        Ok(())
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.mark.put(&self.file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::plain::is_marked;
    use crate::driver::{ChunkAsk, DimSpec};
    use ncforge::raw::coordinates;

    #[test]
    fn blocks_come_back_from_any_layout() {
        for chunks in
            [ChunkAsk::Unasked(Vec::new()), ChunkAsk::Lens(vec![2, 3, 4]), ChunkAsk::Lens(vec![1, 6, 10])]
        {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("x.raw");
            let dims = [4, 6, 10].map(|len| DimSpec::new("d", len, false)).to_vec();
            let mut spec = FileSpec::plain(ncforge::Format::Netcdf4, "v", ncforge::Atomic::UByte, dims);
            spec.var.chunks = chunks;
            let all: Vec<u8> = (0..240).collect();
            let part = |s: &Hyperslab| -> Vec<u8> {
                let ranges: Vec<_> = s.start.iter().zip(&s.count).map(|(&a, &n)| a..a + n).collect();
                coordinates(&ranges).map(|at| all[((at[0] * 6 + at[1]) * 10 + at[2]) as usize]).collect()
            };
            let mut file = RawDriver.create(&path, &spec, &Access::Alone).unwrap();
            for (start, count) in [([0, 0, 0], [4, 3, 10]), ([0, 3, 0], [4, 3, 7]), ([0, 3, 7], [4, 3, 3])] {
                let slab = Hyperslab::new(&start, &count);
                file.write(&slab, &part(&slab)).unwrap();
            }
            file.close().unwrap();
            assert!(is_marked(&path));
            let mut file = RawDriver.open_blocks(&path, &spec, &Access::Alone).unwrap();
            for (start, count) in [([0, 0, 0], [4, 6, 10]), ([1, 2, 3], [2, 3, 5]), ([3, 5, 9], [1, 1, 1])] {
                let slab = Hyperslab::new(&start, &count);
                let mut out = vec![0; slab.len() as usize];
                file.read(&slab, &mut out).unwrap();
                assert_eq!(out, part(&slab));
            }
        }
    }
}
