//! Whether all libraries stored the same data: every file is read again by its own library and by another one, and what they find is compared,
//! bit for bit, with what was to be written.
//!
//! What a library reads from its own file may be right although the file is not: both of its ways may be wrong alike. And two files may each
//! be read well by who wrote them, and hold different data for everybody else. So hashes are compared of all values with their
//! places in the whole array: a sum over the values, in any order, so that each rank hashes what it reads, however files are cut.

use ncforge::Hyperslab;
use serde::{Deserialize, Serialize};

use super::data::{GOLDEN, Values, mix};
use super::geometry::Geometry;
use super::places::Places;
use super::prepare::Case;
use crate::driver::{Access, Driver, NcforgeDriver, RawDriver, Rounding};
use crate::error::Result;
use crate::team::{Team, exchange};

/// What was found in the files of all cases.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Agreement {
    /// Values of each case.
    pub values: u64,
    /// What each reader found.
    pub readings: Vec<Reading>,
}

/// The data of a case as a library reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// Position of the case in [`super::IoReport::cases`].
    pub case: usize,
    /// Who read.
    pub by: String,
    /// A hash of all values with their places.
    pub hash: String,
    /// What is wrong: other values than were written, or none.
    pub problem: Option<String>,
}

impl Agreement {
    /// The readings that did not find what was written.
    pub fn problems(&self) -> impl Iterator<Item = &Reading> {
        self.readings.iter().filter(|r| r.problem.is_some())
    }

    /// In words, when nothing is wrong.
    pub fn told(&self) -> String {
        let cases = self.readings.iter().map(|r| r.case).collect::<std::collections::BTreeSet<_>>().len();
        let hashes = self.readings.iter().map(|r| &r.hash).collect::<std::collections::BTreeSet<_>>();
        let hash = match hashes.len() {
            1 => hashes.into_iter().next().map_or_else(String::new, |h| format!(", hash {h}")),
            _ => ", those that were rounded as they were rounded".to_owned(),
        };
        format!(
            "data: the same in all {cases} cases, bit for bit, in {} readings by the libraries that wrote and by others ({} values each{hash})",
            self.readings.len(),
            self.values
        )
    }
}

/// The hash of values with their places: a sum, to which values may be added in any order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Sum {
    low: u64,
    high: u64,
    values: u64,
}

impl Sum {
    /// Adds the values of a selection of a variable of this shape.
    fn add(&mut self, field: usize, shape: &[u64], slab: &Hyperslab, size: usize, bytes: &[u8]) {
        let last = shape.len().saturating_sub(1);
        let row = slab.count.get(last).copied().unwrap_or(1).max(1) as usize;
        let outer: Vec<_> = slab.count[..last].iter().map(|&c| 0..c).collect();
        let seed = mix((field as u64).wrapping_add(1));
        for (cells, at) in bytes.chunks(row * size).zip(ncforge::select::coordinates(&outer)) {
            let first = (0..last).fold(0u64, |i, d| i * shape[d] + slab.start[d] + at[d]);
            let first =
                first * shape.get(last).copied().unwrap_or(1) + slab.start.get(last).copied().unwrap_or(0);
            for (cell, index) in cells.chunks_exact(size).zip(first..) {
                let mut value = [0u8; 8];
                value[..size].copy_from_slice(cell);
                let both = mix(seed.wrapping_add(index.wrapping_mul(GOLDEN))) ^ u64::from_ne_bytes(value);
                self.low = self.low.wrapping_add(mix(both));
                self.high = self.high.wrapping_add(mix(both ^ GOLDEN));
            }
        }
        self.values += (bytes.len() / size) as u64;
    }

    fn join(self, other: Sum) -> Sum {
        Sum {
            low: self.low.wrapping_add(other.low),
            high: self.high.wrapping_add(other.high),
            values: self.values + other.values,
        }
    }

    fn text(&self) -> String {
        format!("{:016x}{:016x}", self.high, self.low)
    }
}

/// Reads the files of all cases again, each rank its part, and compares. All of the team call this, and get the same.
pub(super) fn find(
    team: &dyn Team,
    cases: &[Case],
    geometry: &Geometry,
    values: &[Values],
) -> Result<Agreement> {
    let mut truths: Vec<(Option<Rounding>, Sum)> = Vec::new();
    let mut readings = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let rounding = case.spec.vars[0].coding.rounding;
        let truth = match truths.iter().find(|t| t.0 == rounding) {
            Some((_, sum)) => *sum,
            None => {
                let sum = joined(team, &Ok(truth(team, geometry, values, rounding)))?.unwrap_or_default();
                truths.push((rounding, sum));
                sum
            }
        };
        for reader in readers(case, cases) {
            let reader = reader.as_driver();
            let found = joined(team, &part(team, case, geometry, reader).map_err(|e| e.to_string()))?;
            let (sum, problem) = match found {
                Ok(sum) if sum == truth => (sum, None),
                Ok(sum) => (sum, Some("finds other values than were written".to_owned())),
                Err(why) => (Sum::default(), Some(format!("cannot read it: {why}"))),
            };
            readings.push(Reading { case: number, by: named(reader), hash: sum.text(), problem });
        }
    }
    Ok(Agreement { values: truths.first().map_or(0, |t| t.1.values), readings })
}

