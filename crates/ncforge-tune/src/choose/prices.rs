//! Prices of shapes, each read of each shape worked out once, whatever mixes of reads are asked about; and the search among
//! few shapes, where the answer may not cost much.

use std::collections::HashMap;

use ncforge::model::shape;

use super::super::pattern::Pattern;
use super::super::search::{descend, every, unlike};
use super::problem::{Priced, Problem};

/// Ways down begin from this many shapes of the lattice, …
const WAYS: usize = 6;
/// … and so unlike each other they are.
const UNLIKE: f64 = 0.7;

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

    /// The best lengths for a mix of reads, and their price: among the shapes of a lattice and, with `goes_down`, on the ways down from
    /// the best of them and from `starts`.
    pub(super) fn best(
        &mut self,
        mix: &[f64],
        lattice: &[Vec<u64>],
        starts: &[&[u64]],
        goes_down: bool,
    ) -> (Vec<u64>, f64) {
        let problem = self.problem;
        let total = mix.iter().sum::<f64>().max(1e-300);
        let mut price = |chunks: &[u64]| self.at(chunks, mix) / total;
        let mut priced: Vec<(&[u64], f64)> =
            lattice.iter().map(|chunks| (&chunks[..], price(chunks))).collect();
        priced.sort_by(|a, b| a.1.total_cmp(&b.1));
        let mut best = priced.first().map(|first| (first.0.to_vec(), first.1));
        if !goes_down {
            return best.expect("the lattice has a shape");
        }
        // The way down ends in a hollow, not always the deepest: several begin, far from each other.
        let mut starts = starts.to_vec();
        let most = starts.len() + WAYS;
        for (chunks, _) in priced {
            if starts.len() < most && starts.iter().all(|s| unlike(s, chunks) >= UNLIKE) {
                starts.push(chunks);
            }
        }
        starts.push(&problem.lens);
        for start in starts {
            let start = problem.legal(problem.places(start.iter().map(|&c| c as f64)));
            let (at, p) = descend(&problem.lists, &start, &mut price);
            if best.as_ref().is_none_or(|b| p < b.1) {
                best = Some((at.iter().zip(&problem.lists).map(|(&i, l)| l[i]).collect(), p));
            }
        }
        best.expect("there is a start")
    }

    /// All shapes that were priced, and their prices for a mix, always in the same order.
    pub(super) fn known(self, mix: &[f64]) -> Vec<(Vec<u64>, f64)> {
        let total = mix.iter().sum::<f64>().max(1e-300);
        let mut all: Vec<_> = self.known.into_iter().map(|(c, p)| (c, p.of(mix) / total)).collect();
        all.sort_unstable_by(|a, b| a.0.cmp(&b.0));
        all
    }
}

/// Neighbouring lengths differ by these factors at least, in lattices that are coarser and coarser.
const STEPS: [f64; 8] = [16.0, 8.0, 4.0, 3.0, 2.0, 1.5, 1.2, 1.0];
/// The number of shapes of a lattice that are counted for each that may be priced.
const COUNTED: u64 = 64;

impl Problem<'_> {
    /// Shapes all over the array, `most` at most (or those of the coarsest lattice); none where even those are too many.
    pub(super) fn lattice(&self, most: usize) -> Vec<Vec<u64>> {
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
        best
    }
}

/// Lengths of an ascending list that differ by this factor at least; the longest is among them, and the shortest.
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
