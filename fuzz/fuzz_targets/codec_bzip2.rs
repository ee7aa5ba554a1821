//! Chunks of the filter bzip2 (307).
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ncforge_fuzz::decode(307, data));
