//! Random sequences of operations on a file (write, grow, redefine, sync, reopen …), compared with a model in memory.

use std::sync::Arc;

use proptest::prelude::*;

use super::MemoryStore;
use super::model::Model;
use super::raw::{memory, read, var, write};
use crate::classic::{CreateOptions, create, open, open_mut};
use crate::container::{ContainerMut, put_attribute};
use crate::model::{Atomic, Attribute, DimId, Dimension, Fill, Format, Schema, Values, VarId};
use crate::select::Hyperslab;
use crate::store::ReadStore;

/// Numbers without bounds are taken modulo the number of existing objects.
#[derive(Clone, Debug)]
enum Step {
    /// Write a selection of a variable with a value.
    Write(usize, Vec<(u64, u64, u64)>, u8),
    Grow(u64),
    AddVar {
        kind: u8,
        record: bool,
        dims: Vec<bool>,
        filled: bool,
    },
    AddDim,
    /// Give an attribute (which list, which of its six names) a number of bytes: new, longer or shorter.
    PutAttribute(usize, usize, usize),
    DeleteAttribute(usize, usize),
    RenameVar(usize),
    RenameDim(usize),
    RenameAttribute(usize, usize),
    Settle(usize),
    Sync,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let pick = prop::collection::vec((any::<u64>(), any::<u64>(), 1..3u64), 3);
    let n = any::<usize>;
    let add = (0..11u8, any::<bool>(), prop::collection::vec(any::<bool>(), 2), prop::bool::weighted(0.8));
    prop_oneof![
        6 => (n(), pick, any::<u8>()).prop_map(|(v, p, b)| Step::Write(v, p, b)),
        3 => (1..4u64).prop_map(Step::Grow),
        2 => add.prop_map(|(kind, record, dims, filled)| Step::AddVar { kind, record, dims, filled }),
        1 => Just(Step::AddDim),
        2 => (n(), 0..6usize, 0..600usize).prop_map(|(v, i, n)| Step::PutAttribute(v, i, n)),
        2 => (n(), n()).prop_map(|(v, i)| Step::DeleteAttribute(v, i)),
        1 => n().prop_map(Step::RenameVar),
        1 => n().prop_map(Step::RenameDim),
        1 => (n(), n()).prop_map(|(v, i)| Step::RenameAttribute(v, i)),
        1 => n().prop_map(Step::Settle),
        1 => Just(Step::Sync),
        1 => Just(Step::Reopen),
    ]
}

/// A file and its expected contents.
struct History {
    store: Arc<MemoryStore>,
    file: Box<dyn ContainerMut>,
    model: Model,
    /// The schema at the last sync and those that it had since.
    since_sync: Vec<Schema>,
    /// Never synced.
    is_new: bool,
}

impl History {
    fn new(format: Format, padding: Option<u64>, first: usize) -> Self {
        let mut schema = Schema::new(format);
        schema.dims =
            vec![Dimension::new("t", 0, true), Dimension::new("y", 3, false), Dimension::new("x", 5, false)];
        if first > 0 {
            schema.groups[0].attrs.push(Attribute::text("a0", &"f".repeat(first)));
        }
        let store = memory();
        let model = Model::new(schema.clone());
        let options = CreateOptions { header_room: padding, fill: true };
        let file = create(store.clone(), schema, &options).unwrap();
        History { store, file, model, since_sync: Vec::new(), is_new: true }
    }

    fn redefine(&mut self) {
        self.file.redefine(self.model.schema.clone()).unwrap();
        self.model.fill();
        self.since_sync.push(self.model.schema.clone());
    }

    /// The attributes of the file (0) or of a variable.
    fn attrs(&mut self, which: usize) -> &mut Vec<Attribute> {
        let schema = &mut self.model.schema;
        match which % (schema.vars.len() + 1) {
            0 => &mut schema.groups[0].attrs,
            v => &mut schema.vars[v - 1].attrs,
        }
    }

    /// One of the attributes that do not change what is filled.
    fn pick(&mut self, which: usize, i: usize) -> Option<(&mut Vec<Attribute>, usize)> {
        let attrs = self.attrs(which);
        let free: Vec<usize> = (0..attrs.len()).filter(|&i| attrs[i].name != "_FillValue").collect();
        (!free.is_empty()).then(|| (attrs, free[i % free.len()]))
    }

    fn write(&mut self, v: usize, picks: &[(u64, u64, u64)], value: u8) {
        let shape = self.model.schema.shape(VarId(v));
        if shape.contains(&0) {
            return;
        }
        let mut slab = Hyperslab::all(&shape);
        for (d, &(a, b, stride)) in picks.iter().enumerate().take(shape.len()) {
            slab.start[d] = a % shape[d];
            slab.stride[d] = stride;
            slab.count[d] = 1 + b % (shape[d] - slab.start[d]).div_ceil(stride);
        }
        let bytes = slab.len() as usize * self.model.element(v);
        write(&mut *self.file, VarId(v), &slab, &vec![value; bytes]);
        self.model.write(v, &slab, value);
    }

    fn add_var(&mut self, kind: u8, record: bool, dims: &[bool], filled: bool) {
        let schema = &mut self.model.schema;
        let types: &[Atomic] = if schema.format == Format::Cdf5 { &Atomic::ALL } else { &Atomic::ALL[..6] };
        let atomic = types[kind as usize % types.len()];
        let ids: Vec<usize> = (0..3).filter(|&d| if d == 0 { record } else { dims[d - 1] }).collect();
        let mut new = var(&format!("v{}", schema.vars.len()), atomic, &ids);
        if !filled {
            new.fill = Fill::None;
        } else if kind.is_multiple_of(3) {
            let values = Values::fixed(&vec![0x5A; atomic.size()]);
            new.attrs.push(Attribute { name: "_FillValue".into(), dtype: atomic.into(), values });
        }
        schema.vars.push(new);
        self.redefine();
    }

