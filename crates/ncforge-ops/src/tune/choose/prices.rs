//! Prices of shapes, each read of each shape worked out once, whatever mixes of reads are asked about; and the search among
//! few shapes, where the answer may not cost much.

use std::collections::HashMap;

use ncforge::model::shape;

use super::super::pattern::Pattern;
use super::super::search::{descend, every};
use super::problem::{Priced, Problem};

/// Where there are so few shapes, all of them are sampled.
const FEW: u64 = 4096;

/// Prices of shapes for some reads.
pub(super) struct Prices<'p, 'a> {
    pub(super) problem: &'p Problem<'a>,
    pub(super) patterns: &'p [Pattern],
    known: HashMap<Vec<u64>, Priced>,
}

impl<'p, 'a> Prices<'p, 'a> {
    pub(super) fn new(problem: &'p Problem<'a>, patterns: &'p [Pattern]) -> Self {
        Prices { problem, patterns, known: HashMap::new() }
    }

    /// The price of a shape for a mix; infinite for shapes that are not allowed.
    pub(super) fn at(&mut self, chunks: &[u64], mix: &[f64]) -> f64 {
        if !self.problem.allowed(chunks) {
            return f64::INFINITY;
        }
        if let Some(known) = self.known.get(chunks) {
            return known.of(mix);
        }
        let priced = self.problem.priced(chunks, self.patterns);
        let price = priced.of(mix);
        self.known.insert(chunks.to_vec(), priced);
        price
    }

    /// The best lengths for a mix of reads, and their price.
    ///
    /// All lengths that were sampled are added to `seen`.
    pub(super) fn best(
        &mut self,
        mix: &[f64],
        starts: &[&[u64]],
        mut seen: Option<&mut Vec<(Vec<u64>, f64)>>,
    ) -> (Vec<u64>, f64) {
        let (problem, patterns) = (self.problem, self.patterns);
        let total = mix.iter().sum::<f64>().max(1e-300);
        let mut price = |chunks: &[u64]| {
            let price = self.at(chunks, mix) / total;
            if let Some(seen) = seen.as_deref_mut().filter(|_| price.is_finite()) {
                seen.push((chunks.to_vec(), price));
            }
            price
        };
        if shape::product(problem.lists.iter().map(|l| l.len() as u64)) <= FEW {
            return every(&problem.lists, &mut price);
        }
        let mut best: Option<(Vec<usize>, f64)> = None;
        let smooth = problem.continuous(patterns, mix);
        let mut begin: Vec<Vec<usize>> = vec![problem.places(smooth.iter().copied())];
        begin.extend(starts.iter().map(|c| problem.places(c.iter().map(|&c| c as f64))));
        begin.push(problem.places(problem.lens.iter().map(|&l| l as f64)));
        for start in begin {
            let start = problem.legal(start);
            let (at, p) = descend(&problem.lists, &start, &mut price);
            if best.as_ref().is_none_or(|(_, b)| p < *b) {
                best = Some((at, p));
            }
        }
        let (at, p) = best.expect("there is a start");
        (at.iter().zip(&problem.lists).map(|(&i, l)| l[i]).collect(), p)
    }
}

/// Neighbouring lengths differ by these factors at least, in lattices that are coarser and coarser.
const STEPS: [f64; 8] = [16.0, 8.0, 4.0, 3.0, 2.0, 1.5, 1.2, 1.0];
/// So many shapes of a lattice are counted for each that may be priced.
const COUNTED: u64 = 64;

impl Problem<'_> {
    /// Shapes all over the array, `most` at most (or those of the coarsest lattice), with their prices; none where even those are too many.
    pub(super) fn lattice(&self, patterns: &[Pattern], most: usize) -> Vec<(Vec<u64>, Priced)> {
        let mut best: Vec<Vec<u64>> = Vec::new();
        for step in STEPS {
            let lists: Vec<Vec<u64>> = self.lists.iter().map(|l| thinned(l, step)).collect();
            let all = shape::product(lists.iter().map(|l| l.len() as u64));
            if all > (most as u64).saturating_mul(COUNTED) {
                break;
            }
            let mut shapes = Vec::new();
            every(&lists, &mut |chunks| {
                // Half of the least size is dear twice over.
                if self.allowed(chunks) && 2 * self.volume(chunks) >= self.bytes.0 {
                    shapes.push(chunks.to_vec());
                }
                0.0
            });
            if shapes.len() > most && !best.is_empty() {
                break;
            }
            best = shapes;
        }
        best.into_iter()
            .map(|chunks| {
                let priced = self.priced(&chunks, patterns);
                (chunks, priced)
            })
            .collect()
    }
}

/// Of some lengths, in ascending order, those that differ by this factor at least; the longest is among them, and the shortest.
fn thinned(list: &[u64], step: f64) -> Vec<u64> {
    let mut out: Vec<u64> = Vec::new();
    for &c in list.iter().rev() {
        if out.last().is_none_or(|&longer| c as f64 * step <= longer as f64) {
            out.push(c);
        }
    }
    if out.last() != list.first() {
        out.extend(list.first());
    }
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_stay_in_a_thinned_list() {
        assert_eq!(thinned(&[1, 2, 3, 4, 6, 12], 2.0), [1, 3, 6, 12]);
        assert_eq!(thinned(&[1, 2, 3, 4, 6, 12], 16.0), [1, 12]);
        assert_eq!(thinned(&[1, 2, 3], 1.0), [1, 2, 3]);
        assert_eq!(thinned(&[7], 3.0), [7]);
    }
}
