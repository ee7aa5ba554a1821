//! Times reads of one variable from several files, in rounds.

use std::path::PathBuf;
use std::time::Instant;

use ncforge::Hyperslab;
use ncforge_tune::Pattern;
use serde::Serialize;

use crate::cache;
use crate::driver::{Driver, VarInfo};
use crate::error::Result;
use crate::memory;
use crate::stats::{Positions, Summary};

/// The time limit of a cell (a file and a kind of read) in seconds before it is cut short, …
const BUDGET: f64 = 0.6;
/// … and before it is read once only: a single time may be one that something else disturbed.
const SLOW: f64 = 3.0;

/// How reads are repeated.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Effort {
    /// Rounds over all files; of the times at one place the median counts.
    pub rounds: usize,
    /// Places where reads begin that take all of an axis or one element of it …
    pub places: usize,
    /// … and where they begin that take a part, which may lie across a border of chunks or not.
    pub parts: usize,
}

/// A file under measurement.
#[derive(Clone, Debug)]
pub(crate) struct Subject {
    pub(crate) path: PathBuf,
    /// The decoded chunks that the library may keep; `None`: its own choice.
    pub(crate) cache: Option<u64>,
}

/// One kind of read from one file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    /// Seconds at every place, in rounds.
    seconds: Vec<Vec<f64>>,
    spent: f64,
}

impl Cell {
    /// Mean over the places of the median over the rounds.
    pub(crate) fn mean(&self) -> f64 {
        let medians: Vec<f64> = self.medians().collect();
        medians.iter().sum::<f64>() / medians.len().max(1) as f64
    }

    fn medians(&self) -> impl Iterator<Item = f64> {
        self.seconds.iter().filter_map(|s| Summary::of(s)).map(|s| s.median)
    }

    /// Summary over the places.
    pub(crate) fn summary(&self) -> Summary {
        let medians: Vec<f64> = self.medians().collect();
        Summary::of(&medians).expect("every cell is read once at least")
    }

    /// The number of places that were read.
    pub(crate) fn places(&self) -> usize {
        self.seconds.iter().filter(|s| !s.is_empty()).count()
    }
}

/// The places at which `pattern` is read, the same for every file.
pub(crate) fn places(pattern: &Pattern, shape: &[u64], effort: Effort) -> Vec<Vec<u64>> {
    let free = |d: usize| shape[d] - pattern.counts[d];
    let count = match () {
        () if (0..shape.len()).all(|d| free(d) == 0) => 1,
        () if (0..shape.len()).any(|d| free(d) > 0 && pattern.counts[d] > 1) => effort.parts,
        () => effort.places,
    };
    let mut positions = Positions::new(20_260);
    (0..count.max(1)).map(|_| (0..shape.len()).map(|d| positions.below(free(d) + 1)).collect()).collect()
}

/// Reads every pattern (outer) from every file (inner); each read is the first of a new session.
pub(crate) fn measure(
    driver: &dyn Driver,
    files: &[Subject],
    var: &VarInfo,
    patterns: &[Pattern],
    effort: Effort,
    progress: &mut dyn FnMut(&str),
) -> Result<Vec<Vec<Cell>>> {
    memory::hold();
    for file in files {
        cache::warm(&file.path)?;
    }
    let largest = patterns.iter().map(Pattern::len).max().unwrap_or(1) as usize * var.size;
    let mut out = vec![1u8; largest];
    let lists: Vec<Vec<Vec<u64>>> = patterns.iter().map(|p| places(p, &var.shape, effort)).collect();
    let new = |p: usize| Cell { seconds: vec![Vec::new(); lists[p].len()], spent: 0.0 };
    let mut cells: Vec<Vec<Cell>> = (0..patterns.len()).map(|p| vec![new(p); files.len()]).collect();
    for round in 0..effort.rounds {
        progress(&format!("round {} of {}", round + 1, effort.rounds));
        for ((pattern, places), cells) in patterns.iter().zip(&lists).zip(&mut cells) {
            let out = &mut out[..pattern.len() as usize * var.size];
            for (cell, file) in cells.iter_mut().zip(files) {
                // A slow cell reads fewer places, and in every round the same ones; the first of them more often than its
                // share allows. One that has a single place reads it as often as others do theirs.
                let share = BUDGET * (round + 1) as f64 / effort.rounds as f64;
                let again = if places.len() == 1 { effort.parts } else { 1 };
                for (n, (place, start)) in (0..again).flat_map(|_| places.iter().enumerate()).enumerate() {
                    let left_out = round > 0 && cell.seconds[place].is_empty();
                    let most = if n == 0 { SLOW } else { share };
                    if left_out || cell.spent > most {
                        break;
                    }
                    let slab = Hyperslab::new(start, &pattern.counts);
                    let mut session = driver.open_cached(&file.path, file.cache)?;
                    let begun = Instant::now();
                    session.read(&var.name, &slab, out)?;
                    let took = begun.elapsed().as_secs_f64();
                    cell.seconds[place].push(took);
                    cell.spent += took;
                }
            }
        }
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_inside_and_as_many_as_needed() {
        let effort = Effort { rounds: 1, places: 3, parts: 7 };
        let at = |counts: &[u64]| {
            let p = Pattern { name: "p".into(), counts: counts.to_vec(), weight: 1.0 };
            places(&p, &[10, 8], effort)
        };
        assert_eq!(at(&[10, 8]), [[0, 0]]);
        assert_eq!((at(&[10, 1]).len(), at(&[5, 1]).len()), (3, 7));
        assert!(at(&[5, 1]).iter().all(|s| s[0] <= 5 && s[1] <= 7));
    }

    /// A read that can begin at one place only is repeated like those that have many.
    #[test]
    fn a_single_place_is_read_as_often_as_many() {
        let dir = tempfile::tempdir().unwrap();
        let array = crate::workload::chunks::proof::Array::named("stations").unwrap();
        let path = array.write(dir.path(), 60_000).unwrap();
        let var = crate::workload::access::largest(&path, None).unwrap();
        let read = |counts: &[u64]| Pattern { name: "p".into(), counts: counts.to_vec(), weight: 1.0 };
        let (all, one) = (read(&var.shape), read(&[1, var.shape[1]]));
        let driver = crate::driver::NcforgeDriver::new(Some(1), None);
        let subjects = [Subject { path, cache: None }];
        let effort = Effort { rounds: 2, places: 3, parts: 4 };
        let cells = measure(&driver, &subjects, &var, &[all, one], effort, &mut |_| ()).unwrap();
        let counts = |p: usize| cells[p][0].seconds.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!((counts(0), counts(1)), (vec![8], vec![2, 2, 2]));
    }

    #[test]
    fn a_cell_is_the_mean_of_medians() {
        let cell = Cell { seconds: vec![vec![1.0, 9.0, 2.0], vec![4.0], vec![]], spent: 0.0 };
        assert_eq!((cell.mean(), cell.places()), (3.0, 2));
    }
}
