//! From what is asked to a geometry: what nobody says is filled in as NetCDF-Bench does, and everything must fit.

use ncforge::model::shape;
use serde::Serialize;

use super::geometry::Geometry;
use super::lengths::{Lengths, written};
use crate::error::{Error, Result};

/// The request for a geometry; the rest is filled in by [`Geometry::resolve`].
#[derive(Clone, Debug, Default, Serialize)]
pub struct GeometryRequest {
    /// The array.
    pub data: Option<Lengths>,
    /// The block that one rank moves in one call.
    pub block: Option<Lengths>,
    /// Nodes; the number that the job has when `None`.
    pub nodes: Option<u64>,
    /// Ranks on each node.
    pub ppn: Option<u64>,
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
        let total = shape::checked(&data, 8u64).filter(|&n| i64::try_from(n).is_ok());
        if total.is_none() {
            return invalid(format!("an array {} is larger than any file can be", written(&data)));
        }
        let same_rank = |what: &str, lens: &Lengths| match lens.lens.len() == rank {
            true if lens.names.is_none() || lens.names.as_deref() == Some(&names) => Ok(()),
            true => {
                invalid(format!("the {what}'s dimensions are not those of the data, {}", names.join(":")))
            }
            false => {
                let (own, dims, data) = (written(&lens.lens), lens.lens.len(), written(&data));
                invalid(format!("the {what} {own} has {dims} dimensions, the data {data} has {rank}"))
            }
        };
        let usual = default_grid(rank, nodes, ppn);
        let grid = match &request.block {
            Some(block) => {
                same_rank("block", block)?;
                grid_of_blocks(&data, &block.lens, ranks, &usual)?
            }
            None => usual,
        };
        let covered = shape::elements(&grid);
        if covered != ranks {
            let grid = written(&grid);
            return invalid(format!("a grid of {grid} is for {covered} ranks, there are {ranks}"));
        }
        let mut uneven = names.iter().zip(&data).zip(&grid).filter(|((_, n), g)| !n.is_multiple_of(**g));
        if let Some(((name, n), g)) = uneven.next() {
            let even = n.next_multiple_of(*g);
            return invalid(format!(
                "`{name}` has length {n}, which {g} ranks cannot share evenly; a multiple such as {even} would do"
            ));
        }
        let share: Vec<u64> = data.iter().zip(&grid).map(|(n, g)| n / g).collect();
        let block = match &request.block {
            Some(block) => block.lens.clone(),
            None => {
                let mut block = share.clone();
                if rank > 1 {
                    block[0] = 1;
                }
                block
            }
        };
        for ((name, b), n) in names.iter().zip(&block).zip(&share) {
            if b > n {
                let (block, share) = (written(&block), written(&share));
                return invalid(format!(
                    "a block of {block} is larger than a rank's share {share} along `{name}`"
                ));
            }
            if !n.is_multiple_of(*b) {
                return invalid(format!(
                    "blocks of length {b} do not fill the {n} of `{name}` evenly; the block's length must divide it"
                ));
            }
        }
        Ok(Geometry { names, data, block, grid, nodes, ppn })
    }
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

/// The number of blocks in the data along each dimension but the first, along which the steps go.
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
        if even && good != block { format!("; try {}", written(&good)) } else { String::new() }
    };
    let (whole, part) = (written(data), written(block));
    for d in 1..data.len() {
        let (dim, advice) = (d + 1, advice());
        if block[d] > data[d] {
            return invalid(format!(
                "a block {part} is larger than the data {whole} along dimension {dim}{advice}"
            ));
        }
        if !data[d].is_multiple_of(block[d]) {
            return invalid(format!(
                "blocks of {part} do not fill the data {whole} evenly along dimension {dim}{advice}"
            ));
        }
        grid[d] = data[d] / block[d];
    }
    let fits = shape::checked(&grid, 1).unwrap_or(u64::MAX);
    if fits != ranks {
        let less = if fits > ranks {
            "so that part of it would not be written"
        } else {
            "so that ranks would collide"
        };
        let (blocks, cover) = if fits == 1 { ("block", "covers") } else { ("blocks", "cover") };
        let (who, move_one) = if ranks == 1 { ("rank", "moves") } else { ("ranks", "move") };
        return invalid(format!(
            "{fits} {blocks} of {part} {cover} the data {whole} in a step, {ranks} {who} {move_one} one each, {less}{}",
            advice()
        ));
    }
    Ok(grid)
}
