//! What the store promises, against models and faults.
//!
//! `PROPTEST_CASES=200000 cargo test --release -p ncforge --lib store::packed::tests::machine` runs the state machine
//! for as long as one likes.

mod basics;
mod crash;
mod faults;
mod machine;
mod steps;
mod vector;
