//! Who moves which part of the array: data, blocks, the grid of ranks; checked before any file is touched.
//!
//! The notation and the defaults are those of NetCDF-Bench: an array `t:x:y:z`, written in steps along its first
//! dimension; in each step every rank moves one block. With `nn` nodes of `ppn` ranks the default block is
//! `1 : x/nn : y/ppn : z`, and rank `r` stands at `(r div ppn, r mod ppn)` of the grid. Here the array may have any
//! number of dimensions, with names (`time=20:lat=200:lon=100`), and any grid of ranks: the block says how often it
//! goes into the array.

use ncforge::Hyperslab;
use serde::{Deserialize, Serialize};

/// The name of the variable, as NetCDF-Bench has it.
pub(super) const VARIABLE: &str = "data";

/// A geometry that fits together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Geometry {
    /// Names of the dimensions.
    pub names: Vec<String>,
    /// The array.
    pub data: Vec<u64>,
    /// What one rank moves in one call.
    pub block: Vec<u64>,
    /// Ranks along each dimension; their product is the number of ranks.
    pub grid: Vec<u64>,
    /// Nodes.
    pub nodes: u64,
    /// Ranks on each node.
    pub ppn: u64,
}

impl Geometry {
    /// The number of ranks.
    pub fn ranks(&self) -> u64 {
        self.grid.iter().product()
    }

    /// What a rank moves in all.
    pub fn share(&self) -> Vec<u64> {
        self.data.iter().zip(&self.grid).map(|(n, g)| n / g).collect()
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
        at
    }

    /// Calls that each rank makes.
    pub fn calls(&self) -> u64 {
        (0..self.data.len()).map(|d| self.blocks_along(d)).product()
    }

    /// Blocks along a dimension that a rank moves.
    fn blocks_along(&self, dim: usize) -> u64 {
        self.data[dim] / self.grid[dim] / self.block[dim]
    }

    /// Values of the array.
    pub(crate) fn values(&self) -> u64 {
        self.data.iter().product()
    }

    /// Values that a call moves.
    pub(super) fn values_of_a_call(&self) -> u64 {
        self.block.iter().product()
    }

    /// The block of call number `call` of a rank, in the whole array.
    pub fn slab(&self, rank: u64, call: u64) -> Hyperslab {
        let mut start = self.origin(rank);
        let mut rest = call;
        for d in (0..start.len()).rev() {
            let steps = self.blocks_along(d);
            start[d] += rest % steps * self.block[d];
            rest /= steps;
        }
        Hyperslab::new(&start, &self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::super::resolving::GeometryRequest;
    use super::*;
    use crate::error::Error;

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
    fn every_element_is_moved_once() {
        for (data, block, ranks) in [
            ("6:4:6", Some("2:2:2"), 6),
            ("12", Some("2"), 3),
            ("4:12", None, 4),
            ("2:3:4:5:6", Some("1:3:2:5:2"), 6),
        ] {
            let g = Geometry::resolve(&request(data, block), ranks, 1).unwrap();
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
            assert!(seen.iter().all(|&n| n == 1), "{data} {block:?}");
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
        let e = Geometry::resolve(&request("20:200:200:10", Some("1:100:200:10")), 4, 1).unwrap_err();
        assert!(e.to_string().contains("try 1:200:50:10"), "{e}");
    }
}
