//! Who moves which part of the array: data, blocks, the grid of ranks; checked before any file is touched.
//!
//! The notation and the defaults are those of NetCDF-Bench: an array `t:x:y:z`, written in steps along its first
//! dimension; in each step every rank moves one block. With `nn` nodes of `ppn` ranks the default block is
//! `1 : x/nn : y/ppn : z`, and rank `r` stands at `(r div ppn, r mod ppn)` of the grid. Here the array may have any
//! number of dimensions, with names (`time=20:lat=200:lon=100`), and any grid of ranks: the block says how often it
//! goes into the array, or `--split` says it outright.

use ncforge::Hyperslab;
use serde::{Deserialize, Serialize};

use super::fields::Field;
use super::lengths::{Lengths, written};
use super::resolving::GeometryRequest;
use super::scattered::Scattered;
use super::shares::{Halo, Shares};
use crate::error::{Error, Result};

/// A geometry that fits together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Names of the dimensions.
    pub names: Vec<String>,
    /// The array.
    pub data: Vec<u64>,
    /// What one rank moves in one call. Where shares differ, blocks are multiples of it along the dimension that is shared.
    pub block: Vec<u64>,
    /// Ranks along each dimension; their product is the number of ranks.
    pub grid: Vec<u64>,
    /// Nodes.
    pub nodes: u64,
    /// Ranks on each node.
    pub ppn: u64,
    /// Parts of the array that ranks have, where these differ.
    #[serde(default)]
    pub shares: Option<Shares>,
    /// How far blocks reach into their neighbours along each dimension; empty where they do not.
    #[serde(default)]
    pub halo: Vec<u64>,
    /// Of how many values along each dimension one is read; empty where all are.
    #[serde(default)]
    pub stride: Vec<u64>,
    /// Blocks that lie on no grid, where these are moved.
    #[serde(default)]
    pub scattered: Option<Scattered>,
    /// The variables. (Results of older versions have one, and do not tell it.)
    #[serde(default)]
    pub fields: Vec<Field>,
}

impl Geometry {
    /// The number of ranks.
    pub fn ranks(&self) -> u64 {
        self.grid.iter().product()
    }

    /// The dimension along which shares differ, if they do.
    fn uneven(&self) -> Option<(usize, &Shares)> {
        let shares = self.shares.as_ref()?;
        Some((self.grid.iter().position(|&g| g > 1).unwrap_or(0), shares))
    }

    /// Places of the array for each part of a share, along the dimension where shares differ.
    fn unit(&self, dim: usize, shares: &Shares) -> u64 {
        self.data[dim] / shares.total().unwrap_or(1).max(1)
    }

    /// What a rank moves in all.
    pub fn share_of(&self, rank: u64) -> Vec<u64> {
        let mut share: Vec<u64> = self.data.iter().zip(&self.grid).map(|(n, g)| n / g).collect();
        if let Some((d, shares)) = self.uneven() {
            share[d] = shares.parts().get(rank as usize).copied().unwrap_or(0) * self.unit(d, shares);
        }
        share
    }

    /// Where the share of a rank begins. Ranks go through the grid with the last dimension fastest, which is
    /// NetCDF-Bench's `(r div ppn, r mod ppn)`.
    pub fn origin(&self, rank: u64) -> Vec<u64> {
        let mut rest = rank;
        let mut at = vec![0; self.grid.len()];
        for d in (0..self.grid.len()).rev() {
            at[d] = rest % self.grid[d] * (self.data[d] / self.grid[d]);
            rest /= self.grid[d];
        }
        if let Some((d, shares)) = self.uneven() {
            at[d] = shares.parts().iter().take(rank as usize).sum::<u64>() * self.unit(d, shares);
        }
        at
    }

    /// The length of a block of a rank along a dimension.
    fn block_along(&self, rank: u64, dim: usize) -> u64 {
        match self.uneven() {
            // All of a share at once, so that ranks make as many calls as one another.
            Some((d, _)) if d == dim => self.share_of(rank)[d],
            _ => self.block[dim],
        }
    }

