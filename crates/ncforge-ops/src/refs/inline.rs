//! Values in the document itself: whole variables, chunks of fill values, and chunks that were filtered in their own way.

use super::codecs::numcodecs;
use super::gather::Var;
use super::kinds::Kind;
use super::options::{MOST_INLINED, MOST_STRINGS};
use super::pieces::Odd;
use super::source::Source;
use ncforge::codec::{CodecChain, filters};
use ncforge::model::{Filter, Value, Values, shape};
use ncforge::{Hyperslab, Result};
use serde_json::{Value as Json, json};

/// Fewer bytes are stored as they are.
const FEW: usize = 128;

/// A whole variable, encoded as one chunk.
pub(super) struct Whole {
    pub(super) kind: Kind,
    pub(super) filters: Vec<Json>,
    pub(super) bytes: Vec<u8>,
}

/// A whole variable; `None` if it is too large, or text that is not UTF-8.
pub(super) fn whole(source: &Source, var: &Var, kind: Kind) -> Result<Option<Whole>> {
    let elements = shape::elements(&var.shape);
    let too_large = match kind {
        Kind::Strings => elements > MOST_STRINGS,
        Kind::Fixed { .. } => elements.saturating_mul(kind.size() as u64) > MOST_INLINED,
    };
    if too_large {
        return Ok(None);
    }
    match source.dataset.read(var.id, &Hyperslab::all(&var.shape))? {
        Values::Fixed(values) => {
            let size = kind.size();
            let list = codecs_for(size, values.len());
            let bytes = encoded(&list, size, &values)?;
            Ok(Some(Whole { kind: kind.native(), filters: named(&list, size), bytes }))
        }
        Values::Heap(values) => {
            let Some(text) = strings(&values) else { return Ok(None) };
            let list = [filters::deflate(4)];
            let bytes = encoded(&list, 1, &text)?;
            let mut named = named(&list, 1);
            named.insert(0, json!({ "id": "vlen-utf8" }));
            Ok(Some(Whole { kind, filters: named, bytes }).filter(|w| w.bytes.len() as u64 <= MOST_INLINED))
        }
    }
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
    element: usize,
) -> Result<Option<Vec<Vec<u8>>>> {
    let Ok(chain) = CodecChain::new(ours, element) else { return Ok(None) };
    if chain.not_written().is_some() || chunk_bytes > MOST_INLINED {
        return Ok(None);
    }
    let (mut out, mut total) = (Vec::with_capacity(odd.len()), 0);
    for chunk in odd {
        let encoded = chunk.store.read_vec(chunk.record.offset, chunk.record.len)?;
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
