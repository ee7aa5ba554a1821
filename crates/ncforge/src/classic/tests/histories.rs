//! Random lives of a file (write here, grow, redefine, sync, reopen …) against a model in memory.

use std::sync::Arc;

use proptest::prelude::*;

use super::MemoryStore;
use super::raw::{dim, memory, read, var, write};
use crate::classic::reader::stored_fill;
use crate::classic::{CreateOptions, create, open, open_mut};
use crate::container::Container;
use crate::model::{Atomic, Attribute, DimId, Format, Schema, Values, VarId};
use crate::select::{Hyperslab, coordinates};
use crate::store::Store;

#[derive(Clone, Debug)]
enum Step {
    /// Write a selection (each number picks among what is there) of a variable with a value.
    Write(usize, Vec<(u64, u64, u64)>, u8),
    Grow(u64),
    AddVar(u8, bool, Vec<bool>),
    AddAttribute(usize, usize),
    Rename(usize),
    Settle(usize),
    Sync,
    Reopen,
}

fn step() -> impl Strategy<Value = Step> {
    let pick = prop::collection::vec((any::<u64>(), any::<u64>(), 1..3u64), 3);
    prop_oneof![
        6 => (any::<usize>(), pick, any::<u8>()).prop_map(|(v, p, b)| Step::Write(v, p, b)),
        3 => (1..4u64).prop_map(Step::Grow),
        1 => (0..11u8, any::<bool>(), prop::collection::vec(any::<bool>(), 2)).prop_map(|(t, r, d)| Step::AddVar(t, r, d)),
        1 => (any::<usize>(), 0..300usize).prop_map(|(v, n)| Step::AddAttribute(v, n)),
        1 => any::<usize>().prop_map(Step::Rename),
        1 => any::<usize>().prop_map(Step::Settle),
        1 => Just(Step::Sync),
        1 => Just(Step::Reopen),
    ]
}

/// What the file should hold: every variable's elements in stored form.
struct Model {
    schema: Schema,
    data: Vec<Vec<u8>>,
}

impl Model {
    fn bytes(&self, v: usize) -> usize {
        let shape = self.schema.shape(VarId(v));
        shape.iter().product::<u64>() as usize * self.schema.fixed_size(self.schema.vars[v].dtype).unwrap()
    }

    /// Extends variables with fill to the size that the schema gives them.
    fn fill(&mut self) {
        self.data.resize(self.schema.vars.len(), Vec::new());
        for v in 0..self.data.len() {
            let fill = stored_fill(&self.schema.vars[v]);
            while self.data[v].len() < self.bytes(v) {
                self.data[v].extend_from_slice(&fill);
            }
        }
    }

    fn check(&self, store: &Arc<MemoryStore>) {
        let file = open(store.clone()).unwrap();
        assert_eq!(file.schema(), &self.schema);
        assert!(!file.notes().iter().any(|n| n.contains("shorter")), "{:?}", file.notes());
        for (v, data) in self.data.iter().enumerate() {
            assert_eq!(&read(&*file, VarId(v)), data, "variable {v}");
        }
        self.check_padding(&*file);
    }

    /// Padding behind data holds the variable's fill.
    fn check_padding(&self, file: &dyn Container) {
        use crate::layout::Place;
        let records = self.schema.dims[0].len;
        let record_vars = self.schema.vars.iter().filter(|v| v.dims.first() == Some(&DimId(0))).count();
        for v in self.schema.var_ids() {
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
                assert!(got.chunks(layout.fill.len()).all(|c| c == layout.fill), "{} {got:?}", layout.name);
            }
        }
    }
}

