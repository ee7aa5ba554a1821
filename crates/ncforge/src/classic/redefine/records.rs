//! New record variables in a file that has records.

use super::super::layout::{Extent, Layout};
use super::super::reader::stored_fill;
use crate::model::{Fill, Schema};
use crate::store::{RecordInsertion, Wider};

/// The space to insert into the records of `old` for the new variables of `schema`. `None` if the layout of the old
/// records is not that of this library.
pub(super) fn wider(old: &Layout, schema: &Schema, sizes: &[Extent], fill: bool) -> Option<Wider> {
    let records: Vec<(usize, &Extent)> = old.vars.iter().enumerate().filter(|(_, e)| e.record).collect();
    let slot = |e: &Extent| if records.len() > 1 { e.padded() } else { e.bytes };
    let mut at = old.records_begin;
    for (_, e) in &records {
        if e.begin != at {
            return None;
        }
        at = at.checked_add(slot(e))?;
    }
    if at - old.records_begin != old.record_size {
        return None;
    }
    let room = |var: usize, at: u64, len: u64| {
        let element = if fill && schema.vars[var].fill != Fill::None {
            stored_fill(&schema.vars[var])
        } else {
            vec![0]
        };
        let mut eight = [0; 8];
        for part in eight.chunks_mut(element.len().clamp(1, 8)) {
            let n = part.len().min(element.len());
            part[..n].copy_from_slice(&element[..n]);
        }
        let width = schema.fixed_size(schema.vars[var].dtype).map_or(1, |n| n as u16);
        RecordInsertion { at, len, fill: eight, element: width }
    };
    let mut rooms = Vec::new();
    if let [(var, only)] = records[..]
        && only.padded() > only.bytes
    {
        // A single record variable has no padding; it gets padding when a second one is added.
        rooms.push(room(var, only.bytes, only.padded() - only.bytes));
    }
    let new = sizes.iter().enumerate().skip(old.vars.len()).filter(|(_, e)| e.record && e.bytes > 0);
    rooms.extend(new.map(|(var, e)| room(var, old.record_size, e.padded())));
    Some(Wider { start: old.records_begin, stride: old.record_size, rooms })
}
