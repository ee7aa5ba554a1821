//! Blocks by ncforge: one writer, or several in one file.
//!
//! Several ranks share a file so: rank 0 creates it and reserves the place of every value; then every rank opens it
//! ([`DatasetMut::open_shared`]) and writes its own blocks, with no word to the others. Compressed chunks have no place
//! before they are compressed: see [`super::compressed`]. Collective calls on data without chunks go through MPI-IO
//! where the team is an MPI job, so that its two-phase aggregation does the writing.

use std::path::Path;

use ncforge::codec::quantize::Quantize;
use ncforge::model::{DType, DimId, VarId};
use ncforge::{Atomic, CreateOptions, Dataset, DatasetMut, Engine, EngineOptions, Hyperslab};

use super::compressed;
use super::spec::{VAR, rounded, rounds, schema};
use crate::driver::{Access, BlockFile, FileSpec, Opened, Rounding};
use crate::error::{Error, Result};
use crate::team::{Team, agree};

pub(super) fn refuses(spec: &FileSpec, access: &Access<'_>) -> Option<String> {
    if let Some(why) = spec.representable().or_else(|| spec.no_zarr("ncforge")) {
        return Some(why);
    }
    let chunks = spec.chunks()?;
    if let Some(why) = spec.chunks_too_long(&chunks) {
        return Some(why);
    }
    let Access::Shared { team, collective, block } = access else { return None };
    if !spec.var.coding.is_filtered() || team.size() == 1 {
        return None;
    }
    if !collective {
        return Some(
            "compressed chunks of one file can be written by several ranks only together; take --io-type coll".into(),
        );
    }
    let cut = |d: &usize| !block[*d].is_multiple_of(chunks[*d]) && block[*d] != spec.dims[*d].len;
    let d = (0..chunks.len()).find(cut)?;
    Some(format!(
        "a compressed chunk is written by one rank, in one call: the chunk length {} along `{}` must divide the block's {}",
        chunks[d], spec.dims[d].name, block[d]
    ))
}

/// The engine of one rank: processors are shared out among the ranks of a machine, unless the caller says otherwise.
fn engine(mut options: EngineOptions, access: &Access<'_>) -> Result<Engine> {
    if let (Some(team), None) = (access.several(), options.threads) {
        let here = team.size().div_ceil(team.nodes().max(1));
        options.threads = Some((crate::environment::processors() / here).max(1));
    }
    Ok(Engine::new(options)?)
}

pub(super) fn create<'a>(
    options: EngineOptions,
    path: &Path,
    spec: &FileSpec,
    access: &Access<'a>,
) -> Opened<'a> {
    let engine = engine(options, access)?;
    let create = CreateOptions {
        overwrite: true,
        engine: Some(engine.clone()),
        fill: spec.fill,
        ..CreateOptions::default()
    };
    let Some(team) = access.several() else {
        let mut file = DatasetMut::create(path, schema(spec), create)?;
        if let Some(Rounding(how)) = spec.var.coding.rounding {
            file.quantize(VAR, how)?;
        }
        return Ok(Box::new(Alone { file, rounds: None }));
    };
    if spec.var.coding.is_filtered() {
        return compressed::create(path, spec, team, create);
    }
    let begin = || {
        let create = CreateOptions { fill: false, ..create };
        reserve(DatasetMut::create(path, schema(spec), create)?, spec)
    };
    agree(team, if team.rank() == 0 { begin() } else { Ok(()) })?;
    shared(path, spec, access, team, &engine)
}

/// Opens a file, in which all values have a place, for one of several writers.
fn shared<'a>(
    path: &Path,
    spec: &FileSpec,
    access: &Access<'a>,
    team: &'a dyn Team,
    engine: &Engine,
) -> Opened<'a> {
    if access.is_collective()
        && let Some(mpi) = team.mpi()
        && spec.chunks().is_none()
    {
        return super::aggregated::open(path, spec, mpi, true);
    }
    // Several writers leave the file's description alone: each rounds its values itself.
    Ok(Box::new(Alone { file: DatasetMut::open_shared(path, engine)?, rounds: rounds(spec) }))
}

/// Makes the file as long as it shall be, with a place for every value.
fn reserve(mut file: DatasetMut, spec: &FileSpec) -> Result<()> {
    for (d, dim) in spec.dims.iter().enumerate().filter(|(_, dim)| dim.unlimited) {
        file.grow(DimId(d), dim.len)?;
    }
    file.reserve(VAR)?;
    Ok(file.close()?)
}

pub(super) fn open<'a>(
    options: EngineOptions,
    path: &Path,
    spec: &FileSpec,
    access: &Access<'a>,
) -> Opened<'a> {
    let engine = engine(options, access)?;
    if access.is_collective()
        && let Some(mpi) = access.several().and_then(Team::mpi)
        && spec.chunks().is_none()
    {
        check_variable(&Dataset::open_with(path, &engine)?, spec)?;
        return super::aggregated::open(path, spec, mpi, false);
    }
    let dataset = Dataset::open_with(path, &engine)?;
    let var = check_variable(&dataset, spec)?;
    Ok(Box::new(Reading { dataset, var }))
}

/// The variable of a file, which shall be that of the specification.
fn check_variable(dataset: &Dataset, spec: &FileSpec) -> Result<VarId> {
    let name = &spec.var.name;
    let (id, schema) = (dataset.var(name)?, dataset.schema());
    let DType::Atomic(dtype) = schema.var(id).dtype else {
        return Err(Error::Unreadable(format!("`{name}` in the file holds no numbers")));
    };
    spec.admits(&schema.shape(id), Some(dtype))?;
    Ok(id)
}

/// A file that this process writes by the engine, alone or with others.
struct Alone {
    file: DatasetMut,
    rounds: Option<(Quantize, Atomic)>,
}

impl BlockFile for Alone {
    fn write(&mut self, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        Ok(self.file.write_bytes(VAR, slab, &rounded(self.rounds, bytes))?)
    }

    fn read(&mut self, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        Ok(self.file.read_bytes(VAR, slab, out)?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.file.close()?)
    }
}

/// A file that is read.
struct Reading {
    dataset: Dataset,
    var: VarId,
}

impl BlockFile for Reading {
    fn write(&mut self, _slab: &Hyperslab, _bytes: &[u8]) -> Result<()> {
        Err(Error::WrongKind("the file is open for reading only".into()))
    }

    fn read(&mut self, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        Ok(self.dataset.read_bytes(self.var, slab, out)?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
