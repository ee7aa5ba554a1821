//! Unit tests of the classic format: worked examples, malformed headers, round trips. All of them run twice: on
//! bytes in memory, and on a zipped file with these bytes as its image.

// Two modules include these files on purpose.
#![allow(clippy::duplicate_mod)]

mod image;
mod plain;
mod room;
mod zipped;
