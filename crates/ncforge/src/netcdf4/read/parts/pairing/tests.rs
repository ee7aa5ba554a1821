//! Pairs of elements, against lists of them.

use proptest::prelude::*;

use super::*;
use crate::error::Result;
use crate::layout::{OpenPart, SourceName};

#[derive(Debug)]
struct Nothing;

impl PartSource for Nothing {
    fn open(&self) -> Result<Option<Arc<dyn OpenPart>>> {
        Ok(None)
    }

    fn name(&self) -> Option<SourceName> {
        None
    }
}

/// All elements of a selection, in their order.
fn elements(cells: &Cells) -> Vec<Vec<u64>> {
    match cells {
        Cells::Product(dims) => {
            let ranges: Vec<_> = dims.iter().map(|d| 0..d.len()).collect();
            coordinates(&ranges).map(|at| at.iter().zip(dims).map(|(&i, d)| d.at(i)).collect()).collect()
        }
        Cells::Runs(runs) => {
            let each = |run: &Run| {
                let at = run.at.clone();
                (0..run.len).map(move |i| {
                    let mut at = at.clone();
                    if let Some(last) = at.last_mut() {
                        *last += i;
                    }
                    at
                })
            };
            runs.iter().flat_map(each).collect()
        }
    }
}

/// All pairs of parts, sorted.
fn pairs(parts: &[ArrayPart]) -> Vec<(Vec<u64>, Vec<u64>)> {
    let mut out = Vec::new();
    for part in parts {
        let places: Vec<Vec<(u64, u64)>> = (part.axes.iter())
            .map(|a| {
                let of = |s: &Stretch| -> Vec<_> {
                    (0..s.count).map(|i| (s.to + i * s.to_step, s.from + i * s.from_step)).collect()
                };
                a.stretches.iter().flat_map(of).collect()
            })
            .collect();
        let ranges: Vec<_> = places.iter().map(|p| 0..p.len() as u64).collect();
        for at in coordinates(&ranges) {
            let (mut to, mut from) = (Vec::new(), part.origin.clone());
            for (d, &i) in at.iter().enumerate() {
                let (here, there) = places[d][i as usize];
                to.push(here);
                if let Some(e) = part.axes[d].along {
                    from[e] = there;
                }
            }
            out.push((to, from));
        }
    }
    out.sort();
    out
}

fn check(to: Cells, from: Cells) {
    let mut want: Vec<_> = elements(&to).into_iter().zip(elements(&from)).collect();
    want.sort();
    let source: Arc<dyn PartSource> = Arc::new(Nothing);
    assert_eq!(pairs(&pair(to, from, &source).unwrap()), want);
}

/// Blocks with `n` elements, of which the last block may lack some.
fn lattice(n: u64) -> impl Strategy<Value = Lattice> {
    (0u64..5, 1u64..6, 0u64..4).prop_map(move |(start, block, gap)| match gap {
        0 => Lattice::run(start, n),
        _ => Lattice { start, stride: block + gap, block, n },
    })
}

fn products() -> impl Strategy<Value = (Cells, Cells)> {
    prop::collection::vec(0u64..14, 0..4).prop_flat_map(|lens| {
        let side = |lens: &[u64]| lens.iter().map(|&n| lattice(n)).collect::<Vec<_>>();
        (side(&lens), side(&lens)).prop_map(|(a, b)| (Cells::Product(a), Cells::Product(b)))
    })
}

/// Two ways to write a number as a product.
fn reshaped() -> impl Strategy<Value = (Cells, Cells)> {
    let shapes =
        vec![vec![24], vec![2, 12], vec![4, 6], vec![2, 3, 4], vec![1, 24], vec![24, 1], vec![6, 2, 1, 2]];
    let shape = prop::sample::select(shapes);
    (shape.clone(), shape).prop_flat_map(|(a, b)| {
        let side = |lens: &[u64]| lens.iter().map(|&n| lattice(n)).collect::<Vec<_>>();
        (side(&a), side(&b)).prop_map(|(a, b)| (Cells::Product(a), Cells::Product(b)))
    })
}

proptest! {
    #[test]
    fn products_of_the_same_lengths((to, from) in products()) {
        check(to, from);
    }

    #[test]
    fn products_of_other_lengths((to, from) in reshaped()) {
        check(to, from);
    }
}

#[test]
fn boxes_and_points_go_in_their_order() {
    let boxes = Selection::Boxes { rank: 2, corners: vec![0, 4, 1, 5, 0, 0, 1, 1] };
    let to = Cells::of(&boxes, &[2, 6]).unwrap();
    // Row by row, through both boxes.
    assert_eq!(elements(&to)[..4], [[0, 0], [0, 1], [0, 4], [0, 5]]);
    check(to, Cells::of(&Selection::All, &[8]).unwrap());
    let points = Selection::Points { rank: 1, at: vec![7, 2, 2, 0] };
    check(Cells::of(&Selection::All, &[2, 2]).unwrap(), Cells::of(&points, &[8]).unwrap());
}

#[test]
fn rows_at_equal_distances_are_joined() {
    let source: Arc<dyn PartSource> = Arc::new(Nothing);
    let to = Cells::of(&Selection::All, &[500, 6]).unwrap();
    let from = Cells::of(
        &Selection::Boxes { rank: 3, corners: vec![0, 0, 0, 499, 0, 2, 0, 2, 0, 499, 2, 2] },
        &[0; 3],
    );
    assert_eq!(pair(to, from.unwrap(), &source).unwrap().len(), 1000);
    let to = Cells::of(&Selection::All, &[1000, 6]).unwrap();
    let rows = Cells::Runs((0..1000).map(|i| Run { at: vec![3 * i, 1], len: 6 }).collect());
    assert_eq!(pair(to, rows, &source).unwrap().len(), 1);
}

#[test]
fn what_is_no_mapping_is_refused() {
    let source: Arc<dyn PartSource> = Arc::new(Nothing);
    let all = |shape: &[u64]| Cells::of(&Selection::All, shape).unwrap();
    assert!(matches!(pair(all(&[3]), all(&[4]), &source), Err(Trouble::Damaged(_))));
    assert!(matches!(pair(all(&[1 << 40, 3]), all(&[3, 1 << 40]), &source), Err(Trouble::Unsupported(_))));
    assert_eq!(pair(all(&[1 << 40, 3]), all(&[1 << 40, 3]), &source).unwrap().len(), 1);
    assert!(Cells::of(&Selection::Points { rank: 2, at: vec![1, 1] }, &[3]).is_err());
}
