//! Who moves which part of the array: data, blocks, the grid of ranks; checked before any file is touched.
//!
//! The notation and the defaults are those of NetCDF-Bench: an array `t:x:y:z`, written in steps along its first
//! dimension; in each step every rank moves one block. With `nn` nodes of `ppn` ranks the default block is
//! `1 : x/nn : y/ppn : z`, and rank `r` stands at `(r div ppn, r mod ppn)` of the grid. Here the array may have any
//! number of dimensions, with names (`time=20:lat=200:lon=100`), and any grid of ranks: the block says how often it
//! goes into the array, or `--split` says it outright.

use ncforge::Hyperslab;
use serde::{Deserialize, Serialize};

use super::fields::{Field, Variables};
use super::shares::{Halo, Shares};
use crate::error::{Error, Result};

/// Lengths along the dimensions, slowest first, perhaps with their names: `20:100:200:10`, `time=20:lat=100`.
///
/// ```
/// use ncforge_bench::workload::io::Lengths;
/// let data: Lengths = "time=20:lat=100:lon=200".parse().unwrap();
/// assert_eq!(data.lens, [20, 100, 200]);
/// assert_eq!(data.names.as_deref(), Some(&["time".to_owned(), "lat".into(), "lon".into()][..]));
/// assert!("10:10:-10:10".parse::<Lengths>().is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lengths {
    /// The lengths, each at least 1.
    pub lens: Vec<u64>,
    /// The names, if all have one.
    pub names: Option<Vec<String>>,
}

impl std::str::FromStr for Lengths {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut lens = Vec::new();
        let mut names = Vec::new();
        for part in text.split(':') {
            let (name, len) = match part.split_once('=') {
                Some((name, len)) => (Some(name.trim()), len),
                None => (None, part),
            };
            let number = len.trim().parse::<u64>().ok().filter(|&n| n > 0 && i64::try_from(n).is_ok());
            let Some(number) = number else {
                return Err(format!(
                    "`{}` in `{text}` is no length: lengths are whole numbers from 1, separated by colons, as 20:100:200:10",
                    part.trim()
                ));
            };
            lens.push(number);
            names.extend(name.map(str::to_owned));
        }
        let plain = |n: &String| {
            !n.is_empty()
                && n.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-')
                && !n.starts_with('-')
        };
        let distinct = names.iter().collect::<std::collections::BTreeSet<_>>().len() == names.len();
        match names.len() {
            0 => Ok(Lengths { lens, names: None }),
            n if n == lens.len() && distinct && names.iter().all(plain) => {
                Ok(Lengths { lens, names: Some(names) })
            }
            _ => Err(format!(
                "in `{text}` either every dimension has a name of its own (time=20:lat=100) or none"
            )),
        }
    }
}

impl Lengths {
    /// Lengths without names.
    pub fn new(lens: &[u64]) -> Self {
        Lengths { lens: lens.to_vec(), names: None }
    }
}

/// Lengths as people write them: `1:100:100:10`.
pub fn written(lens: &[u64]) -> String {
    lens.iter().map(u64::to_string).collect::<Vec<_>>().join(":")
}

/// What was asked about the geometry; the rest is filled in by [`Geometry::resolve`].
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct GeometryRequest {
    /// The array.
    pub data: Option<Lengths>,
    /// What one rank moves in one call.
    pub block: Option<Lengths>,
    /// How many ranks share each dimension.
    pub split: Option<Lengths>,
    /// Nodes; the number that the job has when `None`.
    pub nodes: Option<u64>,
    /// Ranks on each node.
    pub ppn: Option<u64>,
    /// Parts of the array that ranks have, where these differ.
    #[serde(default)]
    pub shares: Option<Shares>,
    /// The variables, where there are several.
    #[serde(default)]
    pub variables: Option<Variables>,
}

/// A geometry that fits together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    /// The variables. (Results of older versions have one, and do not tell it.)
    #[serde(default)]
    pub fields: Vec<Field>,
}

