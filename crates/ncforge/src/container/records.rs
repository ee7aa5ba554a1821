//! Records of classic files as they lie one behind the other.

use std::sync::Arc;

use crate::layout::{Runs, VarLayout};

/// Records as a classic file holds them: a piece of every variable that grows, then the next record; in one file, or in
/// several that follow each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Records {
    /// Bytes from one record to the next.
    pub stride: u64,
    /// The place of each variable in a record, from that of the first of them on.
    pub behind: Vec<u64>,
    /// For each file the number of its records, and the place of the first variable in the first of them.
    pub files: Vec<(u64, u64)>,
}

impl Records {
    /// The records of one file with these variables; `None` unless all of them lie in records of one length, the first of them first.
    pub fn of(layouts: &[Arc<VarLayout>]) -> Option<Records> {
        let runs = layouts.iter().map(|layout| layout.runs()).collect::<Option<Vec<Runs>>>()?;
        let first = runs.first()?;
        let stride = first.stride?;
        let alike = runs.iter().all(|r| r.stride == Some(stride))
            && layouts.iter().all(|layout| layout.shape.first() == layouts[0].shape.first());
        let behind = runs.iter().map(|r| r.begin.checked_sub(first.begin)).collect::<Option<Vec<u64>>>()?;
        let count = *layouts[0].shape.first()?;
        alike.then(|| Records { stride, behind, files: vec![(count, first.begin)] })
    }
}
