//! Arrays of parts, against a plain array.

use super::*;
use smallvec::smallvec;

use crate::layout::{
    ArrayPart, Convert, OpenPart, PartAxis, PartSource, Parts, SourceName, Stretch, VarLayout,
};
use crate::model::{Value, VarId};
use crate::select::{Pick, Picks, coordinates};

/// A container as the source of parts; `None`: it is not there.
#[derive(Debug)]
struct Given(Option<Arc<TestContainer>>);

impl PartSource for Given {
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>> {
        Ok(self.0.clone().map(|c| c as Arc<dyn OpenPart>))
    }

    fn name(&self) -> Option<SourceName> {
        None
    }
}

impl OpenPart for TestContainer {
    fn store(&self) -> &Arc<dyn ReadStore> {
        &self.store
    }

    fn var(&self) -> VarId {
        VAR
    }

    fn layout(&self) -> Result<Arc<VarLayout>> {
        Ok(self.layout.clone())
    }

    fn decode_heap(&self, _: &[u8]) -> Result<Vec<Value>> {
        Ok(Vec::new())
    }
}

/// A part of an array in the making: seeds for each dimension, whether it is there, and how it is stored.
type Seeds = (Vec<(u64, u64, u64, u64)>, u8, usize, Case);

/// Adds a part, to the array and to what it should be.
fn add(model: &mut Model, parts: &mut Parts, (seeds, there, turn, case): Seeds) {
    let rank = model.shape.len();
    // The source has the dimensions in another order, and one more.
    let along = |d: usize| if d >= turn % (rank + 1) { d + 1 } else { d };
    let mut lens = vec![2; rank + 1];
    let mut axes = Vec::new();
    for (d, &(a, b, c, e)) in seeds.iter().enumerate().take(rank) {
        let n = model.shape[d];
        let (to, to_step, from, from_step) = (a % n, c % 3 + 1, b % 3, e % 3 + 1);
        let count = 1 + b % ((n - 1 - to) / to_step + 1);
        let whole = Stretch { to, to_step, from, from_step, count };
        // In two pieces, where it can be.
        let cut = e % count;
        let rest =
            Stretch { to: to + cut * to_step, from: from + cut * from_step, count: count - cut, ..whole };
        let stretches =
            if cut == 0 { smallvec![rest] } else { smallvec![Stretch { count: cut, ..whole }, rest] };
        lens[along(d)] = from + (count - 1) * from_step + 1 + c % 2;
        axes.push(PartAxis { along: Some(along(d)), stretches });
    }
    let mut values = Model::counting(&lens, &case.fill);
    let mut source =
        TestContainer::new(&lens, case.element, &case.fill, &fitting(case.kind, rank + 1), false);
    source.fill_from(&mut values, |at| at.iter().sum::<u64>() % 3 == 1);
    let source = (there > 0).then(|| Arc::new(source));
    let mut origin = vec![0; rank + 1];
    origin[turn % (rank + 1)] = 1;
    if source.is_some() {
        let places: Vec<Vec<(u64, u64)>> = axes.iter().map(places).collect();
        let ranges: Vec<_> = places.iter().map(|p| 0..p.len() as u64).collect();
        for at in coordinates(&ranges) {
            let mut from = origin.clone();
            let mut to = Vec::new();
            for (d, &i) in at.iter().enumerate() {
                to.push(places[d][i as usize].0);
                from[along(d)] = places[d][i as usize].1;
            }
            model.write(&Hyperslab::new(&to, &vec![1; rank]), values.get(&from));
        }
    }
    parts.list.push(ArrayPart { axes, origin, source: Arc::new(Given(source)) });
}

fn places(axis: &PartAxis) -> Vec<(u64, u64)> {
    let of = |s: &Stretch| -> Vec<(u64, u64)> {
        (0..s.count).map(|i| (s.to + i * s.to_step, s.from + i * s.from_step)).collect()
    };
    axis.stretches.iter().flat_map(of).collect()
}

