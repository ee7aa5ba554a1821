//! Positions picked one by one, against a plain array.

use super::*;
use crate::select::{Pick, Picks};

/// Picks of an array, made of numbers that may be anything: dimensions in a rotated order, some of them together.
pub(super) fn picks(shape: &[u64], joins: &[bool], turn: usize, seeds: &[Vec<u64>]) -> Picks {
    let rank = shape.len();
    let mut axes: Vec<Pick> = Vec::new();
    for (k, &joined) in joins.iter().enumerate().take(rank) {
        let d = (k + turn) % rank;
        match axes.last_mut() {
            Some(last) if joined => last.dims.push(d),
            _ => axes.push(Pick { dims: vec![d], at: Vec::new() }),
        }
    }
    for (axis, seeds) in axes.iter_mut().zip(seeds) {
        for (i, seed) in seeds.iter().enumerate() {
            axis.at.extend(axis.dims.iter().map(|&d| (seed + (i * d) as u64) % shape[d]));
        }
    }
    Picks::new(axes)
}

pub(super) fn expected(model: &Model, picks: &Picks) -> Vec<u8> {
    let mut out = Vec::new();
    let all: Vec<_> = picks.shape().iter().map(|&n| 0..n).collect();
    for index in crate::select::coordinates(&all) {
        let mut at = vec![0; model.shape.len()];
        for (axis, i) in picks.axes().iter().zip(index) {
            for (k, &d) in axis.dims.iter().enumerate() {
                at[d] = axis.at[i as usize * axis.dims.len() + k];
            }
        }
        out.extend_from_slice(model.get(&at));
    }
    out
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn picks_equal_the_array(
        case in case(), joins in prop::collection::vec(any::<bool>(), 4), turn in 0usize..4, skip in 0u64..5,
        seeds in prop::collection::vec(prop::collection::vec(0u64..1000, 0..20), 4),
        memory in prop::sample::select(vec![0u64, 300, 1 << 20]), distant: bool,
    ) {
        let mut model = Model::counting(&case.shape, &case.fill);
        let mut container = case.container(true);
        container.fill_from(&mut model, |at| skip > 0 && at.iter().sum::<u64>() % (skip + 1) == 0);
        if distant {
            container.store = Arc::new(Profiled::new(bytes_of(&*container.store), DISTANT));
        }
        let picks = picks(&case.shape, &joins, turn, &seeds);
        for threads in [1, 3] {
            let got = engine(threads, memory).read_picks(&container, VAR, &picks).unwrap();
            prop_assert_eq!(got.bytes().unwrap(), &expected(&model, &picks)[..], "{:?}", picks);
        }
    }
}

#[test]
fn each_touched_chunk_is_decoded_once() {
    let (container, model) = deflated(&[20, 12, 12], &[5, 4, 4]);
    let engine = engine(2, 0);
    // Eight points in three columns of chunks, out of order, all times backwards.
    let points = [0, 0, 11, 11, 1, 3, 10, 8, 0, 0, 5, 5, 3, 3, 11, 10];
    let picks = Picks::new(vec![
        Pick { dims: vec![0], at: (0..20).rev().collect() },
        Pick { dims: vec![1, 2], at: points.to_vec() },
    ]);
    let got = engine.read_picks(&container, VAR, &picks).unwrap();
    assert_eq!(got.bytes().unwrap(), expected(&model, &picks));
    assert_eq!(engine.stats().misses, 4 * 3);
}

#[test]
fn what_lies_outside_is_an_error() {
    let (container, _) = deflated(&[4, 4], &[2, 2]);
    let outside = Picks::new(vec![Pick { dims: vec![1, 0], at: vec![0, 4] }]);
    assert!(matches!(engine(1, 0).read_picks(&container, VAR, &outside), Err(Error::Index { .. })));
    let fits = Picks::new(vec![Pick { dims: vec![1, 0], at: vec![0, 3] }]);
    assert!(engine(1, 0).read_picks_bytes(&container, VAR, &fits, &mut [0; 3]).is_err());
}

#[test]
fn a_chunk_that_no_machine_could_hold_is_refused() {
    let (mut container, _) = deflated(&[4], &[2]);
    let huge = 1 << 60;
    container.schema.dims[0].len = huge;
    let layout = Arc::get_mut(&mut container.layout).unwrap();
    layout.shape = vec![huge];
    let Place::Chunked { chunk, .. } = &mut layout.place else { panic!("chunks") };
    *chunk = vec![huge];
    let ends = Picks::new(vec![Pick { dims: vec![0], at: vec![0, huge - 1] }]);
    assert!(matches!(engine(1, 0).read_picks(&container, VAR, &ends), Err(Error::Budget { .. })));
}

#[test]
fn dimensions_that_the_file_tells_in_two_ways_are_damage() {
    let (mut container, _) = deflated(&[4, 4], &[2, 2]);
    Arc::get_mut(&mut container.layout).unwrap().shape = vec![4];
    let picks = Picks::new(vec![Pick { dims: vec![0, 1], at: vec![0, 3] }]);
    let engine = engine(1, 0);
    assert!(matches!(engine.read_picks(&container, VAR, &picks), Err(Error::Corrupt { .. })));
    let slab = Hyperslab::all(&[4, 4]);
    assert!(matches!(engine.read(&container, VAR, &slab), Err(Error::Corrupt { .. })));
}
