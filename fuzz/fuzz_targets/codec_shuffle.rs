//! Chunks of the filter shuffle (2).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(2, data));
