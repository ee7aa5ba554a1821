//! Values in the document itself: whole variables, chunks of fill values, and chunks that were filtered in their own way.

use std::borrow::Cow;

use super::codecs::numcodecs;
use super::gather::{MOST_STRINGS, Opened};
use super::kinds::Kind;
use super::pieces::{Odd, Parts};
use ncforge::codec::{CodecChain, filters};
use ncforge::model::{Filter, Value, Values, shape};
use ncforge::{Dataset, Hyperslab, Result};
use serde_json::{Value as Json, json};

/// Bytes of one variable that are stored in the document, at most.
pub(super) const MOST_INLINED: u64 = 8 << 20;
/// Fewer bytes are stored as they are.
const FEW: usize = 128;

/// A whole variable, encoded as one chunk.
pub(super) struct Whole {
    pub(super) kind: Kind,
    pub(super) filters: Vec<Json>,
    pub(super) bytes: Vec<u8>,
}

/// A whole variable; `None` if it is too large, or text that is not UTF-8.
pub(super) fn whole(parts: &Parts<'_>, kind: Kind, inputs: &Opened<'_>) -> Result<Option<Whole>> {
    let elements = shape::elements(&parts.shape);
    let too_large = match kind {
        Kind::Strings => elements > MOST_STRINGS,
        Kind::Fixed { .. } => elements.saturating_mul(kind.size() as u64) > MOST_INLINED,
    };
    if too_large {
        return Ok(None);
    }
    let mut values = Vec::with_capacity(parts.vars.len());
    for (i, var) in parts.vars.iter().enumerate() {
        values.push(match &var.values {
            Some(known) => Cow::Borrowed(known),
            None => {
                let source = (inputs.source)(i)?;
                let id = source.schema().find_var(&var.path);
                let id = id.ok_or_else(|| source.schema().no_variable(&var.path, &inputs.names[i]))?;
                Cow::Owned(source.read(id, &Hyperslab::all(&var.shape))?)
            }
        });
    }
    match kind {
        Kind::Fixed { .. } => {
            let size = kind.size();
            let each: Vec<&[u8]> = values.iter().map(|v| v.bytes().unwrap_or_default()).collect();
            let all = joined(parts, &each, size);
            let list = codecs_for(size, all.len());
            let bytes = encoded(&list, size, &all)?;
            Ok(Some(Whole { kind: kind.native(), filters: named(&list, size), bytes }))
        }
        Kind::Strings => {
            let each: Vec<&[Value]> = values.iter().map(|v| heap(v)).collect();
            let Some(text) = strings(&joined(parts, &each, 1)) else { return Ok(None) };
            let list = [filters::deflate(4)];
            let bytes = encoded(&list, 1, &text)?;
            let mut named = named(&list, 1);
            named.insert(0, json!({ "id": "vlen-utf8" }));
            Ok(Some(Whole { kind, filters: named, bytes }).filter(|w| w.bytes.len() as u64 <= MOST_INLINED))
        }
    }
}

fn heap(values: &Values) -> &[Value] {
    match values {
        Values::Heap(values) => values,
        Values::Fixed(_) => &[],
    }
}

/// The values of all files in the order of the whole array; an element is `size` items.
fn joined<T: Clone>(parts: &Parts<'_>, each: &[&[T]], size: usize) -> Vec<T> {
    let Some(axis) = parts.axis else { return each.concat() };
    let before: u64 = parts.shape[..axis].iter().product();
    let mut all = Vec::new();
    for i in 0..before as usize {
        for (var, values) in parts.vars.iter().zip(each) {
            let run = var.shape[axis..].iter().product::<u64>() as usize * size;
            all.extend_from_slice(values.get(i * run..(i + 1) * run).unwrap_or_default());
        }
    }
    all
}

/// Strings as the codec `vlen-utf8` of `numcodecs` encodes them: their number, then the length and the bytes of each, all
/// numbers little-endian in 4 bytes. `None` if one is not UTF-8. A null pointer is an empty string.
fn strings(values: &[Value]) -> Option<Vec<u8>> {
    let number = |n: usize| u32::try_from(n).ok().map(u32::to_le_bytes);
    let mut out = number(values.len())?.to_vec();
    for value in values {
        let bytes = match value {
            Value::String(Some(bytes)) => std::str::from_utf8(bytes).ok()?.as_bytes(),
            _ => &[],
        };
        out.extend(number(bytes.len())?);
        out.extend(bytes);
    }
    Some(out)
}

/// Filters for bytes that no file holds.
fn codecs_for(size: usize, len: usize) -> Vec<Filter> {
    match (len, size) {
        (..FEW, _) => Vec::new(),
        (_, 1) => vec![filters::deflate(4)],
        _ => vec![filters::shuffle(size), filters::deflate(4)],
    }
}

fn named(list: &[Filter], size: usize) -> Vec<Json> {
    numcodecs(list, size, size as u64).expect("shuffle and deflate have codecs")
}

fn encoded(list: &[Filter], size: usize, raw: &[u8]) -> Result<Vec<u8>> {
    Ok(CodecChain::new(list, size)?.encode(raw)?.0)
}

/// The filters with which chunks of fill values are encoded where no chunk is stored, and their configurations.
pub(super) fn free_filters(size: usize) -> (Vec<Filter>, Vec<Json>) {
    let list = codecs_for(size, FEW);
    let named = named(&list, size);
    (list, named)
}

/// A chunk of fill values; `None` if it cannot be encoded. `stored` is one element as the file stores it.
pub(super) fn fill_chunk(elements: u64, stored: &[u8], list: &[Filter]) -> Option<Vec<u8>> {
    let raw = stored.repeat(usize::try_from(elements).ok()?);
    let (bytes, mask) = CodecChain::new(list, stored.len()).ok()?.encode(&raw).ok()?;
    (mask == 0).then_some(bytes)
}

/// Chunks that were filtered in their own way, as the others are; `None` if they cannot be, or are too large.
pub(super) fn refiltered(
    odd: &[Odd],
    ours: &[Filter],
    chunk_bytes: u64,
    inputs: &Opened<'_>,
    element: usize,
) -> Result<Option<Vec<Vec<u8>>>> {
    let Ok(chain) = CodecChain::new(ours, element) else { return Ok(None) };
    if chain.not_written().is_some() || chunk_bytes > MOST_INLINED {
        return Ok(None);
    }
    let (mut out, mut total) = (Vec::with_capacity(odd.len()), 0);
    let mut open: Option<(usize, Dataset)> = None;
    for chunk in odd {
        let dataset = match &open {
            Some((file, dataset)) if *file == chunk.file => dataset,
            _ => &open.insert((chunk.file, (inputs.open)(chunk.file)?)).1,
        };
        let store = dataset.container().store();
        let encoded = store.read_vec(chunk.record.offset, chunk.record.len)?;
        let mut raw = vec![0; chunk_bytes as usize];
        CodecChain::new(&chunk.filters, element)?.decode(&encoded, chunk.record.mask, &mut raw)?;
        let (bytes, mask) = chain.encode(&raw)?;
        total += bytes.len() as u64;
        if mask != 0 || total > MOST_INLINED {
            return Ok(None);
        }
        out.push(bytes);
    }
    Ok(Some(out))
}
