//! HDF5's metadata with netCDF-4's conventions on it, and reads through what it describes.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(container) = ncforge::raw::netcdf4::open(ncforge_fuzz::store(data)) {
        ncforge_fuzz::walk(&*container);
    }
});
