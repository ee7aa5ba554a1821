//! What the fuzz targets share: walk through everything that an opened file offers, as a reader would.
//!
//! A target passes when nothing panics, hangs, or allocates more than the input justifies; whether a call
//! gives a result or an error does not matter.

use std::sync::Arc;

use ncforge::codec::{CodecChain, Scratch};
use ncforge::raw::{Element, Order, Place, Container};
use ncforge::model::Filter;
use ncforge::store::{MemoryStore, WriteStore};
use ncforge::Hyperslab;

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
