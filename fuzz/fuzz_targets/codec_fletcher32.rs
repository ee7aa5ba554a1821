//! Chunks of the filter fletcher32 (3).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(3, data));
