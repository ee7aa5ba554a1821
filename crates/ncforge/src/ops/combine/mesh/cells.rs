//! Cells, by the numbers that the files give them.
//!
//! A cell belongs to the partition that `flowelem_domain` tells; in other files it is a ghost. Its place is its number
//! of the whole, which counts from one.

use std::collections::BTreeSet;

use super::super::mosaic::sibling;
use super::find::SetPlan;
use super::parts::Parts;
use super::set::{NONE, Set};
use crate::engine::Engine;
use crate::error::{Error, Result, TileOption};
use crate::model::{Schema, VarId};

/// Cells of the whole, at most: what lists of 32 bits can number.
const MOST: u64 = i32::MAX as u64;

/// Gives all cells of `set` their places, and adds the numbers of partitions that exist and were not given to
/// `missing`.
pub(super) fn number(
    parts: &Parts,
    whole: &Schema,
    engine: &Engine,
    (domain, number): (VarId, VarId),
    set: &mut Set,
    allow_missing: bool,
    missing: &mut BTreeSet<u64>,
) -> Result<()> {
    let what = set.what;
    let (first, place) = (&set.first, &mut set.place);
    let read = |p: usize| -> Result<(Vec<i64>, Vec<i64>)> {
        match first[p + 1] > first[p] {
            true => Ok((parts.ints(p, whole, domain)?, parts.ints(p, whole, number)?)),
            false => Ok((Vec::new(), Vec::new())),
        }
    };
    // By number among all partitions': the partition that owns it, by its place among them.
    let mut owners = vec![NONE; place.len()];
    let mut owned = 0u64;
    let mut highest = 0u64;
    parts.in_order(engine, read, |p, (domains, numbers)| {
        let rank = parts.ranks[p];
        let before = owned;
        for (i, (&domain, &number)) in domains.iter().zip(&numbers).enumerate() {
            let at = first[p] as usize + i;
            let bad = |told: String| Err(parts.wrong(p, &format!("says that its {what} {} {told}", i + 1)));
            let Some(of) = u64::try_from(domain).ok().filter(|&d| d < MOST) else {
                return bad(format!("belongs to partition {domain}"));
            };
            match u64::try_from(number) {
                Ok(n @ 1..=MOST) => {
                    highest = highest.max(n);
                    place[at] = (n - 1) as u32;
                }
                _ => return bad(format!("is number {number} of the whole: they count from 1")),
            }
            match parts.ranks.binary_search(&of) {
                Ok(owner) => owners[at] = owner as u32,
                Err(_) => {
                    missing.insert(of);
                }
            }
            owned += u64::from(of == rank);
        }
        if owned == before && !domains.is_empty() {
            return Err(parts.wrong(
                p,
                &format!("is partition {rank} by its name, and none of its {what}s belongs to that"),
            ));
        }
        Ok(())
    })?;
    if !allow_missing {
        all_given(parts, missing)?;
        if highest > owned {
            return Err(Error::TilesUnless {
                what: format!(
                    "the files have {owned} {what}s of their own, and their numbers reach {highest}: partitions are \
                     missing, or of another mesh"
                ),
                unless: TileOption::AllowMissing,
            });
        }
    } else if highest > 64 * set.place.len() as u64 + (1 << 20) {
        return Err(Error::Tiles(format!(
            "the files have {owned} {what}s of their own, and their numbers reach {highest}: that is no mesh"
        )));
    }
    claim(parts, set, &owners, highest as usize)
}

/// An error if partitions are missing.
pub(super) fn all_given(parts: &Parts, missing: &BTreeSet<u64>) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    let names: Vec<String> =
        missing.iter().take(super::MOST_NAMES).map(|&n| sibling(&parts.tiles.name(0), n)).collect();
    let more = missing.len().saturating_sub(super::MOST_NAMES);
    let what = format!(
        "{} of the mesh are missing, cells of which the others have: {}{}",
        match missing.len() {
            1 => "1 partition".into(),
            n => format!("{n} partitions"),
        },
        names.join(", "),
        if more > 0 { format!(" and {more} more") } else { String::new() }
    );
    Err(Error::TilesUnless { what, unless: TileOption::AllowMissing })
}

/// Who has the values of each cell.
fn claim(parts: &Parts, set: &mut Set, owners: &[u32], cells: usize) -> Result<()> {
    set.source = vec![NONE; cells];
    let what = set.what;
    for p in 0..parts.len() {
        for one in set.first[p]..set.first[p + 1] {
            let place = set.place[one as usize];
            if owners[one as usize] != p as u32 {
                continue;
            }
            let other = set.source[place as usize];
            if other != NONE {
                return Err(Error::Tiles(format!(
                    "{what} {} of the whole belongs to `{}`, and to `{}`",
                    place + 1,
                    parts.tiles.name(set.part_of(other)),
                    parts.tiles.name(p)
                )));
            }
            set.source[place as usize] = one;
        }
    }
    for p in 0..parts.len() {
        for one in set.first[p]..set.first[p + 1] {
            let (told, place) = (owners[one as usize], set.place[one as usize]);
            if told == NONE || told == set.owner(place) {
                continue;
            }
            let owner = parts.tiles.name(told as usize);
            return Err(parts.wrong(
                p,
                &format!(
                    "says that {what} {} of the whole belongs to `{owner}`, which has it not",
                    place + 1
                ),
            ));
        }
    }
    Ok(())
}

/// Lists stand one partition's behind the other's.
pub(super) fn list(set: &mut Set) {
    set.place = (0..set.place.len() as u32).collect();
    set.source.clone_from(&set.place);
}

/// Checks that all dimensions that count a set have the same lengths.
pub(super) fn same_lengths(parts: &Parts, whole: &Schema, plan: &SetPlan) -> Result<()> {
    for d in plan.dims.iter().skip(1) {
        let (a, b) = (parts.lens_of(plan.dims[0]), parts.lens_of(*d));
        if let Some(p) = (0..a.len()).find(|&p| a[p] != b[p]) {
            return Err(Error::Unsupported {
                path: parts.tiles.name(p),
                what: format!(
                    "a mesh with {} points of `{}` and {} of `{}` (cells of one dimension among others)",
                    a[p],
                    whole.dim(plan.dims[0]).name,
                    b[p],
                    whole.dim(*d).name
                ),
            });
        }
    }
    Ok(())
}
