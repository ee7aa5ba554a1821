//! How the output stores each variable: chunks are chosen, those of a partition mean nothing to the whole.

use super::super::options::TileChunks;
use super::super::storage::{SMALL, coding, fitting, wants_codec};
use super::{From, Mesh};
use crate::error::{Error, Result};
use crate::layout::Place;
use crate::model::{Fill, Filter, Storage, VarId};
use crate::ops::copy::{Chunks, Codec, CopyOptions};
use crate::tune::{Machine, Request, axes_of, choose};

/// Sets format and storage of the mesh's description; gives the options of the copy that makes the output, and for
/// every variable in a word why it is stored so.
pub(in super::super) fn decide(
    mesh: &mut Mesh,
    chunks: &TileChunks,
    copy: &CopyOptions,
) -> Result<(CopyOptions, Vec<&'static str>)> {
    if matches!(chunks, TileChunks::Tiles | TileChunks::Keep) {
        return Err(Error::Invalid(
            "the chunks of partitions mean nothing to the whole mesh, whose cells are scattered over them: \
             --chunks is auto, or a specification such as time/1,mesh2d_nFaces/10000"
                .into(),
        ));
    }
    let from_classic = mesh.schema.format.is_classic();
    let format = copy.format.unwrap_or_else(|| fitting(&mesh.schema));
    let mut options = CopyOptions { format: Some(format), chunks: Chunks::Keep, ..copy.clone() };
    if format.is_classic() {
        if copy.format.is_none() && (*chunks != TileChunks::Auto || wants_codec(copy)) {
            // The copy says what cannot be done.
            options.format = None;
            options.chunks = if *chunks == TileChunks::Auto { Chunks::Keep } else { Chunks::Auto };
        }
        return Ok((options, vec!["classic"; mesh.schema.vars.len()]));
    }
    if let TileChunks::Spec(spec) = chunks {
        options.chunks = Chunks::Spec(spec.clone());
    }
    if from_classic {
        mesh.schema.format = format;
        mesh.schema.vars.iter_mut().for_each(|v| v.fill = Fill::Default);
    }
    let machine = Machine::of_user();
    let mut why = Vec::with_capacity(mesh.schema.vars.len());
    for v in mesh.schema.var_ids() {
        let (storage, reason) = storage(mesh, v, &options, &machine)?;
        mesh.schema.vars[v.0].storage = storage;
        why.push(reason);
    }
    Ok((options, why))
}

fn storage(
    mesh: &Mesh,
    v: VarId,
    options: &CopyOptions,
    machine: &Machine,
) -> Result<(Storage, &'static str)> {
    let schema = &mesh.schema;
    let var = schema.var(v);
    let Some(size) = schema.fixed_size(var.dtype).filter(|_| !var.dims.is_empty()) else {
        return Ok((var.storage.clone(), "as in the partitions"));
    };
    if let From::Made(_) = mesh.from[v.0] {
        return Ok((Storage::Contiguous, "one run"));
    }
    let filters: Vec<Filter> = match &mesh.layouts[v.0].place {
        Place::Chunked { codecs, .. } => codecs.filters().to_vec(),
        _ => Vec::new(),
    };
    let coding = coding(options, &filters);
    let shape = schema.shape(v);
    let bytes = shape.iter().fold(size as u64, |b, &n| b.saturating_mul(n));
    let unlimited = var.dims.iter().any(|d| schema.dim(*d).unlimited);
    if !unlimited && (!coding.filtered || bytes < SMALL) {
        return Ok((Storage::Contiguous, "one run"));
    }
    if shape.contains(&0) {
        let storage = match unlimited {
            true => Storage::Chunked { chunks: shape.iter().map(|n| (*n).max(1)).collect(), filters },
            false => Storage::Contiguous,
        };
        return Ok((storage, "empty"));
    }
    if matches!(options.codec, Codec::Auto { .. }) {
        // A shape depends on the codec, and that is chosen when the whole is planned: so is the shape, after it.
        return Ok((Storage::Contiguous, "chosen"));
    }
    let axes = axes_of(schema, v);
    let choice = choose(&Request::new(&axes, size as u64, coding, machine))?;
    Ok((Storage::Chunked { chunks: choice.chunks, filters }, "chosen"))
}
