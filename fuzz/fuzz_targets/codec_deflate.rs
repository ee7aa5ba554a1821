//! Chunks of the filter deflate (1).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(1, data));
