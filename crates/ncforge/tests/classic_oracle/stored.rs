//! Files as bytes of variables: read, written and copied through our reader and writer.

use std::path::Path;
use std::sync::Arc;

use ncforge::Hyperslab;
use ncforge::model::{Format, Schema, VarId};
use ncforge::raw::classic::{self, CreateOptions};
use ncforge::raw::{Container, ContainerMut, Place};
use ncforge::store::{FileStore, MemoryStore};

pub(crate) fn open(path: &Path) -> ncforge::Result<Box<dyn Container>> {
    classic::open(Arc::new(FileStore::open(path)?))
}

pub(crate) fn create(path: &Path, schema: Schema, options: &CreateOptions) -> Box<dyn ContainerMut> {
    classic::create(Arc::new(FileStore::create(path).unwrap()), schema, options).unwrap()
}

/// The runs of bytes that a variable's data are: offset and length, row-major.
pub(crate) fn runs(file: &dyn Container, var: VarId) -> Vec<(u64, u64)> {
    let layout = file.layout(var).unwrap();
    let bytes = |shape: &[u64]| shape.iter().product::<u64>() * layout.element.size as u64;
    match layout.place {
        Place::Contiguous { offset } => vec![(offset, bytes(&layout.shape))],
        Place::Records { begin, stride } => {
            (0..layout.shape[0]).map(|r| (begin + r * stride, bytes(&layout.shape[1..]))).collect()
        }
        ref other => panic!("{other:?}"),
    }
}

/// All of a variable's bytes in stored form, zeros where the file has ended.
pub(crate) fn read(file: &dyn Container, var: VarId) -> Vec<u8> {
    let mut out = Vec::new();
    for (offset, len) in runs(file, var) {
        let from = out.len();
        out.resize(from + len as usize, 0);
        let there = file.store().len().saturating_sub(offset).min(len) as usize;
        if there > 0 {
            file.store().read_at(&mut out[from..from + there], offset).unwrap();
        }
    }
    out
}

pub(crate) fn write(file: &mut dyn ContainerMut, var: VarId, mut stored: &[u8]) {
    let shape = file.schema().shape(var);
    file.will_write(var, &Hyperslab::all(&shape)).unwrap();
    for (offset, len) in runs(file.as_container(), var) {
        let (now, later) = stored.split_at(len as usize);
        file.write_store().write_at(now, offset).unwrap();
        stored = later;
    }
}

/// Copies a file through our reader and writer.
pub(crate) fn copy(from: &dyn Container, to: &Path, format: Format) {
    let mut schema = from.schema().clone();
    schema.format = format;
    // In memory: a hundred files are not worth three hundred disk flushes.
    let store = Arc::new(MemoryStore::new("copy", Vec::new()));
    let mut file = classic::create(store.clone(), schema, &CreateOptions::default()).unwrap();
    for var in from.schema().var_ids() {
        write(&mut *file, var, &read(from, var));
    }
    file.sync().unwrap();
    std::fs::write(to, store.to_vec()).unwrap();
}
