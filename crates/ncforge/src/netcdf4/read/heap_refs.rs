//! Which heap collections elements refer to, so that all of them can be fetched at the same time.

use std::borrow::Cow;

use super::types::holds_heap;
use crate::error::Result;
use crate::hdf5::datatype::{Class, Datatype};
use crate::hdf5::file::File;
use crate::hdf5::global_heap::HeapId;

/// Bytes of rows that are followed further, in all: rows of strings are rare and short.
const FOLLOWED: usize = 8 << 20;

/// A reference to a row, and the type of its elements if they refer to the heap, too.
type Row<'a> = (HeapId, Option<&'a Datatype>);

/// Announces the heap collections of elements that are decoded next: of a store with latency, those that are absent are
/// fetched, in one round for each level of rows in rows. Damage is left to who decodes them.
pub(crate) fn want_objects(file: &File, elements: &[(&Datatype, &[u8])]) -> Result<()> {
    if !file.source.has_latency() {
        return Ok(());
    }
    let mut level: Vec<(&Datatype, Cow<'_, [u8]>)> =
        elements.iter().map(|&(d, stored)| (d, Cow::Borrowed(stored))).collect();
    let mut followed = 0;
    while !level.is_empty() {
        let mut rows = Vec::new();
        for (d, stored) in &level {
            for one in stored.chunks_exact((d.size as usize).max(1)) {
                references(file, d, one, &mut rows);
            }
        }
        let mut addresses: Vec<u64> = rows.iter().filter_map(|(id, _)| id.address).collect();
        addresses.sort_unstable();
        addresses.dedup();
        file.heap.want(&file.source, &addresses)?;
        level = Vec::new();
        for (id, base) in rows {
            let (Some(base), Some(address)) = (base, id.address) else { continue };
            let Ok(collection) = file.heap.collection(&file.source, address) else { continue };
            let row = collection.get(id.index).unwrap_or_default();
            followed += row.len();
            if followed <= FOLLOWED {
                level.push((base, Cow::Owned(row.to_vec())));
            }
        }
    }
    Ok(())
}

/// Adds what one stored element refers to.
fn references<'a>(file: &File, d: &'a Datatype, stored: &[u8], out: &mut Vec<Row<'a>>) {
    match &d.class {
        Class::VlenString { .. } | Class::Vlen { .. } => {
            let Ok(id) = HeapId::parse(&mut file.source.cursor(stored, 0)) else { return };
            let base = match &d.class {
                Class::Vlen { base } => Some(&**base).filter(|b| holds_heap(b)),
                _ => None,
            };
            out.push((id, base));
        }
        Class::Compound { members } => {
            for m in members.iter().filter(|m| holds_heap(&m.datatype)) {
                let from = m.offset as usize;
                if let Some(part) = stored.get(from..from + m.datatype.size as usize) {
                    references(file, &m.datatype, part, out);
                }
            }
        }
        Class::Array { base, .. } if holds_heap(base) => {
            stored.chunks_exact((base.size as usize).max(1)).for_each(|one| references(file, base, one, out));
        }
        _ => {}
    }
}
