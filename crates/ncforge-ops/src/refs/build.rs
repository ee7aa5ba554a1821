//! One Zarr array for each variable, from the variables of all files.

use super::gather::{Gathered, Var, gather};
use super::inline::{fill_chunk, free_filters, refiltered, whole};
use super::kinds::Kind;
use super::model::{Array, Chunk, LeftOut, RefGroup, References};
use super::options::{Fills, MOST_INLINED, REFERENCE, RefsOptions};
use super::parts::{Misfit, parts};
use super::pieces::{Pieces, Whole};
use super::ranges::{Placed, placed};
use super::source::Source;
use crate::alike::side_by_side;
use crate::progress::{Progress, check_stop};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ncforge::model::{Atomic, Number};
use ncforge::raw::{ChunkGrid, coordinates};
use ncforge::{Error, Result};
use ncforge_tune::words::count;
use serde_json::Value;

/// References to this many chunks take some 100 MB of JSON, and readers seconds to load them.
const MANY_CHUNKS: u64 = 1_000_000;

/// What references are made of, and how.
struct Builder<'a> {
    source: &'a Source,
    options: &'a RefsOptions,
    notes: Vec<String>,
}

/// Builds everything. `bytes` are those of all files, for `progress`.
pub(super) fn all(
    source: &Source,
    options: &RefsOptions,
    threads: usize,
    (progress, bytes): (&dyn Progress, u64),
) -> Result<References> {
    let Gathered { groups, vars, notes } = gather(source, options)?;
    let before = |i: usize| if i == vars.len() { bytes } else { bytes / vars.len() as u64 * i as u64 };
    let places = side_by_side(threads, vars.len(), |i| {
        check_stop(progress, "making references")?;
        let found = if vars[i].is_small(options) { Ok(Vec::new()) } else { places(source, &vars[i])? };
        progress.advance(before(i + 1) - before(i));
        Ok(found)
    });
    let mut builder = Builder { source, options, notes };
    let (mut arrays, mut left_out) = (Vec::new(), Vec::new());
    for (var, places) in vars.iter().zip(places) {
        match builder.array(var, places?)? {
            Ok(array) => {
                let unmasked = var.unmasked.clone();
                left_out
                    .extend(unmasked.map(|why| LeftOut { name: format!("{}:_FillValue", var.path), why }));
                arrays.push(array);
            }
            Err(misfit) => left_out.push(LeftOut { name: var.path.clone(), why: misfit.why }),
        }
    }
    let chunks: usize = arrays.iter().map(|a| a.stored.len()).sum();
    builder.notes.extend(too_many(chunks as u64));
    Ok(References {
        files: Vec::new(),
        groups: groups.into_iter().map(|(path, attrs)| RefGroup { path, attrs }).collect(),
        arrays,
        along: source.along.clone(),
        left_out,
        notes: builder.notes,
        seconds: 0.0,
    })
}

/// The bytes of all parts of a variable; the reason if ranges of bytes cannot express them.
fn places(source: &Source, var: &Var) -> Result<Result<Vec<Placed>, Misfit>> {
    let misfit = |why: &str| Ok(Err(Misfit { file: 0, why: why.to_owned() }));
    match &var.kind {
        Err(why) => return misfit(why),
        Ok(Kind::Strings) => return misfit("it holds strings of variable length"),
        Ok(Kind::Fixed { .. }) => {}
    }
    let schema = source.dataset.schema();
    let dtype = schema.var(var.id).dtype;
    match parts(source, var.id)? {
        Ok(parts) => parts.iter().map(|part| placed(part, (schema, dtype), &var.shape)).collect(),
        Err(misfit) => Ok(Err(misfit)),
    }
}

/// The note on references to too many chunks.
fn too_many(chunks: u64) -> Option<String> {
    (chunks >= MANY_CHUNKS).then(|| {
        format!(
            "{} chunks are referred to, which every reader loads before the first value: copies of the files in larger chunks have \
             fewer; in a Parquet folder (Python: `ncforge.references(files, \"refs.parquet\")`) readers load only those that they need",
            count(chunks)
        )
    })
}