    /// The length of the longest block along a dimension.
    pub(super) fn largest_block(&self, dim: usize) -> u64 {
        match self.uneven() {
            Some((d, shares)) if d == dim => {
                shares.parts().iter().max().copied().unwrap_or(1) * self.unit(d, shares)
            }
            _ => self.block[dim],
        }
    }

    /// Blocks along a dimension that a rank moves: as many for every rank.
    fn blocks_along(&self, dim: usize) -> u64 {
        match self.uneven() {
            Some((d, _)) if d == dim => 1,
            _ => self.data[dim] / self.grid[dim] / self.block[dim],
        }
    }

    /// Calls that each rank makes.
    pub fn calls(&self) -> u64 {
        if let Some(s) = &self.scattered {
            return self.steps() * s.calls;
        }
        (0..self.data.len()).map(|d| self.blocks_along(d)).product()
    }

    /// Steps along the first dimension that each rank makes.
    pub fn steps(&self) -> u64 {
        match &self.scattered {
            Some(s) if s.is_map() => return self.data[0],
            Some(_) => return 1,
            None => {}
        }
        if self.data.is_empty() { 1 } else { self.blocks_along(0).max(1) }
    }

    /// The same with blocks that reach into their neighbours.
    ///
    /// # Errors
    /// [`Error::Invalid`] where no block has any, or the widths are not the array's.
    pub fn reaching(&self, halo: &Halo) -> Result<Geometry> {
        let neighbours: Vec<bool> =
            (0..self.data.len()).map(|d| self.largest_block(d) < self.data[d]).collect();
        let halo = halo.widths(&neighbours).map_err(Error::Invalid)?;
        Ok(Geometry { halo, ..self.clone() })
    }

    /// The same of which one value in so many along each dimension is read, from the first of each block.
    ///
    /// # Errors
    /// [`Error::Invalid`] where these are not the array's dimensions, or all of it is read.
    pub fn striding(&self, stride: &Lengths) -> Result<Geometry> {
        let named = stride.names.as_ref().is_none_or(|n| *n == self.names);
        if stride.lens.len() != self.data.len() || !named {
            return invalid(format!(
                "the stride {} does not have the dimensions of the data, {}",
                written(&stride.lens),
                self.names.join(":")
            ));
        }
        if stride.lens.iter().all(|&n| n == 1) {
            return invalid("a stride of 1 along every dimension leaves nothing out".to_owned());
        }
        Ok(Geometry { stride: stride.lens.clone(), ..self.clone() })
    }

    /// Those values of a block that are read.
    pub(super) fn with_stride(&self, block: Hyperslab) -> Hyperslab {
        if self.stride.is_empty() {
            return block;
        }
        let count: Vec<u64> = block.count.iter().zip(&self.stride).map(|(n, s)| n.div_ceil(*s)).collect();
        Hyperslab::strided(&block.start, &count, &self.stride)
    }

    /// Whether a part of the array is left out on purpose, or comes several times.
    pub(super) fn is_sample(&self) -> bool {
        !self.stride.is_empty() || self.scattered.as_ref().is_some_and(|s| !s.is_map())
    }

    /// What is moved in a call, in a word: "blocks".
    pub fn pattern(&self) -> String {
        let what = self.scattered.as_ref().map_or("blocks", |s| s.title.as_str());
        if self.stride.is_empty() { what.to_owned() } else { format!("{what}, strided") }
    }

    /// How it is read, in words.
    pub fn how(&self) -> String {
        let of = |what: &str, lens: &[u64]| match lens {
            [] => String::new(),
            lens => format!(" with a {what} of {}", written(lens)),
        };
        let (halo, stride) = (of("halo", &self.halo), of("stride", &self.stride));
        let calls = self.calls();
        match &self.scattered {
            Some(s) => format!("{}{stride}, {calls} calls a rank", s.told(&self.block)),
            None => format!(
                "{}{halo}{stride} by ranks as {}, {calls} calls a rank",
                written(&self.block),
                written(&self.grid)
            ),
        }
    }

