//! One Zarr array for each variable, from the variables of all files.

use super::agree;
use super::gather::{FileArrays, FileVar, MOST_COMPARED, MOST_STRINGS, Opened};
use super::inline::{MOST_INLINED, fill_chunk, free_filters, refiltered, whole};
use super::kinds::Kind;
use super::model::{Array, Chunk, LeftOut, RefGroup, References};
use super::options::{Fills, RefsOptions};
use super::pieces::{Misfit, Parts, Pieces};
use crate::unlike;
use crate::words::{bytes as in_words, count};
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ncforge::model::{Atomic, Number};
use ncforge::raw::{ChunkGrid, coordinates};
use ncforge::{Error, Result};
use serde_json::Value;

/// References to this many chunks take some 100 MB of JSON, and readers seconds to load them.
const MANY_CHUNKS: u64 = 1_000_000;

/// The files, and how references to them are made.
struct Builder<'a> {
    inputs: &'a Opened<'a>,
    options: &'a RefsOptions,
    along: Option<&'a str>,
    notes: Vec<String>,
}

/// Builds everything.
pub(super) fn all(
    inputs: &Opened<'_>,
    files: &[FileArrays],
    along: Option<&str>,
    options: &RefsOptions,
) -> Result<References> {
    let first = &files[0];
    check(&inputs.names, files, along)?;
    let mut builder = Builder { inputs, options, along, notes: notes(&inputs.names, files) };
    let (mut arrays, mut left_out) = (Vec::new(), Vec::new());
    for (i, var) in first.vars.iter().enumerate() {
        let axis = var.axis(along);
        if let Some(along) =
            along.filter(|along| var.dims.iter().filter(|d| d.as_str() == *along).count() > 1)
        {
            let why = format!("it has the dimension `{along}` twice, along which the files are joined");
            left_out.push(LeftOut { name: var.path.clone(), why });
            continue;
        }
        let vars: Vec<&FileVar> = match axis {
            Some(_) => files.iter().filter_map(|f| agree::find(f, &var.path, i)).collect(),
            None => vec![var],
        };
        let unmasked = vars.iter().find_map(|v| v.unmasked.clone());
        match builder.array(vars, axis)? {
            Ok(array) => {
                left_out
                    .extend(unmasked.map(|why| LeftOut { name: format!("{}:_FillValue", var.path), why }));
                arrays.push(array);
            }
            Err(misfit) => left_out.push(LeftOut { name: var.path.clone(), why: misfit.why }),
        }
    }
    let chunks: usize = arrays.iter().map(|a| a.stored.len()).sum();
    builder.notes.extend(too_many(chunks as u64));
    let groups =
        first.groups.iter().map(|(path, attrs)| RefGroup { path: path.clone(), attrs: attrs.clone() });
    Ok(References {
        files: Vec::new(),
        groups: groups.collect(),
        arrays,
        along: along.map(str::to_owned),
        left_out,
        notes: builder.notes,
        seconds: 0.0,
    })
}

