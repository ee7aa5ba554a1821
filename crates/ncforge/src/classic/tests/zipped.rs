//! The tests on a zipped file.

use super::image::Image as MemoryStore;

#[path = "headers.rs"]
mod headers;
#[path = "histories.rs"]
mod histories;
#[path = "model.rs"]
mod model;
#[path = "mutations.rs"]
mod mutations;
#[path = "raw.rs"]
mod raw;
#[path = "updates.rs"]
mod updates;
#[path = "words.rs"]
mod words;
