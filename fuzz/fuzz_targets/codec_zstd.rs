//! Chunks of the filter zstd (32015).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(32015, data));
