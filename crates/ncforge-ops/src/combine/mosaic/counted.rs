//! How many tiles there should be, as they say themselves, and which ones are not there.
//!
//! A tile gives the number of tiles that its model wrote, or of processes that it had (regional diagnostics of FMS; NEMO without processes
//! of land). Places are stronger: tiles that cover all of the whole are all of them, whatever the count.

use std::collections::HashSet;
use std::path::Path;

use super::super::files;
use super::super::options::CombineOptions;
use super::super::scheme::Scheme;
use super::super::tiles::Tiles;
use super::DimKind;
use super::dims::Dims;
use super::pattern::{MOST_NAMES, Pattern};
use super::scan::Scanned;
use ncforge::{Error, Result, TileFault, TileOption};

/// Missing tiles whose files are looked for.
const MOST_LOOKS: usize = 1000;

/// A set of tiles whose places are known.
pub(super) struct Set<'a> {
    pub(super) tiles: &'a Tiles,
    pub(super) scanned: &'a [Scanned],
    pub(super) scheme: &'a dyn Scheme,
    /// Whether the tiles were searched for: some may be of another run.
    pub(super) searched: bool,
    pub(super) dims: &'a Dims,
    pub(super) patterns: &'a [Pattern],
}

impl Set<'_> {
    /// Numbers of the tiles that should exist and were not given. An error if that is not allowed, or if the tiles do not
    /// agree on how many they are.
    pub(super) fn missing(&self, options: &CombineOptions) -> Result<Vec<u64>> {
        let Some(total) = self.said()? else { return Ok(Vec::new()) };
        let given = self.scanned.len() as u64;
        if given == total || self.covers_all() {
            return Ok(Vec::new());
        }
        if given > total {
            // Named one by one, and with places of their own: the count is at fault.
            return match self.searched || self.has_lists() {
                false => Ok(Vec::new()),
                true => Err(Error::Tiles(format!(
                    "{given} tiles were given, but `{}` says that there are {total}",
                    self.tiles.name(0)
                ))),
            };
        }
        let numbers: HashSet<u64> = self.scanned.iter().filter_map(|one| one.place.number).collect();
        let first = self.scheme.first_number();
        let all = first..first.saturating_add(total.min(1 << 20));
        let missing: Vec<u64> = all.filter(|n| !numbers.contains(n)).collect();
        if options.allow_missing || options.into_existing.is_some() {
            return Ok(missing);
        }
        let name = self.tiles.name(0);
        // Of files that were searched for, one of this name was found to be no tile.
        let there = missing.iter().take(MOST_LOOKS).filter_map(|&n| sibling(&name, n));
        if let Some(path) = there.filter(|_| self.searched).find(|name| Path::new(name).exists()) {
            let scheme = self.scheme.name();
            let what = format!(
                "has the name of a tile that is missing, and lacks the attributes by which tiles of the scheme {scheme} \
                 say where they lie"
            );
            return Err(Error::BadTile { path, what, fault: TileFault::NoTile });
        }
        let called = |&n: &u64| sibling(&name, n).map_or(format!("number {n}"), |name| format!("`{name}`"));
        let names: Vec<String> = missing.iter().take(MOST_NAMES).map(called).collect();
        let more = missing.len().saturating_sub(MOST_NAMES);
        let what = format!(
            "{} of {total} tiles {} missing: {}{}",
            total - given,
            if total - given == 1 { "is" } else { "are" },
            names.join(", "),
            if more > 0 { format!(" and {more} more") } else { String::new() }
        );
        Err(Error::TilesUnless { what, unless: TileOption::AllowMissing })
    }

    /// The number of tiles, as they give it.
    fn said(&self) -> Result<Option<u64>> {
        let mut first: Option<(usize, u64)> = None;
        for (i, one) in self.scanned.iter().enumerate() {
            match (first, one.place.total) {
                (None, Some(n)) => first = Some((i, n)),
                (Some((other, n)), Some(m)) if n != m => {
                    return Err(Error::Tiles(format!(
                        "`{}` is one of {n} tiles, `{}` is one of {m}: they are of different runs",
                        self.tiles.name(other),
                        self.tiles.name(i)
                    )));
                }
                _ => {}
            }
        }
        Ok(first.map(|f| f.1))
    }

    /// Whether no point of the whole is without a tile, as far as places can tell: lists have none, and a dimension whose
    /// length no tile says ends where the tiles do.
    fn covers_all(&self) -> bool {
        !self.patterns.is_empty()
            && self.patterns.iter().all(|p| p.of_all.is_some() || p.hole_elements == 0)
            && self.dims.open_ended.is_empty()
            && !self.has_lists()
    }

    fn has_lists(&self) -> bool {
        self.dims.kinds.contains(&DimKind::List)
    }

    /// A note where the output ends with the tiles, and may end too early.
    pub(super) fn ends_early(&self, missing: &[u64]) -> Option<String> {
        let &last = missing.last().filter(|_| !self.dims.open_ended.is_empty())?;
        self.scanned.iter().all(|one| one.place.number.is_none_or(|n| n < last)).then(|| {
            format!(
                "the last tile is missing, and no tile says how long `{}` is: the output ends where the tiles do",
                self.dims.open_ended.join("`, `")
            )
        })
    }
}

/// The name of the tile with another number.
fn sibling(path: &str, number: u64) -> Option<String> {
    let cut = path.rfind('/').map_or(0, |i| i + 1);
    let (from, to) = files::number_in(&path[cut..])?;
    Some(format!("{}{number:0width$}{}", &path[..cut + from], &path[cut + to..], width = to - from))
}
