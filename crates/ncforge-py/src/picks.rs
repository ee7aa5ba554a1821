//! Positions picked one by one, as Python gives them.

use ncforge::{Pick, Picks, Result};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;

use crate::errors::invalid;

/// For each axis of the result: dimensions, and positions along them, interleaved; never negative.
pub(crate) type Axes<'py> = Vec<(Vec<usize>, PyReadonlyArray1<'py, i64>)>;

pub(crate) fn of(axes: &Axes<'_>) -> PyResult<Result<Picks>> {
    let mut picks = Vec::with_capacity(axes.len());
    for (dims, at) in axes {
        let at: std::result::Result<Vec<u64>, _> = at.as_slice()?.iter().map(|&i| u64::try_from(i)).collect();
        match at {
            Ok(at) => picks.push(Pick { dims: dims.clone(), at }),
            Err(_) => return Ok(Err(invalid("a negative position"))),
        }
    }
    Ok(Ok(Picks::new(picks)))
}
