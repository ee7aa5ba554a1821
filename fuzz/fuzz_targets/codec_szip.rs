//! Chunks of the filter szip (4).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(4, data));