impl Builder<'_> {
    /// The array of one variable; the reason if references cannot express it.
    fn array(&mut self, var: &Var, places: Result<Vec<Placed>, Misfit>) -> Result<Result<Array, Misfit>> {
        let kind = match &var.kind {
            Ok(kind) => *kind,
            Err(why) => return Ok(Err(Misfit { file: 0, why: why.clone() })),
        };
        if var.is_small(self.options)
            && let Some(array) = self.inlined(var, kind)?
        {
            return Ok(Ok(array));
        }
        let misfit = match places {
            Ok(parts) => match self.referred(var, &parts)? {
                Ok(array) if !self.is_shorter_inlined(var, &array) => return Ok(Ok(array)),
                Ok(array) => return Ok(Ok(self.inlined(var, kind)?.unwrap_or(array))),
                Err(misfit) => misfit,
            },
            Err(misfit) => misfit,
        };
        if let Some(array) = self.inlined(var, kind)? {
            return Ok(Ok(array));
        }
        match self.source.is_joined(&var.dims) {
            true => Err(Error::CannotJoin {
                file: self.source.name(0),
                to: format!("along `{}`", self.source.along.as_deref().unwrap_or_default()),
                why: format!("`{}` in `{}`: {}", var.path, self.source.name(misfit.file), misfit.why),
            }),
            false => Ok(Err(misfit)),
        }
    }

    /// Whether values, four letters for three bytes, take less of the document than the references to them: those of records of one
    /// number are many times as long as the file.
    fn is_shorter_inlined(&self, var: &Var, array: &Array) -> bool {
        let most = if self.options.inline > 0 { MOST_INLINED } else { 0 };
        var.bytes() <= most && var.bytes() / 3 * 4 < array.stored.len() as u64 * REFERENCE
    }

    /// An array with the fields that all kinds of arrays share.
    fn described(&self, var: &Var, kind: Kind) -> Array {
        let mut attrs = var.attrs.clone();
        let fill = match self.options.fills {
            Fills::Masked => masked_fill(var, kind),
            Fills::Stored => {
                attrs.extend(cf_fill(var, kind).map(|text| ("_FillValue".to_owned(), text)));
                kind.fill(&var.fill).unwrap_or(Value::Null)
            }
        };
        Array {
            path: var.path.clone(),
            dims: var.dims.clone(),
            shape: var.shape.clone(),
            chunks: var.shape.iter().map(|&n| n.max(1)).collect(),
            dtype: kind.numpy(),
            fill,
            filters: Vec::new(),
            attrs,
            stored: Vec::new(),
        }
    }

    /// The array with all values in the document.
    fn inlined(&self, var: &Var, kind: Kind) -> Result<Option<Array>> {
        let Some(whole) = whole(self.source, var, kind)? else { return Ok(None) };
        let mut array = self.described(var, whole.kind);
        array.filters = whole.filters;
        if !var.shape.contains(&0) {
            array.stored.push((vec![0; var.shape.len()], Chunk::Inline(whole.bytes)));
        }
        Ok(Some(array))
    }

    /// The array with ranges of bytes.
    fn referred(&mut self, var: &Var, parts: &[Placed]) -> Result<Result<Array, Misfit>> {
        let Some(Placed { kind, fill, .. }) = parts.first() else {
            return Ok(Err(Misfit { file: 0, why: "no file has a part of it".into() }));
        };
        let pieces = match (Whole { parts, shape: &var.shape, kind: *kind }).pieces() {
            Ok(pieces) => pieces,
            Err(misfit) => return Ok(Err(misfit)),
        };
        self.pieced(&Var { fill: fill.clone(), ..var.clone() }, *kind, pieces)
    }

    /// The array of these pieces.
    fn pieced(&mut self, var: &Var, kind: Kind, pieces: Pieces) -> Result<Result<Array, Misfit>> {
        let mut array = self.described(var, kind);
        array.chunks.clone_from(&pieces.chunk);
        array.filters = pieces.codecs;
        array.stored = pieces.stored;
        let elements = pieces.chunk.iter().product::<u64>();
        let chunk_bytes = elements.saturating_mul(kind.size() as u64);
        if let Some(odd) = pieces.odd.first() {
            let again = refiltered(&pieces.odd, &pieces.filters, chunk_bytes, kind.size())?;
            let Some(again) = again else {
                let why = format!("filters were skipped for {} of its chunks", pieces.odd.len());
                return Ok(Err(Misfit { file: odd.file, why }));
            };
            let again = again.into_iter().map(Chunk::Inline);
            array.stored.extend(pieces.odd.iter().map(|o| o.at.clone()).zip(again));
        }
        array.stored.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let grid = ChunkGrid::new(&var.shape, &pieces.chunk);
        let possible = if grid.is_empty() { 0 } else { grid.len() };
        let missing = possible.saturating_sub(array.stored.len() as u64);
        if missing == 0 || self.fill_is_exact(var, kind) {
            return Ok(Ok(array));
        }
        let mut filters = pieces.filters;
        if array.stored.is_empty() {
            (filters, array.filters) = free_filters(kind.size());
        }
        let fill = fill_chunk_of(var, kind, elements, &filters)
            .filter(|b| (b.len() as u64).saturating_mul(missing) <= MOST_INLINED);
        if let Some(bytes) = fill {
            add_fill(&mut array, &grid, &bytes);
            return Ok(Ok(array));
        }
        match kind.fill(&var.fill).filter(|_| var.own_fill.is_none()) {
            Some(fill) => {
                self.notes.push(format!(
                    "`{}` has {missing} chunks that were never written and no `_FillValue`: xarray masks their value, {fill}",
                    var.path
                ));
                array.fill = fill;
                Ok(Ok(array))
            }
            None => {
                let why = "its chunks that were never written do not read as its `_FillValue`".into();
                Ok(Err(Misfit { file: 0, why }))
            }
        }
    }

    /// Whether absent chunks read as they do in the file.
    fn fill_is_exact(&self, var: &Var, kind: Kind) -> bool {
        let known = kind.fill(&var.fill).is_some();
        match self.options.fills {
            Fills::Stored => known,
            Fills::Masked => known && var.own_fill.as_ref() == Some(&var.fill),
        }
    }
}