/// Storage for another rank.
fn fitting(kind: Kind, rank: usize) -> Kind {
    match kind {
        Kind::Chunked(mut chunk, codecs) => {
            chunk.resize(rank, 2);
            Kind::Chunked(chunk, codecs)
        }
        other => other,
    }
}

fn case_of(size: usize) -> impl Strategy<Value = Case> {
    let order = prop::sample::select(vec![Order::Keep, Order::Swap(4)]);
    (kind(2, size), order).prop_map(move |(kind, order)| Case {
        shape: Vec::new(),
        element: Element { size, order, heap: false },
        fill: vec![77; size],
        kind,
    })
}

fn part() -> impl Strategy<Value = Seeds> {
    let n = 0u64..1000;
    (prop::collection::vec((n.clone(), n.clone(), n.clone(), n), 3), 0u8..5, 0usize..4, case_of(4))
}

fn array(shape: &[u64], parts: Parts) -> TestContainer {
    let element = Element { size: 4, order: Order::Swap(4), heap: false };
    let mut array = TestContainer::new(shape, element, &[9, 8, 7, 6], &Kind::Inline, false);
    Arc::get_mut(&mut array.layout).unwrap().place = Place::Parts(Arc::new(parts));
    array
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn parts_read_as_the_array(
        shape in prop::collection::vec(1u64..12, 0..4), list in prop::collection::vec(part(), 0..6),
        picks in prop::collection::vec(seeds(), 1..8), memory in prop::sample::select(vec![0u64, 300, 1 << 20]),
    ) {
        let mut model = Model::new(&shape, &[9, 8, 7, 6]);
        let mut parts = Parts::default();
        list.into_iter().for_each(|seeds| add(&mut model, &mut parts, seeds));
        let inner = Arc::new(array(&shape, parts));
        // As it is, and as the only part of another array.
        let axes = shape.iter().enumerate().map(|(d, &n)| PartAxis::run(d, 0, 0, n));
        let whole = ArrayPart { axes: axes.collect(), origin: vec![0; shape.len()], source: Arc::new(Given(Some(inner.clone()))) };
        let outer = array(&shape, Parts { list: vec![whole], ..Parts::default() });
        for threads in [1, 3] {
            let engine = engine(threads, memory);
            for seeds in &picks {
                let slab = slab(&shape, seeds);
                for container in [&*inner, &outer] {
                    let got = engine.read(container, VAR, &slab).unwrap();
                    prop_assert_eq!(got.bytes().unwrap(), &model.read(&slab)[..], "{:?}", slab);
                }
            }
            if !shape.is_empty() {
                let at = |n: u64| (0..n).rev().step_by(2).collect::<Vec<_>>();
                let all = Picks::new(shape.iter().enumerate().map(|(d, &n)| Pick { dims: vec![d], at: at(n) }).collect());
                let got = engine.read_picks(&outer, VAR, &all).unwrap();
                let ranges: Vec<_> = all.axes().iter().map(|p| 0..p.at.len() as u64).collect();
                let want: Vec<u8> = coordinates(&ranges)
                    .flat_map(|k| {
                        let at: Vec<u64> = k.iter().zip(all.axes()).map(|(&i, p)| p.at[i as usize]).collect();
                        model.get(&at).to_vec()
                    })
                    .collect();
                prop_assert_eq!(got.bytes().unwrap(), &want[..]);
            }
        }
    }
}

/// A source that is the array of which it is a part.
#[derive(Debug)]
struct Itself(std::sync::OnceLock<std::sync::Weak<TestContainer>>);

impl PartSource for Itself {
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>> {
        Ok(self.0.get().and_then(std::sync::Weak::upgrade).map(|c| c as Arc<dyn OpenPart>))
    }

    fn name(&self) -> Option<SourceName> {
        None
    }
}

