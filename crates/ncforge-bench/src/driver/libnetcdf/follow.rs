//! Records that are read while they are appended, by netCDF-C: classic files opened with `NC_SHARE`, and `nc_sync` on both sides.

use std::ffi::{CString, c_int};
use std::path::Path;
use std::rc::Rc;

use super::calls::Calls;
use super::{LibnetcdfDriver, blocks, check};
use crate::driver::blocks::Kind;
use crate::driver::follow::{Consumer, Producer, RecordFile};
use crate::driver::{Access, BlockFile};
use crate::error::{Error, Result};

const NC_WRITE: c_int = 1;
const NC_SHARE: c_int = 0x800;

struct Shared {
    calls: Rc<Calls>,
    ncid: c_int,
    of: RecordFile,
    /// The same file, to wait for the disk: `nc_sync` gives bytes to the system only. Readers have none.
    file: Option<std::fs::File>,
    open: bool,
}

impl Drop for Shared {
    fn drop(&mut self) {
        if self.open {
            // SAFETY: an open file, not used again.
            unsafe { (self.calls.close)(self.ncid) };
        }
    }
}

fn open(driver: &LibnetcdfDriver, path: &Path, of: &RecordFile, write: bool) -> Result<Shared> {
    let name = CString::new(path.as_os_str().as_encoded_bytes())
        .map_err(|_| Error::Invalid(format!("`{}` holds a zero byte", path.display())))?;
    let mut ncid = 0;
    let mode = NC_SHARE | if write { NC_WRITE } else { 0 };
    // SAFETY: a string that ends with zero, and room for one number.
    let code = unsafe { (driver.calls.open)(name.as_ptr(), mode, &mut ncid) };
    check(&driver.calls, code, &path.display().to_string())?;
    let mut shared = Shared { calls: Rc::clone(&driver.calls), ncid, of: of.clone(), file: None, open: true };
    if write {
        shared.file = Some(std::fs::File::open(path).map_err(|e| Error::io("open", path, e))?);
    }
    Ok(shared)
}

pub(super) fn producer(driver: &LibnetcdfDriver, path: &Path, of: &RecordFile) -> Result<Box<dyn Producer>> {
    let new: Box<dyn BlockFile> = blocks::create(driver, path, &of.spec(), &Access::Alone)?;
    new.close()?;
    Ok(Box::new(open(driver, path, of, true)?))
}

pub(super) fn consumer(driver: &LibnetcdfDriver, path: &Path, of: &RecordFile) -> Result<Box<dyn Consumer>> {
    Ok(Box::new(open(driver, path, of, false)?))
}

impl Shared {
    /// Starts and counts of records, as the library takes them, if so many bytes are theirs.
    fn place(&self, first: u64, count: u64, bytes: usize) -> Result<(Vec<usize>, Vec<usize>)> {
        let slab = self.of.slab(first, count);
        Kind { rank: 1 + self.of.shape.len(), size: self.of.dtype.size() }.check(&slab, bytes)?;
        let list = |v: &[u64]| v.iter().map(|&n| n as usize).collect();
        Ok((list(&slab.start), list(&slab.count)))
    }

    fn sync(&self) -> Result<()> {
        // SAFETY: an open file.
        check(&self.calls, unsafe { (self.calls.sync)(self.ncid) }, "nc_sync")
    }
}

impl Producer for Shared {
    fn append(&mut self, record: u64, bytes: &[u8]) -> Result<()> {
        let (start, count) = self.place(record, 1, bytes.len())?;
        // SAFETY: the file's one variable, of these dimensions; `bytes` holds a record.
        let code = unsafe {
            (self.calls.put_vara)(self.ncid, 0, start.as_ptr(), count.as_ptr(), bytes.as_ptr().cast())
        };
        check(&self.calls, code, "appending a record")
    }

    fn commit(&mut self) -> Result<()> {
        self.sync()?;
        let done = self.file.as_ref().map_or(Ok(()), std::fs::File::sync_data);
        done.map_err(|e| Error::Library(format!("netCDF-C: waiting for the disk: {e}")))
    }

    fn close(mut self: Box<Self>) -> Result<()> {
        self.open = false;
        // SAFETY: an open file, not used again.
        check(&self.calls, unsafe { (self.calls.close)(self.ncid) }, "closing")
    }
}

impl Consumer for Shared {
    fn records(&mut self) -> Result<u64> {
        self.sync()?;
        let mut len = 0usize;
        // SAFETY: the file's first dimension, room for one number.
        check(&self.calls, unsafe { (self.calls.inq_dimlen)(self.ncid, 0, &mut len) }, "the records")?;
        Ok(len as u64)
    }

    fn read(&mut self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let (start, lens) = self.place(first, count, out.len())?;
        // SAFETY: as above; `out` has room for these records.
        let code = unsafe {
            (self.calls.get_vara)(self.ncid, 0, start.as_ptr(), lens.as_ptr(), out.as_mut_ptr().cast())
        };
        check(&self.calls, code, "reading records")
    }
}