    /// A block with as much around it as the halo is wide and the array is long.
    pub(super) fn with_halo(&self, block: &Hyperslab) -> Hyperslab {
        if self.halo.is_empty() {
            return block.clone();
        }
        let low: Vec<u64> = block.start.iter().zip(&self.halo).map(|(s, h)| s.saturating_sub(*h)).collect();
        let high = (0..low.len()).map(|d| block.end(d).saturating_add(self.halo[d]).min(self.data[d]));
        let count: Vec<u64> = high.zip(&low).map(|(h, l)| h - l).collect();
        Hyperslab::new(&low, &count)
    }

    /// The same array in blocks of another shape, by as many ranks: how it is read where that is not how it is written.
    ///
    /// # Errors
    /// [`Error::Invalid`] when these blocks do not cover the array as [`Geometry::resolve`] wants it.
    pub fn in_blocks(&self, block: &Lengths) -> Result<Geometry> {
        let split = self.fitting_split(block);
        if split.is_none() && block.lens.len() == self.data.len() {
            return invalid(format!(
                "the data {} in blocks of {} cannot be shared evenly by {} ranks, each of which reads other blocks",
                written(&self.data),
                written(&block.lens),
                self.ranks()
            ));
        }
        let request = GeometryRequest {
            data: Some(Lengths { lens: self.data.clone(), names: Some(self.names.clone()) }),
            block: Some(block.clone()),
            split: split.map(|grid| Lengths::new(&grid)),
            nodes: Some(self.nodes),
            ppn: Some(self.ppn),
            ..GeometryRequest::default()
        };
        let other = Self::resolve(&request, self.ranks(), self.nodes)?;
        Ok(Geometry { fields: self.fields.clone(), ..other })
    }

    /// Ranks along the dimensions of which such a block takes a part only, the slowest first, as far as they can be shared; `None` where
    /// not all ranks find something to do.
    fn fitting_split(&self, block: &Lengths) -> Option<Vec<u64>> {
        if block.lens.len() != self.data.len() {
            return None;
        }
        let mut left = self.ranks();
        let mut grid = vec![1; self.data.len()];
        for (d, (n, b)) in self.data.iter().zip(&block.lens).enumerate() {
            let pieces = if n.is_multiple_of(*b) { n / b } else { 1 };
            grid[d] =
                (1..=left).rev().find(|g| left.is_multiple_of(*g) && pieces.is_multiple_of(*g)).unwrap_or(1);
            left /= grid[d];
        }
        (left == 1).then_some(grid)
    }

    /// Half of the time steps: calls of each rank for them, which are its first ones, and the length of the first dimension
    /// then. `None` where ranks share that dimension, or there is one step only.
    pub fn first_half(&self) -> Option<(u64, u64)> {
        let steps = self.steps();
        let half = steps / 2;
        (self.grid[0] == 1 && half > 0).then(|| (self.calls() / steps * half, half * self.block[0]))
    }

    /// The block of call number `call` of a rank, in the whole array.
    pub fn slab(&self, rank: u64, call: u64) -> Hyperslab {
        let mut start = self.origin(rank);
        let count: Vec<u64> = (0..start.len()).map(|d| self.block_along(rank, d)).collect();
        let mut rest = call;
        for d in (0..start.len()).rev() {
            let steps = self.blocks_along(d);
            start[d] += rest % steps * count[d];
            rest /= steps;
        }
        Hyperslab::new(&start, &count)
    }
}

