//! Blocks by ncforge: one writer, or several in one file.
//!
//! Several ranks share a file so: rank 0 creates it and reserves the place of every value; then every rank opens it
//! ([`DatasetMut::open_shared`]) and writes its own blocks, with no word to the others. Compressed chunks have no place
//! before they are compressed: see [`super::compressed`]. Collective calls on data without chunks go through MPI-IO
//! where the team is an MPI job, so that its two-phase aggregation does the writing.

use std::borrow::Cow;
use std::path::Path;

use ncforge::codec::quantize::Quantize;
use ncforge::engine::{Engine, EngineOptions};
use ncforge::model::{Attribute, DType, DimId, Dimension, Endian, Fill, Storage, VarId, Variable};
use ncforge::{Atomic, CreateOptions, Dataset, DatasetMut, Hyperslab, Schema};

use super::compressed;
use crate::driver::{Access, BlockFile, FileSpec, MARK, Rounding};
use crate::error::{Error, Result};
use crate::team::{Team, agree};

pub(super) fn refuses(spec: &FileSpec, access: &Access<'_>) -> Option<String> {
    if let Some(why) = spec.representable().or_else(|| spec.no_zarr("ncforge")) {
        return Some(why);
    }
    for var in 0..spec.vars.len() {
        let Some(chunks) = spec.chunks(var) else { continue };
        let shape = spec.shape(var);
        for (d, (&c, &n)) in chunks.iter().zip(&shape).enumerate() {
            if c > n && !spec.dims[spec.vars[var].dims[d]].unlimited {
                return Some(format!(
                    "a chunk length of {c} along `{}`, whose length is {n}",
                    spec.dims[spec.vars[var].dims[d]].name
                ));
            }
        }
        let Access::Shared { team, collective, block } = access else { continue };
        if !spec.vars[var].coding.is_filtered() || team.size() == 1 {
            continue;
        }
        if !collective {
            return Some("compressed chunks of one file can be written by several ranks only together; take --io-type coll".into());
        }
        let block: Vec<u64> = spec.vars[var].dims.iter().map(|&d| block[d]).collect();
        if let Some(d) =
            (0..shape.len()).find(|&d| !block[d].is_multiple_of(chunks[d]) && block[d] != shape[d])
        {
            return Some(format!(
                "a compressed chunk is written by one rank, in one call: the chunk length {} along `{}` must divide the block's {}",
                chunks[d], spec.dims[spec.vars[var].dims[d]].name, block[d]
            ));
        }
    }
    None
}

/// The description of a file in ncforge's terms. Unlimited dimensions are empty at first.
pub(super) fn schema(spec: &FileSpec) -> Schema {
    let mut schema = Schema::new(spec.format);
    for dim in &spec.dims {
        let len = if dim.unlimited { 0 } else { dim.len };
        schema.dims.push(Dimension {
            name: dim.name.clone(),
            group: Schema::ROOT,
            len,
            unlimited: dim.unlimited,
        });
    }
    schema.groups[0].attrs.push(Attribute::text(MARK, "blocks"));
    for (v, var) in spec.vars.iter().enumerate() {
        let mut new = Variable::new(&var.name, var.dtype, var.dims.iter().map(|&d| DimId(d)).collect());
        if let Some(chunks) = spec.chunks(v) {
            new.storage = Storage::Chunked { chunks, filters: spec.filters(v) };
        }
        new.endian = if spec.format.is_classic() { Endian::Native } else { var.endian };
        new.attrs.extend(var.coding.rounding.map(|r| r.0.attribute()));
        new.fill = if spec.fill { Fill::Default } else { Fill::None };
        schema.vars.push(new);
    }
    schema
}

/// The engine of one rank: processors are shared out among the ranks of a machine, unless the caller says otherwise.
fn engine(options: EngineOptions, spec: &FileSpec, access: &Access<'_>) -> Result<Engine> {
    let mut options = EngineOptions { memory: spec.cache.or(options.memory), ..options };
    if let (Some(team), None) = (access.several(), options.threads) {
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let here = team.size().div_ceil(team.nodes().max(1));
        options.threads = Some((cpus / here).max(1));
    }
    Ok(Engine::new(options)?)
}

pub(super) fn create<'a>(
    options: EngineOptions,
    path: &Path,
    spec: &FileSpec,
    access: &Access<'a>,
) -> Result<Box<dyn BlockFile + 'a>> {
    let engine = engine(options, spec, access)?;
    let create = CreateOptions {
        overwrite: true,
        engine: Some(engine.clone()),
        fill: spec.fill,
        ..CreateOptions::default()
    };
    let Some(team) = access.several() else {
        let mut file = DatasetMut::create(path, schema(spec), create)?;
        for (v, var) in spec.vars.iter().enumerate() {
            if let Some(Rounding(how)) = var.coding.rounding {
                file.quantize(VarId(v), how)?;
            }
        }
        return Ok(Box::new(Alone { file, rounds: Vec::new() }));
    };
    if is_compressed(spec) {
        let Access::Shared { block, .. } = access else { unreachable!("several ranks share a file") };
        return compressed::create(path, spec, team, create, block);
    }
    let begin = || {
        let create = CreateOptions { fill: false, ..create };
        reserve(DatasetMut::create(path, schema(spec), create)?, spec)
    };
    agree(team, if team.rank() == 0 { begin() } else { Ok(()) })?;
    shared(path, spec, access, team, &engine)
}

