//! The tiles of a set, put together: one description, and for every variable which part comes from which tile.
//!
//! Building a mosaic reads headers only and checks that the tiles make one whole: the same variables, types and
//! lengths; no place claimed twice; no tile missing; attributes that agree. Variables that are not distributed are compared by
//! [`agree`]. Then the mosaic is a [`Dataset`](ncforge::Dataset) like a file.

mod agree;
mod attrs;
mod batch;
mod build;
mod chunks;
mod clock;
mod coords;
mod counted;
mod dims;
mod draw;
mod existing;
mod facts;
mod fill;
mod holes;
mod join;
mod joined;
mod note;
mod order;
mod pattern;
mod pieces;
mod rebase;
mod records;
mod scan;
mod times;
mod types;
mod unlike;
mod var_group;
mod whole;
mod whole_records;

use crate::progress::Progress;
use ncforge::Result;

pub(crate) use build::build;
pub use draw::Picture;
pub(crate) use draw::pictures;
pub(crate) use existing::Existing;
pub(crate) use facts::{DimKind, Facts, From};
pub(crate) use note::Note;
pub(crate) use whole::Mosaic;

impl Mosaic {
    /// Prepares for a copy of all variables: small ones are read together, with `memory` bytes for their values.
    pub(crate) fn prepare_copy(&mut self, memory: u64) {
        self.var_groups = var_group::plan(self, memory);
    }

    /// An error if the values of what is not distributed, and of at most `most` bytes a variable, differ between tiles.
    pub(crate) fn check_values(
        &mut self,
        differing: super::Differing,
        most: u64,
        progress: &dyn Progress,
    ) -> Result<()> {
        let (notes, left_out) = agree::agree(self, differing, most, progress)?;
        self.notes.extend(notes.into_iter().map(Note::from));
        self.left_out.extend(left_out);
        Ok(())
    }
}
