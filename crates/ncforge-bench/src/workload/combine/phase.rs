//! Phases of the work on tiles.

/// A phase of the work on tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Classic tiles to one classic file.
    Plain,
    /// Classic tiles to a deflated netCDF-4 file.
    Deflate,
    /// Deflated tiles to a classic file.
    Inflate,
    /// Deflated tiles to a deflated file, chunks moved as they are.
    Move,
    /// Deflated tiles to a deflated file with other chunks.
    Recode,
}

impl Phase {
    /// All, in the order in which they are done.
    pub const ALL: [Phase; 5] = [Phase::Plain, Phase::Deflate, Phase::Inflate, Phase::Move, Phase::Recode];

    /// Its name in results and for tools.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Plain => "plain",
            Phase::Deflate => "deflate",
            Phase::Inflate => "inflate",
            Phase::Move => "move",
            Phase::Recode => "recode",
        }
    }

    /// The phase in words.
    pub fn words(self) -> &'static str {
        match self {
            Phase::Plain => "classic tiles to classic",
            Phase::Deflate => "classic tiles to deflated netCDF-4",
            Phase::Inflate => "deflated tiles to classic",
            Phase::Move => "deflated tiles to deflated netCDF-4, chunks moved",
            Phase::Recode => "deflated tiles to deflated netCDF-4, other chunks",
        }
    }

    pub(super) fn takes_classic(self) -> bool {
        matches!(self, Phase::Plain | Phase::Deflate)
    }

    pub(super) fn to_classic(self) -> bool {
        matches!(self, Phase::Plain | Phase::Inflate)
    }
}

/// The resources that another process has used.
#[derive(Clone, Copy, Debug)]
pub(super) struct Used {
    pub(super) cpu: f64,
    pub(super) memory: u64,
}
