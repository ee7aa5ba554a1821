//! The layer between system calls and HDF5 in parallel jobs: the same bytes through MPI-IO, without any format.
//!
//! Values lie where plain system calls put them ([`super::plain`]), so that both do the same work. Independent calls are one
//! `MPI_File_write_at` for each run of bytes that is contiguous in the file; collective ones describe the whole block, and MPI-IO gathers what
//! neighbouring ranks have into large requests.

use std::path::Path;

use ncforge::Hyperslab;

use super::plain::{self, Mark, Plain};
use super::{Access, BlockFile, ChunkAsk, Driver, FileSpec, Opened, Session};
use crate::error::{Error, Result};
use crate::team::MpiJob;
use crate::team::mpi::{FileBox, MpiFile};

/// MPI-IO of the job's MPI.
#[derive(Clone, Copy, Debug, Default)]
pub struct MpiIoDriver;

impl Driver for MpiIoDriver {
    fn name(&self) -> &str {
        "mpi-io"
    }

    fn version(&self) -> String {
        "of the job's MPI".to_owned()
    }

    fn open_cached(&self, path: &Path, _cache: Option<u64>) -> Result<Box<dyn Session>> {
        Err(Error::WrongKind(format!("raw bytes know no variables: `{}`", path.display())))
    }

    fn refuses(&self, spec: &FileSpec, access: &Access<'_>) -> Option<String> {
        let chunked = matches!(spec.var.chunks, ChunkAsk::Lens(_));
        match access {
            Access::Alone => {
                Some("MPI-IO is for one file that all ranks share; take --io-type ind or coll".into())
            }
            Access::Shared { team, .. } if team.mpi().is_none() => {
                Some("this is no MPI job; start the command by mpiexec".into())
            }
            // Ranks whose blocks touch more chunks than those of others would call more often.
            Access::Shared { collective: true, .. } if chunked => Some(
                "a block in chunks is no box that MPI-IO can write in one collective call; leave out the chunks, or take --io-type ind".into(),
            ),
            Access::Shared { .. } => None,
        }
    }

    fn create<'a>(&self, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
        let layout = Plain::of(spec);
        plain::create(path, &layout, access)?;
        let mark = Mark::of(path, &layout, access);
        self.blocks(path, spec, access, layout, Some(mark))
    }

    fn open_blocks<'a>(&self, path: &Path, spec: &FileSpec, access: &Access<'a>) -> Opened<'a> {
        self.blocks(path, spec, access, Plain::of(spec), None)
    }

    fn extension(&self) -> Option<&str> {
        Some("raw")
    }
}

impl MpiIoDriver {
    /// An existing file, which is written where it has a mark.
    fn blocks<'a>(
        &self,
        path: &Path,
        spec: &FileSpec,
        access: &Access<'a>,
        layout: Plain,
        mark: Option<Mark>,
    ) -> Opened<'a> {
        if let Some(why) = self.refuses(spec, access) {
            return Err(Error::WrongKind(why));
        }
        let team: Option<&MpiJob> = match access {
            Access::Shared { team, .. } => team.mpi(),
            Access::Alone => None,
        };
        let team = team.ok_or_else(|| Error::Team("this is no MPI job".into()))?;
        let file = MpiFile::open(team, path, mark.is_some())?;
        Ok(Box::new(Blocks { file, layout, mark, collective: access.is_collective() }))
    }
}

struct Blocks {
    file: MpiFile,
    layout: Plain,
    mark: Option<Mark>,
    collective: bool,
}

impl Blocks {
    /// A block as a box of the whole array.
    fn whole<'b>(&'b self, slab: &'b Hyperslab) -> Result<FileBox<'b>> {
        let layout = &self.layout;
        slab.check(&layout.grid.shape, "mpi-io")?;
        Ok(FileBox {
            offset: 0,
            size: layout.size as usize,
            shape: &layout.grid.shape,
            start: &slab.start,
            count: &slab.count,
        })
    }
}

impl BlockFile for Blocks {
    fn write(&mut self, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        if self.collective {
            return self.file.write_all(&self.whole(slab)?, bytes);
        }
        let runs = self.layout.runs(slab, bytes.len())?;
        runs.iter().try_for_each(|r| self.file.write_at(r.file, &bytes[r.memory..r.memory + r.len]))
    }

    fn read(&mut self, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        if self.collective {
            return self.file.read_all(&self.whole(slab)?, out);
        }
        let runs = self.layout.runs(slab, out.len())?;
        runs.iter().try_for_each(|r| self.file.read_at(r.file, &mut out[r.memory..r.memory + r.len]))
    }

    fn close(self: Box<Self>) -> Result<()> {
        self.file.close()?;
        self.mark.map_or(Ok(()), |m| m.put_anew())
    }
}