impl Geometry {
    /// Fills in what was not asked, and checks that everything fits: `ranks` blocks cover the array in every step.
    ///
    /// # Errors
    /// [`Error::Invalid`] says what does not fit, and what would.
    pub fn resolve(request: &GeometryRequest, ranks: u64, job_nodes: u64) -> Result<Geometry> {
        let ranks = ranks.max(1);
        let (nodes, ppn) = nodes_and_ppn(request, ranks, job_nodes)?;
        let data = request.data.clone().unwrap_or_else(|| {
            Lengths::new(&[100, 100u64.saturating_mul(nodes), 100u64.saturating_mul(ppn), 10])
        });
        let rank = data.lens.len();
        let names = data.names.clone().unwrap_or_else(|| default_names(rank));
        let data = data.lens;
        let total =
            data.iter().try_fold(8u64, |a, &n| a.checked_mul(n)).filter(|&n| i64::try_from(n).is_ok());
        if total.is_none() {
            return invalid(format!("an array {} is larger than any file can be", written(&data)));
        }
        let same_rank = |what: &str, lens: &Lengths| match lens.lens.len() == rank {
            true if lens.names.is_none() || lens.names.as_deref() == Some(&names) => Ok(()),
            true => {
                invalid(format!("the {what}'s dimensions are not those of the data, {}", names.join(":")))
            }
            false => invalid(format!(
                "the {what} {} has {} dimensions, the data {} has {rank}",
                written(&lens.lens),
                lens.lens.len(),
                written(&data)
            )),
        };
        let fields = match &request.variables {
            Some(variables) => variables.fields(&names)?,
            None => Field::whole(rank),
        };
        let horizontal = request.variables.as_ref().is_some_and(Variables::is_horizontal);
        let usual = match &request.shares {
            // One after the other along the dimension behind the steps.
            Some(_) => default_grid(rank.min(2), nodes, ppn)
                .into_iter()
                .chain(vec![1; rank.saturating_sub(2)])
                .collect(),
            None if horizontal && rank > 2 => {
                let mut grid = vec![1; rank];
                (grid[rank - 2], grid[rank - 1]) = (nodes, ppn);
                grid
            }
            None => default_grid(rank, nodes, ppn),
        };
        let grid = match (&request.split, &request.block) {
            (Some(split), _) => {
                same_rank("split", split)?;
                split.lens.clone()
            }
            (None, Some(block)) => {
                same_rank("block", block)?;
                grid_of_blocks(&data, &block.lens, ranks, &usual)?
            }
            (None, None) => usual,
        };
        let covered: u64 = grid.iter().product();
        if covered != ranks {
            return invalid(format!(
                "a grid of {} is for {covered} ranks, there are {ranks}",
                written(&grid)
            ));
        }
        if let Some(shares) = &request.shares {
            let block = uneven_block(request, &names, &data, &grid, shares)?;
            // One rank alone has everything.
            let shares = (ranks > 1).then(|| shares.clone());
            let halo = Vec::new();
            return Ok(Geometry { names, data, block, grid, nodes, ppn, shares, halo, fields });
        }
        for d in 0..rank {
            if !data[d].is_multiple_of(grid[d]) {
                return invalid(format!(
                    "`{}` has length {}, which {} ranks cannot share evenly; a multiple such as {} would do",
                    names[d],
                    data[d],
                    grid[d],
                    data[d].next_multiple_of(grid[d])
                ));
            }
        }
        let share: Vec<u64> = data.iter().zip(&grid).map(|(n, g)| n / g).collect();
        let block = match &request.block {
            Some(block) => {
                same_rank("block", block)?;
                block.lens.clone()
            }
            None => {
                let mut block = share.clone();
                if rank > 1 {
                    block[0] = 1;
                }
                block
            }
        };
        for d in 0..rank {
            if block[d] > share[d] {
                return invalid(format!(
                    "a block of {} is larger than a rank's share {} along `{}`",
                    written(&block),
                    written(&share),
                    names[d]
                ));
            }
            if !share[d].is_multiple_of(block[d]) {
                return invalid(format!(
                    "blocks of length {} do not fill the {} of `{}` evenly; the block's length must divide it",
                    block[d], share[d], names[d]
                ));
            }
        }
        Ok(Geometry { names, data, block, grid, nodes, ppn, shares: None, halo: Vec::new(), fields })
    }

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
        (0..self.data.len()).map(|d| self.blocks_along(d)).product()
    }

    /// Steps along the first dimension that each rank makes.
    pub fn steps(&self) -> u64 {
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

/// What blocks are multiples of where shares differ: whole shares along one dimension.
fn uneven_block(
    request: &GeometryRequest,
    names: &[String],
    data: &[u64],
    grid: &[u64],
    shares: &Shares,
) -> Result<Vec<u64>> {
    if request.block.is_some() {
        return invalid(
            "ranks with shares of their own move all of them in each step; leave out the block".into(),
        );
    }
    let ranks: u64 = grid.iter().product();
    if shares.parts().len() as u64 != ranks {
        return invalid(format!("{} shares are for as many ranks, there are {ranks}", shares.parts().len()));
    }
    let shared: Vec<usize> = (0..grid.len()).filter(|&d| grid[d] > 1).collect();
    let along = match shared[..] {
        [] => 0,
        [d] if d > 0 || grid.len() == 1 => d,
        [_] => {
            return invalid(format!(
                "steps go along the first dimension, `{}`, which ranks with shares of their own cannot share; split another one",
                names[0]
            ));
        }
        _ => {
            return invalid(format!(
                "shares of their own are along one dimension, the grid {} of ranks has several; give it by --split",
                written(grid)
            ));
        }
    };
    let total = shares.total().filter(|&n| n <= data[along]);
    let Some(total) = total.filter(|&n| data[along].is_multiple_of(n)) else {
        let fitting = shares.total().and_then(|n| data[along].checked_next_multiple_of(n));
        return invalid(format!(
            "`{}` has length {}, which cannot be divided into the shares {shares}{}",
            names[along],
            data[along],
            fitting.map_or_else(String::new, |n| format!("; {n} would do"))
        ));
    };
    let mut block: Vec<u64> = data.to_vec();
    if block.len() > 1 {
        block[0] = 1;
    }
    if !shared.is_empty() {
        block[along] = data[along] / total * shares.grain();
    }
    Ok(block)
}

fn invalid<T>(why: String) -> Result<T> {
    Err(Error::Invalid(why))
}

fn nodes_and_ppn(request: &GeometryRequest, ranks: u64, job_nodes: u64) -> Result<(u64, u64)> {
    let (nodes, ppn) = match (request.nodes, request.ppn) {
        (Some(n), Some(p)) => (n, p),
        (Some(n), None) => (n, ranks / n.max(1)),
        (None, Some(p)) => (ranks / p.max(1), p),
        (None, None) if ranks.is_multiple_of(job_nodes.max(1)) => {
            (job_nodes.max(1), ranks / job_nodes.max(1))
        }
        (None, None) => (1, ranks),
    };
    if nodes.checked_mul(ppn) != Some(ranks) {
        return invalid(format!(
            "{nodes} nodes with {ppn} ranks each are not {ranks} ranks; --nn times --ppn must be"
        ));
    }
    Ok((nodes, ppn))
}

fn default_names(rank: usize) -> Vec<String> {
    (0..rank).map(|d| if d == 0 { "time".to_owned() } else { format!("dim_{d}") }).collect()
}

/// `1 : nn : ppn : 1 …`, as far as there are dimensions.
fn default_grid(rank: usize, nodes: u64, ppn: u64) -> Vec<u64> {
    let mut grid = vec![1; rank];
    match rank {
        0 => {}
        1 => grid[0] = nodes * ppn,
        2 => grid[1] = nodes * ppn,
        _ => (grid[1], grid[2]) = (nodes, ppn),
    }
    grid
}

/// How often the block goes into the data along each dimension but the first, along which the steps go.
fn grid_of_blocks(data: &[u64], block: &[u64], ranks: u64, usual: &[u64]) -> Result<Vec<u64>> {
    let mut grid = vec![1u64; data.len()];
    if data.len() == 1 {
        grid[0] = ranks;
        return Ok(grid);
    }
    let good: Vec<u64> =
        data.iter().zip(usual).enumerate().map(|(d, (n, g))| if d == 0 { block[0] } else { n / g }).collect();
    let advice = || {
        let even = data.iter().zip(usual).all(|(n, g)| n % g == 0);
        if even && good != block {
            format!("; try {}", written(&good))
        } else {
            "; or give the grid by --split".to_owned()
        }
    };
    for d in 1..data.len() {
        if block[d] > data[d] {
            return invalid(format!(
                "a block {} is larger than the data {} along dimension {}{}",
                written(block),
                written(data),
                d + 1,
                advice()
            ));
        }
        if !data[d].is_multiple_of(block[d]) {
            return invalid(format!(
                "blocks of {} do not fill the data {} evenly along dimension {}{}",
                written(block),
                written(data),
                d + 1,
                advice()
            ));
        }
        grid[d] = data[d] / block[d];
    }
    let fits = grid.iter().try_fold(1u64, |a, &g| a.checked_mul(g)).unwrap_or(u64::MAX);
    if fits != ranks {
        let less = if fits > ranks {
            "so that part of it would not be written"
        } else {
            "so that ranks would collide"
        };
        return invalid(format!(
            "{fits} block{} of {} cover{} the data {} in a step, {ranks} rank{} move{} one each, {less}{}",
            if fits == 1 { "" } else { "s" },
            written(block),
            if fits == 1 { "s" } else { "" },
            written(data),
            if ranks == 1 { "" } else { "s" },
            if ranks == 1 { "s" } else { "" },
            advice()
        ));
    }
    Ok(grid)
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
        let e = Geometry::resolve(&request("20:200:200:10", Some("1:100:200:10")), 4, 1).unwrap_err();
        assert!(e.to_string().contains("try 1:200:50:10"), "{e}");
    }
}
