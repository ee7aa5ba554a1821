//! Chunks of the filter bitshuffle (32008).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(32008, data));
