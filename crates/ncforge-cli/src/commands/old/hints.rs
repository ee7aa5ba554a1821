//! Remedies for failures, in the flags of the tool that was called: those of `ncforge combine` it has not.

use ncforge::{Error, TileOption};

use crate::exit::Failure;

/// The words of one tool.
#[derive(Debug)]
pub(super) struct Hints {
    /// The hint where a tile is missing.
    pub(super) missing: &'static str,
    /// The hint where the tiles do not go together.
    pub(super) unlike: &'static str,
    /// The hint where the output exists.
    pub(super) exists: &'static str,
    /// The hint where the format of the output cannot hold what the tiles have.
    pub(super) format: &'static str,
}

/// Hints of the tools that overwrite, and have no flag for tiles that are not there.
pub(super) const OF_NEMO: Hints = Hints {
    missing: "give all tiles; `ncforge combine --allow-missing` fills the places of those that are not there",
    unlike: "give all tiles of one run and one date; `ncforge info TILE` shows what each is",
    exists: "remove it, or name another output",
    format: "`ncforge combine --format netcdf4` holds everything that netCDF knows",
};

impl Hints {
    /// The failure that the user sees.
    pub(super) fn failure(&self, error: Error) -> Failure {
        let hint = match &error {
            Error::TilesUnless { unless: TileOption::AllowMissing, .. } => self.missing,
            Error::TilesUnless { unless: TileOption::AllowRagged, .. } => {
                "`ncforge combine --allow-ragged` fills the records that some tiles lack"
            }
            Error::OutputIsInput { .. } => "name another output",
            Error::TilesUnless { .. } | Error::Tiles(_) | Error::BadTile { .. } => self.unlike,
            Error::Exists(_) => self.exists,
            Error::NotRepresentable { .. } | Error::Limit { .. } => self.format,
            Error::Budget { .. } => "NCFORGE_MEMORY=4G in front of the command allows more memory",
            Error::Unsupported { .. } => {
                "docs/formats.md lists what is supported; `ncforge combine --vars` takes the other variables"
            }
            _ => return error.into(),
        };
        Failure { hint: hint.to_owned(), ..error.into() }
    }
}
