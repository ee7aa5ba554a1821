"""Processes that carry out timed tasks, one library each. The protocol: crates/ncforge-bench/src/worker.rs."""