fn run(format: Format, room: Option<u64>, steps: &[Step]) {
    let types: &[Atomic] = if format == Format::Cdf5 { &Atomic::ALL } else { &Atomic::ALL[..6] };
    let mut schema = Schema::new(format);
    schema.dims = vec![dim("t", 0, true), dim("y", 3, false), dim("x", 5, false)];
    let store = memory();
    let mut model = Model { schema: schema.clone(), data: vec![] };
    let mut file = create(store.clone(), schema, &CreateOptions { header_room: room, fill: true }).unwrap();
    for step in steps {
        let vars = model.schema.vars.len();
        match step {
            Step::Write(v, picks, value) if vars > 0 => {
                let v = v % vars;
                let shape = model.schema.shape(VarId(v));
                if shape.contains(&0) {
                    continue;
                }
                let mut slab = Hyperslab::all(&shape);
                for (d, &(a, b, stride)) in picks.iter().enumerate().take(shape.len()) {
                    slab.start[d] = a % shape[d];
                    slab.stride[d] = stride;
                    slab.count[d] = 1 + b % (shape[d] - slab.start[d]).div_ceil(stride);
                }
                let size = model.schema.fixed_size(model.schema.vars[v].dtype).unwrap();
                write(&mut *file, VarId(v), &slab, &vec![*value; slab.len() as usize * size]);
                let outer: Vec<_> = slab.count.iter().map(|&c| 0..c).collect();
                for at in coordinates(&outer) {
                    let i = at
                        .iter()
                        .enumerate()
                        .fold(0, |n, (d, &i)| n * shape[d] + slab.start[d] + i * slab.stride[d]);
                    model.data[v][i as usize * size..][..size].fill(*value);
                }
            }
            Step::Grow(n) => {
                model.schema.dims[0].len += n;
                file.grow(DimId(0), model.schema.dims[0].len).unwrap();
                model.fill();
            }
            Step::AddVar(t, record, dims) => {
                let atomic = types[*t as usize % types.len()];
                let ids: Vec<usize> =
                    (0..3).filter(|&d| if d == 0 { *record } else { dims[d - 1] }).collect();
                let mut new = var(&format!("v{vars}"), atomic, &ids);
                if t % 3 == 0 {
                    let values = Values::fixed(&vec![0x5A; atomic.size()]);
                    new.attrs.push(Attribute { name: "_FillValue".into(), dtype: atomic.into(), values });
                }
                model.schema.vars.push(new);
                file.redefine(model.schema.clone()).unwrap();
                model.fill();
            }
            Step::AddAttribute(at, n) => {
                let attr = Attribute::text(format!("a{n}"), &"x".repeat(*n));
                let attrs = match at % (vars + 1) {
                    0 => &mut model.schema.groups[0].attrs,
                    v => &mut model.schema.vars[v - 1].attrs,
                };
                crate::container::put_attribute(attrs, attr);
                file.redefine(model.schema.clone()).unwrap();
            }
            Step::Rename(v) if vars > 0 => {
                let v = &mut model.schema.vars[v % vars];
                v.name = if v.name.len() > 12 {
                    format!("n{}", v.name.len()) + &v.name[v.name.len() - 1..]
                } else {
                    v.name.clone() + "_y"
                };
                if model.schema.vars.iter().map(|v| &v.name).collect::<std::collections::HashSet<_>>().len()
                    < vars
                {
                    model.schema = file.schema().clone();
                    continue;
                }
                file.redefine(model.schema.clone()).unwrap();
            }
            Step::Settle(v) if vars > 0 => {
                let v = VarId(v % vars);
                file.settle(v).unwrap();
                assert_eq!(read(file.as_container(), v), model.data[v.0]);
            }
            Step::Sync => {
                file.sync().unwrap();
                model.check(&store);
            }
            Step::Reopen => {
                file.sync().unwrap();
                model.check(&store);
                drop(file);
                file = open_mut(store.clone()).unwrap();
            }
            _ => {}
        }
        assert_eq!(file.schema(), &model.schema);
    }
    file.sync().unwrap();
    model.check(&store);
    let synced = store.to_vec();
    file.sync().unwrap();
    assert_eq!(store.to_vec(), synced, "a second sync changes nothing");
    assert!(store.len() >= file.metadata_bytes().unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn files_hold_what_the_model_holds(
        format in prop::sample::select(&[Format::Cdf1, Format::Cdf2, Format::Cdf5]),
        room in prop::sample::select(&[None, Some(0), Some(100), Some(5000)]),
        steps in prop::collection::vec(step(), 1..40),
    ) {
        run(format, room, &steps);
    }
}
