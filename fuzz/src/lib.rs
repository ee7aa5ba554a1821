//! What the fuzz targets share: walk through everything that an opened file offers, as a reader would.
//!
//! A target passes when nothing panics, hangs, or allocates more than the input justifies; whether a call
//! gives a result or an error does not matter.

use std::sync::Arc;

use ncforge::Hyperslab;
use ncforge::codec::deflate::PlaneEncoder;
use ncforge::codec::{AccessPoints, CodecChain, PaddedInput, Scratch, Segments, Tail};
use ncforge::model::Filter;
use ncforge::raw::{Container, Element, Order, Place};
use ncforge::store::{MemoryStore, WriteStore};

/// Elements of one read: enough to cross chunks, too few to make a small file with huge dimensions slow.
const MAX_ELEMENTS: u64 = 4096;

/// The input as a store.
pub fn store(data: &[u8]) -> Arc<dyn WriteStore> {
    Arc::new(MemoryStore::new("fuzz", data.to_vec()))
}

/// Reads a corner of every variable, its chunk index and the notes.
pub fn walk(container: &dyn Container) {
    let schema = container.schema();
    let engine = ncforge::Engine::global();
    for var in schema.var_ids() {
        if let Ok(layout) = container.layout(var)
            && let Place::Chunked { index, .. } = &layout.place
        {
            let _ = index.list();
        }
        let mut left = MAX_ELEMENTS;
        let count: Vec<u64> = schema
            .shape(var)
            .iter()
            .map(|&n| {
                let take = n.min(left.max(1)).min(17);
                left /= take.max(1);
                take
            })
            .collect();
        let slab = Hyperslab::new(&vec![0; count.len()], &count);
        let _ = engine.read(container, var, &slab);
    }
    let _ = container.notes();
}

/// Decodes the input as one chunk of one filter.
///
/// The input: the element size (one byte, a choice of eight), elements (two bytes), the number of parameters (one
/// byte), the parameters (four bytes each), all little-endian; the rest is the chunk. `seeds/codecs.py` writes it.
pub fn decode(id: u16, data: &[u8]) {
    let Some((&[element, low, high, params], rest)) = data.split_first_chunk::<4>() else { return };
    let Some((params, encoded)) = rest.split_at_checked(usize::from(params & 63) * 4) else { return };
    let element = [1, 2, 3, 4, 8, 12, 16, 100][usize::from(element & 7)];
    let elements = usize::from(u16::from_le_bytes([low, high]) & 0x3FFF);
    let params = params.as_chunks().0.iter().map(|p| u32::from_le_bytes(*p)).collect();
    let filter = Filter { id, params, optional: false };
    let Ok(chain) = CodecChain::new(&[filter], element) else { return };
    let mut out = vec![0; element * elements];
    let whole = chain.decode(encoded, 0, &mut out);
    let mut scratch = Scratch::new();
    if let Ok(stage) = chain.decode_staged(encoded, 0, out.len(), &mut scratch) {
        assert!(whole.is_ok(), "filter {id} decodes in stages only");
        let keep = Element { size: element, order: Order::Keep, heap: false };
        let mut rows = vec![0; out.len()];
        stage.read(&keep, 0, &mut rows);
        assert_eq!(rows, out, "filter {id}: stages give other bytes");
    }
    // What it encodes, it must decode to the same.
    let len = encoded.len() / element * element;
    if let Ok((again, mask)) = chain.encode(&encoded[..len]) {
        let mut back = vec![0; len];
        chain.decode(&again, mask, &mut back).expect("our own stream decodes");
        assert_eq!(back, &encoded[..len], "filter {id} is not lossless");
    }
}

/// Encodes the input with access points, changes some bytes, and decodes every segment.
///
/// The input: planes, the bytes of a segment of all planes (two bytes), the number of changes; for each of them its place, counted from the end (two
/// bytes), and what is added to the byte there; the rest is the chunk. Numbers are little-endian.
pub fn segments(data: &[u8]) {
    let Some((&[planes, low, high, changes], rest)) = data.split_first_chunk::<4>() else { return };
    let Some((changes, raw)) = rest.split_at_checked(usize::from(changes & 31) * 3) else { return };
    let planes = usize::from(planes & 7) + 1;
    let segment = usize::from(u16::from_le_bytes([low, high])).max(1);
    let raw = &raw[..raw.len() / planes * planes];
    let mut out = Vec::new();
    let level = u32::from(low % 9) + 1;
    let n = PlaneEncoder::new(level).encode(raw, planes, Segments::Bytes(segment), &mut out).expect("encodes");
    let mut chunk = out[..n].to_vec();
    for change in changes.as_chunks::<3>().0 {
        let back = usize::from(u16::from_le_bytes([change[0], change[1]])) % n;
        chunk[n - 1 - back] = chunk[n - 1 - back].wrapping_add(change[2]);
    }
    let is_changed = chunk != out[..n];
    let points = match AccessPoints::read(&chunk, n as u64, raw.len(), planes) {
        Tail::Points(points) => points,
        // One segment is all of the chunk.
        other => return assert!(is_changed || raw.len() / planes <= (segment / planes).max(1), "{other:?}"),
    };
    for i in 0..points.len() {
        let ranges = points.ranges(&(i..i + 1));
        let part = |r: &std::ops::Range<u64>| PaddedInput::within(&chunk, r.start as usize..r.end as usize);
        let parts: Vec<_> = ranges.iter().map(part).collect();
        let own = points.bytes(&(i..i + 1));
        let mut values = vec![0; own.len() * planes];
        let decoded = points.decode(&(i..i + 1), &parts, &mut values);
        let plane = raw.len() / planes;
        let same = |p: usize| values[p * own.len()..][..own.len()] == raw[p * plane..][own.clone()];
        assert!(is_changed || decoded && (0..planes).all(same), "segment {i}");
    }
}
