//! Warnings of stores, for the program that has a user to show them to.

use std::fmt::{Display, Formatter};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// A warning of a store, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// A file is written where the file system has no locks.
    Unlocked(String),
    /// A file is damaged, and what is left is read.
    Damaged(String),
}

impl Display for Warning {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Warning::Unlocked(text) | Warning::Damaged(text) => f.write_str(text),
        }
    }
}

/// Warnings, and how many of them were handed out.
static WARNINGS: Mutex<(Vec<Warning>, usize)> = Mutex::new((Vec::new(), 0));
/// Whether there are others than those.
static ANY: AtomicBool = AtomicBool::new(false);

/// Keeps a warning for [`take_warnings`].
pub(crate) fn warn(what: Warning) {
    let mut warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    if !warnings.0.contains(&what) {
        warnings.0.push(what);
        ANY.store(true, Ordering::Release);
    }
}

/// Warnings of files that were opened, to be shown to the user; each is given once for each process.
pub fn take_warnings() -> Vec<Warning> {
    if !ANY.swap(false, Ordering::AcqRel) {
        return Vec::new();
    }
    let mut warnings = WARNINGS.lock().unwrap_or_else(PoisonError::into_inner);
    let taken = warnings.0[warnings.1..].to_vec();
    warnings.1 = warnings.0.len();
    taken
}
