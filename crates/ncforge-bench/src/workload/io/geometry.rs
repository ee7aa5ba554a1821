//! The parts of the array that ranks move: data, blocks, the grid of ranks; checked before any file is touched.
//!
//! The notation and the defaults are those of NetCDF-Bench: an array `t:x:y:z`, written in steps along its first
//! dimension; in each step every rank moves one block. With `nn` nodes of `ppn` ranks the default block is
//! `1 : x/nn : y/ppn : z`, and rank `r` stands at `(r div ppn, r mod ppn)` of the grid. Here the array may have any
//! number of dimensions, with names (`time=20:lat=200:lon=100`), and any grid of ranks: the block says how often it
//! goes into the array.

use ncforge::Hyperslab;
use serde::Serialize;

/// The name of the variable, as NetCDF-Bench has it.
pub(super) const VARIABLE: &str = "data";

/// A geometry that fits together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Geometry {
    /// Names of the dimensions.
    pub names: Vec<String>,
    /// The array.
    pub data: Vec<u64>,
    /// The block that one rank moves in one call.
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

    /// The part of the array that a rank moves in all.
    pub fn share(&self) -> Vec<u64> {
        self.data.iter().zip(&self.grid).map(|(n, g)| n / g).collect()
    }

    /// The first element of a rank's share. Ranks go through the grid with the last dimension fastest, which is
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
