//! The image of a zipped file as a file in memory, for netCDF-C: its header from the beginning, its values when they are needed.

use std::ffi::c_int;
use std::fs::File;
use std::os::fd::FromRawFd;
use std::os::unix::fs::FileExt;
use std::sync::{Mutex, PoisonError};

use ncforge::Dataset;
use ncforge::store::ReadStore;

/// Images of up to this many bytes are unzipped into memory for conversions that only netCDF-C does as netCDF-C does them.
const MOST_UNZIPPED: u64 = 256 << 20;

/// A zipped file's side of an open file.
pub(crate) struct Zipped {
    pub(crate) dataset: Dataset,
    /// The file in memory.
    pub(crate) memory: File,
    /// True once the image has the values.
    pub(crate) unzipped: Mutex<bool>,
}

impl Zipped {
    /// Unzips the image into the file in memory; whether it is there.
    pub(crate) fn unzip(&self) -> bool {
        let mut unzipped = self.unzipped.lock().unwrap_or_else(PoisonError::into_inner);
        let store = self.dataset.container().store();
        if !*unzipped && store.len() <= MOST_UNZIPPED {
            *unzipped = copy(&**store, &self.memory, 0, store.len()).is_ok();
        }
        *unzipped
    }
}

/// Copies a range of the image.
pub(crate) fn copy(image: &dyn ReadStore, to: &File, mut at: u64, end: u64) -> Result<(), c_int> {
    while at < end {
        let part = image.read_vec(at, (end - at).min(4 << 20)).map_err(|e| e.netcdf_code())?;
        to.write_all_at(&part, at).map_err(|e| e.raw_os_error().unwrap_or(libc::EIO))?;
        at += part.len() as u64;
    }
    Ok(())
}

/// A file in memory that is `len` bytes long; what is not written takes no memory.
pub(crate) fn in_memory(len: u64) -> std::io::Result<File> {
    // SAFETY: a new descriptor, which the file owns from here on.
    let file = unsafe {
        match libc::memfd_create(c"ncforge".as_ptr(), libc::MFD_CLOEXEC) {
            -1 => return Err(std::io::Error::last_os_error()),
            fd => File::from_raw_fd(fd),
        }
    };
    file.set_len(len)?;
    Ok(file)
}
