//! The workload `chunks` in the terms that all workloads share.

mod judged;
mod section;

pub use judged::{regret_section, regret_sections};
pub use section::sweep_section;
