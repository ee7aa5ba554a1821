//! Parts of tiles that are not in the whole: such a tile is not removed, whatever was asked for.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::CombineOptions;
use ncforge::{Error, Op, Result};

/// A tile that was to be removed, and stays.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct KeptTile {
    /// The file.
    pub path: PathBuf,
    /// The part of the tile that the output does not have.
    pub left_out: String,
}

/// The first thing that is left out of each tile.
#[derive(Clone, Debug, Default)]
pub(super) struct LeftOut(BTreeMap<usize, String>);

impl LeftOut {
    /// Notes that something of a tile is not in the whole.
    pub(super) fn add(&mut self, tile: usize, what: impl Into<String>) {
        self.0.entry(tile).or_insert_with(|| what.into());
    }

    /// Adds all entries of another list.
    pub(super) fn extend(&mut self, other: LeftOut) {
        other.0.into_iter().for_each(|(tile, what)| self.add(tile, what));
    }

    /// Removes the tiles that are in the output with all that they have; gives how many, and the others.
    pub(super) fn remove_others(
        &self,
        tiles: &[PathBuf],
        options: &CombineOptions,
    ) -> Result<(usize, Vec<KeptTile>)> {
        let of_all = part_of_all(options);
        let mut kept = Vec::new();
        for (tile, path) in tiles.iter().enumerate() {
            match of_all.or_else(|| self.0.get(&tile).map(String::as_str)) {
                Some(what) => kept.push(KeptTile { path: path.clone(), left_out: what.to_owned() }),
                None => remove(path)?,
            }
        }
        Ok((tiles.len() - kept.len(), kept))
    }
}

/// The part of all tiles that was not asked for.
fn part_of_all(options: &CombineOptions) -> Option<&'static str> {
    match (&options.records, &options.copy.only) {
        (Some(_), _) => Some("other records"),
        (None, Some(_)) => Some("other variables"),
        (None, None) => (!options.copy.select.is_empty()).then_some("what was not selected"),
    }
}

fn remove(path: &Path) -> Result<()> {
    std::fs::remove_file(path).map_err(|e| Error::io(Op::Other("remove"), path.display().to_string(), e))
}
