//! The guarantees of the store, tested with models and faults.
//!
//! `PROPTEST_CASES=200000 cargo test --release -p ncforge --lib store::zipped::tests::machine` runs the state machine
//! with a given number of cases.

mod basics;
mod crash;
mod faults;
mod machine;
mod steps;
mod vector;
