//! Blocks that lie on no grid: boxes at random places, and those of a decomposition map.

use std::path::Path;
use std::sync::Arc;

use ncforge::Hyperslab;
use serde::{Deserialize, Serialize};

use super::decomposition::Decomposition;
use super::geometry::Geometry;
use super::lengths::{Lengths, written};
use crate::error::{Error, Result};
use crate::stats::Positions;

/// Boxes of every rank, one for each of its calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scattered {
    /// What they are, in a word: "random boxes".
    pub title: String,
    /// Calls that every rank makes in a step; ranks with fewer boxes have nothing to move in the last ones.
    pub calls: u64,
    /// Values of all boxes in a step.
    pub values: u64,
    /// Elements that ranks have and the file has not.
    pub holes: u64,
    /// Whether they come again in every step along the first dimension.
    map: bool,
    /// The boxes. A saved result does without.
    #[serde(skip)]
    of: Arc<Vec<Vec<Hyperslab>>>,
}

impl Scattered {
    fn new(title: &str, map: bool, of: Vec<Vec<Hyperslab>>, holes: u64) -> Self {
        let calls = of.iter().map(Vec::len).max().unwrap_or(0).max(1) as u64;
        let values = of.iter().flatten().map(Hyperslab::len).sum();
        Scattered { title: title.to_owned(), calls, values, holes, map, of: Arc::new(of) }
    }

    /// In words, behind "blocks": where they come from, and how large the largest is.
    pub(crate) fn told(&self, block: &[u64]) -> String {
        let holes = match self.holes {
            0 => String::new(),
            n => format!(", {n} elements of ranks are not in the file"),
        };
        match self.map {
            true => format!("of a decomposition, the largest {}{holes}", written(block)),
            false => format!("{} at random places", written(block)),
        }
    }

    /// Whether they are those of a decomposition, which come again in every step.
    pub(super) fn is_map(&self) -> bool {
        self.map
    }

    /// What a rank moves in a call of a step; `None`: nothing.
    pub(super) fn slab(&self, rank: u64, call: u64) -> Option<&Hyperslab> {
        self.of.get(rank as usize)?.get(call as usize)
    }

    /// Values of the largest box.
    pub(super) fn largest(&self) -> u64 {
        self.of.iter().flatten().map(Hyperslab::len).max().unwrap_or(1)
    }
}

impl Geometry {
    /// The same array, of which every rank reads so many boxes of this shape at random places, which may overlap.
    ///
    /// # Errors
    /// [`Error::Invalid`] when a box does not go into the array.
    pub(super) fn at_random(&self, boxes: u64, shape: &Lengths, seed: u64) -> Result<Geometry> {
        let named = shape.names.as_ref().is_none_or(|n| *n == self.names);
        let fits =
            shape.lens.len() == self.data.len() && shape.lens.iter().zip(&self.data).all(|(b, n)| b <= n);
        if !fits || !named {
            return Err(Error::Invalid(format!(
                "boxes of {} do not go into the data {} ({})",
                written(&shape.lens),
                written(&self.data),
                self.names.join(":")
            )));
        }
        // Other places for every rank, the same ones whenever it is done again.
        let of_rank = |rank: u64| -> Vec<Hyperslab> {
            let mut random = Positions::new(seed.wrapping_mul(0x1_0000).wrapping_add(rank));
            let mut place = || -> Vec<u64> {
                self.data.iter().zip(&shape.lens).map(|(n, b)| random.below(n - b + 1)).collect()
            };
            (0..boxes).map(|_| Hyperslab::new(&place(), &shape.lens)).collect()
        };
        let of = (0..self.ranks()).map(of_rank).collect();
        Ok(Geometry {
            block: shape.lens.clone(),
            scattered: Some(Scattered::new("random boxes", false, of, 0)),
            halo: Vec::new(),
            ..self.clone()
        })
    }

    /// The array of a decomposition, which so many ranks share as it says, in so many steps along a first dimension of its own.
    ///
    /// # Errors
    /// As [`Decomposition::load`]; [`Error::Invalid`] for more ranks than it has.
    pub(super) fn of_map(path: &Path, steps: Option<&Lengths>, (nodes, ppn): (u64, u64)) -> Result<Geometry> {
        let ranks = nodes * ppn;
        let found = Decomposition::load(path)?;
        if ranks > found.maps.len() as u64 {
            return Err(Error::Invalid(format!(
                "`{}` is a decomposition for {} ranks, there are {ranks}; take as many or fewer, which then have several parts each",
                path.display(),
                found.maps.len()
            )));
        }
        let steps = match steps {
            None => Lengths::new(&[1]),
            Some(one) if one.lens.len() == 1 => one.clone(),
            Some(other) => {
                return Err(Error::Invalid(format!(
                    "the decomposition gives the array, {}; the data {} can say the number of time steps only, as -d 10",
                    written(&found.shape),
                    written(&other.lens)
                )));
            }
        };
        let first = steps.names.map_or_else(|| "time".to_owned(), |mut n| n.remove(0));
        let names: Vec<String> =
            std::iter::once(first).chain((1..=found.shape.len()).map(|d| format!("dim_{d}"))).collect();
        let data = [&steps.lens[..], &found.shape].concat();
        let behind_time =
            |b: Hyperslab| Hyperslab::new(&[&[0], &b.start[..]].concat(), &[&[1], &b.count[..]].concat());
        let of: Vec<Vec<Hyperslab>> = found
            .boxes(ranks as usize)
            .into_iter()
            .map(|boxes| boxes.into_iter().map(behind_time).collect())
            .collect();
        let largest = of.iter().flatten().max_by_key(|b| b.len());
        let block = largest.map_or_else(|| vec![1; data.len()], |b| b.count.clone());
        let mut grid = vec![1; data.len()];
        grid[data.len() - 1] = ranks;
        Ok(Geometry {
            fields: super::fields::Field::whole(data.len()),
            names,
            data,
            block,
            grid,
            nodes,
            ppn,
            scattered: Some(Scattered::new("decomposition", true, of, found.holes)),
            ..Geometry::default()
        })
    }
}
