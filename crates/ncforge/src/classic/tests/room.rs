//! Redefinition in a store that can insert bytes: no stored data move.

use std::sync::Arc;

use crate::classic::{CreateOptions, create, open, open_mut};
use crate::container::ContainerMut;
use crate::model::{Atomic, Attribute, DimId, Dimension, Format, Schema, VarId, Variable};
use crate::select::Hyperslab;
use crate::store::zipped::{Options, Resources, ZippedStore};
use crate::store::{MemoryStore, ReadStore};

/// Writes all of a variable in place, as an engine would.
fn fill(file: &mut dyn ContainerMut, var: VarId, seed: u32) -> Vec<u8> {
    let shape = file.schema().shape(var);
    let all = Hyperslab::all(&shape);
    file.will_write(var, &all).unwrap();
    let layout = file.layout(var).unwrap();
    let n = shape.iter().product::<u64>() as u32;
    let bytes: Vec<u8> = (0..n).flat_map(|i| (i ^ seed).wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    match layout.place {
        crate::layout::Place::Contiguous { offset } => file.write_store().write_at(&bytes, offset).unwrap(),
        crate::layout::Place::Records { begin, stride } => {
            let each = bytes.len() / shape[0] as usize;
            for (r, record) in bytes.chunks(each).enumerate() {
                file.write_store().write_at(record, begin + r as u64 * stride).unwrap();
            }
        }
        ref other => panic!("{other:?}"),
    }
    bytes
}

#[test]
fn attributes_dimensions_and_variables_touch_little() {
    for record in [false, true] {
        let mut schema = Schema::new(Format::Cdf2);
        schema.dims = vec![Dimension::new("t", 0, true), Dimension::new("x", 50_000, false)];
        let dims = if record { vec![DimId(0), DimId(1)] } else { vec![DimId(1)] };
        schema.vars = vec![
            Variable::new("a", Atomic::Float, vec![DimId(1)]),
            Variable::new("b", Atomic::Float, dims.clone()),
            Variable::new("c", Atomic::Int, dims),
        ];
        let memory = Arc::new(MemoryStore::new("a.ncz", Vec::new()));
        let zipped = ZippedStore::create(memory.clone(), &Options::default(), Resources::default()).unwrap();
        let tight = CreateOptions { header_room: Some(0), fill: true };
        let mut file = create(Arc::new(zipped), schema, &tight).unwrap();
        if record {
            file.grow(DimId(0), 20).unwrap();
        }
        let want: Vec<_> = (0..3).map(|v| fill(&mut *file, VarId(v), v as u32)).collect();
        file.sync().unwrap();
        drop(file);
        let before = memory.len();

        let zipped = ZippedStore::open_rw(memory.clone(), Resources::default()).unwrap();
        let mut file = open_mut(Arc::new(zipped)).unwrap();
        for round in 0..3 {
            let mut s = file.schema().clone();
            for i in 0..3 {
                s.groups[0].attrs.push(Attribute::text(format!("a{round}{i}"), &"x".repeat(3000)));
            }
            s.dims.push(Dimension::new(format!("y{round}"), 100, false));
            let d = DimId(s.dims.len() - 1);
            s.vars.push(Variable::new(format!("new{round}"), Atomic::Int, vec![d]));
            file.redefine(s).unwrap();
            fill(&mut *file, VarId(3 + round), 9);
            file.sync().unwrap();
        }
        drop(file);
        let grown = memory.len() - before;
        assert!(grown < 100_000, "{grown} bytes more, of {before}");

        let image = ZippedStore::open(memory, Resources::default()).unwrap();
        let plain = image.read_vec(0, image.len()).unwrap();
        let file = open(Arc::new(MemoryStore::new("plain.nc", plain))).unwrap();
        assert_eq!((file.schema().vars.len(), file.schema().groups[0].attrs.len()), (6, 9));
        for (v, want) in want.iter().enumerate() {
            let layout = file.layout(VarId(v)).unwrap();
            let got = match layout.place {
                crate::layout::Place::Contiguous { offset } => {
                    file.store().read_vec(offset, want.len() as u64).unwrap()
                }
                crate::layout::Place::Records { begin, stride } => (0..20)
                    .flat_map(|r| file.store().read_vec(begin + r * stride, 200_000).unwrap())
                    .collect(),
                ref other => panic!("{other:?}"),
            };
            assert!(got == *want, "variable {v}");
        }
    }
}

/// A new record variable changes every record: then everything is rewritten, in the same file, in one step.
#[test]
fn record_variables_are_added_too() {
    let mut schema = Schema::new(Format::Cdf1);
    schema.dims = vec![Dimension::new("t", 0, true)];
    schema.vars = vec![Variable::new("a", Atomic::Short, vec![DimId(0)])];
    let memory = Arc::new(MemoryStore::new("a.ncz", Vec::new()));
    let zipped = ZippedStore::create(memory.clone(), &Options::default(), Resources::default()).unwrap();
    let mut file = create(Arc::new(zipped), schema, &CreateOptions::default()).unwrap();
    file.grow(DimId(0), 5000).unwrap();
    file.sync().unwrap();
    let mut s = file.schema().clone();
    s.vars.push(Variable::new("b", Atomic::Double, vec![DimId(0)]));
    file.redefine(s).unwrap();
    file.sync().unwrap();
    drop(file);
    let zipped = ZippedStore::open(memory.clone(), Resources::default()).unwrap();
    let file = open(Arc::new(zipped)).unwrap();
    assert_eq!(file.schema().shape(VarId(1)), [5000]);
}
