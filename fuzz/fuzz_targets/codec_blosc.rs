//! Chunks of the filter blosc (32001).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(32001, data));