fn invalid<T>(why: String) -> Result<T> {
    Err(Error::Invalid(why))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(data: &str, block: Option<&str>) -> GeometryRequest {
        GeometryRequest {
            data: Some(data.parse().unwrap()),
            block: block.map(|b| b.parse().unwrap()),
            ..GeometryRequest::default()
        }
    }

    #[test]
    fn the_defaults_are_netcdf_benchs() {
        let request = GeometryRequest { nodes: Some(2), ppn: Some(2), ..GeometryRequest::default() };
        let g = Geometry::resolve(&request, 4, 1).unwrap();
        assert_eq!((g.data.clone(), g.block.clone()), (vec![100, 200, 200, 10], vec![1, 100, 100, 10]));
        assert_eq!(g.origin(3), [0, 100, 100, 0]);
        assert_eq!(g.origin(1), [0, 0, 100, 0]);
        assert_eq!(g.slab(2, 7).start, [7, 100, 0, 0]);
    }

    #[test]
    fn the_same_array_is_read_in_other_blocks() {
        let g = Geometry::resolve(&request("6:4:8:2", None), 4, 1).unwrap();
        // Series: every rank has some of the points.
        let series = g.in_blocks(&Lengths::new(&[6, 1, 1, 2])).unwrap();
        assert_eq!((series.grid.clone(), series.calls(), series.steps()), (vec![1, 4, 1, 1], 8, 1));
        // Maps, one after the other.
        assert_eq!(g.in_blocks(&Lengths::new(&[1, 4, 8, 1])).unwrap().grid, [2, 1, 1, 2]);
        for wrong in [vec![6, 4, 8, 2], vec![4, 4, 8, 1], vec![6, 4]] {
            assert!(g.in_blocks(&Lengths::new(&wrong)).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn every_element_is_moved_once() {
        for (data, block, split, ranks) in [
            ("6:4:6", Some("2:2:2"), None, 6),
            ("6:4:6:3", None, Some("3:2:1:1"), 6),
            ("12", Some("2"), None, 3),
            ("4:12", None, None, 4),
            ("2:3:4:5:6", Some("1:3:2:5:2"), None, 6),
            ("4:4:4", Some("1:2:2"), Some("1:1:2"), 2),
        ] {
            let mut r = request(data, block);
            r.split = split.map(|s| s.parse().unwrap());
            let g = Geometry::resolve(&r, ranks, 1).unwrap();
            let mut seen = vec![0u8; g.data.iter().product::<u64>() as usize];
            for rank in 0..ranks {
                for call in 0..g.calls() {
                    let slab = g.slab(rank, call);
                    slab.check(&g.data, "v").unwrap();
                    let ranges: Vec<_> =
                        slab.start.iter().zip(&slab.count).map(|(&s, &c)| s..s + c).collect();
                    for at in ncforge::select::coordinates(&ranges) {
                        let i = at.iter().zip(&g.data).fold(0, |i, (&a, &n)| i * n + a);
                        seen[i as usize] += 1;
                    }
                }
            }
            assert!(seen.iter().all(|&n| n == 1), "{data} {block:?} {split:?}");
        }
    }

    #[test]
    fn what_does_not_fit_is_told_with_what_would() {
        let wrong = [
            (request("20:100:200:10", Some("1:100:200:10")), 4),
            (request("20:100:100:10", Some("1:10:10:10")), 1),
            (request("21:100:100:10", Some("2:100:100:10")), 1),
            (request("20:100:100:10", Some("1:100:101:10")), 1),
            (request("20:100:100:10", Some("1:100:100")), 1),
            (request("20:101:100:10", None), 3),
        ];
        for (r, ranks) in wrong {
            let e = Geometry::resolve(&r, ranks, 1).unwrap_err();
            assert!(matches!(e, Error::Invalid(_)), "{e}");
        }
        let r = GeometryRequest { nodes: Some(3), ppn: Some(2), ..GeometryRequest::default() };
        assert!(Geometry::resolve(&r, 4, 1).is_err());
        // Products that no number can tell.
        let r = GeometryRequest { nodes: Some(u64::MAX), ppn: Some(2), ..GeometryRequest::default() };
        assert!(Geometry::resolve(&r, u64::MAX - 1, 1).is_err());
        let mut r = request("4:4:4", None);
        r.split = "4294967296:4294967296:1".parse().ok();
        assert!(Geometry::resolve(&r, 1, 1).is_err());
        let e = Geometry::resolve(&request("20:200:200:10", Some("1:100:200:10")), 4, 1).unwrap_err();
        assert!(e.to_string().contains("try 1:200:50:10"), "{e}");
    }
}
