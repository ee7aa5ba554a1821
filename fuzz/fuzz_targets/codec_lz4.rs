//! Chunks of the filter lz4 (32004).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(32004, data));
