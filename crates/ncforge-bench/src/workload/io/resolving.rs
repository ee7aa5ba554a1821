//! From what is asked to a geometry: what nobody says is filled in as NetCDF-Bench does, and everything must fit.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::fields::{Field, Variables};
use super::geometry::Geometry;
use super::lengths::{Lengths, written};
use super::shares::Shares;
use crate::error::{Error, Result};

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
    /// A file that says which rank has which elements, and how large the array is.
    #[serde(default)]
    pub decomposition: Option<PathBuf>,
    /// The variables, where there are several.
    #[serde(default)]
    pub variables: Option<Variables>,
}

impl Geometry {
    /// Fills in what was not asked, and checks that everything fits: `ranks` blocks cover the array in every step.
    ///
    /// # Errors
    /// [`Error::Invalid`] says what does not fit, and what would.
    pub fn resolve(request: &GeometryRequest, ranks: u64, job_nodes: u64) -> Result<Geometry> {
        let ranks = ranks.max(1);
        let (nodes, ppn) = nodes_and_ppn(request, ranks, job_nodes)?;
        if let Some(path) = &request.decomposition {
            let others = [
                (request.block.is_some(), "-b"),
                (request.split.is_some(), "--split"),
                (request.shares.is_some(), "--shares"),
                (request.variables.is_some(), "--vars"),
            ];
            if let Some((_, option)) = others.iter().find(|o| o.0) {
                return invalid(format!(
                    "a decomposition says which rank has what of one variable; leave out {option}, or the decomposition"
                ));
            }
            return Self::of_map(path, request.data.as_ref(), (nodes, ppn));
        }
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
        let covered = grid.iter().fold(1u64, |all, &g| all.saturating_mul(g));
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
            return Ok(Geometry {
                names,
                data,
                block,
                grid,
                nodes,
                ppn,
                shares,
                fields,
                ..Geometry::default()
            });
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
        Ok(Geometry { names, data, block, grid, nodes, ppn, fields, ..Geometry::default() })
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