fn is_compressed(spec: &FileSpec) -> bool {
    (0..spec.vars.len()).any(|v| spec.vars[v].coding.is_filtered())
}

/// Opens a file, in which all values have a place, for one of several writers.
fn shared<'a>(
    path: &Path,
    spec: &FileSpec,
    access: &Access<'a>,
    team: &'a dyn Team,
    engine: &Engine,
) -> Result<Box<dyn BlockFile + 'a>> {
    if access.is_collective()
        && let Some(mpi) = team.mpi()
        && (0..spec.vars.len()).all(|v| spec.chunks(v).is_none())
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
    for v in 0..spec.vars.len() {
        file.reserve(VarId(v))?;
    }
    Ok(file.close()?)
}

pub(super) fn refuses_update(spec: &FileSpec, access: &Access<'_>) -> Option<String> {
    (access.several().is_some() && is_compressed(spec)).then(|| {
        "several ranks cannot write compressed chunks anew in one file; take --io-type file, or one rank"
            .into()
    })
}

pub(super) fn update<'a>(
    options: EngineOptions,
    path: &Path,
    spec: &FileSpec,
    access: &Access<'a>,
) -> Result<Box<dyn BlockFile + 'a>> {
    if let Some(why) = refuses_update(spec, access) {
        return Err(Error::Invalid(why));
    }
    let engine = engine(options, spec, access)?;
    let Some(team) = access.several() else {
        return Ok(Box::new(Alone { file: DatasetMut::open_with(path, &engine)?, rounds: Vec::new() }));
    };
    let is_short = || -> Result<bool> {
        let dataset = Dataset::open_with(path, &engine)?;
        Ok(dataset.schema().dims.iter().zip(&spec.dims).any(|(there, dim)| there.len < dim.len))
    };
    let begin = || match is_short()? {
        true => reserve(DatasetMut::open_with(path, &engine)?, spec),
        false => Ok(()),
    };
    agree(team, if team.rank() == 0 { begin() } else { Ok(()) })?;
    shared(path, spec, access, team, &engine)
}

pub(super) fn open<'a>(
    options: EngineOptions,
    path: &Path,
    spec: &FileSpec,
    access: &Access<'a>,
) -> Result<Box<dyn BlockFile + 'a>> {
    let engine = engine(options, spec, access)?;
    if access.is_collective()
        && let Some(mpi) = access.several().and_then(Team::mpi)
        && (0..spec.vars.len()).all(|v| spec.chunks(v).is_none())
    {
        check_variables(&Dataset::open_with(path, &engine)?, spec)?;
        return super::aggregated::open(path, spec, mpi, false);
    }
    let dataset = Dataset::open_with(path, &engine)?;
    let vars = check_variables(&dataset, spec)?;
    Ok(Box::new(Reading { dataset, vars }))
}

/// The variables of a file that shall be those of the specification.
fn check_variables(dataset: &Dataset, spec: &FileSpec) -> Result<Vec<VarId>> {
    let mut vars = Vec::with_capacity(spec.vars.len());
    for (v, var) in spec.vars.iter().enumerate() {
        let id = dataset.var(&var.name)?;
        let schema = dataset.schema();
        let DType::Atomic(dtype) = schema.var(id).dtype else {
            return Err(Error::Unreadable(format!("`{}` in the file holds no numbers", var.name)));
        };
        spec.admits(v, &schema.shape(id), Some(dtype), false)?;
        vars.push(id);
    }
    Ok(vars)
}

/// How the values of variables lose bits where the file does not see to it.
pub(super) fn rounds(spec: &FileSpec) -> Vec<Option<(Quantize, Atomic)>> {
    spec.vars.iter().map(|v| Some((v.coding.rounding?.0, v.dtype))).collect()
}

/// The bytes with the bits lost that shall be.
pub(super) fn rounded<'b>(how: Option<&Option<(Quantize, Atomic)>>, bytes: &'b [u8]) -> Cow<'b, [u8]> {
    let Some((how, dtype)) = how.copied().flatten() else { return bytes.into() };
    let mut own = bytes.to_vec();
    how.apply(dtype.into(), &mut own, &dtype.default_fill());
    own.into()
}

/// A file that this process writes by the engine, alone or beside others.
struct Alone {
    file: DatasetMut,
    rounds: Vec<Option<(Quantize, Atomic)>>,
}

impl BlockFile for Alone {
    fn write(&mut self, var: usize, slab: &Hyperslab, bytes: &[u8]) -> Result<()> {
        let bytes = rounded(self.rounds.get(var), bytes);
        Ok(self.file.write_bytes(VarId(var), slab, &bytes)?)
    }

    fn read(&mut self, var: usize, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        Ok(self.file.read_bytes(VarId(var), slab, out)?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(self.file.close()?)
    }
}

/// A file that is read.
struct Reading {
    dataset: Dataset,
    vars: Vec<VarId>,
}

impl BlockFile for Reading {
    fn write(&mut self, _var: usize, _slab: &Hyperslab, _bytes: &[u8]) -> Result<()> {
        Err(Error::Invalid("the file is open for reading only".into()))
    }

    fn read(&mut self, var: usize, slab: &Hyperslab, out: &mut [u8]) -> Result<()> {
        Ok(self.dataset.read_bytes(self.vars[var], slab, out)?)
    }

    fn close(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
