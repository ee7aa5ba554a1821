//! The expected contents of a file: its schema, and every variable's elements in stored form.

use std::sync::Arc;

use super::MemoryStore;
use super::raw::read;
use crate::classic::open;
use crate::classic::reader::stored_fill;
use crate::container::Container;
use crate::layout::Place;
use crate::model::{DimId, Fill, Schema, VarId};
use crate::select::{Hyperslab, coordinates};

pub(super) struct Model {
    pub(super) schema: Schema,
    /// Bytes of each variable; `None`: arbitrary bytes, in variables that are not filled.
    data: Vec<Vec<Option<u8>>>,
    /// Variables whose padding is arbitrary, because they were not filled at some time.
    loose: Vec<bool>,
}

impl Model {
    pub(super) fn new(schema: Schema) -> Self {
        Model { schema, data: Vec::new(), loose: Vec::new() }
    }

    /// Bytes of an element.
    pub(super) fn element(&self, v: usize) -> usize {
        self.schema.fixed_size(self.schema.vars[v].dtype).unwrap()
    }

    fn bytes(&self, v: usize) -> usize {
        self.schema.shape(VarId(v)).iter().product::<u64>() as usize * self.element(v)
    }

    /// Extends variables with fill to the size that the schema gives them.
    pub(super) fn fill(&mut self) {
        self.data.resize(self.schema.vars.len(), Vec::new());
        self.loose.resize(self.schema.vars.len(), false);
        for v in 0..self.data.len() {
            let var = &self.schema.vars[v];
            let filled = var.fill != Fill::None;
            self.loose[v] |= !filled;
            let fill: Vec<_> = stored_fill(var).into_iter().map(|b| filled.then_some(b)).collect();
            while self.data[v].len() < self.bytes(v) {
                self.data[v].extend_from_slice(&fill);
            }
        }
    }

    pub(super) fn write(&mut self, v: usize, slab: &Hyperslab, value: u8) {
        let (shape, size) = (self.schema.shape(VarId(v)), self.element(v));
        let outer: Vec<_> = slab.count.iter().map(|&c| 0..c).collect();
        for at in coordinates(&outer) {
            let steps = at.iter().enumerate();
            let i = steps.fold(0, |n, (d, &i)| n * shape[d] + slab.start[d] + i * slab.stride[d]);
            self.data[v][i as usize * size..][..size].fill(Some(value));
        }
    }

    /// The file does not say which variables are not filled.
    pub(super) fn reopened(&mut self) {
        self.schema.vars.iter_mut().for_each(|v| v.fill = Fill::Default);
    }

    /// The file as another program reads it.
    pub(super) fn check(&self, store: &Arc<MemoryStore>) {
        let file = open(store.clone()).unwrap();
        let mut schema = self.schema.clone();
        schema.vars.iter_mut().for_each(|v| v.fill = Fill::Default);
        assert_eq!(file.schema(), &schema);
        assert!(!file.notes().iter().any(|n| n.contains("shorter")), "{:?}", file.notes());
        for v in 0..self.data.len() {
            self.check_values(&*file, v);
        }
        self.check_padding(&*file);
    }

    pub(super) fn check_values(&self, file: &dyn Container, v: usize) {
        let found = read(file, VarId(v));
        assert_eq!(found.len(), self.data[v].len(), "variable {v}");
        let known = |(f, d): (&u8, &Option<u8>)| d.map_or(*f, |d| d);
        let meant: Vec<u8> = found.iter().zip(&self.data[v]).map(known).collect();
        assert_eq!(found, meant, "variable {v}");
    }

    /// Padding after data contains the variable's fill value.
    fn check_padding(&self, file: &dyn Container) {
        let records = self.schema.dims[0].len;
        let record_vars = self.schema.vars.iter().filter(|v| v.dims.first() == Some(&DimId(0))).count();
        for v in self.schema.var_ids().filter(|v| !self.loose[v.0]) {
            let layout = file.layout(v).unwrap();
            let shape = &layout.shape;
            let size = layout.element.size as u64;
            let slots: Vec<(u64, u64)> = match layout.place {
                Place::Contiguous { offset } => vec![(offset, shape.iter().product::<u64>() * size)],
                Place::Records { begin, stride } if record_vars > 1 => (0..records)
                    .map(|r| (begin + r * stride, shape[1..].iter().product::<u64>() * size))
                    .collect(),
                _ => continue,
            };
            for (begin, bytes) in slots {
                let pad = bytes.next_multiple_of(4) - bytes;
                let got = file.store().read_vec(begin + bytes, pad).unwrap();
                let fill = layout.absent.one().unwrap();
                assert!(got.chunks(fill.len()).all(|c| c == fill), "{} {got:?}", layout.name);
            }
        }
    }
}
