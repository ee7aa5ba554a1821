//! The tests on plain bytes.

use crate::store::MemoryStore;

#[path = "headers.rs"]
mod headers;
#[path = "histories.rs"]
mod histories;
#[path = "mutations.rs"]
mod mutations;
#[path = "raw.rs"]
mod raw;
#[path = "updates.rs"]
mod updates;
