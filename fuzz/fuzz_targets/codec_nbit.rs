//! Chunks of the filter nbit (5).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(5, data));
