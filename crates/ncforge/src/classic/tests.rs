//! Unit tests of the classic format: worked examples, malformed headers, round trips.

mod headers;
