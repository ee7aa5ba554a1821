//! The workload `chunks`: one variable in many chunk shapes, and how long reads take from each.
//!
//! Three questions are asked:
//!
//! * [`sweep`]: as in Unidata's AR-5 studies, all horizontal slabs are read one after the other, then some time
//!   series (or the other way round), in one session, by every driver, for every cache size: the mean time of a
//!   slab and of a series, in microseconds.
//! * [`regret`]: single reads at random places, each the first of a new session. For every mix of reads, where does
//!   the shape that [`ncforge_tune`] chooses stand among all that were tried, in measured time? Does the time that
//!   it predicts hold? And how do the shapes compare that other tools choose?
//! * [`proof`]: the same for arrays of many kinds, made from a fixed seed.

mod measure;
pub mod proof;
pub mod regret;
mod shapes;
pub mod sweep;
mod today;
mod write;

pub use measure::Effort;
pub use shapes::grid;
pub use today::{Today, today};
pub use write::{Files, Variant};
