//! A file through MPI-IO: collective calls on boxes of a row-major array, and calls of single ranks on runs of bytes.

use std::ffi::c_int;
use std::path::Path;
use std::rc::Rc;

use super::MpiJob;
use super::abi::{Abi, Handle, Transfer};
use crate::c_string::c_string;
use crate::error::{Error, Result};

const MODE_RDONLY: c_int = 2;
const MODE_RDWR: c_int = 8;

/// A file that all ranks of a job have open. In calls that are collective (`…_all`), MPI-IO gathers what neighbouring ranks write into large
/// requests of a few of them ("two-phase"). A file is for calls of one kind.
#[derive(Debug)]
pub struct MpiFile {
    abi: Rc<Abi>,
    handle: Handle,
    open: bool,
}

/// A box of a row-major array of bytes-sized elements, in a file.
#[derive(Clone, Debug)]
pub struct FileBox<'a> {
    /// First byte of the array.
    pub offset: u64,
    /// Bytes of one element.
    pub size: usize,
    /// Shape of the array.
    pub shape: &'a [u64],
    /// First element of the box.
    pub start: &'a [u64],
    /// Lengths of the box.
    pub count: &'a [u64],
}

impl MpiFile {
    /// Opens an existing file; every rank calls this.
    pub fn open(team: &MpiJob, path: &Path, write: bool) -> Result<Self> {
        let abi = Rc::clone(&team.abi);
        let name = c_string(path)?;
        let mut handle: Handle = 0;
        let mode = if write { MODE_RDWR } else { MODE_RDONLY };
        // SAFETY: a string that ends with zero; memory for a handle of either family.
        let code =
            unsafe { (abi.calls.file_open)(team.world(), name.as_ptr(), mode, team.info(), &mut handle) };
        abi.check(code, &format!("cannot open `{}`", path.display()))?;
        team.barrier()?;
        Ok(MpiFile { abi, handle, open: true })
    }

    /// Lets the rank see the box of the file alone; gives the box's type.
    fn view(&self, place: &FileBox<'_>) -> Result<()> {
        let abi = &self.abi;
        let number = |n: u64| {
            c_int::try_from(n)
                .map_err(|_| Error::TooLarge(format!("MPI-IO takes lengths below 2^31, not {n}")))
        };
        let list = |v: &[u64]| v.iter().map(|&n| number(n)).collect::<Result<Vec<c_int>>>();
        let (shape, start, count) = (list(place.shape)?, list(place.start)?, list(place.count)?);
        let (mut element, mut region): (Handle, Handle) = (0, 0);
        // SAFETY: arrays with one number a dimension; memory for handles; the view holds what it needs of a type that is freed.
        unsafe {
            let size = number(place.size as u64)?;
            abi.check((abi.calls.type_contiguous)(size, abi.byte, &mut element), "a type")?;
            abi.check((abi.calls.type_commit)(&mut element), "a type")?;
            let code = (abi.calls.type_create_subarray)(
                shape.len() as c_int,
                shape.as_ptr(),
                count.as_ptr(),
                start.as_ptr(),
                abi.order_c(),
                element,
                &mut region,
            );
            abi.check(code, "a box")?;
            abi.check((abi.calls.type_commit)(&mut region), "a box")?;
            let offset =
                i64::try_from(place.offset).map_err(|_| Error::TooLarge("an offset past 2^63".into()))?;
            let native = c"native";
            let code = (abi.calls.file_set_view)(
                self.handle,
                offset,
                element,
                region,
                native.as_ptr(),
                abi.info_null,
            );
            abi.check(code, "the view of a file")?;
            abi.check((abi.calls.type_free)(&mut region), "a box")?;
            abi.check((abi.calls.type_free)(&mut element), "a type")
        }
    }

    /// Writes a box; every rank calls this, each with its own.
    pub fn write_all(&self, place: &FileBox<'_>, bytes: &[u8]) -> Result<()> {
        self.view(place)?;
        self.write(self.abi.calls.file_write_at_all, 0, bytes, "a collective write")
    }

    /// Reads a box; every rank calls this, each its own.
    pub fn read_all(&self, place: &FileBox<'_>, out: &mut [u8]) -> Result<()> {
        self.view(place)?;
        self.read(self.abi.calls.file_read_at_all, 0, out, "a collective read")
    }

    /// Writes a run of bytes, for this rank alone.
    pub fn write_at(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        self.write(self.abi.calls.file_write_at, offset, bytes, "a write")
    }

    /// Reads a run of bytes, for this rank alone.
    pub fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<()> {
        self.read(self.abi.calls.file_read_at, offset, out, "a read")
    }

    /// `call` is one of those that write, and leaves the memory as it is.
    fn write(&self, call: Transfer, offset: u64, bytes: &[u8], what: &str) -> Result<()> {
        let (abi, (at, len)) = (&self.abi, run(offset, bytes.len())?);
        let memory = bytes.as_ptr().cast_mut().cast();
        // SAFETY: as many bytes as are there.
        abi.check(unsafe { call(self.handle, at, memory, len, abi.byte, abi.status_ignore()) }, what)
    }

    fn read(&self, call: Transfer, offset: u64, out: &mut [u8], what: &str) -> Result<()> {
        let (abi, (at, len)) = (&self.abi, run(offset, out.len())?);
        let memory = out.as_mut_ptr().cast();
        // SAFETY: memory for as many bytes.
        abi.check(unsafe { call(self.handle, at, memory, len, abi.byte, abi.status_ignore()) }, what)
    }

    /// Closes the file; every rank calls this.
    pub fn close(mut self) -> Result<()> {
        self.open = false;
        // SAFETY: an open file, not used again.
        let code = unsafe { (self.abi.calls.file_close)(&mut self.handle) };
        self.abi.check(code, "closing a file")
    }
}

/// A place and a length as MPI-IO takes them.
fn run(offset: u64, len: usize) -> Result<(i64, c_int)> {
    let place = i64::try_from(offset).ok().zip(c_int::try_from(len).ok());
    place.ok_or_else(|| Error::TooLarge(format!("MPI-IO takes lengths below 2^31, not {len}")))
}
