//! Chunks in B-trees: version 1 (layout messages up to version 3) and version 2 (several unlimited dimensions).

use super::loading::Loading;
use super::table::Builder;
use crate::error::Result;
use crate::hdf5::cursor::Cursor;
use crate::hdf5::{btree1, btree2};

/// The length of a key in a tree of version 1: the stored length, the filter mask and the first element's coordinates (in elements, with a
/// last one for the byte in the element).
pub(super) fn key_len(rank: usize) -> usize {
    8 + 8 * (rank + 1)
}

/// What a key says: the stored length, the mask, and the grid coordinates, which go to `at`.
pub(super) fn parse_key(mut key: Cursor<'_>, chunk: &[u64], at: &mut [u64]) -> Result<(u64, u32)> {
    let (len, mask) = (u64::from(key.u32()?), key.u32()?);
    for (i, &c) in at.iter_mut().zip(chunk) {
        let here = key;
        let start = key.u64()?;
        if start % c != 0 {
            return Err(here.fail(format!("a chunk that begins at element {start}, chunks are {c} long")));
        }
        *i = start / c;
    }
    let here = key;
    match key.u64()? {
        0 => Ok((len, mask)),
        byte => Err(here.fail(format!("a chunk that begins at byte {byte} of an element"))),
    }
}

/// Reads a tree of version 1.
pub(super) fn load_v1(dataset: &Loading<'_>, out: &mut Builder) -> Result<()> {
    let Loading { source, address, chunk, .. } = *dataset;
    let rank = chunk.len();
    let mut at = vec![0; rank];
    btree1::walk(source, address, btree1::CHUNK, key_len(rank), |key, child| {
        let (len, mask) = parse_key(key, chunk, &mut at)?;
        out.push(&at, dataset.record(child, len, mask));
        Ok(())
    })
}

/// Reads a tree of version 2. Records hold the address, with filters the stored length and the mask, and grid
/// coordinates.
pub(super) fn load_v2(dataset: &Loading<'_>, out: &mut Builder) -> Result<()> {
    let Loading { source, address, filtered, .. } = *dataset;
    let rank = dataset.chunk.len();
    let records = btree2::read(source, address)?;
    let offset = usize::from(source.sizes().offset);
    let expected = if filtered { 11 } else { 10 };
    let plain = offset + 8 * rank;
    let length_bytes = if filtered { records.record_size.wrapping_sub(plain + 4) } else { 0 };
    let fits = if filtered { (1..=8).contains(&length_bytes) } else { records.record_size == plain };
    if records.kind != expected || !fits {
        let what = format!(
            "chunks in a B-tree of type {} with records of {} bytes",
            records.kind, records.record_size
        );
        return Err(source.fail(address, what));
    }
    let mut at = vec![0; rank];
    for r in records.iter() {
        let mut c = source.cursor(r, address);
        let place = c.defined_address("a chunk")?;
        let (len, mask) = if filtered { (c.uint(length_bytes)?, c.u32()?) } else { (dataset.chunk_bytes, 0) };
        for i in &mut at {
            *i = c.u64()?;
        }
        out.push(&at, dataset.record(place, len, mask));
    }
    Ok(())
}
