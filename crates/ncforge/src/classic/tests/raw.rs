//! Elements moved one by one, directly by the definition of a layout: slow, but simple enough to be correct.

use std::sync::Arc;

use super::MemoryStore;
use crate::container::{Container, ContainerMut};
use crate::layout::{Place, VarLayout};
use crate::model::{Atomic, DimId, VarId, Variable};
use crate::select::{Hyperslab, coordinates};

/// Byte offset in the store of the element at `at`.
fn offset(layout: &VarLayout, at: &[u64]) -> u64 {
    let size = layout.element.size as u64;
    let linear = |at: &[u64], shape: &[u64]| at.iter().zip(shape).fold(0, |n, (&i, &len)| n * len + i);
    match layout.place {
        Place::Contiguous { offset } => offset + linear(at, &layout.shape) * size,
        Place::Records { begin, stride } => {
            begin + at[0] * stride + linear(&at[1..], &layout.shape[1..]) * size
        }
        ref other => panic!("{other:?}"),
    }
}

fn positions(slab: &Hyperslab) -> impl Iterator<Item = Vec<u64>> + '_ {
    let outer: Vec<_> = slab.count.iter().map(|&c| 0..c).collect();
    coordinates(&outer)
        .map(move |at| at.iter().enumerate().map(|(d, &i)| slab.start[d] + i * slab.stride[d]).collect())
}

/// Writes stored elements to a selection, as an engine would.
pub(super) fn write(file: &mut dyn ContainerMut, var: VarId, slab: &Hyperslab, stored: &[u8]) {
    file.will_write(var, slab).unwrap();
    let layout = file.layout(var).unwrap();
    for (at, element) in positions(slab).zip(stored.chunks(layout.element.size)) {
        file.write_store().write_at(element, offset(&layout, &at)).unwrap();
    }
}

/// All of a variable in stored form; zeros where the file has ended.
pub(super) fn read(file: &dyn Container, var: VarId) -> Vec<u8> {
    let layout = file.layout(var).unwrap();
    let mut out = Vec::new();
    for at in positions(&Hyperslab::all(&layout.shape)) {
        let mut element = vec![0; layout.element.size];
        crate::classic::fill::read_or_zero(&**file.store(), &mut element, offset(&layout, &at)).unwrap();
        out.extend(element);
    }
    out
}

pub(super) fn memory() -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new("test.nc", Vec::new()))
}

pub(super) fn var(name: &str, atomic: Atomic, dims: &[usize]) -> Variable {
    Variable::new(name, atomic, dims.iter().map(|&d| DimId(d)).collect())
}
