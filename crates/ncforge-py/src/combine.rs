//! Combining tiles. Reports go to Python as JSON text.

use std::path::{Path, PathBuf};

use ncforge::Result;
use ncforge_ops::combine::{
    self as tiling, CombineOptions, Differing, GenericScheme, Holes, Placement, SchemeChoice, TileChunks,
};
use ncforge_ops::copy::{ChunkSpec, CopyOptions, Names, history_line};
use pyo3::prelude::*;

use crate::encoder::Asked;
use crate::errors::{invalid, outside};
use crate::ops::{codec_of, engine, format_of, to_json};
use crate::progress::reporting;

/// What Python asks of a combination.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct CombineRequest {
    scheme: String,
    place: Vec<String>,
    names: Option<String>,
    holes: String,
    allow_missing: bool,
    allow_ragged: bool,
    differing: String,
    coords: Option<PathBuf>,
    records: Option<(u64, u64)>,
    vars: Option<Vec<String>>,
    format: String,
    chunks: String,
    codec: String,
    level: Option<u32>,
    verify: bool,
    delete_tiles: bool,
    overwrite: bool,
    append: bool,
    resume: bool,
    history: Option<String>,
    memory: Option<String>,
    threads: Option<usize>,
}

impl CombineRequest {
    /// The options in the library's terms, for this output.
    pub(crate) fn options(&self, target: &Path) -> Result<CombineOptions> {
        Ok(CombineOptions {
            scheme: self.scheme()?,
            holes: match self.holes.as_str() {
                "fill" => Holes::Fill,
                "zero" => Holes::Zero,
                "error" => Holes::Error,
                other => return Err(invalid(format!("holes are `fill`, `zero` or `error`, not `{other}`"))),
            },
            allow_missing: self.allow_missing,
            allow_ragged: self.allow_ragged,
            differing: match self.differing.as_str() {
                "error" => Differing::Error,
                "first" => Differing::First,
                other => return Err(invalid(format!("differing is `error` or `first`, not `{other}`"))),
            },
            coords: self.coords.clone(),
            records: self.records,
            into_existing: self.append.then(|| target.to_owned()),
            begin_with: 0,
            chunks: match self.chunks.as_str() {
                "auto" => TileChunks::Auto,
                "tiles" => TileChunks::Tiles,
                "keep" => TileChunks::Keep,
                spec => TileChunks::Spec(ChunkSpec::parse(spec)?),
            },
            delete_tiles: self.delete_tiles,
            copy: CopyOptions {
                format: format_of(&self.format)?,
                codec: codec_of(&self.codec, None, false)?,
                level: self.level,
                only: self.vars.clone().map(|vars| Names { vars, groups: Vec::new() }),
                history: self.history.as_deref().map(history_line),
                overwrite: self.overwrite || self.append,
                resume: self.resume,
                verify: self.verify,
                ..CopyOptions::default()
            },
        })
    }

    fn scheme(&self) -> Result<SchemeChoice> {
        if self.scheme != "generic" && !(self.place.is_empty() && self.names.is_none()) {
            return Err(invalid("place and names go with scheme=\"generic\""));
        }
        Ok(match self.scheme.as_str() {
            "auto" => SchemeChoice::Auto,
            "nemo" | "xios" | "ioipsl" => SchemeChoice::Nemo,
            "fms" | "mom" => SchemeChoice::Fms,
            "roms" | "croco" => SchemeChoice::Roms,
            "wrf" => SchemeChoice::Wrf,
            "mitgcm" => SchemeChoice::Mitgcm,
            "generic" if self.place.is_empty() => {
                return Err(invalid("scheme=\"generic\" needs a place for every split dimension"));
            }
            "generic" => SchemeChoice::Generic(GenericScheme {
                placements: self.place.iter().map(|p| Placement::parse(p)).collect::<Result<_>>()?,
                pattern: self.names.clone(),
            }),
            other => return Err(invalid(format!("no scheme `{other}`"))),
        })
    }
}

/// Combines tiles; the report as JSON. With `elsewhere`, other processes encode.
#[pyfunction]
#[pyo3(signature = (tiles, target, request, progress, elsewhere=None))]
pub(crate) fn combine(
    py: Python<'_>,
    tiles: Vec<PathBuf>,
    target: PathBuf,
    request: CombineRequest,
    progress: Option<Py<PyAny>>,
    elsewhere: Option<Py<PyAny>>,
) -> PyResult<String> {
    reporting(py, progress, |callback| {
        let engine = engine(request.threads, request.memory.as_deref())?;
        let options = request.options(&target)?;
        let report = match elsewhere {
            None => tiling::combine(&tiles, &target, &options, &engine, callback)?,
            Some(object) => {
                let asked = Asked::new(object, callback).map_err(|e| invalid(e.to_string()))?;
                tiling::combine_with(&tiles, &target, &options, &engine, callback, &asked)?
            }
        };
        to_json(&report)
    })
}

/// How tiles lie and would be combined, as JSON.
#[pyfunction]
pub(crate) fn plan_combine(
    py: Python<'_>,
    tiles: Vec<PathBuf>,
    target: PathBuf,
    request: CombineRequest,
) -> PyResult<String> {
    outside(py, || {
        let engine = engine(request.threads, request.memory.as_deref())?;
        to_json(&tiling::plan(&tiles, &target, &request.options(&target)?, &engine)?)
    })
}
