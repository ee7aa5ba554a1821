//! Unit tests of the classic format: worked examples, malformed headers, round trips. All of them run twice: on
//! bytes in memory, and on a packed file that has those bytes for its image.

// The same files stand in two modules on purpose.
#![allow(clippy::duplicate_mod)]

mod image;
mod packed;
mod plain;
mod room;
