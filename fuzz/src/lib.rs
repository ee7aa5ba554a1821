//! What the fuzz targets share: walk through everything that an opened file offers, as a reader would.
//!
//! A target passes when nothing panics, hangs, or allocates more than the input justifies; whether a call
//! gives a result or an error does not matter.

use std::sync::Arc;

use ncforge::codec::CodecChain;
use ncforge::model::Filter;
use ncforge::store::{MemoryStore, Store};
use ncforge::{Container, Hyperslab};

/// Elements of one read: enough to cross chunks, too few to make a small file with huge dimensions slow.
const MAX_ELEMENTS: u64 = 4096;

/// The input as a store.
pub fn store(data: &[u8]) -> Arc<dyn Store> {
    Arc::new(MemoryStore::new("fuzz", data.to_vec()))
}

/// Reads a corner of every variable, its chunk index and the notes.
pub fn walk(container: &dyn Container) {
    let schema = container.schema();
    let engine = ncforge::engine::Engine::global();
    for var in schema.var_ids() {
        let _ = container.layout(var);
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

/// Decodes the input as one chunk of one filter. Its first bytes choose the element size and the parameters.
pub fn decode(id: u16, data: &[u8]) {
    let Some((head, encoded)) = data.split_first_chunk::<12>() else { return };
    let element = [1, 2, 3, 4, 8, 16, 24, 100][usize::from(head[0] & 7)];
    let elements = usize::from(u16::from_le_bytes([head[1], head[2]]) & 0x0FFF);
    let params = (0..usize::from(head[3] & 7)).map(|i| u32::from(head[4 + i % 8])).collect();
    let filter = Filter { id, params, optional: false };
    let Ok(chain) = CodecChain::new(&[filter], element) else { return };
    let mut out = vec![0; element * elements];
    let _ = chain.decode(encoded, 0, &mut out);
    // What it encodes, it must decode to the same.
    let len = encoded.len() / element * element;
    if let Ok((again, mask)) = chain.encode(&encoded[..len]) {
        let mut back = vec![0; len];
        chain.decode(&again, mask, &mut back).expect("our own stream decodes");
        assert_eq!(back, &encoded[..len], "filter {id} is not lossless");
    }
}
