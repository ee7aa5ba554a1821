//! Chunks with access points, and what is left of them after changes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::segments(data));
