//! The header of CDF-1, CDF-2 and CDF-5, and reads through what it describes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(container) = ncforge::raw::classic::open(ncforge_fuzz::store(data)) {
        ncforge_fuzz::walk(&*container);
    }
});