/// `_FillValue` as the fill value of an array of Zarr version 2.
fn masked_fill(var: &Var, kind: Kind) -> Value {
    match (kind, &var.own_fill) {
        (Kind::Fixed { .. }, Some(bytes)) => kind.fill(bytes).unwrap_or_else(|| "NaN".into()),
        (Kind::Strings, _) => {
            let text = var.own_fill_text.as_deref();
            text.and_then(|t| serde_json::from_str(t).ok()).unwrap_or(Value::Null)
        }
        _ => Value::Null,
    }
}

/// `_FillValue` as xarray writes it into attributes of Zarr version 3: floats and characters in base64.
fn cf_fill(var: &Var, kind: Kind) -> Option<String> {
    let bytes = match (kind, &var.own_fill) {
        (Kind::Strings, _) => return var.own_fill_text.clone(),
        (_, bytes) => bytes.as_ref()?,
    };
    let Kind::Fixed { atomic, .. } = kind else { return None };
    let text = |bytes: &[u8]| Some(Value::from(BASE64_STANDARD.encode(bytes)).to_string());
    match Number::read(atomic, bytes)? {
        Number::Integer(_) if atomic == Atomic::Char => text(bytes),
        Number::Integer(n) => Some(n.to_string()),
        number => text(&number.to_f64().to_le_bytes()),
    }
}

fn fill_chunk_of(
    var: &Var,
    kind: Kind,
    elements: u64,
    filters: &[ncforge::model::Filter],
) -> Option<Vec<u8>> {
    let mut stored = var.fill.clone();
    if kind != kind.native() {
        stored.reverse();
    }
    let bytes = elements.saturating_mul(stored.len() as u64);
    // A chunk of a contiguous variable is a piece, and no piece is larger than memory.
    (bytes <= 1 << 30 && !stored.is_empty()).then(|| fill_chunk(elements, &stored, filters))?
}

/// Puts a chunk of fill values wherever none is stored.
fn add_fill(array: &mut Array, grid: &ChunkGrid, bytes: &[u8]) {
    let ranges: Vec<_> = grid.counts().iter().map(|&n| 0..n).collect();
    let mut stored = std::mem::take(&mut array.stored).into_iter().peekable();
    for at in coordinates(&ranges) {
        let chunk = match stored.next_if(|(next, _)| *next == at) {
            Some((_, chunk)) => chunk,
            None => Chunk::Inline(bytes.to_vec()),
        };
        array.stored.push((at, chunk));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn millions_of_chunks_are_said() {
        assert_eq!(too_many(MANY_CHUNKS - 1), None);
        assert!(too_many(2_500_000).is_some_and(|note| note.starts_with("2,500,000 chunks")));
    }
}