    fn sync(&mut self) {
        self.file.sync().unwrap();
        self.model.check(&self.store);
        self.since_sync = vec![self.model.schema.clone()];
        self.is_new = false;
    }

    /// Until the next sync, other programs see the state of the last one (or of a redefinition that had
    /// to move data, which is durable at once).
    fn check_between_syncs(&self) {
        if self.store.blocks().is_some() || self.is_new {
            return;
        }
        let found = open(self.store.clone()).unwrap();
        let same = |s: &Schema| {
            let mut now = found.schema().clone();
            now.dims[0].len = s.dims[0].len;
            let names = |s: &Schema| s.vars.iter().map(|v| v.name.clone()).collect::<Vec<_>>();
            now.dims == s.dims && names(&now) == names(s) && now.groups[0].attrs == s.groups[0].attrs
        };
        assert!(self.since_sync.iter().any(same), "{:?}", found.schema());
    }

    fn take(&mut self, step: &Step) {
        let vars = self.model.schema.vars.len();
        match step {
            Step::Write(v, picks, value) if vars > 0 => self.write(v % vars, picks, *value),
            Step::Grow(n) => {
                self.model.schema.dims[0].len += n;
                self.file.grow(DimId(0), self.model.schema.dims[0].len).unwrap();
                self.model.fill();
            }
            Step::AddVar { kind, record, dims, filled } => self.add_var(*kind, *record, dims, *filled),
            Step::AddDim => {
                let n = self.model.schema.dims.len();
                self.model.schema.dims.push(Dimension::new(format!("d{n}"), n as u64, false));
                self.redefine();
            }
            Step::PutAttribute(which, i, n) => {
                put_attribute(self.attrs(*which), Attribute::text(format!("a{i}"), &"x".repeat(*n)));
                self.redefine();
            }
            Step::DeleteAttribute(which, i) => {
                if let Some((attrs, i)) = self.pick(*which, *i) {
                    attrs.remove(i);
                    self.redefine();
                }
            }
            Step::RenameVar(v) if vars > 0 => {
                let name = &mut self.model.schema.vars[v % vars].name;
                *name = other_name(name);
                self.redefine();
            }
            Step::RenameDim(d) => {
                let dims = self.model.schema.dims.len();
                let name = &mut self.model.schema.dims[d % dims].name;
                *name = other_name(name);
                self.redefine();
            }
            Step::RenameAttribute(which, i) => {
                if let Some((attrs, i)) = self.pick(*which, *i) {
                    let name = other_name(&attrs[i].name);
                    if attrs.iter().all(|a| a.name != name) {
                        attrs[i].name = name;
                        self.redefine();
                    }
                }
            }
            Step::Settle(v) if vars > 0 => {
                self.file.settle(VarId(v % vars)).unwrap();
                self.model.check_values(self.file.as_container(), v % vars);
            }
            Step::Sync => self.sync(),
            Step::Reopen => {
                self.sync();
                self.model.reopened();
                self.file = open_mut(self.store.clone()).unwrap();
            }
            _ => {}
        }
        assert_eq!(self.file.schema(), &self.model.schema);
        self.check_between_syncs();
    }
}

/// Longer each time, and then the original again.
fn other_name(name: &str) -> String {
    let first = name.split('_').next().unwrap();
    if name.len() > first.len() + 30 { first.to_owned() } else { format!("{name}_yyyyyyyy") }
}

fn run(format: Format, padding: Option<u64>, first: usize, steps: &[Step]) {
    let mut history = History::new(format, padding, first);
    steps.iter().for_each(|step| history.take(step));
    history.sync();
    let synced = history.store.to_vec();
    history.file.sync().unwrap();
    assert_eq!(history.store.to_vec(), synced, "a second sync changes nothing");
    assert!(history.store.len() >= history.file.metadata_bytes().unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn files_hold_what_the_model_holds(
        format in prop::sample::select(&[Format::Cdf1, Format::Cdf2, Format::Cdf5]),
        padding in prop::sample::select(&[None, Some(0), Some(100), Some(5000)]),
        first in prop::sample::select(&[0, 0, 300, 5000]),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        run(format, padding, first, &steps);
    }
}

/// Data written where the old, longer header is would become zeros at the sync.
#[test]
fn a_shorter_header_leaves_its_place_to_data_only_after_the_sync() {
    for format in [Format::Cdf1, Format::Cdf2, Format::Cdf5] {
        for record in [false, true] {
            for (synced, deleted, filled) in
                [(true, true, false), (true, false, true), (false, true, true), (false, false, false)]
            {
                let mut history = History::new(format, Some(0), 300);
                if synced {
                    history.take(&Step::Reopen);
                }
                let shorter = if deleted { Step::DeleteAttribute(0, 0) } else { Step::PutAttribute(0, 0, 5) };
                history.take(&shorter);
                history.take(&Step::AddVar { kind: 2, record, dims: vec![true, true], filled: true });
                history.take(&Step::Grow(4));
                if !filled {
                    history.write(0, &[(0, u64::MAX, 1); 3], 7);
                }
                history.check_between_syncs();
                history.sync();
                // Now the space of the old header can be used.
                history.take(&Step::PutAttribute(0, 1, 100));
                history.take(&Step::AddVar { kind: 1, record: false, dims: vec![true, false], filled: true });
                history.take(&Step::Reopen);
                assert!(!read(&*open(history.store.clone()).unwrap(), VarId(0)).contains(&0) || filled);
            }
        }
    }
}
