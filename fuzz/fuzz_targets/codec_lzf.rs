//! Chunks of the filter lzf (32000).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(32000, data));