#[test]
fn a_circle_is_an_error() {
    let source = Arc::new(Itself(std::sync::OnceLock::new()));
    let axes = vec![PartAxis::run(0, 0, 0, 5)];
    let list = vec![ArrayPart { axes, origin: vec![0], source: source.clone() }];
    let container = Arc::new(array(&[5], Parts { list, ..Parts::default() }));
    source.0.set(Arc::downgrade(&container)).unwrap();
    let e = engine(1, 0).read(&*container, VAR, &Hyperslab::all(&[5])).unwrap_err();
    assert!(e.to_string().contains("circle"), "{e}");
}

#[test]
fn parts_that_do_not_fit_are_errors() {
    let source = |size: usize| {
        let element = Element { size, order: Order::Keep, heap: false };
        Arc::new(Given(Some(Arc::new(TestContainer::new(
            &[3],
            element,
            &vec![0; size],
            &Kind::Contiguous,
            false,
        )))))
    };
    for (size, count, origin) in [(4, 4, vec![0]), (8, 3, vec![0]), (4, 3, vec![0, 0])] {
        let axes = vec![PartAxis::run(0, 0, 0, count)];
        let list = vec![ArrayPart { axes, origin, source: source(size) }];
        let container = array(&[5], Parts { list, ..Parts::default() });
        let slab = Hyperslab::all(&[5]);
        assert!(engine(1, 0).read(&container, VAR, &slab).is_err(), "{size} {count}");
        // What does not touch it can be read.
        assert!(engine(1, 0).read(&container, VAR, &Hyperslab::new(&[4], &[1])).is_ok());
    }
}

/// A source of two-byte numbers, which have four bytes in the array, and without the second dimension.
#[derive(Debug)]
struct Widened(Arc<TestContainer>);

impl PartSource for Widened {
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>> {
        Ok(Some(Arc::new(Widened(self.0.clone()))))
    }

    fn name(&self) -> Option<SourceName> {
        None
    }
}

impl OpenPart for Widened {
    fn store(&self) -> &Arc<dyn ReadStore> {
        &self.0.store
    }

    fn var(&self) -> VarId {
        VAR
    }

    fn layout(&self) -> Result<Arc<VarLayout>> {
        Ok(self.0.layout.clone())
    }

    fn lacks(&self) -> &[usize] {
        &[1]
    }

    fn convert(&self) -> Option<&dyn Convert> {
        Some(self)
    }

    fn decode_heap(&self, _: &[u8]) -> Result<Vec<Value>> {
        Ok(Vec::new())
    }
}

impl Convert for Widened {
    fn convert(&self, from: &[u8], to: &mut [u8]) -> Result<()> {
        for (from, to) in from.chunks_exact(2).zip(to.chunks_exact_mut(4)) {
            to.copy_from_slice(&[from[0], from[1], 1, 2]);
        }
        Ok(())
    }
}

#[test]
fn parts_are_converted_and_may_lack_dimensions() {
    let element = Element { size: 2, order: Order::Keep, heap: false };
    let mut values = Model::counting(&[3, 5], &[7, 7]);
    let mut source = TestContainer::new(&[3, 5], element, &[7, 7], &Kind::Contiguous, false);
    source.fill_from(&mut values, |_| false);
    let axis = |d, n| PartAxis::run(d, u64::from(d == 0), 0, n);
    let axes = vec![axis(0, 3), axis(1, 1), axis(2, 5)];
    let list = vec![ArrayPart { axes, origin: vec![0; 3], source: Arc::new(Widened(Arc::new(source))) }];
    let container = array(&[4, 1, 5], Parts { list, ..Parts::default() });
    let slab = Hyperslab { start: vec![1, 0, 1], count: vec![2, 1, 2], stride: vec![2, 1, 1] };
    let got = engine(2, 0).read(&container, VAR, &slab).unwrap();
    let want: Vec<u8> = [[0, 1], [0, 2], [2, 1], [2, 2]]
        .iter()
        .flat_map(|at| [values.get(at), &[1, 2][..]].concat())
        .collect();
    assert_eq!(got.bytes(), Some(&want[..]));
}
