//! Attributes in their stored form, detached from their position in the file.

use std::collections::HashMap;

use crate::error::Result;
use crate::hdf5::attribute::Attribute as Stored;
use crate::hdf5::datatype::{Class, Datatype};
use crate::hdf5::emit::{Attribute, Blob};
use crate::hdf5::file::File;
use crate::hdf5::global_heap::HeapId;
use crate::model::{self, encode_name};
use crate::netcdf4::read::attrs::is_hidden;

use super::super::facts::{FileFacts, Owner};

/// Records the stored forms of an object's attributes: those in the schema, and hidden ones that a commit does not
/// create again.
pub(super) fn keep(
    file: &File,
    owner: Owner,
    shown: &[model::Attribute],
    stored: &[Stored],
    remade: &[&[u8]],
    facts: &mut FileFacts,
) -> Result<()> {
    let shown: HashMap<Vec<u8>, _> = shown.iter().map(|v| (encode_name(&v.name), v)).collect();
    for a in stored {
        if is_hidden(&a.name) {
            if !remade.contains(&&a.name[..]) {
                facts.insert_hidden(owner, form(file, a)?);
            }
        } else if let Some(value) = shown.get(&a.name[..]) {
            facts.insert(owner, (*value).clone(), form(file, a)?);
        }
    }
    Ok(())
}

/// The stored form of an attribute.
pub(super) fn form(file: &File, a: &Stored) -> Result<Attribute> {
    let mut data = Blob::from(a.data.to_vec());
    let size = (a.datatype.size as usize).max(1);
    for at in (0..a.data.len() / size).map(|i| i * size) {
        detach(file, &a.datatype, at, &mut data)?;
    }
    Ok(Attribute { name: a.name.to_vec(), datatype: a.datatype.clone(), space: a.space.clone(), data })
}

/// Reads the heap objects to which the element at byte `at` refers.
fn detach(file: &File, d: &Datatype, at: usize, blob: &mut Blob) -> Result<()> {
    match &d.class {
        Class::Vlen { base } => row(file, Some(base), at, blob),
        Class::VlenString { .. } => row(file, None, at, blob),
        Class::Compound { members } => {
            members.iter().try_for_each(|m| detach(file, &m.datatype, at + m.offset as usize, blob))
        }
        Class::Array { base, .. } => {
            let size = (base.size as usize).max(1);
            (0..d.size as usize / size).try_for_each(|i| detach(file, base, at + i * size, blob))
        }
        _ => Ok(()),
    }
}

fn row(file: &File, base: Option<&Datatype>, at: usize, blob: &mut Blob) -> Result<()> {
    let source = &file.source;
    let id = HeapId::parse(&mut source.cursor(&blob.bytes[at..at + 16], 0))?;
    let Some(address) = id.address else { return Ok(()) };
    if id.count == 0 && id.index == 0 {
        blob.bytes[at..at + 16].fill(0);
        return Ok(());
    }
    let collection = file.heap.collection(source, address)?;
    let Some(bytes) = collection.get(id.index) else {
        return Err(source.fail(address, format!("no object {} in this heap collection", id.index)));
    };
    let mut object = Blob::from(bytes.to_vec());
    if let Some(base) = base {
        let size = (base.size as usize).max(1);
        let count = (id.count as usize).min(bytes.len() / size);
        for i in 0..count {
            detach(file, base, i * size, &mut object)?;
        }
    }
    blob.heap.push((at + 4, object));
    Ok(())
}
