//! The workload `chunks`: one variable in many chunk shapes, and how long reads take from each.
//!
//! Two questions are asked of the same files:
//!
//! * [`sweep`]: as in Unidata's AR-5 studies, all horizontal slabs are read one after the other, then some time
//!   series (or the other way round), in one session, by every driver, for every cache size: the mean time of a
//!   slab and of a series, in microseconds.
//! * [`regret`]: single reads at random places, each in a new session. For every mix of reads, where does the
//!   shape that [`ncforge::tune`] chooses stand among all that were tried, in measured time? And does the time that
//!   it predicts hold?

pub mod regret;
mod shapes;
pub mod sweep;
mod write;

pub use shapes::grid;
pub use write::Variant;
