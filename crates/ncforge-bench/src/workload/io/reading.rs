//! How the array is read, where that is otherwise than it was written: other blocks, random boxes, strides, halos, another order.

use super::data::Content;
use super::geometry::Geometry;
use super::lengths::Lengths;
use super::options::{AccessKind, IoOptions};
use super::prepare::invalid;
use crate::error::Result;

/// How the array is read.
///
/// # Errors
/// [`Error::Invalid`] when the blocks for that do not fit, or cannot be had.
pub(super) fn reading(options: &IoOptions, geometry: &Geometry) -> Result<Geometry> {
    if options.compute.is_some_and(|s| !(s.is_finite() && s >= 0.0)) {
        return invalid("what lies between two time steps is a number of seconds, 0 or more");
    }
    let reading = match options.random {
        Some(boxes) => at_random(options, geometry, boxes)?,
        None => in_blocks(options, geometry)?,
    };
    let reading = match &options.stride {
        None => reading,
        Some(stride) => {
            check_pattern(options, geometry, "--stride")?;
            if geometry.shares.is_some() && options.read_block.is_none() {
                return invalid(
                    "--stride goes with even shares only; leave out --shares, or give --read-block",
                );
            }
            reading.striding(stride)?
        }
    };
    let Some(halo) = &options.halo else { return Ok(reading) };
    check_pattern(options, geometry, "--halo")?;
    reading.reaching(halo)
}

/// What a way of reading needs that does not give the array as it was written.
fn check_pattern(options: &IoOptions, geometry: &Geometry, option: &str) -> Result<()> {
    if !options.read {
        return invalid(format!("{option} is for reading; give --read"));
    }
    if options.seconds.is_some() || options.content == Content::NetcdfBench {
        return invalid(format!(
            "{option} goes neither with --seconds, after which a part of the array is there only, nor with NetCDF-Bench's values, which depend on the block"
        ));
    }
    if options.cases.iter().any(|c| c.access == AccessKind::File) {
        return invalid(format!(
            "a rank's own file holds its own blocks; {option} is for --io-type ind and coll"
        ));
    }
    if geometry.scattered.is_some() {
        return invalid(format!("a decomposition is read as it was written; leave out {option}"));
    }
    Ok(())
}

fn at_random(options: &IoOptions, geometry: &Geometry, boxes: u64) -> Result<Geometry> {
    check_pattern(options, geometry, "--random")?;
    if geometry.fields.len() > 1 {
        return invalid("boxes at random places are of one variable; leave out --vars and --preset");
    }
    if options.halo.is_some() {
        return invalid("boxes at random places have no neighbours; leave out --halo");
    }
    let own = || Lengths::new(&geometry.block);
    let shape = options.read_block.clone().unwrap_or_else(own);
    geometry.at_random(boxes, &shape, options.seed)
}

/// The dimensions in the order in which what is read shall lie in memory, where that is another than the file's.
///
/// # Errors
/// [`Error::Invalid`] when these are not all dimensions of the one variable, in another order.
pub(super) fn order(options: &IoOptions, geometry: &Geometry) -> Result<Option<Vec<usize>>> {
    let Some(names) = &options.read_order else { return Ok(None) };
    check_pattern(options, geometry, "--read-order")?;
    if geometry.fields.len() > 1 {
        return invalid(
            "an order of dimensions is for one variable that has all of them; leave out --vars and --preset",
        );
    }
    let place = |name: &String| geometry.names.iter().position(|n| n == name);
    let found: Option<Vec<usize>> = names.iter().map(place).collect();
    let mut seen = found.clone().unwrap_or_default();
    seen.sort_unstable();
    match found {
        Some(order) if seen.iter().copied().eq(0..geometry.data.len()) => {
            if order.is_sorted() {
                return invalid(format!(
                    "{} is the order in which the values are stored; another one is needed",
                    names.join(":")
                ));
            }
            Ok(Some(order))
        }
        _ => invalid(format!(
            "the order {} does not name each of the dimensions {} once",
            names.join(":"),
            geometry.names.join(":")
        )),
    }
}

fn in_blocks(options: &IoOptions, geometry: &Geometry) -> Result<Geometry> {
    let Some(block) = &options.read_block else { return Ok(geometry.clone()) };
    check_pattern(options, geometry, "--read-block")?;
    geometry.in_blocks(block)
}