/// An error unless files can be joined along a dimension, in their order.
pub(super) fn check(names: &[String], files: &[FileArrays], along: Option<&str>) -> Result<()> {
    let Some(along) = along else { return Ok(()) };
    for (name, file) in names.iter().zip(files).skip(1) {
        agree::check((&names[0], &files[0]), (name, file), along)?;
    }
    agree::check_order(names, files)
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

/// Notes on objects that the references lack: all of the first file's, and the further ones of others.
pub(super) fn notes(names: &[String], files: &[FileArrays]) -> Vec<String> {
    let mut notes = files[0].notes.clone();
    for (name, file) in names.iter().zip(files).skip(1) {
        let more = file.notes.iter().filter(|note| !files[0].notes.contains(note));
        notes.extend(more.map(|note| format!("`{name}`: {note}")));
    }
    let unlike =
        files.iter().enumerate().flat_map(|(i, file)| file.unlike.iter().map(move |one| (0, i, one)));
    let all = format!("{} files", names.len());
    notes.extend(unlike::notes(unlike, |i| names[i].clone(), &all, ", which the references follow"));
    notes
}

impl Builder<'_> {
    /// The array of one variable; the reason if references cannot express it.
    fn array(&mut self, vars: Vec<&FileVar>, axis: Option<usize>) -> Result<Result<Array, Misfit>> {
        let first = vars[0];
        let kind = match &first.kind {
            Ok(kind) => *kind,
            Err(why) => return Ok(Err(Misfit { file: 0, why: why.clone() })),
        };
        if self.inputs.names.len() > 1 && axis.is_none() && first.digest.is_none() {
            self.notes.push(format!(
                "`{}` does not lie along `{}` and is taken from the first file; values of more than {} (or {MOST_STRINGS} strings) are not compared",
                first.path,
                self.along.unwrap_or_default(),
                in_words(MOST_COMPARED)
            ));
        }
        let mut shape = first.shape.clone();
        if let Some(a) = axis {
            shape[a] = vars.iter().map(|v| v.shape[a]).sum();
        }
        let parts = Parts { vars, axis, shape, element: kind.size() };
        let is_small = parts.vars.iter().map(|v| v.bytes()).sum::<u64>() <= self.options.inline;
        if is_small
            && parts.vars.iter().all(|v| v.values.is_some())
            && let Some(array) = self.inlined(&parts, kind)?
        {
            return Ok(Ok(array));
        }
        let misfit = match parts.pieces() {
            Ok(pieces) => match self.referred(&parts, kind, pieces)? {
                Ok(array) => return Ok(Ok(array)),
                Err(misfit) => misfit,
            },
            Err(misfit) => misfit,
        };
        if let Some(array) = self.inlined(&parts, kind)? {
            return Ok(Ok(array));
        }
        match axis {
            Some(_) if parts.vars.len() > 1 => Err(Error::CannotJoin {
                file: self.inputs.names[0].clone(),
                to: format!("along `{}`", self.along.unwrap_or_default()),
                why: format!("`{}` in `{}`: {}", first.path, self.inputs.names[misfit.file], misfit.why),
            }),
            _ => Ok(Err(misfit)),
        }
    }

    /// An array with the fields that all kinds of arrays share.
    fn described(&self, parts: &Parts<'_>, kind: Kind) -> Array {
        let first = parts.vars[0];
        let mut attrs = first.attrs.clone();
        let fill = match self.options.fills {
            Fills::Masked => masked_fill(first, kind),
            Fills::Stored => {
                attrs.extend(cf_fill(first, kind).map(|text| ("_FillValue".to_owned(), text)));
                kind.fill(&first.fill).unwrap_or(Value::Null)
            }
        };
        Array {
            path: first.path.clone(),
            dims: first.dims.clone(),
            shape: parts.shape.clone(),
            chunks: parts.shape.iter().map(|&n| n.max(1)).collect(),
            dtype: kind.numpy(),
            fill,
            filters: Vec::new(),
            attrs,
            stored: Vec::new(),
        }
    }

    /// The array with all values in the document.
    fn inlined(&self, parts: &Parts<'_>, kind: Kind) -> Result<Option<Array>> {
        let Some(whole) = whole(parts, kind, self.inputs)? else { return Ok(None) };
        let mut array = self.described(parts, whole.kind);
        array.filters = whole.filters;
        if !parts.shape.contains(&0) {
            array.stored.push((vec![0; parts.shape.len()], Chunk::Inline(whole.bytes)));
        }
        Ok(Some(array))
    }

    /// The array with ranges of bytes.
    fn referred(&mut self, parts: &Parts<'_>, kind: Kind, pieces: Pieces) -> Result<Result<Array, Misfit>> {
        let mut array = self.described(parts, kind);
        array.chunks.clone_from(&pieces.chunk);
        array.filters = pieces.codecs;
        array.stored = pieces.stored;
        let elements = pieces.chunk.iter().product::<u64>();
        let chunk_bytes = elements.saturating_mul(kind.size() as u64);
        if let Some(odd) = pieces.odd.first() {
            let again = refiltered(&pieces.odd, &pieces.filters, chunk_bytes, self.inputs, kind.size())?;
            let Some(again) = again else {
                let why = format!("filters were skipped for {} of its chunks", pieces.odd.len());
                return Ok(Err(Misfit { file: odd.file, why }));
            };
            let again = again.into_iter().map(Chunk::Inline);
            array.stored.extend(pieces.odd.iter().map(|o| o.at.clone()).zip(again));
        }
        array.stored.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        let first = parts.vars[0];
        let grid = ChunkGrid::new(&parts.shape, &pieces.chunk);
        let possible = if grid.is_empty() { 0 } else { grid.len() };
        let missing = possible.saturating_sub(array.stored.len() as u64);
        if missing == 0 || self.fill_is_exact(first, kind) {
            return Ok(Ok(array));
        }
        let mut filters = pieces.filters;
        if array.stored.is_empty() {
            (filters, array.filters) = free_filters(kind.size());
        }
        let fill = fill_chunk_of(first, kind, elements, &filters)
            .filter(|b| (b.len() as u64).saturating_mul(missing) <= MOST_INLINED);
        if let Some(bytes) = fill {
            add_fill(&mut array, &grid, &bytes);
            return Ok(Ok(array));
        }
        match kind.fill(&first.fill).filter(|_| first.own_fill.is_none()) {
            Some(fill) => {
                self.notes.push(format!(
                    "`{}` has {missing} chunks that were never written and no `_FillValue`: xarray masks their value, {fill}",
                    first.path
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
    fn fill_is_exact(&self, var: &FileVar, kind: Kind) -> bool {
        let known = kind.fill(&var.fill).is_some();
        match self.options.fills {
            Fills::Stored => known,
            Fills::Masked => known && var.own_fill.as_ref() == Some(&var.fill),
        }
    }
}

/// `_FillValue` as the fill value of an array of Zarr version 2.
fn masked_fill(var: &FileVar, kind: Kind) -> Value {
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
fn cf_fill(var: &FileVar, kind: Kind) -> Option<String> {
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
    var: &FileVar,
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
