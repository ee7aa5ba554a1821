//! Chunks of the filter scaleoffset (6).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(6, data));