/// The sums of all ranks as one, or what the first of them says that found none.
fn joined(
    team: &dyn Team,
    mine: &std::result::Result<Sum, String>,
) -> Result<std::result::Result<Sum, String>> {
    let all = exchange(team, mine)?;
    Ok(all.into_iter().try_fold(Sum::default(), |sum, part| Ok(sum.join(part?))))
}

fn named(driver: &dyn Driver) -> String {
    driver.name().rsplit('/').next().unwrap_or_default().to_owned()
}

/// Who reads the files of a case.
enum Reader<'a> {
    Of(&'a Case),
    Ours(NcforgeDriver),
    Plain(RawDriver),
}

impl Reader<'_> {
    fn as_driver(&self) -> &dyn Driver {
        match self {
            Reader::Of(case) => case.driver.as_ref(),
            Reader::Ours(driver) => driver,
            Reader::Plain(driver) => driver,
        }
    }
}

/// The library that wrote, where it reads without the others of a team, and another one that knows the format, if there is one: ncforge first.
fn readers<'a>(case: &'a Case, cases: &'a [Case]) -> Vec<Reader<'a>> {
    let own = named(case.driver.as_ref());
    let is_other = |r: &Reader<'_>| named(r.as_driver()) != own;
    let able = |r: &Reader<'_>| r.as_driver().refuses(&case.spec, &Access::Alone).is_none();
    let plain = |c: &Case| c.ask.driver.is_plain();
    let mut all = vec![Reader::Of(case)];
    let others: Vec<Reader<'_>> = if plain(case) {
        vec![Reader::Plain(RawDriver)]
    } else {
        let theirs = cases.iter().filter(|c| !plain(c)).map(Reader::Of);
        [Reader::Ours(NcforgeDriver::default())].into_iter().chain(theirs).collect()
    };
    all.retain(able);
    all.extend(others.into_iter().filter(is_other).find(able));
    all
}

/// What a library finds in this rank's part of a case's files.
fn part(team: &dyn Team, case: &Case, geometry: &Geometry, reader: &dyn Driver) -> Result<Sum> {
    let rank = team.rank() as u64;
    let size = case.spec.vars[0].dtype.size();
    let mut file = reader.open_blocks(&case.path(rank), &case.spec, &Access::Alone)?;
    let origin = case.is_apart().then(|| geometry.origin(rank));
    let mut sum = Sum::default();
    let mut buffer = Vec::new();
    for call in 0..geometry.calls() {
        let pieces: Vec<_> = geometry.pieces(rank, call, false).into_iter().filter(|p| p.owned).collect();
        let mut places = Places::of(&pieces, geometry, origin.as_deref(), size, true);
        for (i, piece) in pieces.iter().enumerate() {
            let (place, slab) = places.at(i);
            buffer.resize(place.len, 0);
            file.read(place.field, slab, &mut buffer)?;
            let shape = geometry.fields[piece.field].of(&geometry.data);
            sum.add(piece.field, &shape, &piece.slab, size, &buffer);
        }
    }
    file.close()?;
    Ok(sum)
}

/// What this rank was to write.
fn truth(team: &dyn Team, geometry: &Geometry, values: &[Values], rounding: Option<Rounding>) -> Sum {
    let rank = team.rank() as u64;
    let mut sum = Sum::default();
    let mut buffer = Vec::new();
    for call in 0..geometry.calls() {
        for piece in geometry.pieces(rank, call, false).into_iter().filter(|p| p.owned) {
            let own = &values[piece.field];
            buffer.resize(piece.slab.len() as usize * own.dtype.size(), 0);
            own.stored(&piece.slab, rank, rounding, &mut buffer);
            sum.add(piece.field, &own.shape, &piece.slab, own.dtype.size(), &buffer);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_knows_places_and_no_order() {
        let shape = [4, 6];
        let bytes: Vec<u8> = (0..48).map(|i| i * 5 % 7).collect();
        let mut whole = Sum::default();
        whole.add(0, &shape, &Hyperslab::all(&shape), 2, &bytes);
        let part = |rows: std::ops::Range<usize>| {
            let mut sum = Sum::default();
            let slab = Hyperslab::new(&[rows.start as u64, 0], &[rows.len() as u64, 6]);
            sum.add(0, &shape, &slab, 2, &bytes[rows.start * 12..rows.end * 12]);
            sum
        };
        assert_eq!(part(3..4).join(part(0..3)), whole);
        // Two values that have changed places, one that is another, and the same in another variable.
        let mut other = bytes.clone();
        other.swap(0, 2);
        other.swap(1, 3);
        let of = |field: usize, bytes: &[u8]| {
            let mut sum = Sum::default();
            sum.add(field, &shape, &Hyperslab::all(&shape), 2, bytes);
            sum
        };
        assert_ne!(of(0, &other), whole);
        other.clone_from(&bytes);
        other[47] ^= 128;
        assert_ne!(of(0, &other), whole);
        assert_ne!(of(1, &bytes), whole);
        // A single number has a place, too.
        let mut one = Sum::default();
        one.add(0, &[], &Hyperslab::all(&[]), 4, &[1, 2, 3, 4]);
        assert_eq!(one.values, 1);
    }
}
