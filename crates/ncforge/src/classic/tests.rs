//! Unit tests of the classic format: worked examples, malformed headers, round trips.

mod headers;
mod histories;
mod mutations;
mod raw;
mod updates;
